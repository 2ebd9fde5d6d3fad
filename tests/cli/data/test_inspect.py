"""scrm inspect: what the files hold, every row audited, and a report a person can read."""
# labels: fast cli io

import numpy as np

import harness
from harness import ProgramTest, gaussian_log, run, run_json, write_log


class Inspect(ProgramTest):
    def assert_describes(self, found, values):
        self.assertEqual((found["min"], found["max"]), (values.min(), values.max()))
        self.assertAlmostEqual(found["mean"], values.mean(), delta=1e-12 * max(1, abs(values).max()))
        self.assertAlmostEqual(found["sd"], values.std(ddof=1), delta=1e-11 * max(1, abs(values).max()))

    def test_numbers_are_those_of_numpy(self):
        random = np.random.default_rng(1)
        rows = 5003
        columns = dict(context=random.normal(1e6, 1, (rows, 4)), action=random.normal(size=rows),
                       loss=random.exponential(size=rows), propensity=10**random.uniform(-9, 3, rows))
        for dtype in (np.float64, np.float32):
            columns = {name: values.astype(dtype) for name, values in columns.items()}
            path = write_log(self.dir / f"{np.dtype(dtype)}.h5", **columns)
            found = run_json("inspect", path)
            for name in ("loss", "action", "propensity"):
                self.assert_describes(found[name], columns[name].astype(float))
            self.assertEqual(len(found["context"]), 4)
            for feature, values in zip(found["context"], columns["context"].T.astype(float)):
                self.assert_describes(feature, values)
            edges = np.array([bin["low"] for bin in found["propensity"]["histogram"]] +
                             [found["propensity"]["histogram"][-1]["high"]])
            counts = [bin["rows"] for bin in found["propensity"]["histogram"]]
            np.testing.assert_array_equal(counts, np.histogram(columns["propensity"].astype(float), edges)[0])
            self.assertEqual(sum(counts), rows)

    def test_the_schema_of_dense_continuous_rows(self):
        gaussian_log(self.dir / "a.h5", rows=10)
        gaussian_log(self.dir / "b.h5", rows=20, rollout=3)
        found = run_json("inspect", self.dir)
        self.assertEqual((found["rows"], found["shards"], found["features"]), (30, 2, 3))
        self.assertEqual((found["action_kind"], found["bad_rows"]), ("continuous", 0))
        self.assertTrue(all(count == 0 for count in found["bad_rows_by_reason"].values()))
        self.assertEqual(found["rollouts"], [{"rollout": 0, "rows": 10, "shards": 1},
                                             {"rollout": 3, "rows": 20, "shards": 1}])
        self.assertEqual(found["bytes"], sum(path.stat().st_size for path in self.dir.iterdir()))

    def test_histogram_edges_are_round_numbers_that_belong_to_the_bin_above(self):
        path = gaussian_log(self.dir / "a.h5", rows=6, replace={"propensity": [0.1, 0.2, 0.5, 1e-40, 1e-5, 3e12]})
        bins = run_json("inspect", path)["propensity"]["histogram"]
        self.assertEqual([(bin["low"], bin["high"], bin["rows"]) for bin in bins],
                         [(0, 1e-30, 1), (1e-5, 2e-5, 1), (0.1, 0.2, 1), (0.2, 0.5, 1), (0.5, 1, 1), (1e10, None, 1)])

    def test_categories_are_counted_and_propensities_checked_against_them(self):
        random = np.random.default_rng(2)
        action = random.integers(0, 4, 5000).astype(np.int32)
        columns = dict(action_kind="categorical", num_actions=4, context=np.zeros((5000, 0)), action=action,
                       loss=random.normal(size=5000))
        right = run_json("inspect", write_log(self.dir / "right.h5", propensity=np.full(5000, 0.25), **columns))
        self.assertEqual(right["action_counts"], np.bincount(action).tolist())
        self.assertEqual(right["uniform_weight"]["mean"], 1)
        noisy = random.uniform(0.4, 0.6, 5000)
        wrong = run_json("inspect", write_log(self.dir / "wrong.h5", propensity=noisy, **columns))
        self.assertIn("standard errors from 1", " ".join(wrong["remarks"]))
        columns["num_actions"] = 6
        never = run_json("inspect", write_log(self.dir / "never.h5", propensity=np.full(5000, 0.25), **columns))
        self.assertIn("actions never taken: 4, 5", " ".join(never["remarks"]))

    def test_label_rates(self):
        random = np.random.default_rng(3)
        bits = (random.uniform(size=(3000, 5)) < [0.1, 0.5, 0.9, 0, 1]).astype(np.uint8)
        path = write_log(self.dir / "a.h5", action_kind="multilabel", context=random.normal(size=(3000, 2)), action=bits,
                         loss=random.normal(size=3000), label_propensity=random.uniform(0.1, 0.9, (3000, 5)))
        found = run_json("inspect", path)
        np.testing.assert_allclose(found["label_rates"], bits.mean(axis=0), rtol=1e-14)
        self.assertEqual(found["num_actions"], 5)

    def test_sparse_contexts(self):
        random = np.random.default_rng(4)
        lengths = random.integers(0, 6, 4000)
        indices = np.concatenate([np.sort(random.choice(50, n, replace=False)) for n in lengths])
        values = random.normal(size=len(indices))
        context = (np.concatenate([[0], np.cumsum(lengths)]), indices, values, 50)
        found = run_json("inspect", gaussian_log(self.dir / "a.h5", rows=4000, replace={"context": context}))
        self.assertEqual((found["features"], found["sparse"]), (50, True))
        self.assert_describes(found["entries_per_row"], lengths.astype(float))
        self.assert_describes(found["entries"], values)

    def test_targets_have_mean_weights(self):
        random = np.random.default_rng(5)
        propensity = random.uniform(0.1, 0.9, 3000)
        path = gaussian_log(self.dir / "a.h5", rows=3000, replace={"propensity": propensity},
                            targets={"same": propensity, "twice": 2 * propensity * random.uniform(0.9, 1.1, 3000)})
        found = run_json("inspect", path)
        self.assertEqual([target["name"] for target in found["targets"]], ["same", "twice"])
        self.assertAlmostEqual(found["targets"][0]["mean_weight"], 1, delta=1e-12)
        self.assertAlmostEqual(found["targets"][1]["mean_weight"], 2, delta=0.01)
        self.assertEqual(found["targets"][0]["mean_weight_z"], 0)
        self.assertIn("target/twice", " ".join(found["remarks"]))
        self.assertNotIn("target/same", " ".join(found["remarks"]))
        self.assertIn("twice", run("inspect", path).stdout)

    def test_rewards_are_shown_as_they_came(self):
        path = gaussian_log(self.dir / "a.h5")
        loss, reward = run_json("inspect", path), run_json("inspect", path, "--reward")
        self.assertEqual((loss["outcome"], reward["outcome"]), ("loss", "reward"))
        self.assertEqual(loss["loss"], reward["loss"])

    def test_bad_rows_are_reported_in_full_and_then_fail(self):
        gaussian_log(self.dir / "a.h5", rows=5000)
        propensity, loss = np.full(5000, 0.5), np.zeros(5000)
        propensity[[7, 4000]] = [-1, np.nan]
        loss[[7, 8]] = [np.nan, np.inf]
        gaussian_log(self.dir / "b.h5", rows=5000, replace={"propensity": propensity, "loss": loss})
        done = run("inspect", self.dir, "--json", check=1)
        found = harness.json.loads(done.stdout)
        self.assertEqual((found["rows"], found["bad_rows"]), (10000, 3))
        reasons = {name: count for name, count in found["bad_rows_by_reason"].items() if count}
        self.assertEqual(reasons, {"propensity_not_positive": 1, "propensity_not_finite": 1, "loss_not_finite": 1})
        self.assertEqual(found["first_bad_row"], {"reason": "propensity_not_positive", "file": str(self.dir / "b.h5"),
                                                  "dataset": "propensity", "row": 7, "value": -1})
        self.assertEqual(sum(bin["rows"] for bin in found["propensity"]["histogram"]), 9997)
        for words in ("b.h5", "propensity", "row 7", "-1", "3"):
            self.assertIn(words, done.stderr)
        skipped = run("inspect", self.dir, "--json", "--skip-bad-rows")
        self.assertEqual({**harness.json.loads(skipped.stdout), "seconds": 0}, {**found, "seconds": 0})
        self.assertEqual(skipped.stderr, "")
        text = run("inspect", self.dir, check=1)
        self.assertIn("3 bad rows", text.stdout)
        self.assertIn("row 7", text.stderr)

    def test_only_bad_rows(self):
        path = gaussian_log(self.dir / "a.h5", rows=5, replace={"loss": np.full(5, np.nan)})
        found = run_json("inspect", path, "--skip-bad-rows")
        self.assertEqual((found["bad_rows"], found["loss"]["mean"]), (5, None))
        self.assertIn("5 bad rows (100.0 %)", run("inspect", path, "--skip-bad-rows").stdout)

    def test_no_rows_one_row_and_no_context(self):
        for rows in (0, 1):
            for features in (0, 1):
                with self.subTest(rows=rows, features=features):
                    path = gaussian_log(self.dir / f"{rows}-{features}.h5", rows=rows, features=features)
                    found = run_json("inspect", path)
                    self.assertEqual((found["rows"], found["features"], found["bad_rows"]), (rows, features, 0))
                    self.assertIn(f"{rows} row", run("inspect", path).stdout)

    def test_threads_do_not_change_a_digit(self):
        for number in range(3):
            gaussian_log(self.dir / f"{number}.h5", rows=7000, seed=number, chunk_rows=1000, gzip=True)
        one = {**run_json("inspect", self.dir, "--threads", 1), "seconds": 0}
        for threads in (2, 3):
            self.assertEqual({**run_json("inspect", self.dir, "--threads", threads), "seconds": 0}, one)

    def test_the_report_for_people(self):
        gaussian_log(self.dir / "a.h5", rows=12345, features=30)
        out = run("inspect", self.dir / "a.h5").stdout
        for words in ("12,345 rows in 1 shard", "30 features, dense float64", "every row is valid", "context[19]",
                      "and 10 more features", "█", "0.2  – 0.5"):
            self.assertIn(words, out)
        self.assertNotIn("context[20]", out)
        self.assertLessEqual(max(map(len, out.splitlines()[2:])), 100)

    def test_wide_ranges_of_propensities_are_joined_into_few_bars(self):
        path = gaussian_log(self.dir / "a.h5", rows=1000, replace={"propensity": 10.0**np.linspace(-35, 12, 1000)})
        out = run("inspect", path).stdout
        bars = [line for line in out.splitlines() if " – " in line]
        self.assertLessEqual(len(bars), 25)
        self.assertEqual(sum(int(bar.split("%")[0].split()[-2].replace(",", "")) for bar in bars), 1000)

    def test_equal_numbers_have_no_spread(self):
        # The mean of many tenths is no tenth.
        path = gaussian_log(self.dir / "a.h5", rows=9000, replace={"context": np.full((9000, 1), 0.1), "propensity": np.full(9000, 0.2)})
        found = run_json("inspect", path)
        self.assertEqual((found["propensity"]["sd"], found["context"][0]["sd"]), (0, 0))

    def test_remarks_point_at_what_is_odd(self):
        context = np.random.default_rng(0).normal(size=(100, 3))
        context[:, 1] = 4
        path = gaussian_log(self.dir / "a.h5", rows=100, replace={"context": context, "loss": np.ones(100),
                                                                  "propensity": np.full(100, 1e-4)})
        remarks = " ".join(run_json("inspect", path)["remarks"])
        for words in ("every propensity is", "every loss is 1", "never changes: 1", "below 0.001"):
            self.assertIn(words, remarks)

    def test_a_logger_without_a_choice_is_called_so(self):
        random = np.random.default_rng(0)
        for actions, words in ((6, "always did the same"), (1, "right for uniform logging")):
            path = write_log(self.dir / f"{actions}.h5", action_kind="categorical", num_actions=actions,
                             context=random.normal(size=(50, 1)), action=random.integers(0, actions, 50).astype(np.int32),
                             loss=random.normal(size=50), propensity=np.ones(50))
            self.assertIn(f"every propensity is 1: ", " ".join(run_json("inspect", path)["remarks"]))
            self.assertIn(words, " ".join(run_json("inspect", path)["remarks"]))


if __name__ == "__main__":
    harness.main()
