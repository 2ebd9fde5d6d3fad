"""labels: python fast
learn, sample and probabilities are those of the command line."""

import json
import unittest

import h5py
import numpy as np
import scrm
from support import Case, categorical, continuous, multilabel, run, run_json, without_times, write_shard


def parameters(path):
    """A policy file without its comments, which say where it comes from."""
    with open(path) as file:
        return [line for line in file.read().splitlines() if not line.startswith("#")]


class LearnTest(Case):
    def setUp(self):
        super().setUp()
        context, action, reward, probability = categorical(4_000)
        self.context = context
        self.shard = write_shard(self.path("a.h5"), {"action_kind": "categorical", "num_actions": 4,
                                                     "outcome": "reward"},
                                 context=context, action=action.astype(np.int32), loss=reward, propensity=probability)
        self.logs = scrm.Logs(context=context, action=action, reward=reward, propensity=probability, num_actions=4)

    def test_learned_policies_are_those_of_the_program(self):
        wanted = run_json("learn", self.shard, "--lambda", "0.1", "--estimator", "snips", "--out", self.path("p.toml"))
        for logs in (self.logs, scrm.open(self.shard)):
            policy = scrm.learn(logs, kind="softmax", lam=0.1, estimator="snips", threads=2)
            self.assertEqual(policy.report["theta"], wanted["theta"])
            self.assertEqual(policy.report["objective"], wanted["objective"])
            self.assertEqual(policy.report["held_out"], wanted["held_out"])
            policy.save(self.path("q.toml"), overwrite=True)
            self.assertEqual(parameters(self.path("q.toml")), parameters(self.path("p.toml")))
        self.assertIn("snips", policy.summary)
        held_out = scrm.evaluate(self.logs, holdout_of=policy)
        self.assertEqual(without_times(held_out.to_dict())["policies"][0]["estimates"],
                         run_json("evaluate", self.shard, "--holdout-of", self.path("p.toml"))["policies"][0]["estimates"])
        with self.assertRaises(scrm.Error):
            policy.save(self.path("q.toml"))

    def test_fourier_features_are_those_of_the_program(self):
        wanted = run_json("learn", self.shard, "--lambda", "0.1", "--features", "fourier", "--width", "8", "--bandwidth",
                          "2", "--feature-seed", "3", "--out", self.path("p.toml"))
        policy = scrm.learn(self.logs, lam=0.1, features="fourier", width=8, bandwidth=2, feature_seed=3)
        self.assertEqual(policy.report["theta"], wanted["theta"])
        policy.save(self.path("q.toml"))
        self.assertEqual(parameters(self.path("q.toml")), parameters(self.path("p.toml")))
        loaded = scrm.Policy.load(self.path("p.toml"))
        self.assertEqual((loaded.features, loaded.fourier), ("fourier", policy.fourier))
        made = scrm.Policy("softmax", policy.theta, epsilon=policy.epsilon, features="fourier", **policy.fourier)
        for other in (loaded, made):
            np.testing.assert_array_equal(other.probabilities(self.context), policy.probabilities(self.context))
        self.assertIsNone(scrm.Policy("gaussian", [0, 1]).fourier)
        for wrong in ({"width": 0}, {"bandwidth": 0}, {"feature_seed": -1}):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(scrm.Error, next(iter(wrong))):
                scrm.learn(self.logs, lam=0.1, features="fourier", **wrong)

    def test_lambda_by_splits_and_lists_of_it(self):
        wanted = run_json("learn", self.shard, "--lambda-grid", "0.01,1", "--max-iter", "30", "--out",
                          self.path("p.toml"))
        policy = scrm.learn(self.logs, lam_grid=[0.01, 1], max_iter=30)
        self.assertEqual((policy.report["lambda"], policy.report["theta"]), (wanted["lambda"], wanted["theta"]))
        several = scrm.learn(self.logs, lam=[0.1, 10], max_iter=20)
        self.assertEqual(len(several), 2)
        self.assertFalse(np.array_equal(several[0].theta, several[1].theta))

    def test_rows_that_do_not_fit_are_read_again_and_again_with_the_same_bits(self):
        def learned(memory):
            return scrm.learn(self.logs, lam=1, max_iter=10, memory=memory).theta
        np.testing.assert_array_equal(learned("2G"), learned("12M"))

    def test_actions_are_those_of_act(self):
        contexts = write_shard(self.path("c.h5"), {}, context=self.context)
        files = {"softmax": "kind = \"softmax\"\nepsilon = 0.2\ntheta = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n",
                 "gaussian": "kind = \"gaussian\"\nscale = 0.5\ntheta = [0, 1, 0, 0]\n",
                 "multilabel": "kind = \"multilabel\"\nmixing = \"label\"\nepsilon = 0.1\n"
                               "theta = [[0, 1, 0, 0], [0, 0, 1, 0]]\n"}
        for kind, text in files.items():
            path = self.write(f"{kind}.toml", text)
            run("act", path, "--contexts", contexts, "--seed", "7", "--rollout", "2", "--out", self.path(kind))
            sample = scrm.Policy.load(path).sample(self.context, seed=7, rollout=2, threads=2)
            with self.subTest(kind=kind), h5py.File(self.folder / kind / "part-00000.h5") as acted:
                np.testing.assert_array_equal(sample.action, acted["action"][:])
                if kind == "multilabel":
                    np.testing.assert_array_equal(sample.log_propensity, acted["log_propensity"][:])
                    np.testing.assert_array_equal(sample.label_propensity, acted["label_propensity"][:])
                else:
                    np.testing.assert_array_equal(sample.propensity, acted["propensity"][:])
                    action, propensity = sample
                    np.testing.assert_array_equal(
                        scrm.Policy.load(path).density(self.context, action), propensity)

    def test_probabilities_are_the_formulas(self):
        theta = np.random.default_rng(0).normal(size=(4, 4))
        scores = theta[:, 0] + self.context @ theta[:, 1:].T
        softmax = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        found = scrm.Policy("softmax", theta, epsilon=0.2).probabilities(self.context)
        np.testing.assert_allclose(found, 0.8 * softmax + 0.05, rtol=1e-12)
        labels = scrm.Policy("multilabel", theta, epsilon=0.2, mixing="label").probabilities(self.context)
        np.testing.assert_allclose(labels, 0.8 / (1 + np.exp(-scores)) + 0.1, rtol=1e-12)
        normal = scrm.Policy("gaussian", [0.5, 0, 0, 0], scale=2.0)
        action = np.linspace(-3, 3, len(self.context))
        np.testing.assert_allclose(normal.density(self.context, action),
                                   np.exp(-((action - 0.5) / 2) ** 2 / 2) / np.sqrt(8 * np.pi), rtol=1e-12)
        uniform = scrm.Policy("uniform").probabilities(self.context, num_actions=5)
        np.testing.assert_array_equal(uniform, np.full((len(self.context), 5), 0.2))
        for policy in (normal, scrm.Policy("uniform")):
            with self.assertRaises(scrm.UsageError):
                policy.probabilities(self.context)

    def test_policies_keep_what_they_are(self):
        policy = scrm.Policy("softmax", [[0.1, 0.2], [0.3, 0.4]], epsilon=0.05, inputs=["age"], actions=["a", "b"])
        policy.save(self.path("p.toml"))
        self.assertEqual(policy.name, "softmax")
        again = scrm.Policy.load(self.path("p.toml"))
        np.testing.assert_array_equal(again.theta, policy.theta)
        self.assertEqual((again.kind, again.epsilon, again.inputs, again.actions, again.name),
                         ("softmax", 0.05, ["age"], ["a", "b"], self.path("p.toml")))
        import pandas
        frame = pandas.DataFrame({"height": [1.0, 2.0], "age": [3.0, 4.0]})
        np.testing.assert_array_equal(again.probabilities(frame), again.probabilities(frame[["age"]]))
        for arguments in (("cauchy", [0.0]), ("gaussian", [[0.0]]), ("softmax", [0.0]), ("gaussian", [np.nan]),
                          ("uniform", [1.0]), ("gaussian", [])):
            with self.subTest(arguments=arguments), self.assertRaises(scrm.UsageError):
                scrm.Policy(*arguments)

    def test_bad_contexts_are_named(self):
        context = self.context.copy()
        context[3_999, 2] = np.nan
        policy = scrm.Policy("softmax", np.zeros((2, 4)))
        for call in (lambda: policy.probabilities(context), lambda: policy.sample(context, seed=1),
                     lambda: policy.density(context, np.zeros(len(context), int))):
            with self.assertRaises(scrm.DataError) as raised:
                call()
            self.assertEqual((raised.exception.dataset, raised.exception.row), ("context[:, 2]", 3_999))
        with self.assertRaises(scrm.DataError):
            policy.probabilities(self.context[:, :2])

    def test_other_kinds_learn_too(self):
        context, action, loss, density = continuous(2_000)
        logs = scrm.Logs(context=context, action=action, loss=loss, propensity=density)
        self.assertEqual(scrm.learn(logs, lam=0.1, max_iter=20).kind, "gaussian")
        context, bits, loss, label_propensity = multilabel(2_000)
        logs = scrm.Logs(context=context, action=bits, loss=loss, label_propensity=label_propensity)
        self.assertEqual(scrm.learn(logs, lam=0.1, estimator="additive", max_iter=20).theta.shape, (5, 4))
        for wrong in ({"lam": "best"}, {"lam": []}, {"lam": -1}, {"kind": "softmax"}, {"holdout": 1.5},
                      {"penalty": "none"}, {"scale": 0}, {"estimator": "switch-dr"}):
            with self.subTest(wrong=wrong), self.assertRaises(scrm.Error):
                scrm.learn(logs, **wrong)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
