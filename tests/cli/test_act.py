"""scrm act: actions and propensities exactly as evaluate needs them, in the order of the contexts, or nothing at all."""
# labels: slow cli io threads statistical

import csv
import itertools
import json
import os
import shlex
import subprocess

import h5py
import numpy as np
from scipy import stats

import harness
from harness import ProgramTest, run, run_json

ROWS = 6001
FEATURES = 3
THETA = "[0.3, 0.5, -0.4, 0.2]"
SCORES = "[[0.1, 0.5, -0.4, 0.2], [0.0, -0.3, 0.6, 0.1], [-0.2, 0.2, 0.2, -0.7]]"
POLICIES = {
    "gaussian": f'kind = "gaussian"\nscale = 0.7\ntheta = {THETA}\n',
    "quadratic": 'kind = "gaussian"\nfeatures = "quadratic"\nscale = 0.7\n'
                 'theta = [0.3, 0.5, -0.4, 0.2, 0.1, 0.2, -0.1, 0.3, 0.05, -0.2]\n',
    "lognormal": f'kind = "lognormal"\nscale = 0.4\ntheta = {THETA}\n',
    "softmax": f'kind = "softmax"\ntheta = {SCORES}\n',
    "softmax-epsilon": f'kind = "softmax"\nepsilon = 0.2\ntheta = {SCORES}\n',
    "label": f'kind = "multilabel"\nepsilon = 0.1\nmixing = "label"\ntheta = {SCORES}\n',
    "joint": f'kind = "multilabel"\nepsilon = 0.1\nmixing = "joint"\ntheta = {SCORES}\n',
    "independent": f'kind = "multilabel"\ntheta = {SCORES}\n',
    "uniform": 'kind = "uniform"\n',
    "uniform-bits": 'kind = "uniform"\n',
}
OPTIONS = {"uniform": ("--action-kind", "categorical", "--num-actions", 49),
           "uniform-bits": ("--action-kind", "multilabel", "--num-actions", 5)}


def read(folder):
    """Every dataset of the folder's shards, concatenated; offsets of sparse rows become lengths."""
    columns = {}

    def visit(name, node):
        if isinstance(node, h5py.Dataset):
            columns.setdefault(name, []).append(np.diff(node[()]) if name == "context/indptr" else node[()])

    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path) as file:
            file.visititems(visit)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def write_contexts(path, context):
    """Contexts and nothing else, as anyone would write them."""
    with h5py.File(path, "w") as file:
        file.attrs.update(format="scrm-log", format_version=1)
        if isinstance(context, tuple):
            file["context/indptr"], file["context/indices"], file["context/values"] = context
            file["context"].attrs["num_features"] = FEATURES
        else:
            file["context"] = context
    return path


def record_losses(folder):
    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path, "a") as file:
            rows = len(file["action"])
            file["loss"] = np.linspace(-1, 1, rows)


class ActTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.context = np.random.default_rng(1).normal(size=(ROWS, FEATURES))
        self.contexts = write_contexts(self.dir / "contexts.h5", self.context)

    def policy(self, name):
        path = self.dir / f"{name}.toml"
        path.write_text(POLICIES[name])
        return path

    def act(self, name, out, *options, contexts=None, **run_options):
        folder = self.dir / out
        result = run_json("act", self.policy(name), "--contexts", contexts or self.contexts, "--seed", 7, "--out", folder,
                          *OPTIONS.get(name, ()), *options, **run_options)
        return result, folder

    def assert_weights_of_one(self, name, folder, rows=ROWS):
        record_losses(folder)
        found = run_json("evaluate", folder, "--policy", self.dir / f"{name}.toml")["policies"][0]["diagnostics"]
        self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, rows))

    def assert_same(self, left, right):
        self.assertEqual(sorted(left), sorted(right))
        for name in left:
            self.assertEqual((left[name].dtype, left[name].tobytes()), (right[name].dtype, right[name].tobytes()), name)


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
            for number, options in enumerate([("--compress", "gzip"), ("--chunk-rows", 100), ("--memory", "20M"),
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


class Csv(ActTest):
    def test_csv_in_and_out_and_back_through_import(self):
        table = self.dir / "in.csv"
        with open(table, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["name", "b", "a", "c"])
            rows.writerows([f"row, {i}", repr(x[1]), repr(x[0]), repr(x[2])] for i, x in enumerate(self.context.tolist()))
        for name in ("gaussian", "lognormal"):
            with self.subTest(policy=name):
                out, logs = self.dir / f"{name}.csv", self.dir / f"{name}-logs"
                result = run_json("act", self.policy(name), "--contexts", table, "--context", "a,b,c", "--seed", 7,
                                  "--csv", out)
                self.assertEqual((result["rows"], result["out"]), (ROWS, str(out)))
                with open(out) as file:
                    lines = list(csv.reader(file))
                self.assertEqual(lines[0], ["x0", "x1", "x2", "action", "propensity"])
                np.testing.assert_array_equal(np.array(lines[1:], dtype=float)[:, :3], self.context)
                with open(out, "w", newline="") as file:
                    csv.writer(file).writerows([lines[0] + ["loss"], *(line + ["1"] for line in lines[1:])])
                run("import", out, "--format", "csv", "--action-kind", "continuous", "--context", "x*", "--action",
                    "action", "--loss", "loss", "--propensity", "propensity", "--out", logs)
                found = run_json("evaluate", logs, "--policy", self.policy(name))["policies"][0]["diagnostics"]
                self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, ROWS))
                shards = read(self.act(name, f"{name}-shards")[1])
                np.testing.assert_array_equal(shards["action"], read(logs)["action"])
                np.testing.assert_array_equal(shards["propensity"], read(logs)["propensity"])

    def test_the_import_that_the_summary_names_works(self):
        for name in ("gaussian", "softmax", "label", "joint", "uniform", "uniform-bits"):
            with self.subTest(policy=name):
                out = self.dir / f"{name}.csv"
                text = run("act", self.policy(name), "--contexts", self.contexts, "--seed", 7, "--csv", out,
                           *OPTIONS.get(name, ())).stdout
                lines = out.read_text().splitlines()
                out.write_text("\n".join([lines[0] + ",loss"] + [line + ",0.5" for line in lines[1:]]) + "\n")
                command = text.splitlines()[-1].replace("'", "").split()
                self.assertEqual(command[:2], ["scrm", "import"])
                command[command.index("logs")] = str(self.dir / f"{name}-logs")
                run(*command[1:])
                found = run_json("evaluate", self.dir / f"{name}-logs", "--policy",
                                 self.policy(name))["policies"][0]["diagnostics"]
                self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, ROWS))

    def test_float32_and_sparse_contexts_are_written_in_full(self):
        narrow = self.context.astype(np.float32)
        indptr = np.arange(ROWS + 1, dtype=np.int64)
        sparse = (indptr, np.ones(ROWS, dtype=np.int32), self.context[:, 1].copy())
        full = np.zeros_like(self.context)
        full[:, 1] = self.context[:, 1]
        for number, (context, wanted) in enumerate(((narrow, narrow.astype(float)), (sparse, full))):
            out = self.dir / f"{number}.csv"
            run("act", self.policy("softmax"), "--contexts", write_contexts(self.dir / f"{number}.h5", context), "--seed",
                1, "--csv", out)
            np.testing.assert_array_equal(np.loadtxt(out, delimiter=",", skiprows=1)[:, :3], wanted)

    def test_bad_fields_are_named_and_counted_and_nothing_is_written(self):
        table = self.dir / "in.csv"
        for lines, words in ((["1,2,3", "4,nan,6", "inf,1,2"], ["line 3", "'b'", "nan", "not finite", "2 bad rows"]),
                             (["1,2,3", "4,five,6"], ["line 3", "'b'", "'five'", "not a number", "1 bad row "]),
                             (["1,2"], ["line 2", "2 fields", "3"])):
            table.write_text("\n".join(["a,b,c", *lines]) + "\n")
            for output in (("--csv", self.dir / "out.csv"), ("--out", self.dir / "out")):
                before = sorted(os.listdir(self.dir) + ["gaussian.toml"] * (not (self.dir / "gaussian.toml").exists()))
                done = run("act", self.policy("gaussian"), "--contexts", table, "--context", "a:c", "--seed", 1, *output,
                           check=1)
                for word in ["in.csv", *words]:
                    self.assertIn(word, done.stderr)
                self.assertEqual(sorted(os.listdir(self.dir)), before)


    def test_contexts_from_csv_leave_nothing_behind(self):
        (self.dir / "in.csv").write_text("a,b,c\n1,2,3\n")
        self.policy("gaussian")
        before = os.listdir(self.dir)
        for output in (("--csv", "out.csv"), ("--out", "out"), ("--out", "slash/"), ("--out", "a/b")):
            run("act", "gaussian.toml", "--contexts", "in.csv", "--context", "a,b,c", "--seed", 1, *output, cwd=self.dir)
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(before + ["out.csv", "out", "slash", "a"]))
        self.assertEqual((os.listdir(self.dir / "slash"), os.listdir(self.dir / "a")), (["part-00000.h5"], ["b"]))


class Refusals(ActTest):
    def refused(self, *words, policy="gaussian", contexts=None, options=(), code=1):
        policy = self.policy(policy)
        before = sorted(os.listdir(self.dir))
        done = run("act", policy, "--contexts", contexts or self.contexts, "--seed", 1, "--out", self.dir / "out",
                   *options, check=code)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        return done.stderr

    def test_a_policy_of_another_dimension(self):
        wide = write_contexts(self.dir / "wide.h5", np.zeros((10, 5)))
        self.refused("gaussian.toml", "4 numbers", "needs 6", "5 features", contexts=wide)
        self.refused("softmax.toml", "4 numbers a row", "needs 6", policy="softmax", contexts=wide)

    def test_files_that_are_not_there(self):
        self.refused("nowhere.h5", "no such file", contexts=self.dir / "nowhere.h5")
        done = run("act", self.dir / "no.toml", "--contexts", self.contexts, "--seed", 1, "--out", self.dir / "out",
                   check=1)
        self.assertIn("no.toml", done.stderr)

    def test_contexts_that_are_not_finite_are_named_first_row_first(self):
        context = self.context.copy()
        context[4321, 1], context[5000, 0], context[5999, 2] = np.nan, np.inf, -np.inf
        bad = write_contexts(self.dir / "bad.h5", context)
        for threads in (1, 2, 3):
            text = self.refused("bad.h5", "context[:, 1], row 4321", "nan is not finite", "3 bad rows in all",
                                contexts=bad, options=("--threads", threads, "--shards", 4))
            self.assertNotIn("--skip-bad-rows", text)
        self.refused("--skip-bad-rows", contexts=bad, options=("--skip-bad-rows",), code=2)

    def test_an_action_that_cannot_be_logged(self):
        (self.dir / "wild.toml").write_text('kind = "lognormal"\nscale = 1.0\ntheta = [2000.0, 0, 0, 0]\n')
        before = sorted(os.listdir(self.dir))
        done = run("act", self.dir / "wild.toml", "--contexts", self.contexts, "--seed", 1, "--out", self.dir / "out",
                   check=1)
        self.assertIn("wild.toml", done.stderr)
        self.assertIn("cannot be logged", done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_wrong_usage(self):
        self.refused("--action-kind", "--num-actions", policy="uniform", code=2)
        self.refused("uniform", options=("--num-actions", 3), code=2)
        self.refused("exclude", options=("--csv", self.dir / "a.csv"), code=2)
        table = self.dir / "in.csv"
        table.write_text("a,b,c\n1,2,3\n")
        self.refused("--context", contexts=table, code=2)
        self.refused("'d'", contexts=table, options=("--context", "a,b,d"), code=2)
        done = run("act", self.policy("gaussian"), "--contexts", self.contexts, "--seed", 1, "--out", self.dir,
                   "--overwrite", check=2)
        self.assertIn("elsewhere", done.stderr)

    def test_too_little_memory(self):
        for output in (("--csv", self.dir / "out.csv"), ("--out", self.dir / "out")):
            done = run("act", self.policy("gaussian"), "--contexts", self.contexts, "--seed", 1, *output, "--memory", "1M",
                       check=1)
            self.assertIn("--memory", done.stderr)
            self.assertEqual(sorted(os.listdir(self.dir)), ["contexts.h5", "gaussian.toml"])

    def test_outputs_that_are_there_are_left_alone_without_overwrite(self):
        out = self.dir / "out.csv"
        out.write_text("mine")
        arguments = ("act", self.policy("gaussian"), "--contexts", self.contexts, "--seed", 1)
        self.assertIn("--overwrite", run(*arguments, "--csv", out, check=1).stderr)
        self.assertEqual(out.read_text(), "mine")
        run(*arguments, "--csv", out, "--overwrite")
        self.assertTrue(out.read_text().startswith("x0,"))
        run(*arguments, "--out", self.dir / "out")
        self.assertIn("--overwrite", run(*arguments, "--out", self.dir / "out", check=1).stderr)
        run(*arguments, "--out", self.dir / "out", "--overwrite", "--shards", 2)
        self.assertEqual(len(os.listdir(self.dir / "out")), 2)

    def test_acted_rows_are_not_mistaken_for_logs(self):
        _, folder = self.act("gaussian", "next")
        for command in (("evaluate", folder, "--policy", self.policy("gaussian")), ("inspect", folder)):
            done = run(*command, check=1)
            self.assertIn("next/part-00000.h5: loss: there is no such dataset; these rows were acted but their losses are "
                          "not recorded yet: ", done.stderr)
        with h5py.File(self.contexts, "a") as file:
            file.attrs["action_kind"] = "continuous"
        self.assertIn("scrm act", run("inspect", self.contexts, check=1).stderr)


class Loop(ActTest):
    def test_the_example_goes_round(self):
        done = subprocess.run([harness.SOURCE_DIR / "examples/loop.sh", self.dir / "loop"], capture_output=True, text=True,
                              env={**os.environ, "SCRM": harness.PROGRAM})
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = [float(line.split("actions: ")[1].split()[0]) for line in done.stdout.splitlines() if "deployed" in line]
        self.assertEqual(len(losses), 5)
        self.assertLess(max(losses[1:]), losses[0] - 0.3)  # five standard errors were gained in the run README shows
        self.assertTrue((self.dir / "loop/policy-4.toml").exists())

    def test_the_commands_that_readme_shows_work(self):
        loop = self.dir / "loop"
        loop.mkdir()
        run("simulate", "pricing", "--rows", 3000, "--out", "customers", "--policy-out", "policy-1.toml", cwd=loop)
        context = read(loop / "customers")["context"]
        np.savetxt(loop / "customers.csv", context, delimiter=",", comments="", fmt="%.17g",
                   header=",".join(f"x{j}" for j in range(context.shape[1])))
        text = (harness.SOURCE_DIR / "README.md").read_text()
        begin = text.index("scrm act policy-1.toml")
        script = text[begin:text.index("```", begin)].replace("\\\n", " ")
        for line in script.splitlines():
            if line.startswith("scrm "):
                run(*shlex.split(line)[1:], cwd=loop)
            else:  # the world answers
                rows = (loop / "prices.csv").read_text().splitlines()
                actions = [float(row.split(",")[-2]) for row in rows[1:]]
                answered = [rows[0] + ",loss"] + [f"{row},{(a - 1) ** 2}" for row, a in zip(rows[1:], actions)]
                (loop / "prices.csv").write_text("\n".join(answered) + "\n")
        found = run_json("evaluate", loop / "logs-1", "--policy", loop / "policy-1.toml")["policies"][0]["diagnostics"]
        self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, 3000))
        self.assertTrue((loop / "policy-2.toml").exists())


if __name__ == "__main__":
    harness.main()
