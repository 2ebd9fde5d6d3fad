"""evaluate --model ridge: the built-in model against NumPy, and what it does to estimates."""
# labels: slow cli statistical

import numpy as np

import harness
from harness import ProgramTest, run, run_json, write_log

FOLDS = 5
PENALTIES = 1e-2 * 10.0 ** np.arange(9)


def fold_of(number):
    """The fold of a row or cluster by its number: SplitMix64's finalizer, modulo the folds."""
    mask = (1 << 64) - 1
    z = (number + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) % FOLDS


def unit(values):
    values = np.asarray(values, float)
    sd = values.std(axis=0)
    return values.mean(axis=0), np.where(sd > 1e-12 * abs(values.mean(axis=0)), sd, 1)


def ridge(features, y, used, penalty, mean):
    """Weights of the rows with `used`; the intercept is held near the mean by one row."""
    gram = features[used].T @ features[used] + np.diag([1.0] + [penalty] * (features.shape[1] - 1))
    weights = np.linalg.solve(gram, features[used].T @ (y[used] - mean))
    weights[0] += mean
    return weights


def cross_fit(features, y, folds, used):
    """Weights by fold and the median penalty, of the rows with `used`; means are those of all rows. The penalty of a fold
    is chosen without it: by the errors on each other fold of fits without both."""
    def fit(penalty, *left_out):
        rest = ~np.isin(folds, left_out)
        return ridge(features, y, used & rest, penalty, y[rest].mean())
    def error(penalty, fold):
        return sum(((y - features @ fit(penalty, fold, f))[used & (folds == f)] ** 2).sum()
                   for f in range(FOLDS) if f != fold)
    best = [min(PENALTIES[::-1], key=lambda penalty: error(penalty, fold)) for fold in range(FOLDS)]
    return np.array([fit(penalty, fold) for fold, penalty in enumerate(best)]), np.median(best)


def held(q, y, folds):
    """Predictions [rows, actions] within the losses outside of each row's fold."""
    least, most = (np.array([edge(y[folds != f]) for f in range(FOLDS)])[folds, None] for edge in (np.min, np.max))
    return np.clip(q, least, most)


def softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def toml_rows(theta):
    return "[" + ", ".join("[" + ", ".join(repr(float(v)) for v in row) + "]" for row in theta) + "]"


def categorical_log(path, n, d, k, seed, outcome, **more):
    """Rows of a softmax policy; outcome(x, action, random) gives their losses."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d))
    theta = random.normal(0, 0.5, (k, 1 + d)) / np.sqrt(d)
    pi = 0.5 * softmax(theta[:, 0] + x @ theta[:, 1:].T) + 0.5 / k
    action = (random.random((n, 1)) > pi.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    y = outcome(x, action, random)
    write_log(path, "categorical", context=x, action=action.astype(np.int32), loss=y, num_actions=k,
              propensity=pi[np.arange(n), action], **more)
    return x, action, y, pi[np.arange(n), action]


class RidgeModel(ProgramTest):
    def policy(self, text, name="p.toml"):
        path = self.dir / name
        path.write_text(text)
        return path

    def estimates(self, data, policy, *options):
        report = run_json("evaluate", data, "--policy", policy, "--model", "ridge", *options)
        return report, {one["estimator"]: one for one in report["policies"][0]["estimates"]}

    def check(self, found, a, residual, w):
        t = a + w * residual
        n = len(t)
        self.assertAlmostEqual(found["dm"]["value"], a.mean(), 8)
        self.assertAlmostEqual(found["dr"]["value"], t.mean(), 8)
        self.assertAlmostEqual(found["dr"]["stderr"], t.std(ddof=1) / np.sqrt(n), 8)

    def test_categorical_actions_have_a_regression_each(self):
        n, d, k = 1500, 3, 4
        data = self.dir / "a.h5"
        def outcome(x, action, random):
            return 100 + action * x[:, 0] + x[:, 1] + random.normal(0, 0.5, len(x))
        x, action, y, p = categorical_log(data, n, d, k, 1, outcome)
        theta = np.random.default_rng(9).normal(size=(k, 1 + d))
        policy = self.policy(f'kind = "softmax"\nepsilon = 0.1\ntheta = {toml_rows(theta)}\n')
        pi = 0.9 * softmax(theta[:, 0] + x @ theta[:, 1:].T) + 0.1 / k
        folds = np.array([fold_of(i) for i in range(n)])
        centre, scale = unit(x)
        features = np.c_[np.ones(n), (x - centre) / scale]
        my, sy = unit(y)
        q = np.empty((n, k))
        for a in range(k):
            weights, _ = cross_fit(features, (y - my) / sy, folds, action == a)
            q[:, a] = my + sy * (features * weights[folds]).sum(axis=1)
        q = held(q, y, folds)
        rows = np.arange(n)
        for threads in (1, 7):
            report, found = self.estimates(data, policy, "--threads", threads)
            self.assertEqual(report["model"]["name"], "ridge")
            self.check(found, (pi * q).sum(axis=1), y - q[rows, action], pi[rows, action] / p)
        uniform = self.policy('kind = "uniform"\n', "u.toml")
        _, found = self.estimates(data, uniform)
        self.check(found, q.mean(axis=1), y - q[rows, action], 1 / k / p)

    def test_continuous_actions_have_their_squares(self):
        n, d = 1200, 2
        random = np.random.default_rng(2)
        x = random.normal(1000, 3, (n, d))  # raw units
        action = random.normal(5, 1.5, n)
        action = np.abs(action) + 0.1
        y = (action - x[:, 0] / 200) ** 2 + random.normal(size=n)
        p = random.uniform(0.05, 0.4, n)
        data = write_log(self.dir / "a.h5", context=x.astype(np.float32), action=action, loss=y, propensity=p)
        x = x.astype(np.float32).astype(float)
        folds = np.array([fold_of(i) for i in range(n)])
        centre, scale = unit(x)
        base = np.c_[np.ones(n), (x - centre) / scale]
        (ma, sa), (my, sy) = unit(action), unit(y)
        def features(first, second):
            return np.hstack([base, base * first[:, None], base * second[:, None]])
        z = (action - ma) / sa
        weights, penalty = cross_fit(features(z, z**2), (y - my) / sy, folds, np.full(n, True))
        def predict(first, second):
            return my + sy * (features(first, second) * weights[folds]).sum(axis=1)
        theta = [0.1, 0.001, 0.0005]
        score = theta[0] + x @ theta[1:]
        for kind, mean, variance, density in (
                ("gaussian", score, 0.49, np.exp(-((action - score) / 0.7) ** 2 / 2) / (0.7 * np.sqrt(2 * np.pi))),
                ("lognormal", np.exp(score + 0.245), np.exp(2 * score + 0.49) * np.expm1(0.49),
                 np.exp(-((np.log(action) - score) / 0.7) ** 2 / 2) / (0.7 * np.sqrt(2 * np.pi) * action))):
            policy = self.policy(f'kind = "{kind}"\nscale = 0.7\ntheta = {theta}\n')
            report, found = self.estimates(data, policy)
            self.assertAlmostEqual(report["model"]["penalty"] / penalty, 1, 9)
            m = (mean - ma) / sa
            with self.subTest(kind=kind):
                self.check(found, predict(m, m**2 + variance / sa**2), y - predict(z, z**2), density / p)

    def test_labels_count_as_plus_and_minus_one(self):
        n, d, k = 1000, 3, 3
        random = np.random.default_rng(3)
        x = random.normal(size=(n, d))
        bits = (random.random((n, k)) < 0.5).astype(np.uint8)
        y = (bits * (x > 0)).mean(axis=1) + random.normal(0, 0.1, n)
        data = write_log(self.dir / "a.h5", "multilabel", context=x, action=bits, loss=y,
                         label_propensity=np.full((n, k), 0.5))
        folds = np.array([fold_of(i) for i in range(n)])
        centre, scale = unit(x)
        base = np.c_[np.ones(n), (x - centre) / scale]
        my, sy = unit(y)
        def features(factors):
            return np.hstack([base] + [base * factors[:, [j]] for j in range(k)])
        signs = 2.0 * bits - 1
        weights, _ = cross_fit(features(signs), (y - my) / sy, folds, np.full(n, True))
        def predict(factors):
            return my + sy * (features(factors) * weights[folds]).sum(axis=1)
        theta = random.normal(size=(k, 1 + d))
        one = 0.8 / (1 + np.exp(-(theta[:, 0] + x @ theta[:, 1:].T))) + 0.1
        for mixing in ("joint", "label"):
            policy = self.policy(f'kind = "multilabel"\nepsilon = 0.2\nmixing = "{mixing}"\ntheta = {toml_rows(theta)}\n')
            report, found = self.estimates(data, policy)
            plain = (one - 0.1) / 0.8
            logged = np.where(bits == 1, plain, 1 - plain)
            pi = (0.8 * logged + 0.1).prod(axis=1) if mixing == "label" else 0.8 * logged.prod(axis=1) + 0.2 / 2**k
            with self.subTest(mixing=mixing):
                self.check(found, predict(2 * one - 1), y - predict(signs), pi * 2**k)
                label = np.where(bits == 1, one, 1 - one)
                t = predict(2 * one - 1) + (y - predict(signs)) * (1 + (label / (0.5 + label / n) - 1).sum(axis=1))
                self.assertAlmostEqual(found["additive-dr"]["value"], t.mean(), 8)
                self.assertAlmostEqual(found["additive-dr"]["stderr"], t.std(ddof=1) / np.sqrt(n), 8)
                self.assertLess(found["additive-dr"]["stderr"], found["additive"]["stderr"])
                minus = {e["estimator"]: e for e in report["policies"][0]["difference"]["estimates"]}["additive-dr"]
                self.assertAlmostEqual(minus["stderr"], (t - y).std(ddof=1) / np.sqrt(n), 8)

    def test_clusters_stay_in_one_fold(self):
        n, d, k = 1000, 2, 2
        data = self.dir / "a.h5"
        cluster = np.arange(n) // 3 - 50
        x, action, y, p = categorical_log(data, n, d, k, 5, lambda x, a, random: x[:, 0] * a + random.normal(size=len(x)),
                                          cluster=cluster)
        folds = np.array([fold_of(int(c) % (1 << 64)) for c in cluster])
        centre, scale = unit(x)
        features = np.c_[np.ones(n), (x - centre) / scale]
        my, sy = unit(y)
        q = held(np.stack([my + sy * (features * cross_fit(features, (y - my) / sy, folds, action == a)[0][folds]).sum(axis=1)
                           for a in range(k)], axis=1), y, folds)
        _, found = self.estimates(data, self.policy('kind = "uniform"\n'))
        t = q.mean(axis=1) + (y - q[np.arange(n), action]) / k / p
        self.assertAlmostEqual(found["dr"]["value"], t.mean(), 8)
        sums = np.bincount(cluster + 50, t - t.mean())
        clusters = len(sums)
        self.assertAlmostEqual(found["dr"]["stderr"], np.sqrt((sums**2).sum() * clusters / (clusters - 1)) / n, 8)

    def test_whole_blocks_of_many_rows_are_left_out_together(self):
        n, d, k = 140_000, 2, 3
        data = self.dir / "a.h5"
        x, action, y, p = categorical_log(data, n, d, k, 6, lambda x, a, random: x[:, 0] * a + random.normal(size=len(x)))
        folds = np.array([fold_of(b) for b in range((n + 2047) // 2048)])[np.arange(n) // 2048]
        (centre, scale), (my, sy) = unit(x[:2048]), unit(y[:2048])
        features = np.c_[np.ones(n), (x - centre) / scale]
        q = held(np.stack([my + sy * (features * cross_fit(features, (y - my) / sy, folds, action == a)[0][folds]).sum(axis=1)
                           for a in range(k)], axis=1), y, folds)
        policy = self.policy('kind = "uniform"\n')
        report, found = self.estimates(data, policy, "--threads", 1)
        self.check(found, q.mean(axis=1), y - q[np.arange(n), action], 1 / k / p)
        # The same bits on more threads, and in as many passes as little memory takes.
        for options in (("--threads", 7), ("--threads", 2, "--memory", "64M")):
            again, _ = self.estimates(data, policy, *options)
            self.assertEqual({**report, "seconds": 0, "threads": 0}, {**again, "seconds": 0, "threads": 0})

    def test_many_actions_take_several_passes_in_little_memory(self):
        # The sums of all actions are 32 MB, of which a pass holds several: under 64M they come a few actions at a time.
        data = self.dir / "a.h5"
        categorical_log(data, 3000, 50, 300, 8, lambda x, a, random: x[:, 0] * (a % 3) + random.normal(size=len(x)))
        policy = self.policy('kind = "uniform"\n')
        plenty, _ = self.estimates(data, policy, "--memory", "4G")
        little, _ = self.estimates(data, policy, "--memory", "64M")
        self.assertEqual({**plenty, "seconds": 0}, {**little, "seconds": 0})

    def test_a_right_model_narrows_intervals_that_still_hold(self):
        # 60 logs; an interval that holds in 95 % of them holds in fewer than 50 in 1 of 10,000 tries.
        n, k, logs = 400, 3, 60
        theta = np.random.default_rng(0).normal(size=(k, 3))
        policy = self.policy(f'kind = "softmax"\ntheta = {toml_rows(theta)}\n')
        data = self.dir / "a.h5"
        x = np.random.default_rng(1).normal(size=(200_000, 2))
        truth = (softmax(theta[:, 0] + x @ theta[:, 1:].T) * (3 + np.outer(x[:, 0], range(k)))).sum(axis=1).mean()
        held = narrower = 0
        for seed in range(logs):
            categorical_log(data, n, 2, k, seed, lambda x, a, random: 3 + a * x[:, 0] + random.normal(0, 0.5, len(x)))
            _, found = self.estimates(data, policy, "--interval", "normal")
            held += found["dr"]["low"] <= truth <= found["dr"]["high"]
            narrower += found["dr"]["stderr"] < found["ips"]["stderr"]
        self.assertGreaterEqual(held, 50)
        self.assertEqual(narrower, logs)

    def test_a_wrong_model_leaves_dr_unbiased_and_dm_not(self):
        # 30 logs; the mean of dr lies further than 4 of its standard errors from the truth in 4 of 10,000 tries.
        n, k, logs = 2000, 2, 30
        theta = np.array([[0.0, 0.0], [0.0, 8.0]])
        policy = self.policy(f'kind = "softmax"\ntheta = {toml_rows(theta)}\n')
        data = self.dir / "a.h5"
        def mean(x, a):
            return np.where((a == 1) == (x > 0), 0, x**2)  # nothing where the policy is right: a line cannot tell
        x = np.random.default_rng(1).normal(size=400_000)
        pi = softmax(theta[:, 0] + x[:, None] @ theta[:, 1:].T)
        truth = (pi * np.stack([mean(x, a) for a in range(k)], axis=1)).sum(axis=1).mean()
        values = {"dm": [], "dr": []}
        for seed in range(logs):
            categorical_log(data, n, 1, k, seed, lambda x, a, random: mean(x[:, 0], a) + random.normal(0, 0.3, len(x)))
            _, found = self.estimates(data, policy)
            for name, all_values in values.items():
                all_values.append(found[name]["value"])
        away = {name: abs(np.mean(v) - truth) / (np.std(v, ddof=1) / np.sqrt(logs)) for name, v in values.items()}
        self.assertLess(away["dr"], 4)
        self.assertGreater(away["dm"], 6)

    def test_noise_is_not_learned_by_heart(self):
        # Outcomes are noise around one, and features are a quarter of the rows. A model that has seen the rows it
        # corrects takes part of each loss for its own; the built-in one has not. As above 4 standard errors.
        n, k, logs = 240, 2, 25
        d = n // 4
        policy = self.policy(f'kind = "softmax"\ntheta = {toml_rows(np.c_[[1.0, -1.0], np.zeros((k, d))])}\n')
        pi = softmax(np.array([[1.0, -1.0]]))[0]
        own, seen = [], []
        for seed in range(logs):
            data = self.dir / "a.h5"
            x, action, y, p = categorical_log(data, n, d, k, seed, lambda x, a, random: random.normal(1, 1, len(x)))
            _, found = self.estimates(data, policy)
            own.append(found["dr"]["value"])
            q = np.stack([x @ np.linalg.lstsq(x[action == a], y[action == a], rcond=None)[0] for a in range(k)], axis=1)
            data = write_log(self.dir / "b.h5", "categorical", action=action.astype(np.int32), loss=y, num_actions=k,
                             propensity=p, targets={"t": pi[action]},
                             **{"model/m/logged": q[np.arange(n), action], "model/m/target/t": q @ pi})
            report = run_json("evaluate", data, "--target", "t")
            seen.append(next(e["value"] for e in report["policies"][0]["estimates"] if e["estimator"] == "dr"))
        def away(values):
            return abs(np.mean(values) - 1) / (np.std(values, ddof=1) / np.sqrt(logs))
        self.assertLess(away(own), 4)
        self.assertGreater(away(seen), 8)

    def test_odd_shapes(self):
        policy = self.policy('kind = "uniform"\n')
        for n, d, k in ((1, 2, 2), (2, 0, 3), (7, 1, 1), (300, 40, 64), (50, 400, 2)):
            data = self.dir / "a.h5"
            categorical_log(data, n, d, k, 1, lambda x, a, random: random.normal(size=len(x)), gzip=False) if d else (
                write_log(data, "categorical", action=np.zeros(n, np.int32), loss=np.arange(n) + 1.0, num_actions=k,
                          propensity=np.full(n, 0.5)))
            with self.subTest(rows=n, features=d, actions=k):
                _, found = self.estimates(data, policy)
                for name in ("dm", "dr", "sndr", "switch-dr", "dros"):
                    self.assertIsNotNone(found[name]["value"])

    def test_what_it_cannot_do_is_said(self):
        n = 100
        data = write_log(self.dir / "a.h5", "categorical", context=np.zeros((n, 1)), action=np.zeros(n, np.int32),
                         loss=np.arange(n) * 1.0, num_actions=2, propensity=np.full(n, 0.5), targets={"t": np.full(n, 0.5)})
        report = run_json("evaluate", data, "--target", "t", "--model", "ridge")
        self.assertNotIn("dr", [one["estimator"] for one in report["policies"][0]["estimates"]])
        said = run("evaluate", data, "--target", "t", "--model", "ridge", "--estimator", "dr", check=1).stderr
        self.assertIn("needs the probabilities of all of them", said)

    def test_sparse_contexts_have_a_model_too(self):
        n = 100
        sparse = write_log(self.dir / "s.h5", "categorical", context=(range(n + 1), [0] * n, np.arange(n) / n, 3),
                           action=np.arange(n, dtype=np.int32) % 2, loss=np.arange(n) / n, num_actions=2,
                           propensity=np.full(n, 0.5))
        report = run_json("evaluate", sparse, "--policy", self.policy('kind = "uniform"\n'), "--model", "ridge")
        found = {one["estimator"]: one["value"] for one in report["policies"][0]["estimates"]}
        self.assertAlmostEqual(found["dr"], (n - 1) / n / 2, delta=0.05)


if __name__ == "__main__":
    harness.main()
