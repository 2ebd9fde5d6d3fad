"""scrm act: actions and propensities exactly as evaluate needs them, in the order of the contexts."""
# labels: slow cli io threads statistical

import itertools
import json
import os

import h5py
import numpy as np
from scipy import stats

import harness
from acts import FEATURES, POLICIES, ROWS, SCORES, ActTest, read, write_contexts
from harness import run, run_json


class Propensities(ActTest):
    def test_the_policy_that_acted_has_weights_of_exactly_one(self):
        for name in POLICIES:
            with self.subTest(policy=name):
                result, folder = self.act(name, f"out-{name}", "--shards", 3)
                self.assertEqual((result["rows"], result["shards"], result["features"]), (ROWS, 3, FEATURES))
                np.testing.assert_array_equal(read(folder)["context"], self.context)
                self.assert_weights_of_one(name, folder)

    def test_contexts_of_simulated_logs_are_enough_and_their_actions_do_not_count(self):
        logs = self.dir / "logs"
        run("simulate", "pricing", "--rows", 5000, "--seed", 3, "--shards", 2, "--out", logs, "--compress", "gzip")
        path = self.dir / "ten.toml"
        path.write_text('kind = "softmax"\ntheta = [[0, 1, 0,0,0,0,0,0,0,0,0], [0, 0, 1, 0,0,0,0,0,0,0,0]]\n')
        run("act", path, "--contexts", logs, "--seed", 1, "--out", self.dir / "next", "--compress", "gzip")
        np.testing.assert_array_equal(read(self.dir / "next")["context"], read(logs)["context"])
        self.assert_weights_of_one("ten", self.dir / "next", 5000)

    def test_float32_contexts_stay_float32(self):
        contexts = write_contexts(self.dir / "narrow.h5", self.context.astype(np.float32))
        for name in ("gaussian", "quadratic", "lognormal", "softmax", "label"):
            with self.subTest(policy=name):
                _, folder = self.act(name, f"out-{name}", contexts=contexts)
                self.assertEqual(read(folder)["context"].dtype, np.float32)
                self.assert_weights_of_one(name, folder)

    def test_sparse_contexts_stay_sparse(self):
        indptr = np.arange(ROWS + 1, dtype=np.int64) * 2
        indices = np.tile(np.array([0, 2], dtype=np.int32), ROWS)
        values = self.context[:, [0, 2]].ravel()
        contexts = write_contexts(self.dir / "sparse.h5", (indptr, indices, values))
        for name in ("gaussian", "lognormal", "softmax", "joint", "label"):
            with self.subTest(policy=name):
                result, folder = self.act(name, f"out-{name}", "--shards", 4, contexts=contexts)
                self.assertEqual(result["features"], FEATURES)
                np.testing.assert_array_equal(read(folder)["context/values"], values)
                self.assert_weights_of_one(name, folder)

    def test_label_propensities_are_there_where_bits_are_independent(self):
        for name, there in (("label", True), ("independent", True), ("uniform-bits", True), ("joint", False)):
            with self.subTest(policy=name):
                result, folder = self.act(name, f"out-{name}")
                columns = read(folder)
                self.assertEqual((result["label_propensity"], "label_propensity" in columns), (there, there))
                if there:
                    np.testing.assert_allclose(np.log(columns["label_propensity"]).sum(axis=1),
                                               columns["log_propensity"], rtol=1e-12)
        text = run("act", self.policy("joint"), "--contexts", self.contexts, "--seed", 1, "--out", self.dir / "o").stdout
        self.assertIn("without label_propensity", text)

    def test_propensities_are_the_densities_of_the_policy(self):
        mean = 0.3 + self.context @ [0.5, -0.4, 0.2]
        columns = read(self.act("gaussian", "normal")[1])
        np.testing.assert_allclose(columns["propensity"], stats.norm.pdf(columns["action"], mean, 0.7), rtol=1e-12)
        columns = read(self.act("lognormal", "log")[1])
        np.testing.assert_allclose(columns["propensity"], stats.lognorm.pdf(columns["action"], 0.4, scale=np.exp(mean)),
                                   rtol=1e-11)

    def test_rows_without_context_are_counted_by_another_dataset(self):
        path = self.dir / "bare.h5"
        with h5py.File(path, "w") as file:
            file.attrs.update(format="scrm-log", format_version=1)
            file["loss"] = np.full(10, np.nan)  # not read, so not audited
        (self.dir / "flat.toml").write_text('kind = "gaussian"\nscale = 1.0\ntheta = [2.0]\n')
        result = run_json("act", self.dir / "flat.toml", "--contexts", path, "--seed", 1, "--out", self.dir / "out")
        self.assertEqual((result["rows"], result["features"]), (10, 0))
        self.assert_weights_of_one("flat", self.dir / "out", 10)

    def test_no_rows_at_all_are_fine(self):
        contexts = write_contexts(self.dir / "none.h5", np.empty((0, FEATURES)))
        result, folder = self.act("gaussian", "out", "--shards", 2, contexts=contexts)
        self.assertEqual((result["rows"], result["mean_action"]), (0, None))
        self.assertEqual(len(read(folder)["action"]), 0)
        self.assertEqual(len(os.listdir(folder)), 2)


class Bits(ActTest):
    def test_threads_and_shards_do_not_change_a_bit(self):
        for name in ("gaussian", "softmax-epsilon", "joint", "label", "uniform"):
            with self.subTest(policy=name):
                first, folder = self.act(name, f"{name}-first", "--threads", 1)
                for threads, shards in ((2, 1), (3, 1), (1, 5), (2, 5), (3, 5)):
                    again, other = self.act(name, f"{name}-{threads}-{shards}", "--threads", threads, "--shards", shards)
                    self.assert_same(read(folder), read(other))
                    for key in ("mean_action", "counts"):
                        self.assertEqual(first.get(key), again.get(key))
                _, same = self.act(name, f"{name}-file", "--threads", 3)
                self.assertEqual((folder / "part-00000.h5").read_bytes(), (same / "part-00000.h5").read_bytes())

    def test_chunks_compression_and_memory_do_not_change_a_bit(self):
        for name in ("gaussian", "label"):
            plain = read(self.act(name, f"{name}-plain")[1])
            for number, options in enumerate([("--compress", "gzip"), ("--chunk-rows", 100), ("--memory", "32M"),
                                              ("--chunk-rows", 1999, "--shards", 3, "--compress", "gzip")]):
                with self.subTest(policy=name, options=options):
                    self.assert_same(plain, read(self.act(name, f"{name}-{number}", *options)[1]))

    def test_the_cut_of_the_contexts_does_not_change_a_bit(self):
        parts = self.dir / "parts"
        parts.mkdir()
        for i, part in enumerate(np.array_split(self.context, 7)):
            write_contexts(parts / f"{i}.h5", part)
        whole = read(self.act("gaussian", "whole")[1])
        self.assert_same(whole, read(self.act("gaussian", "cut", contexts=parts)[1]))
        self.assert_same(whole, read(self.act("gaussian", "both", "--shards", 40, contexts=parts)[1]))

    def test_another_seed_or_rollout_draws_other_actions(self):
        actions = []
        for seed, rollout in ((7, 0), (7, 1), (8, 0)):
            out = self.dir / f"{seed}-{rollout}"
            run("act", self.policy("gaussian"), "--contexts", self.contexts, "--seed", seed, "--rollout", rollout, "--out",
                out)
            actions.append(read(out)["action"])
        for left, right in itertools.combinations(actions, 2):
            self.assertEqual(np.count_nonzero(left == right), 0)
        with h5py.File(self.dir / "7-1/part-00000.h5") as file:
            self.assertEqual(file.attrs["rollout"], 1)


class Frequencies(ActTest):
    """Seeds are fixed; each test would fail for one seed in 10,000 if all were well."""
    ALARM = 1e-4

    def scores(self):
        return np.column_stack([np.ones(ROWS), self.context]) @ np.array(json.loads(SCORES)).T

    def test_continuous_actions_follow_their_law(self):
        mean = 0.3 + self.context @ [0.5, -0.4, 0.2]
        for name, transform, scale in (("gaussian", lambda a: a, 0.7), ("lognormal", np.log, 0.4)):
            result, folder = self.act(name, name)
            action = read(folder)["action"]
            self.assertAlmostEqual(result["mean_action"], action.mean(), places=12)
            self.assertGreater(stats.kstest((transform(action) - mean) / scale, "norm").pvalue, self.ALARM / 2)

    def test_actions_are_as_frequent_as_they_are_likely(self):
        weights = np.exp(self.scores())
        softmax = weights / weights.sum(axis=1, keepdims=True)
        for name, likely in (("softmax", softmax), ("softmax-epsilon", 0.8 * softmax + 0.2 / 3),
                             ("uniform", np.full((ROWS, 49), 1 / 49))):
            result, folder = self.act(name, name)
            counts = np.bincount(read(folder)["action"], minlength=likely.shape[1])
            self.assertEqual(result["counts"], counts.tolist())
            # Contexts are given, so counts vary less than multinomial ones: the test is on the safe side.
            self.assertGreater(stats.chisquare(counts, likely.sum(axis=0)).pvalue, self.ALARM / 3)

    def test_bits_are_set_as_often_as_they_are_likely(self):
        probability = 1 / (1 + np.exp(-self.scores()))
        for name, likely in (("label", 0.9 * probability + 0.05), ("joint", 0.9 * probability + 0.05),
                             ("independent", probability)):
            result, folder = self.act(name, name)
            bits = read(folder)["action"].astype(int)
            self.assertEqual(result["counts"], bits.sum(axis=0).tolist())
            z = (bits.sum(axis=0) - likely.sum(axis=0)) / np.sqrt((likely * (1 - likely)).sum(axis=0))
            self.assertLess(np.abs(z).max(), stats.norm.isf(self.ALARM / 18))  # nine numbers, two sides


if __name__ == "__main__":
    harness.main()
