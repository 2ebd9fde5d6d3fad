"""`--memory` bounds the resident set of the whole process: extremes of actions, features, policies, replicates, threads,
runs at once and texts either stay within it or are refused before anything is taken."""
# labels: slow cli

import os
import subprocess
import sys

import numpy as np

import harness
from harness import ProgramTest, run, write_log

MIB = 1 << 20

# The largest resident set of a child counts that of its parent at the fork: a parent without NumPy adds nothing.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print("peak", usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


class MemoryTest(ProgramTest):
    """A test that runs the program under a budget."""

    def run_within(self, memory, *args, endless=None):
        """Runs with --memory `memory` MiB; returns whether it was done or refused. It must not take more either way.
        `endless` is what comes, again and again, from /dev/stdin."""
        if os.environ.get("SCRM_SANITIZE"):
            self.skipTest("sanitizers need memory of their own")
        command = [sys.executable, "-S", "-c", MEASURE, harness.PROGRAM, *map(str, args), "--memory", f"{memory}M"]
        stream = subprocess.Popen(["yes", endless], stdout=subprocess.PIPE) if endless is not None else None
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.dir, timeout=300,
                                  stdin=stream.stdout if stream else subprocess.DEVNULL)
        finally:
            if stream:
                stream.stdout.close()
                stream.kill()
                stream.wait()
        *messages, peak = done.stderr.splitlines()
        kibibytes = int(peak.removeprefix("peak "))
        self.assertLessEqual(kibibytes, memory * 1024, f"{command[4:]}\n{done.stderr}")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        if done.returncode == 1:
            self.assertRegex("\n".join(messages), r"scrm: error: [\s\S]*(--memory|longer than|more than|does not end)")
        return "done" if done.returncode == 0 else "refused"

    def write_rows(self, name, rows, features, actions=0):
        random = np.random.default_rng(1)
        action = random.integers(0, actions, rows).astype(np.int32) if actions else random.normal(size=rows)
        extra = {"num_actions": actions} if actions else {}
        write_log(self.dir / name, "categorical" if actions else "continuous",
                  context=random.normal(size=(rows, features)), action=action, loss=random.normal(size=rows),
                  propensity=np.full(rows, 1 / actions if actions else 0.3), **extra)
        return name

    def write_policy(self, name, features, actions=0, first=0.0):
        row = [first] + [0.01] * features
        theta = [row] * actions if actions else row
        kind = "softmax" if actions else "gaussian"
        (self.dir / name).write_text(f'kind = "{kind}"\nscale = 1.0\ntheta = {theta}\n')
        return name


class Evaluate(MemoryTest):
    def test_replicates_are_drawn_in_groups_that_fit_or_refused(self):
        data, policy = self.write_rows("few.h5", 20, 3), self.write_policy("p.toml", 3)
        bootstrap = ("evaluate", data, "--policy", policy, "--interval", "bootstrap", "--replicates")
        self.assertEqual(self.run_within(64, *bootstrap, 1_000_000), "done")
        self.assertEqual(self.run_within(64, *bootstrap, 4_000_000, "--estimator", "ips,snips"), "done")
        self.assertEqual(self.run_within(64, *bootstrap, 100_000_000), "refused")

    def test_clusters_and_simultaneous_intervals(self):
        rows = 300_000
        random = np.random.default_rng(2)
        p = random.uniform(0.2, 0.8, rows)
        data = write_log(self.dir / "c.h5", "categorical", num_actions=2, action=np.zeros(rows, np.int32),
                         loss=random.random(rows), propensity=p, cluster=random.integers(0, 2**40, rows),
                         targets={f"t{i}": p * random.uniform(0.8, 1.0) for i in range(8)})
        names = [part for i in range(8) for part in ("--target", f"t{i}")]
        for options in ((), ("--interval", "bootstrap"), ("--simultaneous",), ("--threads", 7)):
            self.assertEqual(self.run_within(64, "evaluate", data, *names[:2], *options), "done")
        self.assertEqual(self.run_within(96, "evaluate", data, *names), "done")
        self.assertEqual(self.run_within(64, "evaluate", data, *names[:2], "--simultaneous", "--replicates", 10_000_000),
                         "refused")

    def test_groups_of_replicates_have_the_same_bits(self):
        data, policy = self.write_rows("few.h5", 20, 3), self.write_policy("p.toml", 3)
        args = ("evaluate", self.dir / data, "--policy", self.dir / policy, "--interval", "bootstrap", "--replicates",
                1_500_000)
        wide = harness.run_json(*args, "--memory", "1G")["policies"]
        self.assertEqual(harness.run_json(*args, "--memory", "40M")["policies"], wide)

    def test_many_policies(self):
        data = self.write_rows("rows.h5", 40_000, 5)
        policies = [self.write_policy(f"{i}.toml", 5, first=i / 100) for i in range(100)]
        named = [word for policy in policies for word in ("--policy", policy)]
        self.assertEqual(self.run_within(64, "evaluate", data, *named), "done")
        bootstrap = ("--interval", "bootstrap", "--replicates", 200)
        self.assertEqual(self.run_within(64, "evaluate", data, *named, *bootstrap), "refused")
        self.assertEqual(self.run_within(256, "evaluate", data, *named, *bootstrap), "done")

    def test_the_ridge_model_of_many_actions_features_and_policies(self):
        data, policy = self.write_rows("rows.h5", 5_000, 50, 1_000), self.write_policy("p.toml", 50, 1_000)
        model = ("--model", "ridge", "--threads", 2)
        self.assertEqual(self.run_within(64, "evaluate", data, "--policy", policy, *model), "done")
        data, policy = self.write_rows("wide.h5", 3_000, 2_000, 2), self.write_policy("p.toml", 2_000, 2)
        self.assertEqual(self.run_within(128, "evaluate", data, "--policy", policy, *model), "refused")
        data = self.write_rows("rows.h5", 40_000, 5)
        named = [word for i in range(40) for word in ("--policy", self.write_policy(f"{i}.toml", 5, first=i / 100))]
        self.assertEqual(self.run_within(64, "evaluate", data, *named, *model), "done")

    def test_a_model_that_does_not_fit_is_refused_with_what_the_command_has(self):
        logs, policy = self.dir / "wide", self.dir / "first.toml"
        run("simulate", "categorical", "--rows", 300, "--actions", 40, "--sparse-features", 20000, "--density", 1e-4, "--seed", 1,
            "--out", logs, "--policy-out", policy)
        learning = run("learn", logs, "--estimator", "dr", "--lambda", 0, "--memory", "128M", "--out", self.dir / "x.toml", check=1)
        self.assertIn("an estimator without a model", learning.stderr)
        self.assertNotIn("--model", learning.stderr)
        evaluating = run("evaluate", logs, "--policy", policy, "--model", "ridge", "--memory", "128M", check=1)
        self.assertIn("an outside model (--model NAME)", evaluating.stderr)

    def test_many_actions(self):
        for actions in (4_000, 10_000, 100_000):
            data = self.write_rows("rows.h5", 300, 3, actions)
            policy = self.write_policy("p.toml", 3, actions)
            with self.subTest(actions=actions):
                self.run_within(64, "evaluate", data, "--policy", policy)
                self.assertEqual(self.run_within(128, "evaluate", data, "--policy", policy), "done")


class Learn(MemoryTest):
    def test_many_features(self):
        data = self.write_rows("wide.h5", 4_500, 2_000)
        for memory in (64, 128):
            self.run_within(memory, "learn", data, "--lambda", 0.1, "--max-iter", 2, "--out", "out.toml")
        self.assertEqual(self.run_within(64, "learn", data, "--lambda", 0.1, "--max-iter", 2, "--holdout", 0, "--out",
                                         "out2.toml"), "done")

    def test_many_actions_and_many_searches_at_once(self):
        data = self.write_rows("many.h5", 200, 3, 10_000)
        args = ("learn", data, "--kind", "softmax", "--max-iter", 1)
        self.run_within(64, *args, "--out", "out.toml")
        self.assertEqual(self.run_within(96, *args, "--out", "out2.toml"), "done")

    def test_a_hundred_thousand_actions(self):
        data = self.write_rows("most.h5", 100, 3, 100_000)
        args = ("learn", data, "--kind", "softmax", "--max-iter", 1)
        self.run_within(64, *args, "--lambda", 0.1, "--out", "out.toml")
        self.assertEqual(self.run_within(256, *args, "--lambda", 0.1, "--out", "out2.toml"), "done")
        self.run_within(256, *args, "--lambda-grid", "0.1,1,10", "--out", "out3.toml")

    def test_searches_in_groups_find_the_same_bits(self):
        data = self.write_rows("rows.h5", 300, 3, 2_000)
        found = []
        for memory in ("64M", "4G"):
            out = self.dir / f"{memory}.toml"
            harness.run("learn", self.dir / data, "--kind", "softmax", "--max-iter", 2, "--out", out, "--memory", memory)
            found.append(out.read_text())
        self.assertEqual(found[0], found[1])

    def test_many_lambdas(self):
        data = self.write_rows("rows.h5", 300, 3)
        learn = ("learn", data, "--max-iter", 3, "--overwrite", "--out", "out.toml")
        for count in (1_000, 15_000):
            values = ",".join(f"{1 + i / 1000:.3f}" for i in range(count))
            self.run_within(64, *learn, "--lambda", values)
            self.run_within(64, *learn, "--lambda", "auto", "--lambda-grid", values)

    def test_choosing_among_many_lambdas_holds_the_policies_of_a_few_at_a_time(self):
        data = self.write_rows("k.h5", 100, 20, actions=1500)
        grid = ("learn", data, "--max-iter", 1, "--lambda-grid", ",".join(str(2.0**k) for k in range(-8, 8)), "--overwrite")
        self.assertEqual(self.run_within(64, *grid, "--out", "a.toml"), "done")
        scores = [harness.run_json(*grid, "--out", "a.toml", "--memory", memory, cwd=self.dir)["lambda_scores"]
                  for memory in ("64M", "2G")]
        self.assertEqual(*scores)

    def test_rows_that_are_held_are_counted_once(self):
        data = self.write_rows("rows.h5", 400_000, 10)
        for memory in (64, 80, 96):
            self.run_within(memory, "learn", data, "--lambda", 0.1, "--max-iter", 2, "--out", f"{memory}.toml")


    def test_scores_of_all_actions_that_a_model_needs_are_counted(self):
        data = self.write_rows("many.h5", 300, 3, 10_000)
        args = ("learn", data, "--estimator", "dm", "--lambda", 0.1, "--max-iter", 1)
        self.assertEqual(self.run_within(64, *args, "--out", "out.toml"), "refused")
        message = harness.run(*args, "--out", "out.toml", "--memory", "64M", check=1, cwd=self.dir).stderr
        self.assertIn("an --estimator without a model", message)


class Threads(MemoryTest):
    def test_sixty_four_threads(self):
        self.run_within(64, "simulate", "pricing", "--rows", 300_000, "--seed", 1, "--out", "logs", "--threads", 64)
        data, policy = self.write_rows("rows.h5", 300_000, 5), self.write_policy("p.toml", 5)
        args = (data, "--threads", 64)
        self.assertEqual(self.run_within(64, "inspect", *args), "done")
        self.assertEqual(self.run_within(64, "evaluate", *args, "--policy", policy), "done")
        self.assertEqual(self.run_within(64, "learn", *args, "--lambda", 0.1, "--max-iter", 2, "--out", "l.toml"), "done")
        self.assertEqual(self.run_within(64, "act", policy, "--contexts", *args, "--seed", 1, "--out", "acted"), "done")
        study = ("study", "coverage", "--design", "near", "--logs", 100, "--rows", 20_000, "--threads", 64)
        self.assertEqual(self.run_within(64, *study), "done")


class Sweeps(MemoryTest):
    def test_runs_at_once(self):
        text = "seeds = 4\nrollouts = 5\nfirst_batch = 10000\nlambdas = [0.01]\n"
        (self.dir / "s.toml").write_text(f'environments = ["pricing"]\nmethods = ["crm", "scrm"]\n{text}')
        for memory, threads in ((64, 2), (128, 2), (128, 16)):
            self.run_within(memory, "sweep", "s.toml", "--out", f"{memory}-{threads}.h5", "--threads", threads)

    def test_runs_on_labelled_data(self):
        harness.need_data("yeast.arff")
        text = f'seeds = 4\nrollouts = 3\nlambdas = [0.01]\ndata_dir = "{harness.DATA_DIR}"\n'
        (self.dir / "s.toml").write_text(f'environments = ["yeast"]\nmethods = ["crm", "scrm"]\n{text}')
        for threads in (2, 16):
            self.run_within(64, "sweep", "s.toml", "--out", f"{threads}.h5", "--threads", threads)


class Labelled(MemoryTest):
    """Held in memory as a whole, so that it is refused before it is read where it does not fit."""

    def write_digits(self, rows, features):
        digits = np.random.default_rng(1).integers(0, 9, (rows, features))
        names = "".join(f"@attribute x{i} numeric\n" for i in range(features))
        lines = "\n".join(",".join(map(str, row)) + f",{'abc'[i % 3]}" for i, row in enumerate(digits.tolist()))
        (self.dir / "digits.arff").write_text(f"@relation digits\n{names}@attribute class {{a,b,c}}\n@data\n{lines}\n")
        (self.dir / "study.toml").write_text('environments = ["digits.arff"]\nlogs = 1\nrows = 100\n')
        keys = 'methods = ["baseline"]\nseeds = 1\nrollouts = 1\n'
        for kind in ("arff", "h5"):
            (self.dir / f"{kind}.toml").write_text(f'environments = ["./digits.{kind}"]\n{keys}')

    def test_more_numbers_than_fit_are_refused_by_every_command_that_holds_them(self):
        self.write_digits(60_000, 100)
        self.assertEqual(self.run_within(64, "sweep", "arff.toml", "--out", "sweep.h5"), "refused")
        self.assertEqual(self.run_within(64, "study", "estimators", "study.toml"), "refused")
        self.assertEqual(self.run_within(64, "import", "digits.arff", "--class", "class", "--out", "digits.h5"), "refused")
        self.assertEqual(self.run_within(256, "import", "digits.arff", "--class", "class", "--out", "digits.h5"), "done")
        self.assertEqual(self.run_within(64, "sweep", "h5.toml", "--out", "sweep.h5"), "refused")
        self.assertEqual(self.run_within(64, "inspect", "digits.h5"), "refused")
        self.assertEqual(self.run_within(128, "inspect", "digits.h5"), "done")

    def test_what_fits_is_done(self):
        self.write_digits(6_000, 100)
        self.assertEqual(self.run_within(64, "sweep", "arff.toml", "--out", "sweep.h5"), "done")
        self.assertEqual(self.run_within(64, "study", "estimators", "study.toml"), "done")
        self.assertEqual(self.run_within(64, "import", "digits.arff", "--class", "class", "--out", "digits.h5"), "done")
        self.assertEqual(self.run_within(64, "inspect", "digits.h5"), "done")


class Texts(MemoryTest):
    def test_streams_without_an_end_are_refused(self):
        data = self.write_rows("rows.h5", 10, 3)
        cases = {
            "libsvm": ("1 1:0.5 2:0.25", "import", "/dev/stdin", "--format", "libsvm", "--out", "o.h5"),
            "arff": ("1,2,3", "import", "/dev/stdin", "--format", "arff", "--labels", 1, "--out", "o.h5"),
            "policy": ("[1, 2, 3],", "evaluate", data, "--policy", "/dev/stdin"),
            "comment": ("# nothing", "act", "/dev/stdin", "--contexts", data, "--seed", 1, "--out", "o"),
            "sweep": ("seeds = 1", "sweep", "/dev/stdin", "--out", "o.h5"),
        }
        for name, (line, *args) in cases.items():
            with self.subTest(text=name):
                self.assertEqual(self.run_within(64, *args, endless=line), "refused")

    def test_a_line_without_an_end_is_refused(self):
        args = ("import", "line.csv", "--format", "csv", "--action-kind", "continuous", "--context", "a", "--action", "b", "--loss", "c",
                "--propensity", "d", "--out", "o.h5")
        for text in ("1," * (24 * MIB), "x" * (48 * MIB)):
            (self.dir / "line.csv").write_text(text)
            self.assertEqual(self.run_within(64, *args), "refused")

    def test_rows_of_a_csv_file_too_wide_for_a_block_are_refused(self):
        names = ",".join(f"c{i}" for i in range(20_000))
        (self.dir / "wide.csv").write_text(names + "\n" + ",".join(["1"] * 20_000) + "\n")
        args = ("import", "wide.csv", "--format", "csv", "--action-kind", "continuous", "--context", "c0:c19996",
                "--action", "c19997", "--loss", "c19998", "--propensity", "c19999", "--out", "o.h5")
        self.assertEqual(self.run_within(64, *args), "refused")
        contexts = ("--contexts", "wide.csv", "--context", "c0:c19999", "--seed", 1, "--out", "acted")
        self.assertEqual(self.run_within(64, "act", self.write_policy("p.toml", 20_000), *contexts), "refused")

    def test_a_policy_that_cannot_be_parsed_within_the_budget_is_refused(self):
        data = self.write_rows("rows.h5", 10, 3, 400_000)
        policy = self.write_policy("p.toml", 3, 400_000)
        self.assertEqual(self.run_within(64, "evaluate", data, "--policy", policy), "refused")


class Deployments(MemoryTest):
    def test_many_actions(self):
        (self.dir / "uniform.toml").write_text('kind = "uniform"\n')
        for actions in (4_000, 10_000):
            data = self.write_rows("rows.h5", 2_100, 3, actions)
            policy = self.write_policy("p.toml", 3, actions)
            with self.subTest(actions=actions):
                act = ("act", policy, "--contexts", data, "--seed", 1, "--out", f"softmax-{actions}")
                self.assertEqual(self.run_within(64, *act), "done")
                act = ("act", "uniform.toml", "--contexts", data, "--seed", 1, "--out", f"uniform-{actions}",
                       "--action-kind", "categorical", "--num-actions", actions)
                self.assertEqual(self.run_within(64, *act), "done")
                simulate = ("simulate", "categorical", "--actions", actions, "--rows", 2_100, "--out", f"logs-{actions}")
                self.assertEqual(self.run_within(64, *simulate), "done")

    def test_many_rows_of_few_numbers(self):
        data, policy = self.write_rows("rows.h5", 150_000, 5), self.write_policy("p.toml", 5)
        act = ("act", policy, "--contexts", data, "--seed", 1, "--out", "acted")
        self.assertEqual(self.run_within(64, *act), "done")


class Advice(MemoryTest):
    def message(self, *args):
        return harness.run(*args, "--memory", "64M", check=1, cwd=self.dir).stderr

    def test_what_is_advised_helps(self):
        simulate = ("simulate", "pricing", "--out", "logs", "--rows")
        self.assertIn("fewer --chunk-rows", self.message(*simulate, 3_000_000, "--chunk-rows", 3_000_000))
        message = self.message(*simulate, 3_000, "--sparse-features", 200_000, "--density", 0.5)
        self.assertNotIn("--chunk-rows", message)
        self.assertIn("or sparser contexts", message)
        data, policy = self.write_rows("wide.h5", 100, 20_000), self.write_policy("wide.toml", 20_000)
        message = self.message("evaluate", data, "--policy", policy)
        self.assertNotIn("chunks", message)
        self.assertIn("or data with fewer features", message)
        # Nor is the share of rows held out to blame for what does not fit without it.
        learn = ("learn", "--lambda", 0.1, "--max-iter", 1, "--out", "new.toml")
        message = self.message(*learn, data)
        self.assertNotIn("--holdout", message)
        few = self.write_rows("few.h5", 100, 3)
        message = self.message(*learn, few, "--features", "fourier", "--width", 8192)
        self.assertIn("a smaller --width", message)

    def test_a_refusal_takes_no_more_than_the_budget_either(self):
        data, policy = self.write_rows("wide.h5", 100, 20_000), self.write_policy("wide.toml", 20_000)
        self.assertEqual(self.run_within(64, "evaluate", data, "--policy", policy), "refused")
        self.assertEqual(self.run_within(64, "learn", data, "--lambda", 0.1, "--out", "new.toml"), "refused")
        self.assertEqual(self.run_within(64, "inspect", data), "refused")


class Many(MemoryTest):
    def test_more_threads_than_their_stacks_fit(self):
        self.write_rows("rows.h5", 100, 3)
        self.write_policy("p.toml", 3)
        self.assertEqual(self.run_within(64, "evaluate", "rows.h5", "--policy", "p.toml", "--threads", 2000), "done")

    def test_a_policy_over_millions_of_sparse_features(self):
        self.assertEqual(self.run_within(64, "simulate", "pricing", "--rows", 100, "--sparse-features", 20_000_000,
                                         "--density", 1e-6, "--out", "wide"), "refused")


if __name__ == "__main__":
    harness.main()
