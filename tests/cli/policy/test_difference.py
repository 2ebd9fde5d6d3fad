"""evaluate: a policy minus what runs now, paired on the same rows."""
# labels: fast cli

import json

import numpy as np

import harness
from harness import ProgramTest, gaussian_log, run, run_json, write_log

ROWS = 3000
KINDS = ("normal", "student", "bernstein", "bootstrap")


class Differences(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        self.p = random.uniform(0.2, 0.8, ROWS)
        self.y = random.normal(3, 1, ROWS)
        self.new, self.old = (self.p * random.uniform(0.5, 1.5, ROWS) for _ in range(2))
        self.data = write_log(self.dir / "a.h5", action=random.normal(size=ROWS), loss=self.y, propensity=self.p,
                              targets={"new": self.new, "old": self.old})
        self.args = ("evaluate", self.data, "--target", "new", "--target", "old")

    def differences(self, *options):
        found = run_json(*self.args, *options)["policies"]
        return [{one["estimator"]: one for one in policy["difference"]["estimates"]} if policy["difference"] else None
                for policy in found]

    def test_are_to_the_logged_actions_unless_a_baseline_is_named(self):
        w = self.new / self.p
        for options in (("--interval", "normal"), ("--interval", "normal", "--baseline", "logged")):
            report = run_json(*self.args, *options)
            self.assertEqual([policy["difference"]["baseline"] for policy in report["policies"]], ["logged"] * 2)
            new = self.differences(*options)[0]
            self.assertEqual(list(new), ["ips", "clipped", "snips", "ips-ix"])
            d = (w - 1) * self.y
            self.assertAlmostEqual(new["ips"]["value"], d.mean(), 12)
            self.assertAlmostEqual(new["ips"]["stderr"], d.std(ddof=1) / np.sqrt(ROWS), 12)
            self.assertAlmostEqual(new["ips"]["high"] - new["ips"]["value"], 1.959963984540054 * new["ips"]["stderr"], 12)
            self.assertAlmostEqual(new["clipped"]["value"], ((np.minimum(w, np.sort(w)[-5]) - 1) * self.y).mean(), 12)
            s = (w * self.y).sum() / w.sum()
            d = w * (self.y - s) / w.mean() - (self.y - self.y.mean())
            self.assertAlmostEqual(new["snips"]["value"], s - self.y.mean(), 12)
            self.assertAlmostEqual(new["snips"]["stderr"], np.sqrt((d**2).sum()) / ROWS, 12)

    def test_are_to_another_policy_and_narrower_than_two_intervals(self):
        w, u = self.new / self.p, self.old / self.p
        new, old = self.differences("--baseline", "old")
        self.assertIsNone(old)
        d = (w - u) * self.y
        self.assertAlmostEqual(new["ips"]["value"], d.mean(), 12)
        self.assertAlmostEqual(new["ips"]["stderr"], d.std(ddof=1) / np.sqrt(ROWS), 12)
        policy = self.dir / "p.toml"
        policy.write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.1]\n')
        both = run_json(*self.args, "--policy", policy, "--baseline", policy)["policies"]
        self.assertEqual([one["difference"] and one["difference"]["baseline"] for one in both],
                         [None, str(policy), str(policy)])

    def test_have_every_kind_of_interval(self):
        plain = self.differences()[0]
        for kind in KINDS:
            for name, one in self.differences("--interval", kind)[0].items():
                with self.subTest(kind=kind, estimator=name):
                    self.assertAlmostEqual(one["value"], plain[name]["value"], 14)
                    self.assertLess(one["low"], one["value"])
                    self.assertLess(one["value"], one["high"])
                    wide = (one["high"] - one["low"]) / (plain[name]["high"] - plain[name]["low"])
                    self.assertGreater(wide, 0.9 if kind != "bernstein" else 1.1)
                    if kind != "bernstein":
                        self.assertLess(wide, 1.1)

    def test_are_shown_in_a_table_that_says_what_is_compared(self):
        text = run(*self.args).stdout
        self.assertIn("\npolicy minus the mean loss of the logged actions, paired on the same rows:\n", text)
        self.assertIn("policy minus old, paired", run(*self.args, "--baseline", "old").stdout)

    def test_a_baseline_that_is_not_evaluated_is_answered_with_those_that_are(self):
        said = run(*self.args, "--baseline", "odl", check=2).stderr
        self.assertIn("'odl' is none of the policies that are evaluated; choose among logged, new, old", said)
        self.assertIn("--baseline is empty", run(*self.args, "--baseline", "", check=2).stderr)

    def test_to_the_only_policy_are_missed_with_a_word(self):
        def said(*options):
            return run("evaluate", self.data, *options, "--estimator", "ips").stderr
        words = "new is the --baseline and the only policy, so there is no difference to show"
        self.assertIn(words, said("--target", "new", "--baseline", "new"))
        report = run_json("evaluate", self.data, "--target", "new", "--baseline", "new")
        self.assertIn(words, report["warnings"][0])
        self.assertNotIn("--baseline", said("--target", "new", "--target", "old", "--baseline", "new"))
        self.assertNotIn("--baseline", said("--target", "new", "--baseline", "logged"))

    def test_of_rewards_are_rewards(self):
        rewards = write_log(self.dir / "rewards.h5", action=np.zeros(ROWS), loss=self.y, propensity=self.p,
                            targets={"new": self.new, "old": self.old}, attributes={"outcome": "reward"})
        as_losses = self.differences()[0]
        found = run_json("evaluate", rewards, "--target", "new")["policies"][0]["difference"]["estimates"]
        for one in found:
            for field in ("value", "stderr", "low", "high"):
                self.assertAlmostEqual(one[field], as_losses[one["estimator"]][field], 12)
        self.assertIn("minus the mean reward of the logged actions",
                      run("evaluate", rewards, "--target", "new").stdout)

    def test_leave_bad_rows_out(self):
        p = self.p.copy()
        p[::7] = -1
        bad = write_log(self.dir / "bad.h5", action=np.zeros(ROWS), loss=self.y, propensity=p,
                        targets={"new": self.new, "old": self.old})
        kept = p > 0
        found = run_json("evaluate", bad, "--target", "new", "--skip-bad-rows")["policies"][0]["difference"]
        d = ((self.new / self.p - 1) * self.y)[kept]
        self.assertAlmostEqual(found["estimates"][0]["value"], d.mean(), 12)
        self.assertAlmostEqual(found["estimates"][0]["stderr"], d.std(ddof=1) / np.sqrt(kept.sum()), 12)

    def test_of_one_row_have_no_spread_and_of_no_weight_no_ratio(self):
        one = write_log(self.dir / "one.h5", action=[0.5], loss=[2.0], propensity=[0.5], targets={"new": [0.25]})
        found = run_json("evaluate", one, "--target", "new")["policies"][0]["difference"]["estimates"]
        self.assertEqual([e["value"] for e in found[:3]], [-1.0, -1.0, 0.0])
        self.assertEqual({e[field] for e in found for field in ("stderr", "low", "high")}, {None})
        never = write_log(self.dir / "never.h5", action=[0.5] * 3, loss=[1.0, 2.0, 3.0], propensity=[0.5] * 3,
                          targets={"new": [0.0] * 3})
        found = run_json("evaluate", never, "--target", "new")["policies"][0]["difference"]["estimates"]
        self.assertEqual([e["value"] for e in found[:3]], [-2.0, -2.0, None])
        self.assertIsNotNone(found[0]["stderr"])

    def test_are_the_same_bits_at_any_number_of_threads(self):
        data = gaussian_log(self.dir / "many.h5", rows=30_000)
        policies = []
        for name, centre in (("a", 0.2), ("b", -0.1)):
            path = self.dir / f"{name}.toml"
            path.write_text(f'kind = "gaussian"\nscale = 1.0\ntheta = [{centre}, 0.1, 0.0, 0.0]\n')
            policies += ["--policy", path]
        for baseline in ("logged", self.dir / "b.toml"):
            for kind in ("normal", "bootstrap"):
                found = [run_json("evaluate", data, *policies, "--baseline", baseline, "--interval", kind, "--replicates",
                                  50, "--threads", threads)["policies"] for threads in (1, 2, 5)]
                self.assertEqual(json.dumps(found[0]), json.dumps(found[1]))
                self.assertEqual(json.dumps(found[0]), json.dumps(found[2]))

    def test_of_several_rollouts_have_those_of_multiple_importance(self):
        for rollout, centre in enumerate((0.0, 0.5)):
            random = np.random.default_rng(rollout)
            action = random.normal(centre, 1, 400)
            write_log(self.dir / f"r{rollout}.h5", rollout=rollout, action=action, loss=np.cos(action),
                      propensity=np.exp(-(action - centre)**2 / 2) / np.sqrt(2 * np.pi))
            (self.dir / f"l{rollout}.toml").write_text(f'kind = "gaussian"\nscale = 1.0\ntheta = [{centre}]\n')
        new = self.dir / "new.toml"
        new.write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.2]\n')
        report = run_json("evaluate", self.dir / "r0.h5", self.dir / "r1.h5", "--policy", new, "--logging-policy",
                          self.dir / "l0.toml", "--logging-policy", self.dir / "l1.toml")
        own = {one["estimator"]: one for one in report["policies"][0]["estimates"]}
        for one in report["policies"][0]["difference"]["estimates"]:
            self.assertAlmostEqual(one["value"], own[one["estimator"]]["value"] - report["logged_loss"]["mean"], 12)
            self.assertGreater(one["stderr"], 0)
        self.assertEqual(one["estimator"], "mis-balance")
        self.assertGreater(own["mis-naive"]["stderr"], 0)


if __name__ == "__main__":
    harness.main()
