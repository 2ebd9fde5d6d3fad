"""scrm simulate: the same rows whatever the threads and shards, files that appear whole or not at all."""
# labels: slow cli io threads statistical

import math
import os
import unittest

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json

CONTINUOUS = ["gaussian", "pricing", "advertising"]
ENVIRONMENTS = CONTINUOUS + ["categorical", "multilabel"]


def read(folder):
    """Every dataset of the folder's shards, concatenated. Offsets of sparse rows become lengths, which concatenate."""
    columns = {}

    def visit(name, node):
        if isinstance(node, h5py.Dataset):
            values = np.diff(node[()]) if name == "context/indptr" else node[()]
            columns.setdefault(name, []).append(values)

    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path) as file:
            file.visititems(visit)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


class Simulate(ProgramTest):
    def simulate(self, name, environment, *options, rows=20001, **run_options):
        folder = self.dir / name
        result = run_json("simulate", environment, "--rows", rows, "--seed", 5, "--out", folder, *options, **run_options)
        return result, read(folder)

    def assert_same(self, left, right):
        self.assertEqual(sorted(left), sorted(right))
        for name in left:
            self.assertEqual(left[name].dtype, right[name].dtype, name)
            self.assertEqual(left[name].tobytes(), right[name].tobytes(), name)

    def test_threads_and_shards_do_not_change_a_bit(self):
        for environment in ENVIRONMENTS:
            with self.subTest(environment=environment):
                _, one = self.simulate(f"{environment}-1", environment, "--threads", 1)
                for threads, shards in ((2, 1), (3, 1), (1, 16), (2, 16), (3, 7)):
                    _, other = self.simulate(f"{environment}-{threads}-{shards}", environment, "--threads", threads,
                                             "--shards", shards)
                    self.assert_same(one, other)

    def test_chunks_compression_and_memory_do_not_change_a_bit(self):
        _, plain = self.simulate("plain", "pricing")
        for number, options in enumerate([("--compress", "gzip"), ("--chunk-rows", 100), ("--chunk-rows", 3000),
                                          ("--chunk-rows", 10**6, "--compress", "gzip"), ("--memory", "32M"),
                                          ("--chunk-rows", 1999, "--shards", 3, "--compress", "gzip")]):
            with self.subTest(options=options):
                _, other = self.simulate(f"other-{number}", "pricing", *options)
                self.assert_same(plain, other)

    def test_sparse_contexts_are_the_same_over_shards_too(self):
        options = ("--sparse-features", 300, "--density", 0.05)
        _, one = self.simulate("one", "advertising", *options)
        _, many = self.simulate("many", "advertising", *options, "--shards", 9, "--chunk-rows", 500, "--compress", "gzip")
        self.assert_same(one, many)
        _, dense = self.simulate("dense", "advertising")
        for name in ("action", "loss", "propensity"):
            np.testing.assert_array_equal(one[name], dense[name])
        ends = np.cumsum(one["context/indptr"])
        begins = ends - one["context/indptr"]
        np.testing.assert_array_equal(one["context/values"][begins], dense["context"][:, 0])
        np.testing.assert_array_equal(one["context/indices"][begins + 1], 1)
        self.assertEqual(run_json("inspect", self.dir / "many")["features"], 302)

    def test_a_shorter_data_set_is_the_beginning_of_a_longer_one(self):
        _, long = self.simulate("long", "pricing", rows=9000)
        _, short = self.simulate("short", "pricing", rows=4321)
        for name in long:
            np.testing.assert_array_equal(short[name], long[name][:4321])

    def test_rows_are_spread_as_evenly_as_possible(self):
        for rows, shards in ((10, 3), (2, 5), (0, 1), (0, 3), (1, 1), (2049, 2)):
            with self.subTest(rows=rows, shards=shards):
                folder = self.dir / f"even-{rows}-{shards}"
                result = run_json("simulate", "pricing", "--rows", rows, "--out", folder, "--shards", shards)
                self.assertEqual((result["rows"], result["shards"]), (rows, shards))
                names = sorted(os.listdir(folder))
                self.assertEqual(names, [f"part-{s:05d}.h5" for s in range(shards)])
                lengths = [h5py.File(folder / name)["loss"].shape[0] for name in names]
                self.assertEqual(sum(lengths), rows)
                self.assertLessEqual(max(lengths) - min(lengths), 1)
                self.assertEqual(run_json("inspect", folder)["rows"], rows)

    def test_json_says_what_was_written(self):
        result, columns = self.simulate("logs", "pricing", "--shards", 2)
        self.assertEqual(list(result), ["rows", "shards", "features", "action_kind", "out", "bytes", "seconds"])
        self.assertEqual((result["rows"], result["shards"], result["features"]), (20001, 2, 10))
        self.assertEqual((result["action_kind"], result["out"]), ("continuous", str(self.dir / "logs")))
        self.assertEqual(result["bytes"], sum(path.stat().st_size for path in (self.dir / "logs").iterdir()))
        self.assertEqual({name: columns[name].dtype for name in columns},
                         {name: np.dtype(float) for name in ("context", "action", "loss", "propensity")})

    def test_files_say_where_they_come_from(self):
        self.simulate("logs", "categorical", "--actions", 3, "--rollout", 4)
        with h5py.File(self.dir / "logs/part-00000.h5") as file:
            self.assertEqual((file.attrs["format"], file.attrs["format_version"]), ("scrm-log", 1))
            self.assertEqual((file.attrs["action_kind"], file.attrs["num_actions"]), ("categorical", 3))
            self.assertEqual((file.attrs["rollout"], file.attrs["environment"], file.attrs["seed"]),
                             (4, "categorical", "5"))

    def test_rollouts_hold_other_rows(self):
        _, first = self.simulate("first", "pricing")
        _, second = self.simulate("second", "pricing", "--rollout", 1)
        self.assertFalse(np.isin(first["action"], second["action"]).any())

    def test_float32_contexts_and_actions_are_rounded_before_anything_else(self):
        _, rows = self.simulate("logs", "pricing", "--float32")
        self.assertEqual(rows["context"].dtype, np.float32)
        self.assertEqual(rows["propensity"].dtype, np.float64)
        np.testing.assert_array_equal(rows["action"], rows["action"].astype(np.float32))
        mean = rows["context"][:, :3].astype(float).mean(axis=1)
        density = np.exp(-(rows["action"] - mean)**2 / 2) / math.sqrt(2 * math.pi)
        np.testing.assert_allclose(rows["propensity"], density, rtol=1e-13)

    def test_multilabel_rows_carry_every_bits_probability(self):
        _, rows = self.simulate("logs", "multilabel", "--actions", 6)
        self.assertEqual((rows["action"].dtype, rows["action"].shape), (np.uint8, (20001, 6)))
        np.testing.assert_allclose(np.log(rows["label_propensity"]).sum(axis=1), rows["log_propensity"], rtol=1e-10)
        self.assertNotIn("propensity", rows)

    def test_exact_risks(self):
        """Within 4.5 standard errors: false alarms 7e-6 for each of the two."""
        for environment, risk in (("gaussian", -1 + 0.2 * (1.5**2 + 0.18)), ("pricing", None)):
            _, rows = self.simulate(environment, environment, rows=200000)
            if risk is None:
                # Losses keep the sign of rewards cut at zero; the rewards without noise average 1.4 E x̄³ − 0.6 E x̄ = 4.
                mean = rows["context"][:, :3].mean(axis=1)
                values, risk = rows["action"] * (2 * mean**2 - 0.6 * mean * rows["action"]), 4.0
            else:
                values = rows["loss"]
            error = values.std(ddof=1) / math.sqrt(len(values))
            self.assertLess(abs(values.mean() - risk), 4.5 * error, environment)


class Policies(ProgramTest):
    def policy(self, text):
        path = self.dir / "policy.toml"
        path.write_text(text)
        return path

    def test_the_policy_that_logged_can_be_written_and_logs_the_same_again(self):
        for environment in ENVIRONMENTS:
            with self.subTest(environment=environment):
                policy = self.dir / f"{environment}.toml"
                again = self.dir / f"{environment}-again"
                run("simulate", environment, "--rows", 5000, "--out", self.dir / environment, "--policy-out", policy)
                run("simulate", environment, "--rows", 5000, "--out", again, "--policy", policy)
                left, right = read(self.dir / environment), read(again)
                for name in left:
                    np.testing.assert_array_equal(left[name], right[name])

    def test_the_policy_that_logged_has_weights_of_exactly_one(self):
        harness.need_command("evaluate")
        for environment in ENVIRONMENTS:
            for options in ((), ("--float32", "--shards", 3)):
                with self.subTest(environment=environment, options=options):
                    policy = self.dir / "logging.toml"
                    logs = self.dir / f"{environment}{len(options)}"
                    run("simulate", environment, "--rows", 5000, "--out", logs, "--policy-out", policy, "--overwrite", *options)
                    result = run_json("evaluate", logs, "--policy", policy)["policies"][0]["diagnostics"]
                    self.assertEqual((result["mean_weight"], result["max_weight"], result["ess"]), (1.0, 1.0, 5000))

    def test_contexts_do_not_depend_on_the_policy(self):
        policy = self.policy('kind = "gaussian"\nscale = 0.5\ntheta = [1.0, 0,0,0,0,0, 0,0,0,0,0]\n')
        run("simulate", "pricing", "--rows", 3000, "--out", self.dir / "a")
        run("simulate", "pricing", "--rows", 3000, "--out", self.dir / "b", "--policy", policy)
        left, right = read(self.dir / "a"), read(self.dir / "b")
        np.testing.assert_array_equal(left["context"], right["context"])
        self.assertAlmostEqual(right["action"].std(), 0.5, delta=0.03)  # 4.6 standard errors: false alarms 5e-6

    def test_a_policy_that_does_not_fit_is_refused_and_nothing_is_written(self):
        for environment, text, words in (
                ("pricing", 'kind = "gaussian"\nscale = 1.0\ntheta = [1.0, 2.0]\n', ["policy.toml", "2 numbers", "11"]),
                ("categorical", 'kind = "gaussian"\nscale = 1.0\ntheta = [1.0]\n', ["gaussian", "categorical"]),
                ("pricing", 'kind = "uniform"\n', ["uniform", "continuous"]),
                ("multilabel", 'kind = "multilabel"\ntheta = [[0,0,0,0,0,0]]\n', ["1 row,", "4 labels"])):
            with self.subTest(environment=environment, text=text):
                done = run("simulate", environment, "--rows", 10, "--out", self.dir / "out", "--policy",
                           self.policy(text), check=1)
                for word in words:
                    self.assertIn(word, done.stderr)
                self.assertFalse((self.dir / "out").exists())


class Output(ProgramTest):
    def test_a_folder_that_is_not_empty_is_left_alone(self):
        out = self.dir / "out"
        run("simulate", "gaussian", "--rows", 10, "--out", out)
        before = (out / "part-00000.h5").read_bytes()
        done = run("simulate", "gaussian", "--rows", 20, "--out", out, check=1)
        self.assertIn("--overwrite", done.stderr)
        self.assertIn(str(out), done.stderr)
        self.assertEqual((out / "part-00000.h5").read_bytes(), before)
        self.assertEqual(os.listdir(self.dir), ["out"])

    def test_overwrite_replaces_shards_and_nothing_else(self):
        out = self.dir / "out"
        run("simulate", "gaussian", "--rows", 10, "--shards", 3, "--out", out)
        run("simulate", "gaussian", "--rows", 20, "--out", out, "--overwrite")
        self.assertEqual(os.listdir(out), ["part-00000.h5"])
        (out / "notes.txt").write_text("mine")
        self.assertIn("left alone", run("simulate", "gaussian", "--rows", 1, "--out", out, "--overwrite", check=1).stderr)
        self.assertEqual((out / "notes.txt").read_text(), "mine")
        self.assertEqual(os.listdir(self.dir), ["out"])

    def test_an_empty_folder_and_missing_parents_are_fine(self):
        (self.dir / "empty").mkdir()
        run("simulate", "gaussian", "--rows", 10, "--out", str(self.dir / "empty") + "/")
        run("simulate", "gaussian", "--rows", 10, "--out", "a/b/c", cwd=self.dir)
        self.assertTrue((self.dir / "empty/part-00000.h5").exists() and (self.dir / "a/b/c/part-00000.h5").exists())

    def test_a_file_in_the_way_is_named(self):
        (self.dir / "file").write_text("mine")
        self.assertIn("no folder", run("simulate", "gaussian", "--rows", 1, "--out", self.dir / "file", check=1).stderr)

    def test_too_little_memory_is_said_before_anything_is_written(self):
        done = run("simulate", "pricing", "--rows", 10**6, "--out", self.dir / "out", "--memory", "1M", check=1)
        self.assertIn("--memory", done.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_wrong_usage_exits_with_2(self):
        for options in (("nowhere", "--rows", 1), ("pricing",), ("pricing", "--rows", -1), ("pricing", "--rows", "many"),
                        ("pricing", "--rows", 1, "--actions", 3), ("pricing", "--rows", 1, "--density", 0.5),
                        ("pricing", "--rows", 1, "--shards", 0), ("pricing", "--rows", 1, "--compress", "zip"),
                        ("pricing", "--rows", 1, "--sparse-features", 3, "--density", 2)):
            with self.subTest(options=options):
                self.assertEqual(run("simulate", *options, "--out", self.dir / "out", check=2).stdout, "")
                self.assertEqual(os.listdir(self.dir), [])

    def test_the_summary_for_people_names_the_next_step(self):
        out = run("simulate", "gaussian", "--rows", 1234, "--out", self.dir / "out").stdout
        self.assertIn("1,234 rows", out)
        self.assertIn(f"scrm inspect {self.dir / 'out'}", out)


if __name__ == "__main__":
    harness.main()
