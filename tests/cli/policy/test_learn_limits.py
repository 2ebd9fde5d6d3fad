"""What scrm learn cannot know from its rows: levels, actions and distances that were never logged, and what it says."""
# labels: fast cli

import re

import numpy as np

from harness import ProgramTest, main, run, run_json, write_log


def normal_density(a, mean, scale):
    return np.exp(-0.5 * ((a - mean) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))


class UnseenLevels(ProgramTest):
    """Rewards depend on age and item; the city is noise. Cities to come are like those that were."""

    options = ("--action-kind", "categorical", "--action", "item", "--reward-column", "revenue", "--propensity", "p")

    def month(self, name, cities, seed):
        random, n = np.random.default_rng(seed), 8000
        age, city, item = random.integers(18, 80, n), random.choice(cities, n), random.integers(0, 3, n)
        value = 1 + np.array([0.02, 0.0, -0.02])[item] * (age - 49) + 0.5 * random.normal(size=n)
        lines = ["age,city,item,revenue,p"]
        lines += [f"{a},{c},{('red', 'green', 'blue')[i]},{v:.4f},{1 / 3}" for a, c, i, v in zip(age, city, item, value)]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return self.dir / name

    def test_are_treated_like_the_average_of_those_that_were_seen(self):
        old = ["Paris", "Rome", "Oslo", "Berlin"]
        recipe, policy = self.dir / "encoding.toml", self.dir / "policy.toml"
        logs, months = self.dir / "january.h5", []
        run("import", self.month("january.csv", old, 1), "--out", logs, "--context", "age", "--categorical", "city",
            "--encoding", recipe, *self.options)
        for name, cities in (("old", old), ("new", ["Madrid"])):
            months.append(self.dir / f"{name}.h5")
            run("import", self.month(f"{name}.csv", cities, 2), "--out", months[-1], "--encoding", recipe, *self.options)
        # The best policy earns 1.31, the logged actions 1.00.
        for choice in (["--lambda", 1], ["--lambda", 1, "--estimator", "snips"], ["--lambda", 1, "--estimator", "dm"]):
            report = run_json("learn", logs, "--out", policy, "--overwrite", *choice)
            earned = [run_json("evaluate", month, "--policy", policy, "--estimator", "snips")["policies"][0]["estimates"]
                      [0]["value"] for month in months]
            self.assertGreater(earned[0], 1.2, choice)
            self.assertAlmostEqual(earned[0], earned[1], delta=0.1, msg=str(choice))
            self.assertEqual(report["constant_features"], ["city=other"])
        said = run("learn", logs, "--out", policy, "--overwrite", "--lambda", 1).stdout
        self.assertIn("note: city=other never varies in these rows: the policy does nothing with it", said)
        again = run("learn", logs, "--out", self.dir / "next.toml", "--start", policy, "--lambda", 1).stdout
        self.assertIn("city=other never varies in these rows: nothing is learned about it", again)

    def test_of_rows_without_any_there_is_no_note(self):
        random = np.random.default_rng(0)
        log = write_log(self.dir / "l.h5", action_kind="categorical", num_actions=2, context=random.normal(size=(500, 2)),
                        action=random.integers(0, 2, 500).astype(np.int32), loss=random.normal(size=500),
                        propensity=np.full(500, 0.5))
        self.assertNotIn("note", run("learn", log, "--lambda", 1, "--out", self.dir / "p.toml").stdout)
        self.assertNotIn("constant_features", run_json("learn", log, "--lambda", 1, "--out", self.dir / "q.toml"))


class Scales(ProgramTest):
    def logs(self, spread, kind="gaussian", n=4000):
        """Of a policy that follows the context a little; the best one follows it twice as much."""
        random = np.random.default_rng(2)
        x = random.normal(size=(n, 1))
        centre = spread * (3 + 0.5 * x[:, 0])
        z = centre + spread * random.normal(size=n)
        density = normal_density(z, centre, spread)
        a = np.exp(z) if kind == "lognormal" else z
        path = write_log(self.dir / f"{kind}{spread}.h5", context=x, action=a, loss=(z / spread - 3 - x[:, 0]) ** 2 - 4,
                         propensity=density / a if kind == "lognormal" else density)
        return path, z.std(ddof=1)

    def learned(self, log, *options):
        policy = self.dir / "policy.toml"
        done = run("learn", log, *([] if "--lambda" in options else ["--lambda", 1]), "--centre-losses", "--out", policy, "--overwrite", *options)
        text = policy.read_text()
        theta = [float(number) for number in re.search(r"theta\s*=\s*\[(.*)\]", text)[1].split(",")]
        return float(re.search(r"scale\s*=\s*(\S+)", text)[1]), theta, done.stderr

    def test_never_start_wider_than_the_logged_actions(self):
        for kind in ("gaussian", "lognormal"):
            for spread in (0.05, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7):
                log, logged = self.logs(spread, kind)
                scale, theta, said = self.learned(log, "--kind", kind)
                self.assertAlmostEqual(scale, logged / 2, delta=1e-4 * logged)
                cost = (theta[0] / spread - 3) ** 2 + (theta[1] / spread - 1) ** 2 + (scale / spread) ** 2 - 4
                self.assertLess(cost, -3.5, f"{kind} of spread {spread}")  # the logged actions cost -2.75
                self.assertEqual(said, "")

    def test_beside_a_usual_spread_are_one_half(self):
        for spread in (0.8, 1, 2, 3.5):
            self.assertEqual(self.learned(self.logs(spread)[0])[0], 0.5)
        self.assertGreater(self.learned(self.logs(4)[0])[0], 2)

    def test_that_let_a_search_leave_the_logged_actions_are_told(self):
        said = self.learned(self.logs(0.15)[0], "--scale", 0.5)[2]
        self.assertRegex(said, r"its weights average \S+ instead of 1 on its training rows.*: it plays actions far "
                               r"from those logged. Its estimate cannot be trusted; use a smaller --scale or a larger "
                               r"--lambda")
        self.assertNotIn("a larger --scale", said)
        self.assertNotIn("propensities are wrong", said)

    def test_that_are_far_too_narrow_are_told_too(self):
        said = self.learned(self.logs(3.5)[0], "--scale", 0.01, "--lambda", 0)[2]
        self.assertIn("use a larger --lambda or a larger --scale", said)


class UnloggedActions(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(4)
        rows = [f"{random.normal():.3f},{random.integers(1, 4)},{random.exponential():.3f},{1 / 3}" for _ in range(2000)]
        (self.dir / "log.csv").write_text("\n".join(["x,act,cost,p", *rows]) + "\n")
        self.log, self.policy = self.dir / "log.h5", self.dir / "policy.toml"

    def bring(self, *options):
        return run("import", self.dir / "log.csv", "--out", self.log, "--action-kind", "categorical", "--context", "x",
                   "--action", "act", "--loss", "cost", "--propensity", "p", "--overwrite", *options)

    def learn(self, *options):
        return run("learn", self.log, "--out", self.policy, "--overwrite", "--lambda", 1, *options).stderr

    def test_numbers_that_start_at_one_are_asked_about(self):
        asked = "do your actions start at 1? they are numbered from 0"
        said = self.bring().stderr
        self.assertIn(f"action 0 was never logged ({asked}); the data set has 4 actions, 0 to 3,", said)
        self.assertIn(f"action 0 was never logged ({asked})", self.bring("--num-actions", 4).stderr)
        remarks = run_json("inspect", self.log)["remarks"]
        self.assertTrue(any(f"actions never taken: 0 ({asked})" in remark for remark in remarks), remarks)
        self.assertIn(f"action 0 was never logged ({asked})", self.learn())

    def test_others_are_named_unless_their_number_was_given(self):
        lines = (self.dir / "log.csv").read_text().splitlines()
        shifted = [line if line.startswith("x") else re.sub(r",[12],", ",0,", line, count=1) for line in lines]
        (self.dir / "log.csv").write_text("\n".join(shifted) + "\n")
        self.assertIn("actions 1, 2 were never logged; the data set has 4 actions", self.bring().stderr)
        self.assertEqual("", self.bring("--num-actions", 5).stderr)

    def test_that_a_policy_takes_make_its_estimate_worthless_with_rows_held_out_or_without(self):
        self.bring()
        for options in ((), ("--holdout", 0)):
            said = self.learn(*options)
            self.assertRegex(said, r"action 0 was never logged \(.*\), and this policy gives it 9\d(\.\d)? % of its "
                                   r"probability: .*its estimate cannot be trusted")
            self.assertRegex(said, r"losses do not lie around zero .* \(those of this one average 0\.07\d* instead of 1\) "
                                   r".*--centre-losses")
        said = self.learn()
        self.assertIn("held out: weights average 0.075 instead of 1 (more than 1,000 standard errors away): this policy "
                      "takes actions that were never logged (0)", said)
        self.assertNotIn("propensities are wrong", said)
        # What exploration alone gives them is no reason for alarm.
        said = self.learn("--centre-losses")
        self.assertRegex(said, r"this policy gives it \d\.\d+ % of its probability: the rows say nothing about what it does")
        self.assertNotIn("cannot be trusted", said)

    def test_standard_errors_beyond_a_thousand_are_not_counted(self):
        self.bring()
        (self.dir / "one.toml").write_text('kind = "softmax"\nepsilon = 0.1\ntheta = [[9, 1e-9], [0, 0], [0, 0], [0, 0]]\n')
        said = run("evaluate", self.log, "--policy", self.dir / "one.toml").stderr
        self.assertIn("(more than 1,000 standard errors away)", said)


class Advice(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        n, self.out = 1000, self.dir / "policy.toml"
        x = random.normal(size=(n, 2))
        bits = random.integers(0, 2, (n, 8)).astype(np.uint8)
        self.labels = write_log(self.dir / "labels.h5", action_kind="multilabel", context=x, action=bits,
                                loss=5 + bits.mean(axis=1) + 0.1 * random.normal(size=n), label_propensity=np.full((n, 8), 0.5))
        action = random.integers(0, 3, n).astype(np.int32)
        self.categories = write_log(self.dir / "categories.h5", action_kind="categorical", num_actions=3, context=x,
                                    action=action, loss=random.normal(size=n), propensity=np.full(n, 1 / 3))
        a = random.normal(size=n)
        self.prices = write_log(self.dir / "prices.h5", context=x, action=a, loss=a**2, propensity=normal_density(a, 0, 1))

    def test_where_zero_lies_is_no_matter_label_by_label(self):
        for estimator, warned in (("additive", False), ("ips-ix", True), ("clipped", True), ("snips", False)):
            said = run("learn", self.labels, "--lambda", 1, "--estimator", estimator, "--mixing", "label", "--out", self.out,
                       "--overwrite").stderr
            self.assertEqual("far from zero" in said, warned, estimator)

    def test_is_about_options_that_the_kind_has(self):
        said = run("learn", self.labels, "--lambda", 0, "--centre-losses", "--out", self.out).stderr
        self.assertIn("use a larger --lambda or a larger --epsilon", said)
        self.assertNotIn("--scale", said)

    def test_options_that_the_kind_does_not_have_are_refused(self):
        for data, kind, options, words in (
                (self.categories, "softmax", ("--scale", 1),
                 "--scale is for continuous actions (gaussian, lognormal); softmax policies have --epsilon"),
                (self.labels, "multilabel", ("--scale", "learned", "--min-scale", 0.1), "multilabel policies have --epsilon"),
                (self.prices, "gaussian", ("--epsilon", 0.1),
                 "--epsilon is for softmax and multilabel policies; gaussian policies have --scale"),
                (self.categories, "softmax", ("--mixing", "label"), "softmax policies have no labels")):
            self.assertIn(words, run("learn", data, *options, "--out", self.out, check=2).stderr)
            # With the kind named there is no need to open the data.
            done = run("learn", self.dir / "nowhere.h5", "--kind", kind, *options, "--out", self.out, check=2)
            self.assertIn(words, done.stderr)
        start = self.dir / "start.toml"
        start.write_text('kind = "softmax"\ntheta = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]\n')
        done = run("learn", self.categories, "--start", start, "--scale", 1, "--out", self.out, check=2)
        self.assertIn("softmax policies have --epsilon", done.stderr)
        self.assertFalse(self.out.exists())

    def test_a_kind_that_does_not_fit_the_data_is_named(self):
        for data, kind, words in ((self.prices, "softmax", "continuous: there is gaussian or lognormal"),
                                  (self.categories, "gaussian", "categorical: there is softmax")):
            said = run("learn", data, "--kind", kind, "--out", self.out, check=1).stderr
            self.assertIn(f"--kind {kind} does not fit the data, whose actions are {words}", said)
            self.assertNotIn("start", said)


if __name__ == "__main__":
    main()
