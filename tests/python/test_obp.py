"""labels: python fast
Estimates from a bandit_feedback dictionary are those of Open Bandit Pipeline's formulas, written out in NumPy."""

import unittest

import numpy as np
import scrm
from support import Case


def feedback_and_policy(rounds=5_000, actions=6, seed=0):
    """What that library's synthetic data set and policies give: a dictionary, and action_dist [rounds, actions, 1]."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(rounds, 4))

    def softmax(temperature):
        scores = context @ random.normal(size=(4, actions)) / temperature
        return np.exp(scores) / np.exp(scores).sum(1, keepdims=True)

    logging, new = softmax(2.0), softmax(1.0)
    action = (logging.cumsum(1) < random.random((rounds, 1))).sum(1).clip(0, actions - 1)
    expected = 1 / (1 + np.exp(-context @ random.normal(size=(4, actions))))
    feedback = {"n_rounds": rounds, "n_actions": actions, "context": context, "action_context": np.eye(actions),
                "action": action, "position": None,
                "reward": random.binomial(1, expected[np.arange(rounds), action]),
                "expected_reward": expected, "pi_b": logging[:, :, None],
                "pscore": logging[np.arange(rounds), action]}
    estimated = np.clip(expected + random.normal(scale=0.1, size=expected.shape), 0, 1)
    return feedback, new[:, :, None], estimated[:, :, None]


class ObpTest(Case):
    def setUp(self):
        super().setUp()
        self.feedback, self.action_dist, self.q_hat = feedback_and_policy()
        rows = np.arange(self.feedback["n_rounds"])
        self.reward = self.feedback["reward"]
        self.weight = self.action_dist[rows, self.feedback["action"], 0] / self.feedback["pscore"]
        self.logged = self.q_hat[rows, self.feedback["action"], 0]
        self.expected = (self.q_hat * self.action_dist).sum(axis=(1, 2))

    def evaluate(self, **options):
        logs = scrm.Logs.from_obp(self.feedback)
        return scrm.evaluate(logs, targets={"new": self.action_dist}, model=self.q_hat, **options)["new"]

    def test_estimators_without_parameters(self):
        result, w, r = self.evaluate(), self.weight, self.reward
        residual = r - self.logged
        for name, value in {"ips": (w * r).mean(), "snips": (w * r).sum() / w.sum(), "dm": self.expected.mean(),
                            "dr": (self.expected + w * residual).mean(),
                            "sndr": self.expected.mean() + (w * residual).sum() / w.sum()}.items():
            with self.subTest(estimator=name):
                np.testing.assert_allclose(result[name].value, value, rtol=1e-12)
        np.testing.assert_allclose(result["ips"].stderr, (w * r).std(ddof=1) / np.sqrt(len(r)), rtol=1e-10)

    def test_switch_dr_and_dros_at_the_parameters_that_were_chosen(self):
        for tuning in ("mse", "slope"):
            result, w = self.evaluate(tuning=tuning, estimators=["switch-dr", "dros"]), self.weight
            residual = self.reward - self.logged
            tau = result["switch-dr"].parameter
            np.testing.assert_allclose(result["switch-dr"].value,
                                       (self.expected + (w <= tau) * w * residual).mean(), rtol=1e-12)
            shrinkage = result["dros"].parameter
            shrunk = shrinkage * w / (w**2 + shrinkage) if np.isfinite(shrinkage) else w
            np.testing.assert_allclose(result["dros"].value, (self.expected + shrunk * residual).mean(), rtol=1e-12)

    def test_a_pair_of_arrays_is_the_same_model(self):
        logs = scrm.Logs.from_obp(self.feedback)
        pair = scrm.evaluate(logs, targets={"new": self.weight * self.feedback["pscore"]},
                             model=(self.logged, self.expected))["new"]
        np.testing.assert_allclose(pair["dr"].value, self.evaluate()["dr"].value, rtol=1e-12)

    def test_positions_of_a_list(self):
        positions = np.random.default_rng(1).integers(0, 3, self.feedback["n_rounds"])
        rows = np.arange(self.feedback["n_rounds"])
        random = np.random.default_rng(2)
        action_dist = random.dirichlet(np.ones(6), (self.feedback["n_rounds"], 3)).transpose(0, 2, 1)
        logs = scrm.Logs.from_obp({**self.feedback, "position": positions})
        weight = action_dist[rows, self.feedback["action"], positions] / self.feedback["pscore"]
        np.testing.assert_allclose(scrm.evaluate(logs, targets={"new": action_dist})["new"]["ips"].value,
                                   (weight * self.reward).mean(), rtol=1e-12)

    def test_what_is_missing_is_named(self):
        with self.assertRaises(scrm.DataError) as raised:
            scrm.Logs.from_obp({**self.feedback, "pscore": None})
        self.assertEqual(raised.exception.dataset, "pscore")
        logs = scrm.Logs.from_obp(self.feedback)
        for wrong in (self.action_dist[:, :5], self.action_dist[:-1], np.repeat(self.action_dist, 2, axis=2)):
            with self.assertRaises(scrm.DataError):
                scrm.evaluate(logs, targets={"new": wrong})
        with self.assertRaises(scrm.UsageError):
            scrm.evaluate(logs, targets={"new": self.weight * 0 + 0.1}, model=self.q_hat)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
