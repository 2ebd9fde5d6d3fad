"""Messages: what a file or a command line holds is shown, and nothing of it steers the terminal."""
# labels: fast cli

import json
import os
import re
import subprocess

import numpy as np

import harness
from harness import ProgramTest, run
from terminal import on_terminal

STYLES = re.compile(r"\x1b\[(0|1|2|31|32|33|1;31)m|\r\x1b\[K")  # what the program itself sends to a terminal
EVIL = "a\x1b]0;owned\x07\x1b[31mred\x9b2J\x7f\u009b5m"
SHOWN = r"a\x1b]0;owned\x07\x1b[31mred"


class Messages(ProgramTest):
    def assert_harmless(self, text, shown=SHOWN):
        self.assertIn(shown, STYLES.sub("", text))
        left = STYLES.sub("", text)
        controls = [c for c in left if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or 0xDC80 <= ord(c) < 0xDD00]
        self.assertEqual(controls, [], repr(left))

    def check(self, *args, shown=SHOWN):
        """On a terminal and off it."""
        args = [str(a) for a in args]
        done = subprocess.run([harness.PROGRAM, *args], capture_output=True)
        self.assert_harmless((done.stdout + done.stderr).decode("utf-8", "surrogateescape"), shown)
        self.assert_harmless(on_terminal(*args), shown)

    def csv(self, text):
        path = self.dir / "in.csv"
        path.write_text(text)
        return ("import", path, "--format", "csv", "--out", self.dir / "out", "--loss", "l", "--propensity", "p",
                "--action-kind", "continuous")

    def test_a_header_of_a_csv_file(self):
        self.check(*self.csv(f"{EVIL},l,p\nnone,2,0.5\n"), "--context", "a*", "--action", "l", shown="a\\x1b]0;owned")

    def test_a_value_of_a_csv_file(self):
        self.check(*self.csv(f"x,c,l,p\n{EVIL},1,2,0.5\n"), "--context", "x", "--action", "c", shown="owned")

    def test_an_argument(self):
        self.check(EVIL)
        self.check("inspect", self.dir / EVIL)
        self.check("inspect", "here.h5", "--" + EVIL)

    def test_names_in_results(self):
        target = harness.gaussian_log(self.dir / "t.h5", rows=10, targets={EVIL: np.full(10, 0.3)})
        self.check("inspect", target)
        self.check("evaluate", target, "--target", EVIL)
        policy = self.dir / (EVIL + ".toml")
        policy.write_text('kind = "gaussian"\nscale = 1e-9\ntheta = [0.0, 0.0, 0.0, 0.0]\n')
        self.check("evaluate", target, "--policy", policy)

    def test_a_policy_and_a_sweep_file(self):
        policy = self.dir / "p.toml"
        policy.write_text('kind = "a\\u001b]0;owned\\u0007\\u001b[31mred"\n')
        data = harness.gaussian_log(self.dir / "t.h5", rows=10)
        self.check("evaluate", data, "--policy", policy)
        sweep = self.dir / "s.toml"
        sweep.write_text('environments = ["pricing"]\nmethods = ["a\\u001b]0;owned\\u0007\\u001b[31mred"]\n')
        self.check("sweep", sweep, "--out", self.dir / "r.h5")

    def test_letters_of_every_alphabet_stay(self):
        self.check("inspect", self.dir / "préférence-行動-🙂.h5", shown="préférence-行動-🙂.h5")


class Json(ProgramTest):
    def test_names_that_are_no_utf_8_are_no_reason_to_fail(self):
        data = harness.gaussian_log(self.dir / "d.h5", rows=10)
        policy = os.fsencode(self.dir) + b"/p\xff.toml"
        with open(policy, "w") as file:
            file.write('kind = "gaussian"\nscale = 1.0\ntheta = [0.0, 0.0, 0.0, 0.0]\n')
        done = subprocess.run([harness.PROGRAM, "evaluate", data, "--policy", policy, "--json"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("p\ufffd.toml", json.loads(done.stdout)["policies"][0]["name"])


class NumActions(ProgramTest):
    def test_a_number_of_actions_beyond_all_machines_is_called_too_large(self):
        for actions in (2**62, 2**31, 0, -5):
            data = harness.write_log(self.dir / "d.h5", action_kind="categorical", num_actions=actions,
                                     context=np.zeros((3, 2)), action=np.zeros(3, np.int32), loss=np.zeros(3),
                                     propensity=np.full(3, 0.5))
            said = run("inspect", data, check=1).stderr
            self.assertIn(f"num_actions: is {actions}, it must lie between 1 and 2147483647", said)


if __name__ == "__main__":
    harness.main()
