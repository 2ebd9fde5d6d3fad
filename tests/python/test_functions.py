"""labels: python fast
Policies that are Python functions, scikit-learn's among them."""

import unittest

import numpy as np
import scrm
from support import Case, categorical, continuous, multilabel


class FunctionsTest(Case):
    def setUp(self):
        super().setUp()
        context, action, reward, probability = categorical(7_000)
        self.logs = scrm.Logs(context=context, action=action, reward=reward, propensity=probability, num_actions=4)
        self.context, self.action, self.reward, self.probability = context, action, reward, probability

    def test_a_function_is_the_policy_it_computes(self):
        policy = scrm.Policy("softmax", np.random.default_rng(0).normal(size=(4, 4)), name="parameters")
        theta = policy.theta

        def function(contexts):
            scores = theta[:, 0] + contexts @ theta[:, 1:].T
            scores = np.exp(scores - scores.max(1, keepdims=True))
            return scores / scores.sum(1, keepdims=True)

        for threads in (1, 3):
            result = scrm.evaluate(self.logs, {"parameters": policy, "function": function}, model="ridge",
                                   threads=threads)
            for estimator in ("ips", "snips", "dm", "dr"):
                np.testing.assert_allclose(result["function"][estimator].value, result["parameters"][estimator].value,
                                           rtol=1e-10)

    def test_a_classifier_of_scikit_learn(self):
        from sklearn.linear_model import LogisticRegression
        classifier = LogisticRegression().fit(self.context, self.action)
        result = scrm.evaluate(self.logs, {"classifier": classifier.predict_proba})["classifier"]
        rows = np.arange(len(self.action))
        target = classifier.predict_proba(self.context)[rows, self.action]
        np.testing.assert_allclose(
            result["ips"].value,
            scrm.evaluate(self.logs, targets={"t": target})["t"]["ips"].value, rtol=1e-12)

    def test_a_model_of_scikit_learn(self):
        from sklearn.ensemble import GradientBoostingRegressor
        one_hot = np.eye(4)
        half = len(self.action) // 2
        predicted = np.empty((len(self.action), 4))
        for train, test in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
            model = GradientBoostingRegressor(n_estimators=5).fit(
                np.hstack([self.context[train], one_hot[self.action[train]]]), self.reward[train])
            for k in range(4):
                here = self.context[test]
                predicted[test, k] = model.predict(np.hstack([here, np.tile(one_hot[k], (len(here), 1))]))
        uniform = np.full((len(self.action), 4), 0.25)
        result = scrm.evaluate(self.logs, targets={"uniform": uniform}, model=predicted)["uniform"]
        rows, weight = np.arange(len(self.action)), 0.25 / self.probability
        wanted = (predicted.mean(1) + weight * (self.reward - predicted[rows, self.action])).mean()
        np.testing.assert_allclose(result["dr"].value, wanted, rtol=1e-12)

    def test_densities_of_continuous_actions_and_probabilities_of_bits(self):
        context, action, loss, density = continuous(3_000)
        logs = scrm.Logs(context=context, action=action, loss=loss, propensity=density)
        policy = scrm.Policy("gaussian", [0.2, 0.1, 0, 0], scale=0.9, name="p")

        def normal(contexts, actions):
            return np.exp(-((actions - 0.2 - 0.1 * contexts[:, 0]) / 0.9) ** 2 / 2) / (0.9 * np.sqrt(2 * np.pi))

        result = scrm.evaluate(logs, [policy, normal])
        np.testing.assert_allclose(result["normal"]["ips"].value, result["p"]["ips"].value, rtol=1e-10)

        context, bits, loss, label_propensity = multilabel(3_000)
        logs = scrm.Logs(context=context, action=bits, loss=loss, label_propensity=label_propensity)
        policy = scrm.Policy("multilabel", np.tile([0.1, 0.5, 0, 0], (5, 1)), mixing="label", name="p")

        def labels(contexts):
            return np.repeat(1 / (1 + np.exp(-0.1 - 0.5 * contexts[:, :1])), 5, axis=1)

        result = scrm.evaluate(logs, [policy, labels])
        for estimator in ("ips", "additive"):
            np.testing.assert_allclose(result["labels"][estimator].value, result["p"][estimator].value, rtol=1e-10)

    def test_an_exception_of_the_function_is_the_exception_of_the_call(self):
        def fails(contexts):
            raise ZeroDivisionError("as it happens")

        for threads in (1, 4):
            with self.assertRaisesRegex(ZeroDivisionError, "as it happens"):
                scrm.evaluate(self.logs, fails, threads=threads)
        self.assertTrue(scrm.evaluate(self.logs, scrm.Policy("uniform", name="p")))

    def test_answers_that_are_no_probabilities_are_named(self):
        answers = {"shape": lambda x: np.full((len(x), 3), 1 / 3), "sum": lambda x: np.full((len(x), 4), 0.3),
                   "negative": lambda x: np.full((len(x), 4), -0.25), "nan": lambda x: np.full((len(x), 4), np.nan),
                   "none": lambda x: None, "text": lambda x: "uniform"}
        for name, function in answers.items():
            with self.subTest(answer=name), self.assertRaises((scrm.DataError, ValueError, TypeError)):
                scrm.evaluate(self.logs, {name: function})


if __name__ == "__main__":
    unittest.main(warnings="ignore")
