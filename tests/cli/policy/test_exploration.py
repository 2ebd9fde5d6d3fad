"""How much a learned policy still tries, and on which rows it is judged.

labels: cli fast
"""

import h5py
import numpy as np

from harness import ProgramTest, main, run, run_json, write_log
from shop_logs import ACTIONS, shop_log


def probabilities(policy, context):
    """Of all actions by a softmax policy file, from its text alone."""
    text = policy.read_text()
    epsilon = float(text.split("epsilon  = ")[1].split()[0])
    theta = np.array(eval(text.split("theta    = ")[1].split("\n]")[0] + "]"))
    scores = theta[:, 0] + context @ theta[:, 1:].T
    softmax = np.exp(scores - scores.max(1, keepdims=True))
    softmax /= softmax.sum(1, keepdims=True)
    return (1 - epsilon) * softmax + epsilon / len(theta)


class Exploration(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = shop_log(self.dir / "a.h5", outcome="reward", action_names=ACTIONS)
        random = np.random.default_rng(0)
        rows = 3000
        self.context = np.stack([random.normal(40, 10, rows), random.normal(0, 1, rows), random.random(rows)], 1)

    def test_the_kind_follows_from_the_actions(self):
        run("learn", self.data, "--lambda", 1, "--out", self.dir / "p.toml")
        self.assertIn('kind     = "softmax"', (self.dir / "p.toml").read_text())
        for environment, kind in (("pricing", "gaussian"), ("multilabel", "multilabel")):
            run("simulate", environment, "--rows", 2000, "--seed", 1, "--out", self.dir / environment)
            run("learn", self.dir / environment, "--lambda", 1, "--max-iter", 3, "--out", self.dir / f"{kind}.toml")
            self.assertIn(f'kind     = "{kind}"', (self.dir / f"{kind}.toml").read_text())

    def test_a_loop_stays_alive_by_default(self):
        policy = self.dir / "p.toml"
        found = run_json("learn", self.data, "--lambda", 1, "--out", policy)["exploration"]
        p = probabilities(policy, self.context)
        self.assertGreaterEqual(found["smallest_probability"], 0.025 - 1e-12)
        self.assertAlmostEqual(found["smallest_probability"], p.min(), places=9)
        self.assertAlmostEqual(found["decided_share"], (p.max(1) > 0.99).mean(), places=9)
        self.assertAlmostEqual(found["next_ess_share"], 1 / (1 / p).sum(1).mean() * 16, places=9)
        self.assertEqual(found["vanishing_actions"], [])

    def test_bits_are_looked_at_one_by_one(self):
        run("simulate", "multilabel", "--rows", 2500, "--seed", 1, "--out", self.dir / "logs")
        found = run_json("learn", self.dir / "logs", "--lambda", 1, "--epsilon", 0.05, "--out", self.dir / "p.toml")
        with h5py.File(next((self.dir / "logs").glob("*.h5"))) as file:
            context = file["context"][:]
        theta = np.array(found["theta"])
        p = 0.95 / (1 + np.exp(-(theta[:, 0] + context @ theta[:, 1:].T))) + 0.025
        seen = found["exploration"]
        self.assertAlmostEqual(seen["smallest_probability"], np.minimum(p, 1 - p).min(), places=9)
        self.assertAlmostEqual(seen["decided_share"], (np.maximum(p, 1 - p) > 0.99).mean(), places=9)
        self.assertAlmostEqual(seen["next_ess_share"], 1 / ((1 / p + 1 / (1 - p)) / 4).mean(), places=9)

    def test_vanishing_actions_are_a_warning(self):
        policy = self.dir / "p.toml"
        # All rows are of one kind, whose best action is one of four.
        data = shop_log(self.dir / "b.h5", outcome="reward", action_names=ACTIONS)
        policy.write_text('kind = "softmax"\nepsilon = 0.0\ntheta = [[60, 0, 0, 0], [0, 0, 0, 0], [60, 0, 0, 0], [0, 0, 0, 0]]\n')
        found = run("learn", data, "--start", policy, "--lambda", 1, "--max-iter", 1, "--out", self.dir / "q.toml")
        self.assertRegex(found.stderr, r"2 actions will hardly ever be taken again \(coffee, nothing\).*--epsilon")
        done = run("act", self.dir / "q.toml", "--contexts", data, "--seed", 1, "--out", self.dir / "next")
        self.assertRegex(done.stderr, r"2 actions of 4 never taken \(coffee, nothing\)")
        quiet = run("act", self.dir / "q.toml", "--contexts", data, "--seed", 1, "--out", self.dir / "again", "--quiet")
        self.assertEqual(quiet.stderr, "")

    def test_a_policy_that_has_decided_nearly_every_row_is_a_warning(self):
        policy = self.dir / "p.toml"
        # Each action has the contexts of one stretch of the second feature, and no other chance.
        rows = ", ".join(str([400 * (1.05 * k - 0.35 * k * k), 0, 400 * k, 0]) for k in range(4))
        policy.write_text(f'kind = "softmax"\nepsilon = 0.0\ntheta = [{rows}]\n')
        learn = ("learn", self.data, "--start", policy, "--lambda", 1, "--max-iter", 1, "--holdout", 0, "--overwrite",
                 "--out", self.dir / "q.toml")
        word = r"one action has more than 99 % in [\d.]+ % of the rows.*--epsilon"
        self.assertRegex(run(*learn).stderr, word)
        seen = run_json(*learn)["exploration"]
        self.assertEqual(seen["vanishing_actions"], [])
        self.assertGreater(seen["decided_share"], 0.9)
        act = ("act", policy, "--contexts", self.data, "--seed", 1, "--csv", self.dir / "x.csv", "--overwrite")
        self.assertRegex(run(*act).stderr, rf"one action has more than 99 % in [\d.]+ % of these rows.*epsilon in {policy}")
        policy.write_text(policy.read_text().replace("epsilon = 0.0", "epsilon = 0.1"))
        self.assertNotRegex(run(*learn).stderr, word)
        self.assertEqual(run(*act).stderr, "")

    def test_acting_warns_of_labels_that_no_longer_vary(self):
        def warning(theta, rows, mixing="label", epsilon=0):
            policy, data = self.dir / "bits.toml", self.dir / "contexts.h5"
            policy.write_text(f'kind = "multilabel"\nepsilon = {epsilon}\nmixing = "{mixing}"\ntheta = {theta}\n')
            with h5py.File(data, "w") as file:
                file.attrs.update(format="scrm-log", format_version=1, action_kind="multilabel")
                file["context"] = np.zeros((rows, 1))
            return run("act", policy, "--contexts", data, "--seed", 1, "--csv", self.dir / "x.csv", "--overwrite").stderr

        some = [[50, 0], [-50, 0], [0, 0]]
        self.assertRegex(warning(some, 500), r"2 labels of 3 never varied \(0, 1\): nothing can be learned about them")
        self.assertEqual(warning(some, 500, epsilon=0.1), "")
        self.assertEqual(warning(some, 500, "joint", 0.1), "")
        # Each varies now and then, and hardly ever.
        often = [[5, 0], [-5, 0], [5, 0]]
        self.assertRegex(warning(often, 2000), "of a label's two values one has more than 99 % in 99.*% of these rows")
        self.assertEqual(warning([[0, 0]] * 3, 4), "")

    def test_acting_on_few_rows_is_no_reason_for_a_word(self):
        policy = self.dir / "even.toml"
        for actions, rows, words in ((2, 3, 0), (6, 6, 0), (2, 5, 0), (1, 50, 0)):
            policy.write_text(f'kind = "softmax"\nepsilon = 0.1\ntheta = {[[0.0, 0.0]] * actions}\n')
            data = self.dir / "few.h5"
            with h5py.File(data, "w") as file:
                file.attrs.update(format="scrm-log", format_version=1, action_kind="categorical", num_actions=actions)
                file["context"] = np.zeros((rows, 1))
            for seed in range(10):
                said = run("act", policy, "--contexts", data, "--seed", seed, "--csv", self.dir / "x.csv", "--overwrite").stderr
                self.assertEqual(said.count("warning"), words, (actions, rows, seed, said))

    def test_an_option_that_the_start_overrules_is_told(self):
        policy = self.dir / "p.toml"
        policy.write_text('kind = "softmax"\nepsilon = 0.25\ntheta = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]\n')
        learn = ("learn", self.data, "--start", policy, "--lambda", 1, "--max-iter", 1, "--overwrite", "--out", self.dir / "q.toml")
        self.assertIn(f"--epsilon 0.5 is not followed: {policy} has 0.25", run(*learn, "--epsilon", 0.5).stderr)
        self.assertNotIn("not followed", run(*learn, "--epsilon", 0.25, "--kind", "softmax").stderr)
        self.assertNotIn("not followed", run(*learn).stderr)

    def test_acting_warns_of_many_actions_as_soon_as_their_absence_is_no_chance(self):
        policy, rows = self.dir / "many.toml", 3000
        data = self.dir / "contexts.h5"
        with h5py.File(data, "w") as file:
            file.attrs.update(format="scrm-log", format_version=1, action_kind="categorical", num_actions=1000)
            file["context"] = np.zeros((rows, 1))

        def warning(epsilon, first_score):
            policy.write_text(f'kind = "softmax"\nepsilon = {epsilon}\ntheta = {[[first_score, 0.0]] + [[0.0, 0.0]] * 999}\n')
            return run("act", policy, "--contexts", data, "--seed", 1, "--csv", self.dir / "x.csv", "--overwrite").stderr

        self.assertEqual(warning(0.0, 0.0), "")  # 5 % of the actions have not had their turn in 3,000 uniform draws
        self.assertRegex(warning(0.1, 60.0), r"7\d\d actions of 1,000 never taken \(")

    def test_one_action_alone_leaves_nothing_to_learn(self):
        random = np.random.default_rng(0)
        data = write_log(self.dir / "one.h5", action_kind="categorical", num_actions=1, context=random.normal(size=(60, 2)),
                         action=np.zeros(60, np.int32), loss=random.normal(size=60), propensity=np.ones(60))
        done = run("learn", data, "--lambda", 1, "--out", self.dir / "one.toml")
        self.assertIn("there was nothing to learn", done.stderr)
        self.assertNotIn("vanished", done.stderr)
        shown = run("inspect", data).stdout
        self.assertRegex(shown, r"(?m)^ +1 +60 +100\.0 %")  # and not from 1 to 2
        self.assertNotIn("– 2", shown)
        self.assertEqual(run("act", self.dir / "one.toml", "--contexts", data, "--seed", 1, "--csv", "-").stdout.splitlines()[1][-4:], ",0,1")

    def test_held_out_rows_are_remembered(self):
        policy = self.dir / "p.toml"
        learned = run_json("learn", self.data, "--lambda", 1, "--estimator", "ips", "--holdout", 0.3, "--seed", 5,
                           "--out", policy)["held_out"]
        self.assertTrue({"rows", "estimator", "value", "stderr", "low", "high", "interval", "ess"} <= learned.keys())
        judged = run_json("evaluate", self.data, "--holdout-of", policy, "--estimator", "ips")
        self.assertEqual(judged["rows"], learned["rows"])
        self.assertEqual(judged["policies"][0]["estimates"][0]["value"], learned["value"])
        self.assertEqual(judged["policies"][0]["diagnostics"]["ess"], learned["ess"])
        # Rows that did not have a say in learning: those of the training give another number.
        whole = run_json("evaluate", self.data, "--policy", policy, "--estimator", "ips")
        self.assertGreater(whole["rows"], judged["rows"])
        self.assertRegex(whole["policies"][0]["diagnostics"]["warnings"][0], "learned from these rows.*--holdout-of")

    def test_held_out_rows_are_judged_as_learn_judged_them_by_whatever_estimator(self):
        policy = self.dir / "p.toml"
        for estimator in ("ips-ix", "clipped", "snips"):
            held_out = run_json("learn", self.data, "--lambda", 1, "--estimator", estimator, "--out", policy, "--overwrite")["held_out"]
            judged = run_json("evaluate", self.data, "--holdout-of", policy, "--estimator", estimator)["policies"][0]["estimates"][0]
            for key in ("value", "stderr", "low", "high"):
                self.assertEqual(held_out[key], judged[key], (estimator, key))

    def test_files_in_another_order_are_not_taken_for_held_out_ones(self):
        files = [shop_log(self.dir / f"{i}.h5", outcome="reward", seed=i) for i in range(5)]
        policy = self.dir / "p.toml"
        run("learn", *files, "--lambda", 1, "--out", policy)
        run("evaluate", *files, "--holdout-of", policy)
        for first, second in ((0, 1), (1, 2), (2, 3), (3, 4), (1, 4)):  # those of the first file are looked at in full
            moved = list(files)
            moved[first], moved[second] = moved[second], moved[first]
            self.assertIn("in the order of", run("evaluate", *moved, "--holdout-of", policy, check=1).stderr)
        # Files of before do not say; whichever way rows are split and whatever is said of their sign is no other order.
        text = policy.read_text()
        policy.write_text("".join(line for line in text.splitlines(True) if not line.startswith("sample")))
        run("evaluate", *files, "--holdout-of", policy)

    def training_warnings(self, policy, *data):
        said = run_json("evaluate", *data, "--policy", policy, "--estimator", "ips")["policies"][0]["diagnostics"]["warnings"]
        return [one for one in said if "optimist" in one]

    def test_each_file_of_the_training_data_is_known_again(self):
        january, february, march = (shop_log(self.dir / f"{i}.h5", outcome="reward", seed=i, rows=3000) for i in range(3))
        policy = self.dir / "p.toml"
        run("learn", january, february, "--lambda", 1, "--out", policy)
        for data in ([january, february], [february, january], [february], [january]):
            self.assertIn("learned from these rows", self.training_warnings(policy, *data)[0])
        self.assertRegex(self.training_warnings(policy, march, february)[0], "from 3,000 of these 6,000 rows.*on other rows")
        # As many rows, and even some of the same numbers, are no reason for a word.
        self.assertEqual(self.training_warnings(policy, march), [])
        # The same rows in other forms: another order of columns, sparse; turned into losses they are still the same.
        for k, form in enumerate(({"order": [2, 0, 1]}, {"sparse": True}, {"sparse": True, "order": [1, 2, 0]})):
            other = shop_log(self.dir / f"form{k}.h5", outcome="reward", seed=1, **form)
            self.assertIn("learned from these rows", self.training_warnings(policy, other)[0], form)
        # Of a policy of before, which does not know its files, the first rows are known.
        text = policy.read_text()
        policy.write_text("".join(line for line in text.splitlines(True) if not line.startswith("shards")))
        self.assertEqual(self.training_warnings(policy, february), [])
        self.assertIn("the first of these rows", self.training_warnings(policy, january)[0])

    def test_days_with_hardly_an_outcome_are_told_apart(self):
        # Rewards are 0 far into the file and propensities all the same: contexts and actions alone tell whose rows they are.
        def day(seed):
            random = np.random.default_rng(seed)
            return write_log(self.dir / f"day{seed}.h5", action_kind="multilabel", context=random.normal(size=(3000, 2)),
                             action=random.integers(0, 2, (3000, 3)).astype(np.uint8), loss=np.arange(3000) // 2900 * 1.0,
                             propensity=np.full(3000, 0.125))
        first, second = day(1), day(2)
        policy = self.dir / "p.toml"
        run("learn", first, "--lambda", 1, "--out", policy)
        self.assertIn("these rows", self.training_warnings(policy, first)[0])
        self.assertEqual(self.training_warnings(policy, second), [])

    def test_other_rows_are_not_taken_for_held_out_ones(self):
        policy = self.dir / "p.toml"
        run("learn", self.data, "--lambda", 1, "--out", policy)
        other = shop_log(self.dir / "b.h5", outcome="reward", seed=7)
        self.assertIn("these are others", run("evaluate", other, "--holdout-of", policy, check=1).stderr)
        self.assertEqual(run_json("evaluate", other, "--policy", policy)["policies"][0]["diagnostics"]["warnings"], [])
        grown = run_json("evaluate", self.data, other, "--policy", policy)["policies"][0]["diagnostics"]["warnings"]
        self.assertIn("3,000 of these 6,000 rows", grown[0])
        hand = self.dir / "h.toml"
        hand.write_text('kind = "uniform"\n')
        self.assertIn("does not say", run("evaluate", self.data, "--holdout-of", hand, check=1).stderr)
        run("learn", self.data, "--lambda", 1, "--holdout", 0, "--out", self.dir / "all.toml")
        self.assertIn("none were held out",
                      run("evaluate", self.data, "--holdout-of", self.dir / "all.toml", check=1).stderr)


if __name__ == "__main__":
    main()
