"""scrm act: contexts from CSV and actions to it, what is refused with nothing written, and the loop that README shows."""
# labels: slow cli io

import csv
import os
import shlex
import subprocess

import h5py
import numpy as np

import harness
from acts import OPTIONS, ROWS, ActTest, read, write_contexts
from harness import run, run_json


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
                self.assertEqual(lines[0], ["name", "b", "a", "c", "action", "propensity"])
                self.assertEqual(lines[-1][0], f"row, {ROWS - 1}")
                kept = np.array([line[1:4] for line in lines[1:]], dtype=float)
                np.testing.assert_array_equal(kept[:, [1, 0, 2]], self.context)
                with open(out, "w", newline="") as file:
                    csv.writer(file).writerows([lines[0] + ["loss"], *(line + ["1"] for line in lines[1:])])
                run("import", out, "--format", "csv", "--action-kind", "continuous", "--context", "a,b,c", "--action",
                    "action", "--loss", "loss", "--propensity", "propensity", "--out", logs)
                found = run_json("evaluate", logs, "--policy", self.policy(name))["policies"][0]["diagnostics"]
                self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, ROWS))
                shards = read(self.act(name, f"{name}-shards")[1])
                np.testing.assert_array_equal(shards["action"], read(logs)["action"])
                np.testing.assert_array_equal(shards["propensity"], read(logs)["propensity"])

    def test_the_import_that_the_summary_names_works(self):
        for name in ("gaussian", "softmax", "label", "joint", "uniform", "uniform-bits"):
            with self.subTest(policy=name):
                out = self.dir / f"it's {name}.csv"
                text = run("act", self.policy(name), "--contexts", self.contexts, "--seed", 7, "--csv", out,
                           *OPTIONS.get(name, ())).stdout
                lines = out.read_text().splitlines()
                out.write_text("\n".join([lines[0] + ",loss"] + [line + ",0.5" for line in lines[1:]]) + "\n")
                self.assertIn("--reward-column", text)
                command = shlex.split(text.splitlines()[-1])
                self.assertEqual(command[:2], ["scrm", "import"])
                command[command.index("logs")] = str(self.dir / f"{name}-logs")
                run(*command[1:])
                found = run_json("evaluate", self.dir / f"{name}-logs", "--policy",
                                 self.policy(name))["policies"][0]["diagnostics"]
                self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, ROWS))

    def test_actions_whose_names_have_line_breaks_go_round_through_csv(self):
        def write(name, rows):
            with open(self.dir / name, "w", newline="") as file:
                csv.writer(file).writerows([["x", "shown", "loss", "p"], *rows])
            return self.dir / name

        data = write("in.csv", [[i / 300, ("w", "u\nv", "z")[i % 3], i % 7, 1 / 3] for i in range(300)])
        recipe, policy, out = self.dir / "e.toml", self.dir / "p.toml", self.dir / "out.csv"
        options = ["--action-kind", "categorical", "--loss", "loss", "--encoding", recipe, "--overwrite", "--out", self.dir / "l.h5"]
        run("import", data, "--context", "x", "--action", "shown", "--propensity", "p", *options)
        # The policy has them in another order, and without line breaks.
        policy.write_text('kind = "softmax"\nactions = ["z", "u v", "w"]\ntheta = [[0, 1], [0, 2], [0, 3]]\n')
        run("act", policy, "--contexts", data, "--encoding", recipe, "--seed", 1, "--csv", out)
        with open(out, newline="") as file:
            names = {row["action"] for row in csv.DictReader(file)}
        self.assertEqual(names, {"w", "u\nv", "z"})
        run("import", out, "--action", "action", "--propensity", "propensity", *options)
        found = run_json("evaluate", self.dir / "l.h5", "--policy", policy)["policies"][0]["diagnostics"]
        self.assertAlmostEqual(found["max_weight"], 1.0)
        self.assertAlmostEqual(found["mean_weight"], 1.0)

    def test_labels_with_names_go_round_through_csv(self):
        random = np.random.default_rng(1)
        table, recipe = self.dir / "bits.csv", self.dir / "bits-recipe.toml"
        with open(table, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["u", "sport page", "arts", "p", "r"])
            for _ in range(400):
                bits = random.integers(0, 2, 2)
                u = random.random()
                rows.writerow([u, *bits, 0.25, bits[0] * u + bits[1] * (1 - u)])
        first, policy, out = self.dir / "first.h5", self.dir / "bits.toml", self.dir / "acted.csv"
        kind = ("--action-kind", "multilabel", "--encoding", recipe, "--action", "sport page,arts")
        run("import", table, "--out", first, *kind, "--context", "u", "--propensity", "p", "--reward-column", "r")
        for mixing, logs in (("joint", "a.h5"), ("label", "b.h5")):
            run("learn", first, "--lambda", 1, "--estimator", "snips", "--mixing", mixing, "--out", policy, "--overwrite")
            text = run("act", policy, "--contexts", table, "--encoding", recipe, "--keep", "u", "--seed", 1, "--csv", out,
                       "--overwrite").stdout
            header, *lines = out.read_text().splitlines()
            self.assertTrue(header.startswith("u,sport page,arts,log_propensity"), header)
            out.write_text("\n".join([header + ",loss", *(line + ",0.5" for line in lines)]) + "\n")
            command = shlex.split(text.splitlines()[-1])
            command[command.index("logs")] = str(self.dir / logs)
            run(*command[1:])
            found = run_json("evaluate", self.dir / logs, "--policy", policy)["policies"][0]["diagnostics"]
            self.assertEqual((found["mean_weight"], found["max_weight"]), (1.0, 1.0))
        # What acting writes takes the place of what was logged before.
        self.assertNotIn("sport page", run("act", policy, "--contexts", table, "--encoding", recipe, "--seed", 1, "--csv",
                                           out, "--overwrite").stdout.splitlines()[0])
        self.assertEqual(out.read_text().splitlines()[0].count("sport page"), 1)

    def test_labels_whose_names_are_features_or_patterns_are_numbered(self):
        for names, inputs in ((["x0", "b"], ["x0", "x1", "x2"]), (["a*", "b"], []), (["a,b", "c"], [])):
            policy = self.dir / "named.toml"
            policy.write_text(f'kind = "multilabel"\nactions = {names}\n' + (f"inputs = {inputs}\n" if inputs else "")
                              + "theta = [[0, 1, 0, 0], [0, 0, 1, 0]]\n")
            table = self.dir / "x.csv"
            table.write_text("x0,x1,x2\n1,2,3\n")
            out = self.dir / "named.csv"
            run("act", policy, "--contexts", table, "--context", "x0,x1,x2", "--seed", 1, "--csv", out, "--overwrite")
            self.assertTrue(out.read_text().startswith("x0,x1,x2,action_0,action_1,log_propensity"), out.read_text())

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


    def test_what_is_advised_about_a_field_is_what_act_has(self):
        table = self.dir / "raw.csv"
        for value in ("Paris", "", "NA"):
            table.write_text(f"x,y\n0.5,1\n{value},2\n")
            said = run("act", self.policy("gaussian"), "--contexts", table, "--context", "x,y", "--seed", 1, "--csv", "-", check=1).stderr
            self.assertIn("line 3, column 'x': ", said)
            self.assertIn("--encoding that `scrm import` wrote", said)
            self.assertNotIn("--categorical", said)
            self.assertNotIn("--impute", said)

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

    def test_columns_of_csv_files_are_those_that_the_policy_names(self):
        policy = self.dir / "named.toml"
        policy.write_text('kind = "gaussian"\nscale = 0.5\ninputs = ["a", "b, c"]\ntheta = [0.0, 2.0, 3.0]\n')
        table = self.dir / "in.csv"
        table.write_text('id,"b, c",a\n7,1,2\n8,3,4\n')
        command = ("act", policy, "--seed", 1, "--csv", "-")
        asked = run(*command, "--contexts", table, "--context", 'a,"b, c"').stdout
        self.assertEqual(run(*command, "--contexts", table).stdout, asked)
        for stream in ("-", "/dev/stdin"):
            self.assertEqual(run(*command, "--contexts", stream, stdin=table.read_text()).stdout, asked)
            self.assertIn("7,", run(*command, "--contexts", stream, "--keep", "id", stdin=table.read_text()).stdout)
        # The standard input may be a file.
        def from_file(path):
            with open(path, "rb") as file:
                return subprocess.run([harness.PROGRAM, *map(str, command), "--contexts", "-"], stdin=file, text=True,
                                      capture_output=True, timeout=60)

        self.assertEqual(from_file(table).stdout, asked)
        self.assertIn("is an HDF5 file, not text", from_file(self.contexts).stderr)
        self.assertIn("/dev/stdin: line 1: the file is empty", from_file("/dev/null").stderr)
        said = run("act", policy, "--seed", 1, "--contexts", table, "--csv", self.dir / "out.csv").stdout
        self.assertIn("""--context 'a,"b, c"'""", said)
        table.write_text("id,a\n7,1\n")
        said = run(*command, "--contexts", table, check=2).stderr
        self.assertIn("without --context or --encoding, the policy's inputs are taken by name: no column is named 'b, c'", said)
        # A policy without names says nothing of columns, and the columns are what is asked for.
        for stream in ("-", "/dev/stdin"):
            said = run("act", self.policy("gaussian"), "--seed", 1, "--csv", "-", "--contexts", stream, "--keep", "id",
                       stdin=table.read_text(), check=2).stderr
            self.assertIn("name the columns of a CSV file with --context", said)

    def test_too_little_memory(self):
        for output in (("--csv", self.dir / "out.csv"), ("--out", self.dir / "out")):
            done = run("act", self.policy("gaussian"), "--contexts", self.contexts, "--seed", 1, *output, "--memory", "1M",
                       check=1)
            self.assertIn("--memory 1M is less than 64M, the least that every command works with", done.stderr)
            self.assertNotIn("right file", done.stderr)
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
