"""scrm learn against SciPy on the same objective, and its files and messages."""
# labels: fast cli

import pathlib
import re

import h5py
import numpy as np
from scipy.optimize import minimize

import harness
from harness import ProgramTest, run, run_json, write_log


def gaussian(a, mean, scale):
    return np.exp(-0.5 * ((a - mean) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))


class Learn(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        n = 4000
        self.x = random.normal(size=(n, 2))
        self.a = random.normal(size=n)
        self.y = 0.5 * (self.a - 0.4 * self.x[:, 0] - 0.3) ** 2 - 2 + 0.1 * random.normal(size=n)
        self.p = gaussian(self.a, 0, 1)
        write_log(self.dir / "logs.h5", context=self.x, action=self.a, loss=self.y, propensity=self.p)
        (self.dir / "start.toml").write_text('kind = "gaussian"\nscale = 0.6\ntheta = [0.0, 0.0, 0.0]\n')

    def learn(self, *arguments, **options):
        return run_json("learn", self.dir / "logs.h5", "--start", self.dir / "start.toml", "--out",
                        self.dir / "out.toml", "--overwrite", *arguments, **options)

    def objective(self, theta, lam, estimator, alpha):
        w = gaussian(self.a, theta[0] + self.x @ theta[1:], 0.6) / self.p
        n = len(w)
        if estimator == "snips":
            return (w * self.y).sum() / w.sum() + lam * np.sqrt((w * self.y).var(ddof=1) / n)
        ix = w / (1 + alpha * w)
        return (ix * self.y).mean() + lam * np.sqrt(((ix - 1) * self.y).var(ddof=1) / n)

    def test_the_optimum_is_that_of_scipy(self):
        for estimator in ("ips-ix", "snips"):
            report = self.learn("--lambda", 2, "--estimator", estimator, "--holdout", 0)
            rival = minimize(self.objective, np.zeros(3), args=(2, estimator, 1 / len(self.a)), method="L-BFGS-B",
                             options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000})
            self.assertTrue(report["converged"])
            self.assertEqual(report["rows"], len(self.a))
            self.assertAlmostEqual(report["objective"], rival.fun, delta=1e-7)
            self.assertAlmostEqual(report["objective"], self.objective(np.array(report["theta"]), 2, estimator, 1 / len(self.a)),
                                   delta=1e-10)

    def test_l2_by_auto_is_chosen_shown_and_fitted_with(self):
        grid = [0.0, 0.001, 0.1, 10.0]
        options = ["--lambda", 1, "--estimator", "snips", "--holdout", 0]
        report = self.learn(*options, "--l2", "auto", "--l2-grid", "10,0.1,0.001,0")
        scores = {score["l2"]: score["risk"] for score in report["l2_scores"]}
        self.assertEqual(list(scores), grid)
        self.assertEqual(report["l2"], min(scores, key=scores.get))
        self.assertEqual({score["lambda"] for score in report["l2_scores"]}, {1})
        self.assertIn(f"l2 {report['l2']:g},", (self.dir / "out.toml").read_text())
        given = self.learn(*options, "--l2", report["l2"])
        self.assertEqual(given["theta"], report["theta"])
        self.assertNotIn("l2", given)
        # Held-out risks of a policy that may not move are those of the start, and worse than of one that may.
        self.assertGreater(scores[10.0], min(scores.values()))
        done = run("learn", self.dir / "logs.h5", "--start", self.dir / "start.toml", "--out", self.dir / "text.toml",
                   *options, "--l2", "auto")
        self.assertIn("l2 by three random splits", done.stdout)
        self.assertRegex(done.stdout, r"snips with lambda = 1 \(penalty se\), l2 = ")
        for wrong, words in ((["--l2", "some"], "must be a number or 'auto'"), (["--l2", "-1"], "but must be zero or above"),
                             (["--l2-grid", "0,1"], "it needs --l2 auto"),
                             (["--l2", "auto", "--l2-grid", "1,-1"], "but must be zero or above")):
            done = run("learn", self.dir / "logs.h5", "--out", self.dir / "wrong.toml", *wrong, check=2)
            self.assertIn(words, done.stderr)

    def test_a_learned_scale_has_the_optimum_of_scipy_and_is_in_the_file(self):
        y = self.y - self.y.mean()

        def objective(point, alpha):
            w = gaussian(self.a, point[0] + self.x @ point[1:3], np.exp(point[3])) / self.p
            ix = w / (1 + alpha * w)
            return self.y.mean() + (ix * y).mean() + 2 * np.sqrt(((ix - 1) * y).var(ddof=1) / len(w))

        for least in (0.05, 0.5):
            report = self.learn("--lambda", 2, "--holdout", 0, "--scale", "learned", "--min-scale", least, "--centre-losses")
            rival = minimize(objective, np.r_[report["theta"], np.log(report["scale"])], args=(1 / len(self.a),),
                             method="L-BFGS-B", bounds=[(None, None)] * 3 + [(np.log(least), None)],
                             options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000})
            self.assertTrue(report["converged"])
            self.assertAlmostEqual(report["objective"], rival.fun, delta=1e-6)
            self.assertAlmostEqual(report["scale"], np.exp(rival.x[3]), delta=1e-3)
            text = (self.dir / "out.toml").read_text()
            self.assertEqual(float(re.search(r"scale\s*=\s*(.*)", text)[1]), report["scale"])
        self.assertAlmostEqual(report["scale"], 0.5, delta=1e-6)

    def test_a_learned_scale_has_the_unit_of_the_actions(self):
        """Half of the logged actions' spread to start from, a tenth of it at least: prices in cents are prices."""
        unit = 1000.0
        write_log(self.dir / "cents.h5", context=self.x, action=unit * self.a, loss=self.y, propensity=self.p / unit)
        both = [run_json("learn", self.dir / name, "--out", self.dir / "new.toml", "--overwrite", "--scale", "learned",
                         "--lambda", 1) for name in ("logs.h5", "cents.h5")]
        self.assertAlmostEqual(both[1]["scale"] / unit, both[0]["scale"], delta=1e-4)
        self.assertGreaterEqual(both[0]["scale"], 0.1 * self.a.std() * 0.9999)
        text = run("learn", self.dir / "logs.h5", "--out", self.dir / "new.toml", "--overwrite", "--scale", "learned",
                   "--lambda", 1).stdout
        self.assertRegex(text, r"learned scale: 0\.\d+ \(at least 0\.\d+\)")

    def test_scales_that_cannot_be_learned_are_refused(self):
        logs, out = self.dir / "logs.h5", self.dir / "new.toml"
        for arguments, message in ((("--scale", "lerned"), "--scale is 'lerned', but must be a number above zero or 'learned'"),
                                   (("--scale", "-1"), "--scale is '-1'"),
                                   (("--scale", "0.5", "--min-scale", "0.1"), "it needs --scale learned")):
            self.assertIn(message, run("learn", logs, "--out", out, *arguments, check=2).stderr)
        write_log(self.dir / "one.h5", context=self.x, action=np.full(len(self.a), 2.0), loss=self.y, propensity=self.p)
        message = run("learn", self.dir / "one.h5", "--out", out, "--scale", "learned", check=1).stderr
        self.assertIn("the logged actions do not vary", message)

    def test_the_file_holds_theta_and_where_it_came_from(self):
        report = self.learn("--lambda", "1")
        text = (self.dir / "out.toml").read_text()
        theta = [float(word) for word in re.search(r"theta\s*=\s*\[(.*)\]", text).group(1).split(",")]
        self.assertEqual(theta, report["theta"])
        self.assertIn("logs.h5", text)
        self.assertIn("lambda 1", text)
        evaluated = run_json("evaluate", self.dir / "logs.h5", "--policy", self.dir / "out.toml")
        self.assertLess(evaluated["policies"][0]["estimates"][0]["value"], self.y.mean())

    def test_threads_change_no_bit(self):
        first = self.learn("--lambda", "auto", "--threads", 1)
        for arguments in (["--threads", 2], ["--threads", 5]):
            again = self.learn("--lambda", "auto", *arguments)
            self.assertEqual(again["theta"], first["theta"])
            self.assertEqual(again["lambda"], first["lambda"])

    def test_a_list_of_lambdas_writes_one_policy_each(self):
        report = self.learn("--lambda", "0.1,10")
        self.assertEqual([policy["lambda"] for policy in report["policies"]], [0.1, 10])
        for policy in report["policies"]:
            self.assertIn("theta", pathlib.Path(policy["out"]).read_text())

    def test_the_holdout_is_said_plainly_and_can_be_turned_off(self):
        self.assertIn("held_out", self.learn("--lambda", "1"))
        self.assertNotIn("held_out", self.learn("--lambda", "1", "--holdout", "0"))
        text = run("learn", self.dir / "logs.h5", "--kind", "gaussian", "--lambda", "theory", "--out",
                   self.dir / "o.toml").stdout
        self.assertIn("rows held out (20 %)", text)

    def test_what_makes_no_sense_is_refused_and_nothing_is_written(self):
        data, out = self.dir / "logs.h5", self.dir / "never.toml"
        write_log(self.dir / "flat.h5", context=self.x, action=self.a, loss=0 * self.y + 3, propensity=self.p)
        (self.dir / "short.toml").write_text('kind = "gaussian"\nscale = 0.6\ntheta = [0.0]\n')
        for arguments, code, words in [
            ([data, "--kind", "gaussian", "--lambda", "-1"], 2, "lambda"),
            ([data, "--kind", "gaussian", "--lambda", "much"], 2, "--lambda"),
            ([data, "--kind", "softmax"], 1, "continuous"),
            ([data, "--start", self.dir / "short.toml"], 1, "theta has 1 number"),
            ([data, "--start", self.dir / "start.toml", "--bound", "1:2"], 2, "outside the bound"),
            ([data, "--kind", "gaussian", "--bound", "wide"], 2, "LO:HI"),
            ([data, "--kind", "gaussian", "--holdout", "1"], 2, "--holdout"),
            ([data, "--kind", "gaussian", "--estimator", "magic"], 2, "magic"),
            ([self.dir / "flat.h5", "--kind", "gaussian"], 1, "every loss is 3"),
            ([self.dir / "flat.h5", "--kind", "gaussian", "--reward"], 1, "every reward is 3"),
        ]:
            self.assertIn(words, run("learn", *arguments, "--out", out, check=code).stderr)
            self.assertFalse(out.exists())

    def test_rewards_are_shown_as_rewards_beside_the_losses_that_are_minimised(self):
        write_log(self.dir / "earned.h5", context=self.x, action=self.a, loss=-self.y, propensity=self.p,
                  attributes={"outcome": "reward"})
        cost = self.learn("--lambda", "auto")
        earned = run_json("learn", self.dir / "earned.h5", "--start", self.dir / "start.toml", "--out", self.dir / "r.toml")
        self.assertEqual((cost["value"], cost["logged_value"]), (cost["risk"], cost["logged_loss"]))
        for loss, reward in (("risk", "value"), ("logged_loss", "logged_value")):
            self.assertEqual(earned[loss], cost[loss])
            self.assertEqual(earned[reward], -cost[loss])
        self.assertEqual([s["value"] for s in earned["lambda_scores"]], [-s["value"] for s in cost["lambda_scores"]])

    def test_what_is_wrong_with_the_command_is_said_before_data_is_opened(self):
        for options, words in ((("--estimator", "wishes"), "wishes"), (("--holdout", 1.5), "--holdout is 1.5"),
                               (("--holdout", "nan"), "--holdout is nan"), (("--lambda", -1), "lambda is -1"),
                               (("--lambda-grid", "1,-2"), "lambda is -2"), (("--l2", -1), "l2 is -1"),
                               (("--l2", "auto", "--l2-grid", "-1"), "l2 is -1"), (("--alpha", -1), "alpha is -1"),
                               (("--clip", 0), "clip is 0"), (("--restarts", 0), "restarts is 0"),
                               (("--epsilon", 1), "--epsilon is 1"), (("--epsilon", -0.1), "--epsilon is -0.1")):
            done = run("learn", self.dir / "nowhere.h5", *options, "--out", self.dir / "new.toml", check=2)
            self.assertIn(words, done.stderr)
            self.assertNotIn("nowhere", done.stderr)

    def test_a_limit_of_iterations_holds_for_each_search_and_the_searches_are_counted(self):
        limited = ("learn", self.dir / "logs.h5", "--lambda", 1, "--max-iter", 1, "--overwrite", "--out", self.dir / "m.toml")
        for restarts, searches in ((1, 2), (3, 6)):  # each start in two kinds of coordinates
            said = run(*limited, "--restarts", restarts).stdout.splitlines()[0]
            self.assertRegex(said, f"at the iteration limit after {searches} iterations, .* evaluations in {searches} searches$")
            self.assertEqual(run_json(*limited, "--restarts", restarts)["iterations"], searches)
        said = run(*limited, "--start", self.dir / "start.toml", "--bound", "-5:5").stdout.splitlines()[0]
        self.assertRegex(said, r"after 1 iteration, \d+ evaluations$")
        self.assertIn("Iterations of each search", " ".join(run("learn", "--help").stdout.split()))

    def test_a_minimum_that_is_not_the_lowest_is_not_printed_without_a_word(self):
        # Two wells, the deeper one at 2; the start lies in the other.
        action = np.random.default_rng(3).normal(0, 2, 20_000)
        loss = -np.exp(-((action - 2) ** 2) / 0.2) - 0.6 * np.exp(-((action + 2) ** 2) / 0.2)
        data = write_log(self.dir / "wells.h5", context=np.zeros((20_000, 0)), action=action, loss=loss,
                         propensity=np.exp(-action**2 / 8) / np.sqrt(8 * np.pi))
        start, out = self.dir / "well.toml", self.dir / "out.toml"
        start.write_text('kind = "gaussian"\nscale = 0.3\ntheta = [-2.1]\n')
        learn = ("learn", data, "--start", start, "--lambda", 0, "--out", out, "--overwrite")
        stuck, free = run_json(*learn), run_json(*learn, "--restarts", 12)
        self.assertAlmostEqual(stuck["theta"][0], -2, delta=0.1)
        self.assertAlmostEqual(free["theta"][0], 2, delta=0.1)
        self.assertLess(free["objective"], stuck["objective"] - 0.1)
        word = f"another search ended at an objective of {stuck['objective']:.4f} instead of {free['objective']:.4f}"
        self.assertTrue(any(word in warning for warning in free["warnings"]), free["warnings"])
        self.assertIn(word, run(*learn, "--restarts", 12).stderr)

    def test_a_lower_risk_at_a_larger_lambda_frees_the_searches_of_the_smaller_ones_with_a_word(self):
        # The well beside the start is shallow and its losses are spread: only a heavy penalty drives a search out of it
        # and into the deeper one.
        random = np.random.default_rng(3)
        action = random.normal(0, 2, 20_000)
        loss = -np.exp(-2 * (action - 1.5) ** 2) - 0.6 * np.exp(-1.25 * (action + 1.5) ** 2)
        loss += np.where(action < 0, random.choice([-3.0, 3.0], 20_000), 0)
        data = write_log(self.dir / "spread.h5", context=np.zeros((20_000, 0)), action=action, loss=loss,
                         propensity=np.exp(-action**2 / 8) / np.sqrt(8 * np.pi))
        start = self.dir / "shallow.toml"
        start.write_text('kind = "gaussian"\nscale = 0.3\ntheta = [-0.3]\n')
        learn = ("learn", data, "--start", start, "--out", self.dir / "freed.toml", "--overwrite", "--lambda")
        alone = {penalty: run_json(*learn, penalty) for penalty in (0, 10, 100)}
        for penalty in (0, 10):  # each stuck, and by itself it cannot know
            self.assertLess(alone[penalty]["theta"][0], -1)
            self.assertGreater(alone[penalty]["risk"], alone[100]["risk"] + 0.1)
        together = {found["lambda"]: found for found in run_json(*learn, "0,10,100")["policies"]}
        for penalty in (0, 10):
            self.assertGreater(together[penalty]["theta"][0], 1)
            self.assertLess(together[penalty]["objective"], alone[penalty]["objective"] - 0.1)
            self.assertEqual(together[penalty]["status"], "converged")
            self.assertTrue(any(f"ended at an objective of {alone[penalty]['objective']:.4f} instead of" in warning
                                for warning in together[penalty]["warnings"]), together[penalty]["warnings"])
        self.assertEqual(together[100]["theta"], alone[100]["theta"])
        self.assertFalse(any("another search" in warning for warning in together[100]["warnings"]))

    def raw_actions(self, unit, seed=24):
        """Rewards that fall with the square of the distance to 110 + 5 x1, from actions around 100 + x0, all in a unit."""
        random = np.random.default_rng(seed)
        x, noise = random.normal(size=(5000, 2)), random.normal(size=5000)
        action = x[:, 0] + 100 + 10 * noise
        return write_log(self.dir / f"unit{unit}.h5", context=x, action=unit * action,
                         loss=-(action - 110 - 5 * x[:, 1]) ** 2 / 100, attributes={"outcome": "reward"},
                         propensity=np.exp(-noise**2 / 2) / np.sqrt(2 * np.pi) / (10 * unit))

    def test_the_scale_suits_the_logged_actions_whatever_their_unit(self):
        out, found = self.dir / "out.toml", []
        for unit in (1, 1000, 0.001):
            said = run_json("learn", self.raw_actions(unit), "--out", out, "--overwrite")
            np.testing.assert_allclose(np.array(said["theta"]) / unit, [110, 0, 5], atol=1)
            with h5py.File(self.dir / f"unit{unit}.h5") as file:
                spread = np.std(file["action"][:], ddof=1)
            self.assertAlmostEqual(said["scale"], spread / 2, delta=1e-9 * spread)
            self.assertIn(f"scale    = {said['scale']:.6g}"[:16], out.read_text())
            found.append(said["value"])
        np.testing.assert_allclose(found, found[0], rtol=1e-4)
        text = run("learn", self.raw_actions(1), "--out", out, "--overwrite").stdout
        self.assertIn("half of the logged actions' spread; --scale sets another", text)
        # Beside a usual spread, or where one is asked for, all is as before.
        usual = self.raw_actions(0.1)
        self.assertNotIn("scale", run_json("learn", usual, "--out", out, "--overwrite"))
        self.assertIn("scale    = 0.5\n", out.read_text())
        self.assertNotIn("scale", run_json("learn", self.raw_actions(1), "--scale", 0.5, "--out", out, "--overwrite"))
        self.assertIn("scale    = 0.5\n", out.read_text())

    def test_a_search_that_the_splits_show_to_be_stuck_is_freed_with_a_word(self):
        # The scale is far too narrow, so that the objective has many minima: the splits found a lower one.
        data, out = self.raw_actions(1), self.dir / "out.toml"
        chosen = run_json("learn", data, "--scale", 0.5, "--out", out)
        given = run_json("learn", data, "--scale", 0.5, "--lambda", chosen["lambda"], "--out", out, "--overwrite")
        self.assertLess(chosen["objective"], given["objective"] - 0.5)
        word = f"another search ended at an objective of {given['objective']:.4f} instead of {chosen['objective']:.4f}"
        self.assertTrue(any(word in warning for warning in chosen["warnings"]), chosen["warnings"])
        one = run_json("learn", data, "--scale", 0.5, "--out", out, "--overwrite", "--threads", 1)
        many = run_json("learn", data, "--scale", 0.5, "--out", out, "--overwrite", "--threads", 7)
        self.assertEqual((one["theta"], one["objective"]), (many["theta"], many["objective"]))

    def test_where_zero_lies_is_no_matter_to_estimators_with_a_model(self):
        random = np.random.default_rng(5)
        x, action = random.normal(size=(2000, 2)), random.integers(0, 3, 2000).astype(np.int32)
        data = write_log(self.dir / "far.h5", action_kind="categorical", num_actions=3, context=x, action=action,
                         loss=1000 + x[:, 0] * action + random.normal(size=2000), propensity=np.full(2000, 1 / 3))
        for estimator, warned in (("ips-ix", True), ("snips", False), ("dr", False), ("dm", False)):
            said = run("learn", data, "--lambda", 1, "--estimator", estimator, "--out", self.dir / "o.toml",
                       "--overwrite").stderr
            self.assertEqual("far from zero" in said, warned, estimator)

    def test_one_action_alone_is_not_told_to_explore(self):
        random = np.random.default_rng(5)
        data = write_log(self.dir / "one.h5", action_kind="categorical", num_actions=1, context=random.normal(size=(50, 1)),
                         action=np.zeros(50, np.int32), loss=random.normal(size=50), propensity=np.ones(50))
        self.assertNotIn("epsilon", run("learn", data, "--out", self.dir / "one.toml").stderr)

    def test_rows_that_are_all_held_out_are_told_which_option_would_help(self):
        data = write_log(self.dir / "two.h5", context=self.x[:2], action=self.a[:2], loss=self.y[:2], propensity=self.p[:2])
        said = {run("learn", data, "--holdout", 0.95, "--lambda", 1, "--seed", seed, "--out", self.dir / "few.toml", "--overwrite",
                    check=None).stderr for seed in range(12)}
        self.assertTrue(any("no rows to learn from beside 2 rows held out" in text for text in said), said)
        self.assertTrue(all("hold fewer out with --holdout" in text for text in said if "to learn from" in text), said)

    def test_very_few_rows_are_told_what_is_missing(self):
        out = self.dir / "few.toml"
        for rows in (1, 2, 3):
            data = write_log(self.dir / f"{rows}.h5", context=self.x[:rows], action=self.a[:rows], loss=self.y[:rows],
                             propensity=self.p[:rows])
            for options in ((), ("--lambda", 1), ("--holdout", 0), ("--holdout", 0, "--lambda", 1)):
                for seed in range(4):
                    done = run("learn", data, *options, "--seed", seed, "--out", out, "--overwrite", check=None)
                    self.assertRegex(done.stdout + done.stderr,
                                     "only one row to learn from|no rows to learn from|cannot be split|written to", rows)
                    self.assertNotIn("squared", done.stderr)

    def test_what_is_advised_about_rows_held_out_is_what_evaluate_has(self):
        rare = np.zeros(len(self.y))
        rare[:: len(rare) // 5] = 1
        data = write_log(self.dir / "rare.h5", context=self.x, action=self.a, loss=rare, propensity=self.p)
        said = run("learn", data, "--lambda", 1, "--out", self.dir / "rare.toml").stderr
        self.assertRegex(said, "held out: .* decides?, .* or evaluate with --outcome-range and --interval cressie-read")
        run("evaluate", data, "--holdout-of", self.dir / "rare.toml", "--outcome-range", "0:1", "--interval", "cressie-read")

    def test_losses_whose_squares_vanish_are_refused(self):
        for size, code in ((1e-140, 0), (1e-160, 1), (1e-300, 1)):
            data = write_log(self.dir / "tiny.h5", context=self.x, action=self.a, loss=size * self.y, propensity=self.p)
            done = run("learn", data, "--lambda", 0, "--out", self.dir / "tiny.toml", "--overwrite", check=code)
            self.assertEqual("so small that its square vanishes" in done.stderr, code == 1)
            warnings = run_json("evaluate", data, "--policy", self.dir / "start.toml")["policies"][0]["diagnostics"]["warnings"]
            self.assertEqual(any("their squares vanish" in w for w in warnings), code == 1, (size, warnings))

    def test_rows_of_a_cluster_are_learned_from_or_held_out_together(self):
        # Every context comes twelve times with a noise of its own: by rows, the held-out ones are old acquaintances.
        random = np.random.default_rng(5)
        users = random.permutation(np.repeat(np.arange(300), 12))
        n = len(users)
        data = write_log(self.dir / "users.h5", context=self.x[:n], action=self.a[:n], loss=self.y[:n],
                         propensity=self.p[:n], cluster=users)
        report = run_json("learn", data, "--lambda", 1, "--holdout", 0.3, "--estimator", "ips", "--out", self.dir / "u.toml")
        judged = run_json("evaluate", data, "--holdout-of", self.dir / "u.toml", "--estimator", "ips")
        self.assertEqual(judged["rows"], report["held_out"]["rows"])
        self.assertEqual(judged["policies"][0]["estimates"][0]["value"], report["held_out"]["value"])
        self.assertEqual(report["rows"] + report["held_out"]["rows"], n)
        # Whole users of twelve rows are held out, and not all or none of them.
        self.assertEqual(judged["rows"] % 12, 0)
        self.assertEqual(judged["clusters"], judged["rows"] // 12)
        self.assertIn('by       = "cluster"', (self.dir / "u.toml").read_text())
        plain = write_log(self.dir / "users.h5", context=self.x[:n], action=self.a[:n], loss=self.y[:n],
                          propensity=self.p[:n])
        self.assertIn("no dataset `cluster`", run("evaluate", plain, "--holdout-of", self.dir / "u.toml", check=1).stderr)


if __name__ == "__main__":
    harness.main()
