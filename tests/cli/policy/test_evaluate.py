"""scrm evaluate against NumPy, on data the program did not make."""
# labels: fast cli

import numpy as np

import harness
from harness import ProgramTest, run, run_json, write_log


def gaussian(a, mean, scale):
    return np.exp(-0.5 * ((a - mean) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))


def logs(n, d, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d))
    action = random.normal(size=n)
    return x, action, random.normal(size=n) - 1, gaussian(action, 0, 1)


def policy_text(theta, scale=0.8):
    return f'kind = "gaussian"\nscale = {scale}\ntheta = {list(theta)}\n'


def estimates(report, policy=0):
    return {e["estimator"]: e for e in report["policies"][policy]["estimates"]}


class Evaluate(ProgramTest):
    def write_policy(self, name, theta, scale=0.8):
        (self.dir / name).write_text(policy_text(theta, scale))
        return self.dir / name

    def test_every_estimator_equals_numpy_over_shards_of_odd_lengths(self):
        x, a, y, p = logs(5003, 3, 1)
        for shard, rows in enumerate(np.split(np.arange(len(a)), [1, 700, 4096])):
            write_log(self.dir / f"part-{shard}.h5", context=x[rows], action=a[rows], loss=y[rows], propensity=p[rows])
        theta = np.array([0.1, 0.2, -0.1, 0.05])
        report = run_json("evaluate", self.dir, "--policy", self.write_policy("p.toml", theta), "--clip", 1.3, "--alpha", 0.02)
        w = gaussian(a, theta[0] + x @ theta[1:], 0.8) / p
        n = len(w)
        self.assertEqual(report["rows"], n)
        got = estimates(report)
        for name, terms in {"ips": w * y, "clipped": np.minimum(w, 1.3) * y, "ips-ix": w / (1 + 0.02 * w) * y}.items():
            self.assertAlmostEqual(got[name]["value"] / terms.mean(), 1, delta=1e-11)
            self.assertAlmostEqual(got[name]["stderr"] / (terms.std(ddof=1) / np.sqrt(n)), 1, delta=1e-11)
        snips = (w * y).sum() / w.sum()
        self.assertAlmostEqual(got["snips"]["value"] / snips, 1, delta=1e-11)
        self.assertAlmostEqual(got["snips"]["stderr"] / (np.sqrt((w**2 * (y - snips) ** 2).sum()) / w.sum()), 1, delta=1e-11)
        diagnostics = report["policies"][0]["diagnostics"]
        self.assertAlmostEqual(diagnostics["ess"] / (w.sum() ** 2 / (w**2).sum()), 1, delta=1e-11)
        self.assertAlmostEqual(diagnostics["mean_weight"], w.mean(), delta=1e-12)
        self.assertAlmostEqual(diagnostics["max_weight"] / w.max(), 1, delta=1e-12)

    def test_a_target_column_and_automatic_parameters(self):
        x, a, y, p = logs(50, 2, 2)
        t = np.random.default_rng(3).uniform(0, 1, size=50)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p, targets={"other": t})
        got = estimates(run_json("evaluate", self.dir / "a.h5", "--target", "other"))
        w = t / p
        clip = np.sort(w)[-5]
        self.assertAlmostEqual(got["clipped"]["parameter"] / clip, 1, delta=1e-12)
        self.assertAlmostEqual(got["clipped"]["value"], (np.minimum(w, clip) * y).mean(), delta=1e-12)
        self.assertEqual(got["ips-ix"]["parameter"], 1 / 50)

    def test_a_hundred_policies_in_one_pass(self):
        x, a, y, p = logs(300, 1, 4)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p)
        arguments = []
        for i in range(100):
            arguments += ["--policy", self.write_policy(f"p{i}.toml", [i / 100, 0.1])]
        report = run_json("evaluate", self.dir / "a.h5", *arguments)
        for i in (0, 50, 99):
            w = gaussian(a, i / 100 + 0.1 * x[:, 0], 0.8) / p
            self.assertAlmostEqual(estimates(report, i)["ips"]["value"], (w * y).mean(), delta=1e-12)

    def test_rollouts_with_known_policies(self):
        x0, a0, y0, p0 = logs(400, 1, 5)
        x1, a1, y1, _ = logs(700, 1, 6)
        a1 = 0.5 + 0.7 * a1
        write_log(self.dir / "0.h5", rollout=0, context=x0, action=a0, loss=y0, propensity=p0)
        write_log(self.dir / "1.h5", rollout=1, context=x1, action=a1, loss=y1, propensity=gaussian(a1, 0.5, 0.7))
        first, second = self.write_policy("first.toml", [0, 0], 1), self.write_policy("second.toml", [0.5, 0], 0.7)
        report = run_json("evaluate", self.dir / "0.h5", self.dir / "1.h5", "--policy",
                          self.write_policy("p.toml", [0.3, 0.1]), "--logging-policy", first, "--logging-policy", second)
        x, a, y = np.vstack([x0, x1]), np.append(a0, a1), np.append(y0, y1)
        target = gaussian(a, 0.3 + 0.1 * x[:, 0], 0.8)
        mixture = 400 / 1100 * gaussian(a, 0, 1) + 700 / 1100 * gaussian(a, 0.5, 0.7)
        r = target / mixture * y
        got = estimates(report)["mis-balance"]
        self.assertAlmostEqual(got["value"] / r.mean(), 1, delta=1e-11)
        r0, r1 = r[:400], r[400:]
        independent = 400 * r0.var(ddof=1) + 700 * r1.var(ddof=1)
        variance = independent + 2 * 400 * 700 * np.cov(r0, r1[:400])[0, 1]
        variance = (variance if variance >= 0 else independent) / 1100**2
        self.assertAlmostEqual(got["stderr"] / np.sqrt(variance), 1, delta=1e-9)

    def test_rollouts_whose_covariance_is_negative_have_a_standard_error(self):
        x, a, y, p = logs(600, 1, 5)
        write_log(self.dir / "0.h5", rollout=0, context=x, action=a, loss=y, propensity=p)
        write_log(self.dir / "1.h5", rollout=1, context=x, action=a, loss=-y, propensity=p)
        own, new = self.write_policy("own.toml", [0, 0], 1), self.write_policy("new.toml", [0.2, 0])
        report = run_json("evaluate", self.dir / "0.h5", self.dir / "1.h5", "--policy", new, "--logging-policy", own,
                          "--logging-policy", own)
        r = gaussian(a, 0.2, 0.8) / p * y
        independent = np.sqrt(2 * 600 * r.var(ddof=1)) / 1200
        for name in ("mis-naive", "mis-balance"):
            got = estimates(report)[name]
            self.assertAlmostEqual(got["stderr"] / independent, 1, delta=1e-9)
            self.assertAlmostEqual(got["high"] - got["low"], 2 * 1.959964 * independent, delta=1e-6)
            self.assertIn(name, " ".join(report["policies"][0]["diagnostics"]["warnings"]))

    def test_covariances_between_rollouts_that_make_the_standard_error_are_told(self):
        x, a, y, p = logs(600, 1, 5)
        write_log(self.dir / "0.h5", rollout=0, context=x, action=a, loss=y, propensity=p)
        write_log(self.dir / "same.h5", rollout=1, context=x, action=a, loss=y, propensity=p)
        own, new = self.write_policy("own.toml", [0, 0], 1), self.write_policy("new.toml", [0.2, 0])
        report = run_json("evaluate", self.dir / "0.h5", self.dir / "same.h5", "--policy", new, "--logging-policy", own,
                          "--logging-policy", own)
        r = gaussian(a, 0.2, 0.8) / p * y
        got = estimates(report)["mis-naive"]
        self.assertGreater(got["stderr"], 10 * np.sqrt(r.var(ddof=1) / 1200))
        self.assertRegex(" ".join(report["policies"][0]["diagnostics"]["warnings"]),
                         f"mis-naive: its standard error of .* without them it is {np.sqrt(r.var(ddof=1) / 1200):.2g}")

    def test_the_same_bits_at_any_thread_count_bootstrap_included(self):
        x, a, y, p = logs(100_000, 2, 7)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p)
        policy = self.write_policy("p.toml", [0.2, 0.1, 0])
        reports = [run_json("evaluate", self.dir / "a.h5", "--policy", policy, "--interval", "bootstrap", "--seed", 3, "--threads", t)
                   for t in (1, 2, 3, 8)]
        for report in reports[1:]:
            self.assertEqual(report["policies"], reports[0]["policies"])

    def warnings_of(self, path, *args):
        """What evaluate and inspect say about the propensities."""
        report = run_json("evaluate", path, *args)["policies"][0]
        return ([w for w in report["diagnostics"]["warnings"] if "instead of 1" in w]
                + [r for r in run_json("inspect", path)["remarks"] if "average" in r])

    def three_actions(self, name, propensity, rows=30000, **more):
        action = np.arange(rows, dtype=np.int32) % 3
        return write_log(self.dir / name, action_kind="categorical", num_actions=3, context=np.ones((rows, 1)),
                         action=action, loss=action * 0.1, propensity=np.broadcast_to(propensity, rows), **more)

    def test_rounded_propensities_are_no_false_alarm(self):
        uniform = self.dir / "uniform.toml"
        uniform.write_text('kind = "uniform"\n')
        third = self.three_actions("third.h5", 0.3333, targets={"same": np.full(30000, 1 / 3)})
        self.assertEqual(self.warnings_of(third, "--policy", uniform), [])
        self.assertEqual(self.warnings_of(third, "--target", "same"), [])
        self.assertRegex(run("inspect", third).stdout, r"(?m)^  same +1\.0001 +- +1\.0001$")
        self.assertEqual(self.warnings_of(self.three_actions("digits3.h5", 0.333), "--policy", uniform), [])
        sixth = write_log(self.dir / "sixth.h5", action_kind="categorical", num_actions=6, context=np.ones((60000, 1)),
                          action=np.arange(60000, dtype=np.int32) % 6, loss=np.arange(60000) % 6, propensity=np.full(60000, 0.167))
        self.assertEqual(self.warnings_of(sixth, "--policy", uniform), [])
        digits = np.random.default_rng(1).choice([0.3333, 0.3334], 30000)  # a spread, but as small
        self.assertEqual(self.warnings_of(self.three_actions("digits.h5", digits), "--policy", uniform), [])
        sevenths = np.where(np.arange(70000) % 7 < 2, 0.2857, 0.7143)  # of two actions, to four digits
        context = np.ones((70000, 1))
        two = write_log(self.dir / "two.h5", action_kind="categorical", num_actions=2, context=context,
                        action=(np.arange(70000) % 7 >= 2).astype(np.int32), loss=np.ones(70000), propensity=sevenths)
        self.assertEqual(self.warnings_of(two, "--policy", uniform), [])

    def test_wrong_propensities_warn_with_and_without_a_spread(self):
        uniform = self.dir / "uniform.toml"
        uniform.write_text('kind = "uniform"\n')
        for name, propensity in {"constant.h5": 0.35, "half.h5": 0.5, "zigzag.h5": np.resize([0.34, 0.36], 30000)}.items():
            with self.subTest(name):
                found = self.warnings_of(self.three_actions(name, propensity), "--policy", uniform)
                self.assertEqual(len(found), 2, found)

    def test_one_row_and_no_rows(self):
        x, a, y, p = logs(1, 2, 8)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p)
        policy = self.write_policy("p.toml", [0, 0, 0])
        report = run_json("evaluate", self.dir / "a.h5", "--policy", policy)
        self.assertIsNone(estimates(report)["ips"]["stderr"])
        self.assertIn("only one row", " ".join(report["policies"][0]["diagnostics"]["warnings"]))
        write_log(self.dir / "b.h5", context=x[:0], action=a[:0], loss=y[:0], propensity=p[:0])
        self.assertIn("no rows", run("evaluate", self.dir / "b.h5", "--policy", policy, check=1).stderr)

    def test_what_is_wrong_with_the_command_is_said_before_data_is_opened(self):
        policy = self.dir / "p.toml"
        policy.write_text('kind = "uniform"\n')
        for options, words in ((("--estimator", "wishes"), "wishes"), (("--estimator", "snips,mis-naive"), "come with --logging-policy"),
                               (("--level", 2), "level is 2"), (("--alpha", -1), "alpha is -1"), (("--clip", 0), "clip is 0"),
                               (("--replicates", 1), "two replicates")):
            done = run("evaluate", self.dir / "nowhere.h5", "--policy", policy, *options, check=2)
            self.assertIn(words, done.stderr)
            self.assertNotIn("nowhere", done.stderr)

    def test_what_cannot_be_evaluated_is_refused_in_words(self):
        x, a, y, p = logs(20, 2, 9)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p)
        data, policy = self.dir / "a.h5", self.write_policy("p.toml", [0, 0, 0])
        wide = self.write_policy("wide.toml", [0, 0, 0, 0])
        (self.dir / "soft.toml").write_text('kind = "softmax"\ntheta = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]\n')
        for arguments, code, words in [
            (["--policy", wide], 1, "theta has 4 numbers"),
            (["--policy", self.dir / "soft.toml"], 1, "continuous actions"),
            (["--policy", policy, "--estimator", "magic"], 2, "there is no estimator 'magic'"),
            (["--policy", policy, "--estimator", "additive"], 1, "multilabel"),
            (["--policy", policy, "--alpha", "0"], 2, "alpha"),
            (["--policy", policy, "--clip", "-1"], 2, "clip"),
            (["--policy", policy, "--level", "1"], 2, "level"),
            (["--target", "nobody"], 1, "target/nobody"),
            ([], 2, "--policy"),
        ]:
            self.assertIn(words, run("evaluate", data, *arguments, check=code).stderr)


if __name__ == "__main__":
    harness.main()
