"""Where `scrm learn` of continuous actions begins without --start, on logs whose actions follow the context."""
# labels: fast cli

import re

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json, write_log

LINE = "starts from a regression of the logged actions on the features, which explains"


class Deployment:
    """Rows of a policy that was learned before: mean 1 + k x (of log a for lognormal), standard deviation sd. The best
    mean lies half a standard deviation above it; the best loss of a policy of scale s is -4 + (s / sd)^2."""

    def __init__(self, sd=0.5, k=(3.0,), units=None, rows=4000, seed=2, lognormal=False):
        random = np.random.default_rng(seed)
        self.sd, self.k, self.lognormal = sd, np.array(k), lognormal
        self.x = random.normal(size=(rows, len(k)))
        self.units = np.ones(len(k)) if units is None else np.array(units)
        noise = random.normal(size=rows)
        z = 1 + self.x @ self.k + sd * noise
        self.a = np.exp(z) if lognormal else z
        self.p = np.exp(-0.5 * noise**2) / np.sqrt(2 * np.pi) / sd / (self.a if lognormal else 1)
        self.y = (noise - 0.5) ** 2 - 4 + 0.1 * random.normal(size=rows)

    def write(self, path, rows=slice(None), dtype=np.float64):
        x = (self.x * self.units).astype(dtype)
        return write_log(path, context=x[rows], action=self.a[rows].astype(dtype), loss=self.y[rows].astype(dtype),
                         propensity=self.p[rows].astype(dtype))

    def loss(self, text):
        """What the policy of a file costs."""
        theta = np.array([float(number) for number in re.search(r"theta\s*=\s*\[(.*)\]", text)[1].split(",")])
        scale = float(re.search(r"scale\s*=\s*(\S+)", text)[1])
        width = len(self.k)
        slope = (theta[1:1 + width] * self.units - self.k) / self.sd
        return -4 + ((theta[0] - 1) / self.sd - 0.5) ** 2 + (slope**2).sum() + (scale / self.sd) ** 2


class LearnStart(ProgramTest):
    def learn(self, deployment, *options, name="logs.h5", dtype=np.float64):
        deployment.write(self.dir / name, dtype=dtype)
        kind = ["--kind", "lognormal"] if deployment.lognormal else []
        report = run_json("learn", self.dir / name, "--out", self.dir / "out.toml", "--overwrite", "--lambda", 1,
                          "--centre-losses", *kind, *options)
        return report, deployment.loss((self.dir / "out.toml").read_text())

    def mean_loss(self, folder):
        losses = []
        for path in sorted(folder.glob("*.h5")):
            with h5py.File(path) as file:
                losses.append(file["loss"][:])
        return np.concatenate(losses).mean()

    def assert_near_the_best(self, deployment, report, loss, scale=0.5):
        """Within a fifth of what there is to gain over the logged policy, whose scale is known to be left."""
        best, logged = -4 + scale**2, deployment.y.mean()
        self.assertLess(loss, best + 0.2 * (logged - best))
        self.assertEqual(report["warnings"], [])
        self.assertIn("start_explained_variance", report)

    def test_a_second_deployment_is_learned_from_whatever_the_spread(self):
        for lognormal in (False, True):
            for sd, k in ((0.5, 3), (0.5, 5), (0.2, 1), (0.1, 1), (1, 3), (1, 10)):
                with self.subTest(lognormal=lognormal, sd=sd, k=k):
                    deployment = Deployment(sd, (k,), lognormal=lognormal)
                    report, loss = self.learn(deployment)
                    self.assert_near_the_best(deployment, report, loss)
                    self.assertAlmostEqual(report["start_explained_variance"], k**2 / (k**2 + sd**2), delta=0.02)

    def test_what_the_last_deployment_logged_is_enough(self):
        """Each policy is learned from the logs of the one before alone, without --start, and none costs more. With one
        mean for all contexts the second and third cost as much as the first: 0.05 more than they do."""
        for seed in range(3):
            losses, policy = [], []
            for rollout in range(3):
                with self.subTest(seed=seed, rollout=rollout):
                    logs, out = self.dir / f"logs-{seed}-{rollout}", self.dir / f"{seed}-{rollout}.toml"
                    run("simulate", "advertising", "--rows", 5000, "--seed", 100 * rollout + seed, *policy, "--out", logs)
                    report = run_json("learn", logs, "--lambda", 10, "--centre-losses", "--out", out)
                    self.assertEqual("start_explained_variance" in report, rollout > 0)
                    losses.append(report["logged_loss"])
                    policy = ["--policy", out]
            run("simulate", "advertising", "--rows", 5000, "--seed", 300 + seed, *policy, "--out", self.dir / f"last-{seed}")
            losses.append(self.mean_loss(self.dir / f"last-{seed}"))
            # Standard errors are 0.003.
            for before, after in zip(losses, losses[1:]):
                self.assertLess(after, before + 0.01)
            self.assertLess(losses[2], losses[1] - 0.02)
            self.assertLess(losses[3], -0.72)

    def test_it_says_so(self):
        deployment = Deployment(0.3, (1.0,))
        deployment.write(self.dir / "logs.h5")
        text = run("learn", self.dir / "logs.h5", "--out", self.dir / "out.toml").stdout
        self.assertRegex(text, LINE + r" 9[12]\.?\d* % of their variance\n")
        self.assertRegex(text, r"scale: 0\.1\d+, half of the logged actions' spread around this regression; --scale sets another")

    def test_units_and_types_do_not_matter(self):
        for dtype in (np.float64, np.float32):
            with self.subTest(dtype=dtype):
                deployment = Deployment(0.5, (3.0, -2.0), units=(1e-3, 1e4))
                self.assert_near_the_best(deployment, *self.learn(deployment, dtype=dtype))

    def test_a_scale_that_is_given_stays_and_one_that_is_learned_is_found(self):
        deployment = Deployment(0.5, (3.0,))
        report, loss = self.learn(deployment, "--scale", 0.4)
        self.assert_near_the_best(deployment, report, loss, scale=0.8)
        self.assertIn("scale    = 0.4\n", (self.dir / "out.toml").read_text())
        report, loss = self.learn(deployment, "--scale", "learned")
        self.assertLess(loss, -3.9)
        self.assertAlmostEqual(report["scale"], 0.1 * deployment.sd, delta=0.01)  # the less the better; a tenth at least

    def test_products_and_fourier_features_come_on_top(self):
        """Of the data's own features the mean of the logged actions is known; the others start at nothing."""
        deployment = Deployment(0.5, (3.0, -2.0))
        for features in (["quadratic"], ["fourier", "--width", 16]):
            with self.subTest(features=features):
                report, _ = self.learn(deployment, "--features", *features)
                self.assertEqual(report["warnings"], [])
                self.assertAlmostEqual(report["start_explained_variance"], 13 / 13.25, delta=0.01)
                self.assertLess(report["held_out"]["high"], deployment.y.mean())

    def test_rows_held_out_do_not_count(self):
        deployment = Deployment()
        split, whole = (self.learn(deployment, "--holdout", share)[0]["start_explained_variance"] for share in (0.2, 0))
        self.assertNotEqual(split, whole)
        self.assertAlmostEqual(split, whole, delta=0.01)

    def test_the_bits_do_not_depend_on_threads_or_shards(self):
        deployment = Deployment(rows=9000, k=(3.0, 1.0))
        deployment.write(self.dir / "whole.h5")
        (self.dir / "shards").mkdir()
        for shard, first in enumerate((0, 700, 5001)):
            deployment.write(self.dir / "shards" / f"{shard}.h5", slice(first, (700, 5001, 9000)[shard]))
        reports = [run_json("learn", self.dir / data, "--out", self.dir / "out.toml", "--overwrite", "--threads", threads)
                   for data, threads in (("whole.h5", 1), ("whole.h5", 7), ("shards", 2))]
        for report in reports[1:]:
            for key in ("theta", "start_explained_variance", "scale", "objective"):
                self.assertEqual(report[key], reports[0][key])

    def test_a_start_that_would_lie_outside_the_bound_is_left(self):
        report, _ = self.learn(Deployment(), "--bound=-2:2")
        self.assertNotIn("start_explained_variance", report)
        report, _ = self.learn(Deployment(), "--bound=-4:4")
        self.assertIn("start_explained_variance", report)

    def test_other_logs_begin_where_they_did(self):
        """Hardly any context in the actions; a context that never varies; few rows; no features; a start that is given."""
        (self.dir / "start.toml").write_text('kind = "gaussian"\nscale = 0.3\ntheta = [1, 2]\n')
        constant = Deployment()
        constant.x[:] = 1
        for name, deployment, options in (("little", Deployment(0.5, (0.3,)), []), ("constant", constant, []),
                                          ("few", Deployment(rows=8), []), ("none", Deployment(k=()), []),
                                          ("given", Deployment(), ["--start", self.dir / "start.toml"])):
            with self.subTest(name=name):
                report, _ = self.learn(deployment, "--holdout", 0, *options)
                self.assertNotIn("start_explained_variance", report)
        for rows, words in ((1, "only one row to learn from"), (0, "no rows to learn from")):
            Deployment(rows=rows).write(self.dir / "few.h5")
            done = run("learn", self.dir / "few.h5", "--out", self.dir / "few.toml", "--holdout", 0, check=1)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    harness.main()
