"""Reports: warnings on stderr, one line of JSON, singulars, and bars that leave nothing behind."""
# labels: fast cli

import json
import re

import numpy as np

import harness
from harness import ProgramTest, few_under_sanitizers, gaussian_log, run, write_log
from terminal import on_terminal

GAUSSIAN = 'kind = "gaussian"\nscale = {}\ntheta = {}\n'


class Warnings(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = gaussian_log(self.dir / "a.h5", rows=500)
        self.far = self.dir / "far.toml"
        self.far.write_text(GAUSSIAN.format(0.05, [4.0, 0.0, 0.0, 0.0]))

    def commands(self):
        return {"far.toml: ": ("evaluate", self.data, "--policy", self.far),
                "new.toml: ": ("learn", self.data, "--kind", "gaussian", "--lambda", 0, "--max-iter", 1, "--overwrite",
                               "--out", self.dir / "new.toml")}

    def test_go_to_stderr_with_the_name_of_the_policy(self):
        for name, args in self.commands().items():
            for form in ((), ("--json",)):
                with self.subTest(args=args, form=form):
                    done = run(*args, *form)
                    self.assertRegex(done.stderr, rf"(?m)^warning: \S*{name}")
                    if not form:
                        self.assertNotIn("warning", done.stdout)

    def test_are_silent_when_quiet_and_stay_in_the_json(self):
        for args in self.commands().values():
            self.assertEqual(run(*args, "--quiet").stderr, "")
            done = run(*args, "--quiet", "--json")
            self.assertEqual(done.stderr, "")
            found = json.loads(done.stdout)
            found = found["policies"][0]["diagnostics"] if "diagnostics" in str(found) else found
            self.assertTrue(found["warnings"])


class Forms(ProgramTest):
    def test_json_is_one_line_of_every_command(self):
        sweep = self.dir / "s.toml"
        sweep.write_text('environments = ["pricing"]\nmethods = ["crm"]\nseeds = 1\nrollouts = 1\nfirst_batch = 50\n'
                         'lambdas = [1.0]\n')
        policy = self.dir / "p.toml"
        policy.write_text(GAUSSIAN.format(1.0, [0.0, 0.0, 0.0, 0.0]))
        table = self.dir / "t.csv"
        table.write_text("x,a,l,p\n1,2,3,0.5\n")
        data = gaussian_log(self.dir / "a.h5", rows=100)
        for args in (("simulate", "pricing", "--rows", 10, "--out", self.dir / "sim"), ("inspect", data),
                     ("evaluate", data, "--policy", policy),
                     ("learn", data, "--kind", "gaussian", "--lambda", 1, "--out", self.dir / "n.toml"),
                     ("act", policy, "--contexts", data, "--seed", 1, "--out", self.dir / "acted"),
                     ("import", table, "--format", "csv", "--context", "x", "--action", "a", "--loss", "l",
                      "--propensity", "p", "--action-kind", "continuous", "--out", self.dir / "i.h5"),
                     ("sweep", sweep, "--out", self.dir / "r.h5")):
            with self.subTest(command=args[0]):
                out = run(*args, "--json").stdout
                self.assertEqual(out.count("\n"), 1)
                json.loads(out)

    def test_json_of_evaluate_names_its_interval(self):
        data = gaussian_log(self.dir / "a.h5", rows=100)
        policy = self.dir / "p.toml"
        policy.write_text(GAUSSIAN.format(1.0, [0.0, 0.0, 0.0, 0.0]))
        args = ("evaluate", data, "--policy", policy, "--json")
        self.assertEqual(json.loads(run(*args).stdout)["interval"], {"kind": "auto", "level": 0.95})
        for kind in ("student", "bernstein", "bootstrap"):
            found = json.loads(run(*args, "--interval", kind, "--level", 0.9).stdout)
            self.assertEqual((found["interval"]["kind"], found["interval"]["level"]), (kind, 0.9))

    def test_json_has_no_negative_zero(self):
        data = gaussian_log(self.dir / "a.h5", rows=50, replace={"loss": np.zeros(50)})
        policy = self.dir / "p.toml"
        policy.write_text(GAUSSIAN.format(1.0, [0.0, 0.0, 0.0, 0.0]))
        for args in (("inspect", data), ("evaluate", data, "--policy", policy)):
            self.assertNotRegex(run(*args, "--reward", "--json").stdout, r"-0\.0[,}\]]")

    def test_one_is_not_a_plural(self):
        one = write_log(self.dir / "one.h5", context=[[1.0]], action=[0.5], loss=[1.0], propensity=[0.4])
        policy = self.dir / "p.toml"
        policy.write_text(GAUSSIAN.format(1.0, [0.0, 0.0]))
        table = self.dir / "t.csv"
        table.write_text("x,a,l,p\n1,0,3,0.5\nnone,0,3,0.5\n")
        bad = write_log(self.dir / "bad.h5", context=[[1.0]] * 2, action=[0.5] * 2, loss=[1.0] * 2, propensity=[0.4, -1])
        said = ""
        for args in (("inspect", one), ("evaluate", one, "--policy", policy, "--threads", 1),
                     ("evaluate", bad, "--policy", policy, "--skip-bad-rows"),
                     ("inspect", bad, "--skip-bad-rows"),
                     ("learn", gaussian_log(self.dir / "many.h5"), "--kind", "gaussian", "--lambda", 1, "--max-iter", 1,
                      "--out", self.dir / "n.toml"),
                     ("act", policy, "--contexts", one, "--seed", 1, "--out", self.dir / "acted"),
                     ("simulate", "pricing", "--rows", 1, "--out", self.dir / "sim"),
                     ("import", table, "--format", "csv", "--context", "x", "--action", "a", "--loss", "l",
                      "--propensity", "p", "--action-kind", "categorical", "--num-actions", 1, "--skip-bad-rows",
                      "--out", self.dir / "i.h5")):
            done = run(*args)
            said += done.stdout + done.stderr
        self.assertEqual(re.findall(r".*(?<![\d.,])1 (?:bad |training )?(?:rows|features|actions|labels|shards|threads|"
                                    r"iterations|evaluations|rollouts)\b(?!/s).*", said), [])
        self.assertIn("1 bad row was left out", said)


class Bars(ProgramTest):
    def test_that_of_import_moves_forward_and_is_gone_before_anything_is_said(self):
        table = self.dir / "t.csv"
        rows = 400_000
        actions = np.arange(rows) % 3
        table.write_text("x,a,l,p\n" + "".join(f"0.5,{a},1.25,0.25\n" for a in actions) + "bad,0,1,0.5\n")
        said = on_terminal("import", str(table), "--format", "csv", "--context", "x", "--action", "a", "--loss", "l",
                           "--propensity", "p", "--action-kind", "categorical", "--skip-bad-rows", "--out",
                           str(self.dir / "i.h5"))
        shares = [int(share) for share in re.findall(r"import [━─]* +(\d+) %", said)]
        self.assertEqual(shares, sorted(shares))  # a machine fast enough shows none
        self.assertRegex(said, r"\r\x1b\[K(\x1b\[33m)?warning:")
        shown = re.sub(r"[^\n]*\r\x1b\[K", "", said)
        self.assertRegex(shown.splitlines()[0], r"^(\x1b\[33m)?warning:")
        self.assertNotIn("━", shown)

    def test_that_of_learning_says_how_long_it_takes_and_never_goes_back(self):
        logs = self.dir / "logs"
        run("simulate", "categorical", "--rows", few_under_sanitizers(1_500, 10_000), "--actions", 30, "--seed", 1, "--out", logs)
        said = on_terminal("learn", str(logs), "--max-iter", "40", "--out", str(self.dir / "p.toml"))
        bars = re.findall(r"learning [━─]+ +(\d+) %  (\d[\d.]* (?:s|min)[^\r]*) left", said)
        self.assertGreater(len(bars), 3)  # ten a second, and this takes a second or more
        shares = [int(share) for share, _ in bars]
        self.assertEqual(shares, sorted(shares))
        shown = re.sub(r"[^\n]*\r\x1b\[K", "", said)
        self.assertRegex(re.sub(r"\x1b\[\d*m", "", shown), "^(warning|lambda by three random splits)")
        self.assertNotIn("━", shown)
        stopped = on_terminal("learn", str(logs), "--restarts", "1000", "--out", str(self.dir / "r.toml"), until=" left")
        self.assertTrue(stopped.endswith("\r\x1b[K"), stopped[-200:])  # the prompt begins on an empty line
        quiet = on_terminal("learn", str(logs), "--lambda", "1", "--quiet", "--out", str(self.dir / "q.toml"))
        self.assertNotIn("━", quiet)


if __name__ == "__main__":
    harness.main()
