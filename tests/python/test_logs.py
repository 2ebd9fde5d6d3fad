"""labels: python fast
Arrays of every type and layout are read as they are, or refused by name."""

import unittest

import numpy as np
import scrm
from support import Case, categorical, continuous


class Series:
    """A column of a frame that is neither pandas' nor NumPy's, as Polars' are."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def to_numpy(self):
        return self._values


class Frame:
    """A frame of such columns."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._columns = columns

    def __getitem__(self, key):
        if isinstance(key, list):
            return Frame(**{name: self._columns[name] for name in key})
        return Series(self._columns[key])

    def __len__(self):
        return len(next(iter(self._columns.values())))


class LogsTest(Case):
    def setUp(self):
        super().setUp()
        # Whole numbers, so that every type holds them.
        random = np.random.default_rng(0)
        self.context = random.integers(0, 5, (5_000, 3)).astype(float)
        self.action = random.integers(0, 3, 5_000)
        self.loss = random.integers(0, 2, 5_000).astype(float)
        self.propensity = np.full(5_000, 1 / 3)
        self.policy = scrm.Policy("softmax", [[0, 1, 0, 0], [0, 0, 1, 0], [0.0, 0, 0, 0.5]], name="p")
        self.wanted = self.values(scrm.Logs(self.context, self.action, self.loss, self.propensity))

    def values(self, logs, policy=None):
        return scrm.evaluate(logs, policy or self.policy)["p"]["ips"]

    def check(self, context=None, action=None, loss=None, propensity=None, **others):
        def given(value, default):
            return default if value is None else value
        logs = scrm.Logs(given(context, self.context), given(action, self.action), given(loss, self.loss),
                         given(propensity, self.propensity), **others)
        self.assertEqual(self.values(logs), self.wanted)

    def test_number_types(self):
        for kind in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            with self.subTest(kind=kind):
                # float32 contexts are multiplied as such, which whole numbers do not notice
                self.check(context=self.context.astype(kind), loss=self.loss.astype(kind))
                if kind[0] in "iu":
                    self.check(action=self.action.astype(kind))
        self.check(loss=self.loss.astype(bool))
        below = self.context - 2
        wanted = self.values(scrm.Logs(below, self.action, -self.loss, self.propensity))
        for kind in ("f4", "i1", "i2", "i4", "i8"):
            with self.subTest(kind=kind, sign="-"):
                logs = scrm.Logs(below.astype(kind), self.action, -self.loss.astype(kind), self.propensity)
                self.assertEqual(self.values(logs), wanted)

    def test_layouts(self):
        wide = np.repeat(self.context, 2, axis=1)
        tall = np.repeat(self.context, 3, axis=0)
        read_only = self.context.copy()
        read_only.setflags(write=False)
        unaligned = np.frombuffer(b"x" + self.context.tobytes(), dtype=np.uint8)[1:].view(float).reshape(-1, 3)
        for name, context in (("fortran", np.asfortranarray(self.context)), ("every other column", wide[:, ::2]),
                              ("every third row", tall[::3]), ("read-only", read_only), ("unaligned", unaligned),
                              ("backwards", self.context[::-1].copy()[::-1]), ("list", self.context.tolist()),
                              ("padded", np.hstack([self.context, self.context])[:, :3])):
            with self.subTest(layout=name):
                self.check(context=context)
        self.check(loss=np.repeat(self.loss, 7)[::7], propensity=1 / 3)
        self.check(loss=self.loss[:, None], action=self.action[:, None])

    def test_frames(self):
        import pandas
        columns = {f"x{j}": self.context[:, j].astype(kind) for j, kind in enumerate(("f8", "i4", "f4"))}
        for frame in (pandas.DataFrame(columns), Frame(**columns)):
            self.check(context=frame)
            self.assertEqual(scrm.Logs(frame, self.action, self.loss, self.propensity).context_columns,
                             ["x0", "x1", "x2"])
        everything = pandas.DataFrame({**columns, "a": self.action, "y": self.loss, "p": self.propensity})
        logs = scrm.Logs.from_frame(everything, context=["x2", "x0", "x1"], action="a", loss="y", propensity="p")
        named = scrm.Policy("softmax", self.policy.theta, inputs=["x0", "x1", "x2"], name="p")
        self.assertAlmostEqual(self.values(logs, named).value, self.wanted.value, places=12)

    def test_names_of_actions(self):
        names = np.array(["b", "a", "c"])
        logs = scrm.Logs(self.context, names[self.action], self.loss, self.propensity)
        self.assertEqual((logs.num_actions, logs.action_names), (3, ["a", "b", "c"]))
        logs = scrm.Logs(self.context, names[self.action].astype(object), self.loss, self.propensity,
                         action_names=["b", "a", "c"])
        self.assertEqual(self.values(logs), self.wanted)
        with self.assertRaises(scrm.DataError) as raised:
            scrm.Logs(self.context, names[self.action], self.loss, self.propensity, action_names=["a", "b"])
        self.assertEqual(raised.exception.dataset, "action")
        self.assertEqual(self.action[raised.exception.row], 2)

    def test_one_row_and_no_row(self):
        one = scrm.Logs(self.context[:1], self.action[:1], self.loss[:1], self.propensity[:1], num_actions=3)
        result = scrm.evaluate(one, self.policy)["p"]
        self.assertIsNone(result["ips"].stderr)
        self.assertTrue(result.warnings)
        none = scrm.Logs(self.context[:0], self.action[:0], self.loss[:0], self.propensity[:0], num_actions=3)
        self.assertEqual(len(none), 0)
        with self.assertRaises(scrm.Error):
            scrm.evaluate(none, self.policy)

    def test_rows_without_context(self):
        context, action, loss, density = continuous(300)
        logs = scrm.Logs(action=action, loss=loss, propensity=density)
        self.assertEqual(logs.features, 0)
        self.assertEqual(self.values(logs, scrm.Policy("gaussian", [0.0], name="p")).value,
                         scrm.evaluate(logs, scrm.Policy("gaussian", [0.0], name="p"))["p"]["ips"].value)

    def test_what_is_wrong_is_named_before_any_work(self):
        n = len(self.loss)
        masked = np.ma.masked_array(self.loss, mask=np.arange(n) == 3)
        for name, arguments in {
                "context": [{"context": self.context[:, 0]}, {"context": self.context[:-1]},
                            {"context": self.context.astype(complex)}, {"context": self.context.astype("f2")},
                            {"context": self.context.astype(">f8")}, {"context": np.zeros((n, 2, 2))}],
                "action": [{"action": self.action[1:]}, {"action": self.action + 0.5, "num_actions": 3},
                           {"action": np.array([None] * n)}, {"action": self.action.astype(float), "num_actions": 3}],
                "loss": [{"loss": masked}, {"loss": np.zeros((n, 2))}, {"loss": self.loss.astype(str)}],
                "propensity": [{"propensity": self.propensity[1:]}, {"propensity": None}],
                "cluster": [{"cluster": self.loss}, {"cluster": self.action[1:]}],
                "action_names": [{"action_names": ["a"]}, {"action_names": ["a", "a", "b"]}],
                "context_columns": [{"context_columns": ["a", "b"]}]}.items():
            for one in arguments:
                complete = {"context": self.context, "action": self.action, "loss": self.loss,
                            "propensity": self.propensity, **one}
                if name == "action_names" and len(one["action_names"]) == 1:
                    complete["num_actions"] = 3
                with self.subTest(name=name, given=list(one)), self.assertRaises(scrm.DataError) as raised:
                    scrm.Logs(**complete)
                self.assertEqual(raised.exception.dataset, name, str(raised.exception))
        with self.assertRaises(scrm.UsageError):
            scrm.Logs(self.context, self.action, propensity=self.propensity)
        with self.assertRaises(scrm.UsageError):
            scrm.Logs(self.context, self.action, self.loss, self.propensity, reward=self.loss)

    def test_bad_values_are_named_with_their_row(self):
        for dataset, change in (("propensity", 0.0), ("propensity", 1.5), ("loss", np.inf), ("context[:, 1]", np.nan),
                                ("action", 7)):
            arrays = {"context": self.context.copy(), "action": self.action.copy(), "loss": self.loss.copy(),
                      "propensity": self.propensity.copy()}
            array = arrays[dataset.split("[")[0]]
            array[(4_999, 1) if array.ndim == 2 else 4_999] = change
            with self.subTest(dataset=dataset), self.assertRaises(scrm.DataError) as raised:
                scrm.evaluate(scrm.Logs(**arrays, num_actions=3), self.policy)
            self.assertEqual((raised.exception.dataset, raised.exception.row), (dataset, 4_999))

    def test_arrays_are_not_changed(self):
        before = [array.copy() for array in (self.context, self.action, self.loss, self.propensity)]
        context, action, reward, probability = categorical(3_000)
        copies = [array.copy() for array in (context, action, reward, probability)]
        logs = scrm.Logs(context, action, reward=reward, propensity=probability)
        scrm.evaluate(logs, scrm.Policy("uniform", name="p"))
        for one, other in zip(before + copies, (self.context, self.action, self.loss, self.propensity, context, action,
                                                reward, probability)):
            np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
