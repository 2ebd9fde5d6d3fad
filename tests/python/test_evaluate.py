"""labels: python fast
evaluate gives the numbers of the command line, bit for bit, from arrays and from shards."""

import unittest

import numpy as np
import scrm
from support import Case, categorical, continuous, multilabel, run_json, without_times, write_shard

GAUSSIAN = "kind = \"gaussian\"\nscale = 0.8\ntheta = [0.1, 0.5, 0.0, -0.2]\n"
SOFTMAX = "kind = \"softmax\"\nepsilon = 0.1\ntheta = [[0.1, 0.5, 0, 0], [0, 0, 0.2, 0], [0, -1, 0, 0.3], [0, 0, 0, 0]]\n"
LABELS = "kind = \"multilabel\"\nmixing = \"label\"\nepsilon = 0.1\ntheta = [" + ", ".join(["[0, 1, 0, 0]"] * 5) + "]\n"


class EvaluateTest(Case):
    def compare(self, logs, shard, policies, options=(), targets=(), **arguments):
        """Both ways, from arrays and from the shard, at two thread counts."""
        paths = [self.write(f"p{index}.toml", text) for index, text in enumerate(policies)]
        command = [flag for path in paths for flag in ("--policy", path)]
        command += [flag for name in targets for flag in ("--target", name)]
        wanted = without_times(run_json("evaluate", shard, *command, *options))
        named = [scrm.Policy.load(path) for path in paths] + list(targets)
        for threads in (1, 3):
            found = scrm.evaluate(logs, named, threads=threads, **arguments)
            self.assertEqual(without_times(found.to_dict()), wanted)
        arguments.pop("targets", None)
        self.assertEqual(without_times(scrm.evaluate(scrm.open(shard), named, **arguments).to_dict()), wanted)
        return found

    def test_continuous_actions(self):
        context, action, loss, density = continuous(10_000)
        shard = write_shard(self.path("a.h5"), {"action_kind": "continuous"}, context=context, action=action, loss=loss,
                            propensity=density)
        logs = scrm.Logs(context=context, action=action, loss=loss, propensity=density)
        found = self.compare(logs, shard, [GAUSSIAN, GAUSSIAN.replace("0.8", "1.5")])
        self.compare(logs, shard, [GAUSSIAN], ["--interval", "bootstrap", "--replicates", "50", "--seed", "3"],
                     interval="bootstrap", replicates=50, seed=3)
        self.compare(logs, shard, [GAUSSIAN], ["--model", "ridge", "--estimator", "dr,dm"], model="ridge",
                     estimators=["dr", "dm"])
        self.assertIn("ips", repr(found))
        self.assertIn("<table>", found._repr_html_())
        frame = found.to_frame()
        self.assertEqual(len(frame), 8)
        self.assertEqual(frame.loc[0, "value"], found[self.path("p0.toml")]["ips"].value)

    def test_categorical_actions_with_float32_contexts_rewards_clusters_targets_and_a_model(self):
        context, action, reward, probability = categorical(9_000)
        context = context.astype(np.float32)
        random = np.random.default_rng(1)
        cluster, target = random.integers(0, 500, 9_000), random.random(9_000)
        model = random.random((2, 9_000))
        shard = write_shard(self.path("b.h5"), {"action_kind": "categorical", "num_actions": 4, "outcome": "reward"},
                            context=context, action=action.astype(np.int32), loss=reward, propensity=probability,
                            cluster=cluster, target__new=target, model__outside__logged=model[0],
                            model__outside__target__new=model[1])
        logs = scrm.Logs(context=context, action=action, reward=reward, propensity=probability, cluster=cluster,
                         num_actions=4)
        self.compare(logs, shard, [SOFTMAX], ["--model", "none", "--outcome-range", "0:1", "--level", "0.9"],
                     model=None, outcome_range=(0, 1), level=0.9)
        arguments = {"targets": {"new": target}, "model": (model[0], {"new": model[1]})}
        wanted = without_times(run_json("evaluate", shard, "--target", "new", "--weight-histogram"))
        found = scrm.evaluate(logs, "new", weight_histogram=True, **arguments)
        self.assertEqual(without_times(found.to_dict()), wanted)
        self.assertIn("switch-dr", found["new"])

    def test_labels(self):
        context, bits, loss, label_propensity = multilabel(5_000)
        shard = write_shard(self.path("c.h5"), {"action_kind": "multilabel"}, context=context, action=bits, loss=loss,
                            label_propensity=label_propensity)
        logs = scrm.Logs(context=context, action=bits, loss=loss, label_propensity=label_propensity)
        found = self.compare(logs, shard, [LABELS], ["--at-least", "0.4"], at_least=0.4)
        self.assertIn("additive", found[self.path("p0.toml")])

    def test_rollouts_with_their_logging_policies(self):
        parts, shards = [], []
        loggers = [scrm.Policy("gaussian", [mean, 0.0], scale=1.0) for mean in (0.0, 0.5)]
        for rollout, logger in enumerate(loggers):
            context = np.random.default_rng(rollout).normal(size=(3_000, 1))
            action, density = logger.sample(context, seed=1, rollout=rollout)
            loss = (action - 1) ** 2
            parts.append(scrm.Logs(context=context, action=action, loss=loss, propensity=density, rollout=rollout))
            shards.append(write_shard(self.path(f"r{rollout}.h5"), {"action_kind": "continuous", "rollout": rollout},
                                      context=context, action=action, loss=loss, propensity=density))
            logger.save(self.path(f"l{rollout}.toml"))
        policy = self.write("p.toml", "kind = \"gaussian\"\nscale = 1.0\ntheta = [0.8, 0.0]\n")
        wanted = run_json("evaluate", *shards, "--policy", policy, "--logging-policy", self.path("l0.toml"),
                          "--logging-policy", self.path("l1.toml"))
        found = scrm.evaluate(scrm.Logs.concat(parts), policy, logging_policies=loggers)
        self.assertEqual(without_times(found.to_dict()), without_times(wanted))
        self.assertIn("mis-balance", found[policy])

    def test_sparse_contexts(self):
        from scipy import sparse
        context, action, loss, density = continuous(5_000, features=6)
        context[np.random.default_rng(2).random(context.shape) < 0.7] = 0
        rows = sparse.csr_matrix(context)
        policy = scrm.Policy("gaussian", [0.1, 0.5, 0, 0, 0.2, 0, 0], name="p")
        dense = scrm.evaluate(scrm.Logs(context=context, action=action, loss=loss, propensity=density), policy)
        found = scrm.evaluate(scrm.Logs(context=rows, action=action, loss=loss, propensity=density), policy)
        self.assertAlmostEqual(found["p"]["ips"].value, dense["p"]["ips"].value, places=12)

    def write_rollouts(self, folder, ends, columns, **beside):
        """Shards of rows [0, ends[0]), [ends[0], ends[1]), ..., each a rollout of its own."""
        (self.folder / folder).mkdir()
        for rollout, (first, last) in enumerate(zip([0, *ends], ends)):
            write_shard(self.path(f"{folder}/{rollout}.h5"), {"action_kind": "continuous", "rollout": rollout},
                        **{name: values[first:last] for name, values in {**columns, **beside}.items()})
        return self.path(folder)

    def test_arrays_beside_shards_are_what_the_shards_would_hold(self):
        rows, ends = 9_000, (2_500, 2_501, 6_500, 9_000)
        columns = dict(zip(("context", "action", "loss", "propensity"), continuous(rows)))
        random = np.random.default_rng(3)
        target = random.random((rows, 2)).astype(np.float32)[:, 1]  # neither packed nor float64
        logged, expected = random.normal(size=(2, rows))
        plain = self.write_rollouts("plain", ends, columns)
        whole = self.write_rollouts("whole", ends, columns, target__new=target, model__outside__logged=logged,
                                    model__outside__target__new=expected)
        logging = [scrm.Policy("gaussian", [0.0, 0.0, 0.0, 0.0])] * len(ends)
        for arguments in ({"model": None}, {"model": None, "logging_policies": logging}, {}):
            wanted = without_times(scrm.evaluate(scrm.open(whole), "new", **arguments).to_dict())
            if not arguments:
                arguments = {"model": (logged, expected)}
            for threads in (1, 3):
                found = scrm.evaluate(scrm.open(plain), targets={"new": target}, threads=threads, **arguments)
                self.assertEqual(without_times(found.to_dict()), wanted)
        self.assertIn("dr", found["new"])

    def test_arrays_beside_shards_that_do_not_fit_are_named(self):
        rows, ends = 3_000, (2_000, 3_000)
        columns = dict(zip(("context", "action", "loss", "propensity"), continuous(rows)))
        logs = scrm.open(self.write_rollouts("plain", ends, columns, target__old=np.ones(rows)))
        for value, name in ((np.ones(rows - 1), "new"), (np.ones((rows, 2)), "new"), (np.ones(rows), "old")):
            with self.subTest(name=name, shape=value.shape), self.assertRaisesRegex(scrm.Error, f"\\b{name}\\b"):
                scrm.evaluate(logs, targets={name: value})
        target = np.ones(rows)
        target[2_345] = np.nan
        with self.assertRaises(scrm.DataError) as raised:
            scrm.evaluate(logs, targets={"new": target})
        self.assertEqual((raised.exception.file, raised.exception.dataset, raised.exception.row),
                         (self.path("plain/1.h5"), "target/new", 345))
        context, action, reward, probability = categorical(100)
        shard = write_shard(self.path("c.h5"), {"action_kind": "categorical", "num_actions": 4}, context=context,
                            action=action.astype(np.int32), loss=reward, propensity=probability)
        for arguments in ({"targets": {"new": np.full((100, 4), 0.25)}},
                          {"targets": {"new": probability}, "model": np.zeros((100, 4))}):
            with self.assertRaisesRegex(scrm.DataError, "one number a row"):
                scrm.evaluate(scrm.open(shard), **arguments)

    def test_targets_have_the_names_that_they_are_given(self):
        columns = dict(zip(("context", "action", "loss", "propensity"), continuous(3_000)))
        one, two = np.random.default_rng(4).random((2, 3_000))
        shard = write_shard(self.path("t.h5"), {"action_kind": "continuous"}, **columns, target__one=one, target__two=two)
        wanted = scrm.evaluate(scrm.open(shard), ["one", "two"])
        swapped = {"two": "one", "mine": "two", "again": "one"}
        for logs, targets in ((scrm.Logs(**columns), {"one": one, "two": two}), (scrm.open(shard), None)):
            found = scrm.evaluate(logs, swapped, targets, baseline="mine")
            self.assertEqual([policy["name"] for policy in found.to_dict()["policies"]], list(swapped))
            for name, target in swapped.items():
                self.assertEqual(found[name]["snips"], wanted[target]["snips"])

    def test_bad_rows_are_named_or_skipped(self):
        context, action, loss, density = continuous(5_000)
        loss[4_711] = np.nan
        logs = scrm.Logs(context=context, action=action, loss=loss, propensity=density)
        policy = scrm.Policy("gaussian", [0.0, 0.1, 0.0, 0.0], name="p")
        with self.assertRaises(scrm.DataError) as raised:
            scrm.evaluate(logs, policy)
        self.assertEqual((raised.exception.file, raised.exception.dataset, raised.exception.row), (None, "loss", 4_711))
        self.assertIn("skip_bad_rows=True", str(raised.exception))
        self.assertEqual(scrm.evaluate(logs, policy, skip_bad_rows=True).skipped_rows, 1)

    def test_contexts_that_are_not_finite_are_named_whatever_the_policy_makes_of_them(self):
        rows = 9_000
        context, action, loss, density = continuous(rows, features=5)
        blind = scrm.Policy("gaussian", [0.1, 0.0, 0.3, 0.0, 0.0, 0.0], name="p")  # to four features
        target = {"new": density}
        for kind in (np.float64, np.float32):
            for value in (np.nan, np.inf, -np.inf):
                for row, column in ((0, 0), (2_047, 4), (5_000, 1), (rows - 1, 2)):
                    given = context.astype(kind)
                    given[row, column] = value
                    kept = np.delete(np.arange(rows), row)
                    logs = scrm.Logs(given, action, loss, density)
                    for threads in (1, 3):
                        for what in ({"policies": blind}, {"targets": target},
                                     {"policies": [blind, "new"], "targets": target}):
                            with self.subTest(kind=kind, value=value, row=row, threads=threads, what=list(what)):
                                with self.assertRaises(scrm.DataError) as raised:
                                    scrm.evaluate(logs, threads=threads, **what)
                                self.assertEqual((raised.exception.dataset, raised.exception.row),
                                                 (f"context[:, {column}]", row))
                    found = scrm.evaluate(logs, blind, skip_bad_rows=True)
                    self.assertEqual(found.skipped_rows, 1)
                    wanted = scrm.evaluate(scrm.Logs(given[kept], action[kept], loss[kept], density[kept]), blind)
                    self.assertAlmostEqual(found["p"]["ips"].value, wanted["p"]["ips"].value, places=12)
        # Finite contexts whose mean is not: weights of zero, as by columns.
        context[5_000] = 1e308
        huge = scrm.Policy("gaussian", [0.0, 10.0, 10.0, 0.0, 0.0, 0.0], name="p")
        for order in "CF":
            found = scrm.evaluate(scrm.Logs(np.asarray(context, order=order), action, loss, density), huge)["p"]
            self.assertEqual(found["ips"], scrm.evaluate(scrm.Logs(np.asfortranarray(context), action, loss, density),
                                                         huge)["p"]["ips"])

    def test_questions_that_make_no_sense(self):
        context, action, loss, density = continuous(100)
        logs = scrm.Logs(context=context, action=action, loss=loss, propensity=density)
        policy = scrm.Policy("gaussian", [0.0, 0.1, 0.0, 0.0], name="p")
        for arguments in ({"policies": None}, {"policies": "nowhere"}, {"policies": [policy, policy]},
                          {"policies": policy, "estimators": "ipss"}, {"policies": policy, "interval": "narrow"},
                          {"policies": policy, "level": 2.0}, {"policies": policy, "threads": 0},
                          {"policies": policy, "memory": "lots"}, {"policies": policy, "progress": 3},
                          {"policies": 3}, {"targets": {"new": np.ones(99)}}, {"targets": {"a/b": np.ones(100)}},
                          {"targets": {"new": np.ones((100, 2))}},
                          {"policies": policy, "model": (np.ones(100),)},
                          {"policies": scrm.Policy("softmax", [[0.0], [1.0]])}):
            with self.subTest(arguments=arguments), self.assertRaises(scrm.Error):
                scrm.evaluate(logs, **arguments)
        with self.assertRaises(scrm.MemoryBudgetError):
            scrm.evaluate(logs, policy, memory="1K")
        with self.assertRaises(scrm.FileError):
            scrm.open(self.path("nothing.h5"))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
