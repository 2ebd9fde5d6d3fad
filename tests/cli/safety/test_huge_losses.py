"""Losses near the largest double: numbers that cannot be given are left out with the reason, never shown as nan."""
# labels: fast cli

import json
import re

import numpy as np

import harness
from harness import ProgramTest, run, run_json

ROWS = 60
INTERVALS = ("normal", "student", "bernstein", "bootstrap")
LOSSES = {
    "equal": np.full(ROWS, 1e308),
    "both signs": np.where(np.arange(ROWS) % 2, 1.7e308, -1.7e308),
    "one": np.where(np.arange(ROWS) == 7, 1.7e308, 1.0),
    "squares": np.where(np.arange(ROWS) % 2, 1e200, 3e200),
    "largest": np.where(np.arange(ROWS) % 3, 1.7976931348623157e308, 0.0),
}


class HugeLosses(ProgramTest):
    def continuous(self, loss):
        policy = self.dir / "p.toml"
        policy.write_text('kind = "gaussian"\nscale = 0.8\ntheta = [0.1, 0.2, 0.0, 0.0]\n')
        return harness.gaussian_log(self.dir / "c.h5", rows=ROWS, replace={"loss": loss}), policy

    def multilabel(self, loss):
        policy = self.dir / "m.toml"
        policy.write_text('kind = "multilabel"\ntheta = [[0.1, 0.2], [-0.3, 0.4]]\n')
        random = np.random.default_rng(1)
        data = harness.write_log(self.dir / "m.h5", action_kind="multilabel", context=random.normal(size=(ROWS, 1)),
                                 action=random.integers(0, 2, (ROWS, 2)).astype(np.uint8), loss=loss,
                                 label_propensity=np.full((ROWS, 2), 0.5))
        return data, policy

    def check_estimates(self, report):
        """Whatever is missing is explained, by the estimator's name."""
        policy = report["policies"][0]
        said = " ".join(policy["diagnostics"]["warnings"])
        for estimate in policy["estimates"]:
            missing = [key for key in ("value", "stderr", "low", "high") if estimate[key] is None]
            if missing:
                self.assertIn(estimate["estimator"], said, (missing, said))
                self.assertIn("beyond the largest number", said)
                self.assertIn("divide all losses by a constant", said)
            if estimate["value"] is None:
                self.assertEqual(len(missing), 4)

    def test_evaluate_says_what_is_missing_for_every_estimator_and_interval(self):
        for name, loss in LOSSES.items():
            for make in (self.continuous, self.multilabel):
                data, policy = make(loss)
                for interval in INTERVALS:
                    with self.subTest(losses=name, kind=make.__name__, interval=interval):
                        args = ("evaluate", data, "--policy", policy, "--interval", interval, "--replicates", 20)
                        report = run_json(*args)
                        self.check_estimates(report)
                        estimators = [e["estimator"] for e in report["policies"][0]["estimates"]]
                        self.assertEqual("additive" in estimators, make == self.multilabel)
                        done = run(*args)
                        text = done.stdout + done.stderr
                        self.assertIsNone(re.search(r"\b(nan|inf)\b", text), text)
                        self.assertIn("beyond the largest number", text)

    def test_the_range_of_the_logged_losses_is_right(self):
        for name, loss in LOSSES.items():
            logged = run_json("evaluate", *self.with_policy(loss))["logged_loss"]
            self.assertEqual((logged["min"], logged["max"]), (loss.min(), loss.max()), name)

    def with_policy(self, loss):
        data, policy = self.continuous(loss)
        return data, "--policy", policy

    def test_the_mean_of_the_logged_losses_is_a_number_like_them_and_the_same_everywhere(self):
        for name, loss in LOSSES.items():
            with self.subTest(losses=name):
                data, *policy = self.with_policy(loss)
                report, found = run_json("evaluate", data, *policy), run_json("inspect", data)
                expected = float(np.sum(loss / ROWS))  # divided first: the sum itself is beyond a double
                for mean in (report["logged_loss"]["mean"], found["loss"]["mean"]):
                    self.assertLessEqual(abs(mean / 2**10 - expected / 2**10), 1e-13 * np.abs(loss / 2**10).max())
                shown = re.search(r"mean loss of the logged actions: (\S+)", run("evaluate", data, *policy).stdout)[1]
                self.assertNotIn("overflow", shown)

    def test_the_message_has_one_name_or_several(self):
        data, *policy = self.with_policy(LOSSES["equal"])
        for names, words in (("ips", "the value of ips is beyond the largest number: it is left out"),
                             ("ips,snips", "the values of ips, snips are beyond the largest number: they are left out")):
            said = run("evaluate", data, *policy, "--estimator", names).stderr
            self.assertIn(words, said)

    def test_inspect_says_it_too(self):
        for name, loss in LOSSES.items():
            if name == "equal":
                continue  # they have a mean, and no spread
            with self.subTest(losses=name):
                data, _ = self.continuous(loss)
                remarks = " ".join(run_json("inspect", data)["remarks"])
                self.assertIn("beyond the largest number", remarks)
                text = run("inspect", data).stdout
                self.assertIsNone(re.search(r"\b(nan|inf)\b", text), text)
                self.assertIn("overflow", text)

    def test_learn_ends_with_a_message_and_writes_nothing(self):
        for name, loss in LOSSES.items():
            for rule in ("0.1", "0", "auto"):
                with self.subTest(losses=name, rule=rule):
                    data, _ = self.continuous(loss)
                    out = self.dir / "out.toml"
                    done = run("learn", data, "--kind", "gaussian", "--lambda", rule, "--out", out, check=1)
                    self.assertRegex(done.stderr, "beyond the largest number|every loss is")
                    self.assertFalse(out.exists())

    def test_large_losses_that_can_be_squared_are_as_good_as_small_ones(self):
        small = run_json("evaluate", *self.with_policy(np.linspace(-1, 2, ROWS)))["policies"][0]
        large = run_json("evaluate", *self.with_policy(np.linspace(-1, 2, ROWS) * 2.0**400))["policies"][0]
        self.assertEqual(large["diagnostics"]["warnings"], small["diagnostics"]["warnings"])
        for a, b in zip(small["estimates"], large["estimates"]):
            for key in ("value", "stderr", "low", "high"):
                self.assertAlmostEqual(a[key], b[key] / 2.0**400, delta=1e-12, msg=json.dumps([a, b]))


if __name__ == "__main__":
    harness.main()
