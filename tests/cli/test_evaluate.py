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
        variance = (400 * r0.var(ddof=1) + 700 * r1.var(ddof=1)
                    + 2 * 400 * 700 * np.cov(r0, r1[:400])[0, 1]) / 1100**2
        if variance >= 0:
            self.assertAlmostEqual(got["stderr"] / np.sqrt(variance), 1, delta=1e-9)
        else:
            self.assertIsNone(got["stderr"])

    def test_the_same_bits_at_any_thread_count_bootstrap_included(self):
        x, a, y, p = logs(100_000, 2, 7)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p)
        policy = self.write_policy("p.toml", [0.2, 0.1, 0])
        reports = [run_json("evaluate", self.dir / "a.h5", "--policy", policy, "--interval", "bootstrap", "--seed", 3, "--threads", t)
                   for t in (1, 2, 3, 8)]
        for report in reports[1:]:
            self.assertEqual(report["policies"], reports[0]["policies"])

    def test_one_row_and_no_rows(self):
        x, a, y, p = logs(1, 2, 8)
        write_log(self.dir / "a.h5", context=x, action=a, loss=y, propensity=p)
        policy = self.write_policy("p.toml", [0, 0, 0])
        report = run_json("evaluate", self.dir / "a.h5", "--policy", policy)
        self.assertIsNone(estimates(report)["ips"]["stderr"])
        self.assertIn("only one row", " ".join(report["policies"][0]["diagnostics"]["warnings"]))
        write_log(self.dir / "b.h5", context=x[:0], action=a[:0], loss=y[:0], propensity=p[:0])
        self.assertIn("no rows", run("evaluate", self.dir / "b.h5", "--policy", policy, check=1).stderr)

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
