"""Random Fourier features: what a policy file with them means, and that every command agrees about it.

labels: cli fast threads
"""

import itertools
import math
import os
import tomllib
import unittest

import h5py
import numpy as np
from scipy import stats

from acts import read, write_contexts
from harness import ProgramTest, main, run, run_json, some_under_sanitizers, write_log
from philox import Stream

# Sanitizers take two hundred MB for themselves.
MEMORY = "1G" if os.environ.get("SCRM_SANITIZE") else "256M"
ROWS = 3000
UNITS = np.array([1.0, 1000.0, 0.01])


def fourier(policy, x):
    """(1, x, z(x)) by the formula, from what the file says."""
    width, inputs = policy["width"], x.shape[1]
    centre, spread = policy.get("centre", [0.0] * inputs), policy.get("spread", [1.0] * inputs)
    scaled = (x - centre) / np.array(spread) / policy["bandwidth"]
    columns = []
    for k in range(width):
        stream = Stream(policy["feature_seed"], 0xF0A1, k)
        phase = 2 * math.pi * stream.uniform()
        omega = np.array([stream.normal() for _ in range(inputs)])
        columns.append(math.sqrt(2 / width) * np.cos(scaled @ omega + phase))
    return np.column_stack([np.ones(len(x)), x, *columns])


def scores(policy, x):
    return fourier(policy, x) @ np.atleast_2d(policy["theta"]).T


def softmax(values, epsilon):
    power = np.exp(values - values.max(axis=1, keepdims=True))
    return (1 - epsilon) * power / power.sum(axis=1, keepdims=True) + epsilon / values.shape[1]


def labels(values, epsilon):
    return (1 - epsilon) / (1 + np.exp(-values)) + epsilon / 2


class BentLogs(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        self.x = random.normal(size=(ROWS, 3)) * UNITS + [0, 5000, 0]
        self.random = random

    def bump(self):
        """1 near the middle of the first feature and of the second, in standard deviations."""
        z = (self.x - [0, 5000, 0]) / UNITS
        return np.exp(-(z[:, 0] ** 2 + z[:, 1] ** 2))

    def log(self, kind, dtype=np.float64, name="log.h5", **more):
        """A log whose best action depends on the bump, which no linear policy can follow."""
        x, bump, random = self.x.astype(dtype), self.bump(), np.random.default_rng(2)
        if kind in ("gaussian", "lognormal"):
            mean = 1.0 if kind == "gaussian" else 0.0
            base = random.normal(mean, 0.6, size=ROWS)
            action = base if kind == "gaussian" else np.exp(base)
            density = stats.norm.pdf(base, mean, 0.6) / (1 if kind == "gaussian" else action)
            wanted = 2 * bump if kind == "gaussian" else np.exp(bump)
            return write_log(self.dir / name, context=x, action=action, loss=-np.exp(-2 * (action - wanted) ** 2),
                             propensity=density, **more)
        wanted = (bump > 0.3).astype(int)
        if kind == "softmax":
            action = random.integers(0, 3, ROWS).astype(np.int32)
            return write_log(self.dir / name, "categorical", context=x, action=action, num_actions=3,
                             loss=-(action == wanted).astype(float), propensity=np.full(ROWS, 1 / 3), **more)
        bits = random.integers(0, 2, (ROWS, 2)).astype(np.uint8)
        loss = ((bits[:, 0] != wanted) + (bits[:, 1] != 1 - wanted)) / 2
        return write_log(self.dir / name, "multilabel", context=x, action=bits, num_actions=2, loss=loss,
                         label_propensity=np.full((ROWS, 2), 0.5), **more)


class Fourier(BentLogs):
    def learn(self, data, kind, *options, out="p.toml"):
        options = ("--features", "fourier", "--width", 24, "--feature-seed", 7, *options)
        result = run_json("learn", data, "--kind", kind, "--out", self.dir / out, "--lambda", 0.1, "--max-iter", 60,
                          *options)
        return result, tomllib.loads((self.dir / out).read_text())

    def weights(self, kind, policy, path):
        """π(a|x) / propensity of every row, by hand."""
        with h5py.File(path) as file:
            columns = {name: file[name][()] for name in file}
        x = columns["context"].astype(float)
        s = scores(policy, x)
        if kind == "gaussian":
            return stats.norm.pdf(columns["action"], s[:, 0], policy["scale"]) / columns["propensity"]
        if kind == "lognormal":
            density = stats.norm.pdf(np.log(columns["action"]), s[:, 0], policy["scale"]) / columns["action"]
            return density / columns["propensity"]
        if kind == "softmax":
            return softmax(s, policy["epsilon"])[np.arange(ROWS), columns["action"]] / columns["propensity"]
        p = labels(s, policy["epsilon"])
        bits = columns["action"]
        return np.where(bits == 1, p, 1 - p).prod(axis=1) / columns["label_propensity"].prod(axis=1)

    def test_every_kind_learns_with_them_and_evaluate_agrees_with_numpy(self):
        kinds = ("gaussian", "lognormal", "softmax", "multilabel")
        for kind, dtype in some_under_sanitizers(itertools.product(kinds, (np.float64, np.float32))):
            with self.subTest(kind=kind, dtype=dtype):
                data = self.log(kind, dtype, name=f"{kind}-{dtype.__name__}.h5")
                mixing = ("--mixing", "label") if kind == "multilabel" else ()
                result, policy = self.learn(data, kind, *mixing, "--holdout", 0, out=f"{kind}-{dtype.__name__}.toml")
                self.assertEqual((policy["features"], policy["width"], policy["feature_seed"]), ("fourier", 24, 7))
                self.assertAlmostEqual(policy["bandwidth"], math.sqrt(3))
                np.testing.assert_allclose(policy["spread"], self.x.std(axis=0, ddof=1), rtol=1e-3)
                np.testing.assert_allclose(policy["theta"], result["theta"], rtol=1e-15)
                found = run_json("evaluate", data, "--policy", self.dir / f"{kind}-{dtype.__name__}.toml",
                                 "--estimator", "ips,snips", "--model", "none")
                w = self.weights(kind, policy, data)
                with h5py.File(data) as file:
                    loss = file["loss"][()]
                values = {e["estimator"]: e["value"] for e in found["policies"][0]["estimates"]}
                self.assertAlmostEqual(values["ips"], (w * loss).mean(), delta=1e-10 * np.abs(w * loss).mean())
                self.assertAlmostEqual(values["snips"], (w * loss).sum() / w.sum(), delta=1e-10)
                # What no linear policy can do.
                linear = run_json("learn", data, "--kind", kind, "--out", self.dir / "l.toml", "--lambda", 0.1,
                                  "--max-iter", 60, "--holdout", 0, "--overwrite", *mixing)
                self.assertLess(result["risk"], linear["risk"] - 0.02 * abs(linear["risk"]))

    def test_units_of_features_do_not_matter(self):
        result, here = self.learn(self.log("softmax"), "softmax", "--holdout", 0)
        path = self.log("softmax", name="units.h5")
        with h5py.File(path, "a") as file:
            file["context"][...] = (self.x - [0, 5000, 0]) / UNITS * [1e-4, 1e6, 3] + [1e3, -1e7, 7]
        again, there = self.learn(path, "softmax", "--holdout", 0, out="units.toml")
        np.testing.assert_allclose(np.array(there["spread"]) / [1e-4, 1e6, 3], np.array(here["spread"]) / UNITS, rtol=1e-9)
        # Searches that stop after 60 iterations are not at the same place to the last digit.
        self.assertAlmostEqual(result["objective"], again["objective"], delta=0.01)

    def test_any_number_of_threads_and_a_file_written_again_give_the_same_bits(self):
        data = self.log("softmax")
        first, policy = self.learn(data, "softmax", "--estimator", "dr", "--threads", 1)
        second, again = self.learn(data, "softmax", "--estimator", "dr", "--threads", 7, out="q.toml")
        for result in (first, second):
            for key in ("seconds", "threads", "out", "path"):
                result.pop(key, None)
        self.assertEqual(policy, again)
        self.assertEqual(first["theta"], second["theta"])
        evaluations = []
        for threads in (1, 7):
            found = run_json("evaluate", data, "--policy", self.dir / "p.toml", "--threads", threads)
            evaluations.append([p["estimates"] for p in found["policies"]])
        self.assertEqual(*evaluations)
        # No iteration from a start leaves it as it is, text and all.
        run("learn", data, "--start", self.dir / "p.toml", "--out", self.dir / "r.toml", "--lambda", 0.1,
            "--max-iter", 1, "--estimator", "ips-ix")
        third = tomllib.loads((self.dir / "r.toml").read_text())
        for key in ("features", "width", "bandwidth", "feature_seed", "centre", "spread"):
            self.assertEqual(policy[key], third[key])

    @unittest.skipIf(os.environ.get("SCRM_SANITIZE"), "sanitizers leave nothing of so small a budget")
    def test_rows_from_shards_and_from_memory_give_the_same(self):
        rows, random = 60_000, np.random.default_rng(8)
        data = write_log(self.dir / "many.h5", "categorical",
                         context=random.normal(size=(rows, 3)) * UNITS,
                         action=random.integers(0, 3, rows).astype(np.int32), num_actions=3, loss=-random.random(rows),
                         propensity=np.full(rows, 1 / 3), chunk_rows=500, gzip=True)
        one_thread = ("--threads", 1)
        held, _ = self.learn(data, "softmax", *one_thread)
        streamed, _ = self.learn(data, "softmax", *one_thread, "--memory", "32M", out="s.toml")
        self.assertFalse(held["streamed"])
        self.assertTrue(streamed["streamed"])
        self.assertEqual(held["theta"], streamed["theta"])

    def test_act_draws_by_them_and_records_what_evaluate_divides(self):
        for kind in ("gaussian", "softmax", "multilabel"):
            with self.subTest(kind=kind):
                mixing = ("--mixing", "label") if kind == "multilabel" else ()
                _, policy = self.learn(self.log(kind, name=f"{kind}.h5"), kind, *mixing, out=f"{kind}.toml")
                contexts = write_contexts(self.dir / f"{kind}-x.h5", self.x)
                out = self.dir / f"{kind}-out"
                run("act", self.dir / f"{kind}.toml", "--contexts", contexts, "--seed", 3, "--out", out)
                columns, s = read(out), scores(policy, self.x)
                if kind == "gaussian":
                    np.testing.assert_allclose(columns["propensity"],
                                               stats.norm.pdf(columns["action"], s[:, 0], policy["scale"]), rtol=1e-9)
                elif kind == "softmax":
                    p = softmax(s, policy["epsilon"])
                    np.testing.assert_allclose(columns["propensity"], p[np.arange(ROWS), columns["action"]], rtol=1e-9)
                else:
                    p = labels(s, policy["epsilon"])
                    np.testing.assert_allclose(columns["label_propensity"], np.where(columns["action"] == 1, p, 1 - p),
                                               rtol=1e-9)

    def test_inputs_are_found_by_name(self):
        names = {"context_columns": ["a", "b", "c"]}
        data = self.log("softmax", attributes=names)
        self.learn(data, "softmax")
        plain = run_json("evaluate", data, "--policy", self.dir / "p.toml", "--model", "none")
        moved = self.log("softmax", name="moved.h5", attributes={"context_columns": ["c", "x", "a", "b"]})
        with h5py.File(moved, "a") as file:
            del file["context"]
            file["context"] = np.column_stack([self.x[:, 2], np.full(ROWS, 9.0), self.x[:, 0], self.x[:, 1]])
        found = run_json("evaluate", moved, "--policy", self.dir / "p.toml", "--model", "none")
        for a, b in zip(plain["policies"][0]["estimates"], found["policies"][0]["estimates"]):
            self.assertAlmostEqual(a["value"], b["value"], delta=1e-9)
        error = run("learn", moved, "--start", self.dir / "p.toml", "--out", self.dir / "n.toml", check=1).stderr
        self.assertRegex(error, r"p\.toml.*same order")

    def test_what_is_wrong_is_named(self):
        data = self.log("softmax")
        base = ["learn", data, "--kind", "softmax", "--out", self.dir / "o.toml"]
        self.assertIn("--width", run(*base, "--features", "fourier", "--width", 0, check=2).stderr)
        self.assertIn("--features fourier", run(*base, "--width", 5, check=2).stderr)
        self.assertIn("--bandwidth", run(*base, "--features", "fourier", "--bandwidth", -1, check=2).stderr)
        theta = "[[0, 1, 2, 3, 4], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]"
        good = {"width": 1, "bandwidth": 1.0, "feature_seed": 3, "theta": theta}
        for change, message in (({"width": None}, "width: is missing"), ({"feature_seed": None}, "feature_seed: is missing"),
                                ({"bandwidth": None}, "bandwidth: is missing"), ({"width": 0}, "at least 1"),
                                ({"width": 4}, "too few"), ({"bandwidth": 0}, "above zero"),
                                ({"feature_seed": -1}, "at least 0"), ({"spread": [1.0]}, "room for 3 features"),
                                ({"spread": [1.0, 0.0, 1.0]}, r"spread\[1\]"), ({"centre": [1, 2]}, "room for 3 features"),
                                ({"width": 2}, "the data needs 6"), ({"inputs": ["a", "b"]}, "2 names")):
            with self.subTest(change=change):
                lines = {**good, **change}
                text = "".join(f"{key} = {value}\n" for key, value in lines.items() if value is not None)
                path = self.dir / "wrong.toml"
                path.write_text('kind = "softmax"\nfeatures = "fourier"\n' + text.replace("'", '"'))
                self.assertRegex(run("evaluate", data, "--policy", path, check=1).stderr, message)
        (self.dir / "linear.toml").write_text(f'kind = "softmax"\nwidth = 3\ntheta = {theta}\n')
        self.assertIn("belongs to features", run("evaluate", data, "--policy", self.dir / "linear.toml", check=1).stderr)
        indptr = np.arange(ROWS + 1)
        sparse = write_log(self.dir / "sparse.h5", "categorical", num_actions=3, action=np.zeros(ROWS, np.int32),
                           context=(indptr, np.zeros(ROWS, np.int32), np.ones(ROWS), 3), loss=np.linspace(0, 1, ROWS),
                           propensity=np.full(ROWS, 0.5))
        error = run("learn", sparse, "--kind", "softmax", "--out", self.dir / "o.toml", "--features", "fourier", check=2)
        self.assertIn("sparse", error.stderr)
        path = self.dir / "good.toml"
        path.write_text('kind = "softmax"\nfeatures = "fourier"\n' +
                        "".join(f"{key} = {value}\n" for key, value in good.items()))
        self.assertIn("sparse", run("evaluate", sparse, "--policy", path, check=1).stderr)
        run("evaluate", data, "--policy", path)


class FourierModel(BentLogs):
    """evaluate --model fourier: the ridge model of (x, z(x)), while policies see x alone."""

    THETA = {"softmax": [[0.1, 0.5, 0.0, 0.0], [0.0, -0.2, 0.0002, 3.0], [0.0, 0.0, 0.0, -20.0]],
             "multilabel": [[0.3, 0.8, 0.0, 0.0], [-1.0, 0.0, 0.0002, 10.0]], "gaussian": [0.2, 0.3, 0.0001, 5.0]}

    def policy(self, kind, name, pad=0):
        rows = self.THETA[kind]
        padded = [row + [0.0] * pad for row in rows] if kind != "gaussian" else rows + [0.0] * pad
        extra = "scale = 0.7\n" if kind == "gaussian" else 'epsilon = 0.1\n' + ('mixing = "label"\n' if kind == "multilabel" else "")
        (self.dir / name).write_text(f'kind = "{kind}"\n{extra}theta = {padded}\n')
        return self.dir / name

    def estimates(self, log, policy, *more):
        report = run_json("evaluate", log, "--policy", policy, "--quiet", *more)
        self.model = report.get("model")
        return {one["estimator"]: one for one in report["policies"][0]["estimates"]}

    def test_it_is_the_ridge_model_of_contexts_with_their_features_written_out(self):
        spread = self.x.std(axis=0, ddof=1)
        map_ = {"width": 256, "bandwidth": math.sqrt(3), "feature_seed": 7, "centre": self.x.mean(axis=0), "spread": spread}
        wide = fourier(map_, self.x)[:, 1:]
        for kind in self.THETA:
            log = self.log(kind)
            with h5py.File(log) as file, h5py.File(self.dir / "wide.h5", "w") as copy:
                for name in file:
                    copy[name] = wide if name == "context" else file[name][()]
                for name, value in file.attrs.items():
                    copy.attrs[name] = value
            found = self.estimates(log, self.policy(kind, "p.toml"), "--model", "fourier", "--seed", 7)
            expected = self.estimates(self.dir / "wide.h5", self.policy(kind, "wide.toml", 256), "--model", "ridge", "--seed", 7)
            plain = self.estimates(log, self.policy(kind, "p.toml"), "--model", "none", "--seed", 7)
            for name in ("dm", "dr", "sndr", "switch-dr", "dros"):
                self.assertAlmostEqual(found[name]["value"], expected[name]["value"], delta=1e-8, msg=(kind, name))
                self.assertAlmostEqual(found[name]["stderr"], expected[name]["stderr"], delta=1e-8, msg=(kind, name))
            for name, one in plain.items():  # what needs no model does not notice it
                self.assertEqual(found[name], one, (kind, name))

    def test_it_follows_outcomes_that_bend(self):
        log, policy = self.log("softmax"), self.policy("softmax", "p.toml")
        linear = self.estimates(log, policy, "--model", "ridge")
        bent = self.estimates(log, policy, "--model", "fourier")
        self.assertEqual(self.model["name"] if isinstance(self.model, dict) else self.model, "fourier")
        self.assertLess(bent["dr"]["stderr"], 0.9 * linear["dr"]["stderr"])
        self.assertLess(abs(bent["dr"]["value"] - linear["dr"]["value"]), 4 * linear["dr"]["stderr"])

    def test_threads_memory_and_float32_are_no_matter_and_sparse_contexts_are_refused(self):
        log, policy = self.log("multilabel", dtype=np.float32), self.policy("multilabel", "p.toml")
        one = self.estimates(log, policy, "--model", "fourier", "--threads", 1)
        self.assertEqual(self.estimates(log, policy, "--model", "fourier", "--threads", 7, "--memory", MEMORY), one)
        self.assertTrue(all(np.isfinite(estimate["value"]) for estimate in one.values()))
        with h5py.File(self.dir / "sparse.h5", "w") as file, h5py.File(log) as dense:
            for name in dense:
                if name != "context":
                    file[name] = dense[name][()]
            for name, value in dense.attrs.items():
                file.attrs[name] = value
            group = file.create_group("context")
            group["indptr"], group["indices"] = np.arange(ROWS + 1, dtype=np.int64), np.zeros(ROWS, np.int32)
            group["values"] = np.ones(ROWS)
            group.attrs["num_features"] = 3
        done = run("evaluate", self.dir / "sparse.h5", "--policy", policy, "--model", "fourier", check=None)
        self.assertIn("fourier features need dense contexts", done.stderr)


if __name__ == "__main__":
    main()
