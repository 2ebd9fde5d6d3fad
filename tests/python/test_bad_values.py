"""labels: python slow
Bad values of any column are found wherever they stand, whatever the policy makes of them."""

import unittest

import numpy as np
import scrm
from support import Case, categorical, continuous

ROWS = 6_500
PLACES = (0, 2_047, 3_000, 4_095, ROWS - 1)  # ends of blocks, the middle of one, and the last, which is short
GAUSSIAN = scrm.Policy("gaussian", [0.1, 0.0, 0.3, 0.0], name="p")
NARROW = scrm.Policy("gaussian", [0.0, 0.1, 0.0, 0.2], scale=0.01, name="narrow")  # weights of zero nearly everywhere
SOFTMAX = scrm.Policy("softmax", np.linspace(-1, 1, 16).reshape(4, 4), name="p")


class BadValuesTest(Case):
    def found(self, columns, name, row, **what):
        """The row is named, and left out where that is asked for: the rest is as without it."""
        with self.assertRaises(scrm.DataError) as raised:
            scrm.evaluate(scrm.Logs(**columns), **what)
        self.assertEqual((raised.exception.dataset, raised.exception.row), (name, row))
        skipped = scrm.evaluate(scrm.Logs(**columns), skip_bad_rows=True, **what)
        self.assertEqual(skipped.skipped_rows, 1)
        kept = np.delete(np.arange(ROWS), row)
        rest = {**what, "targets": {key: value[kept] for key, value in what.get("targets", {}).items()}}
        without = scrm.evaluate(scrm.Logs(**{key: value[kept] for key, value in columns.items()}), **rest)
        first = skipped.to_dict()["policies"][0]["name"]
        self.assertAlmostEqual(skipped[first]["ips"].value, without[first]["ips"].value, places=12)

    def check_everywhere(self, columns, values, questions):
        for name, bad in values.items():
            for value in bad:
                for row in PLACES:
                    for question in questions:
                        given = {**columns, name: columns[name].copy()}
                        given[name][row] = value
                        with self.subTest(name=name, value=value, row=row, question=list(question)):
                            self.found(given, name, row, **question)

    def test_continuous_actions(self):
        context, action, loss, density = continuous(ROWS)
        columns = {"context": context, "action": action, "loss": loss, "propensity": density}
        none = (np.nan, np.inf, -np.inf)
        targets = {"targets": {"new": density}}
        questions = ({"policies": GAUSSIAN}, {"policies": [GAUSSIAN, NARROW], "threads": 3}, targets,
                     {"policies": [GAUSSIAN, "new"], **targets})
        self.check_everywhere(columns, {"action": none, "loss": none, "propensity": (*none, 0.0, -0.4)}, questions)
        columns["log_propensity"] = np.log(columns.pop("propensity"))
        self.check_everywhere(columns, {"log_propensity": none, "action": none}, questions[:2])

    def test_categorical_actions(self):
        context, action, loss, probability = categorical(ROWS)
        columns = {"context": context, "action": action, "loss": loss, "propensity": probability}
        none = (np.nan, np.inf, -np.inf)
        self.check_everywhere(columns, {"loss": none, "propensity": (*none, 0.0, -0.4, 1.1), "action": (-1,)},
                              ({"policies": SOFTMAX}, {"targets": {"new": probability}}))

    def test_targets(self):
        context, action, loss, density = continuous(ROWS)
        logs = scrm.Logs(context, action, loss, density)
        for value in (np.nan, np.inf, -0.1):
            for row in PLACES:
                target = density.copy()
                target[row] = value
                for policies in (["new"], [GAUSSIAN, "new"]):
                    with self.subTest(value=value, row=row, policies=len(policies)):
                        with self.assertRaises(scrm.DataError) as raised:
                            scrm.evaluate(logs, policies, targets={"new": target})
                        self.assertEqual((raised.exception.dataset, raised.exception.row), ("target/new", row))

    def test_several_bad_rows_are_all_counted(self):
        context, action, loss, density = continuous(ROWS)
        action[[5, 3_000]], loss[[3_001, 3_002]], density[6_000], context[3_003, 1] = np.nan, np.inf, 0, np.nan
        found = scrm.evaluate(scrm.Logs(context, action, loss, density), GAUSSIAN, skip_bad_rows=True)
        self.assertEqual(found.skipped_rows, 6)

    def test_weights_of_zero_are_no_bad_rows(self):
        context, action, loss, density = continuous(ROWS)
        found = scrm.evaluate(scrm.Logs(context, action, loss, density), NARROW)
        self.assertEqual(found.skipped_rows, 0)
        by_column = scrm.evaluate(scrm.Logs(np.asfortranarray(context), action, loss, density), NARROW)
        self.assertEqual(found["narrow"]["ips"], by_column["narrow"]["ips"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
