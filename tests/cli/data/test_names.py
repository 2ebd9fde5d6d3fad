"""What data says about itself: names of features and actions, and whether it holds losses or rewards.

labels: cli fast
"""

import h5py
import numpy as np

from harness import ProgramTest, main, run, run_json, write_log
from shop_logs import ACTIONS, NAMES, shop_log


def softmax(path, theta, **lists):
    lines = ['kind = "softmax"', f"theta = {[list(row) for row in theta]}"]
    path.write_text("\n".join([f"{key} = {value}" for key, value in lists.items()] + lines).replace("'", '"') + "\n")
    return path


def values(found):
    return {e["estimator"]: (e["value"], e["stderr"]) for e in found["policies"][0]["estimates"]}


class Names(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.theta = np.column_stack([random.normal(size=4), random.normal(size=(4, 3)) * [0.02, 1, 1]])
        self.data = shop_log(self.dir / "a.h5")
        self.policy = softmax(self.dir / "p.toml", self.theta)
        self.found = values(run_json("evaluate", self.data, "--policy", self.policy))

    def test_columns_in_another_order_are_the_same_data(self):
        for name, options in {"f64": {}, "f32": {"dtype": np.float32}, "sparse": {"sparse": True}}.items():
            order = [2, 0, 1]
            plain = shop_log(self.dir / f"{name}.h5", **options)
            other = shop_log(self.dir / f"{name}-other.h5", order=order, seed=0, **options)
            more = shop_log(self.dir / f"{name}-more.h5", seed=9, rows=700, **options)
            # The first file decides the order, and a policy with names follows it.
            named = softmax(self.dir / "named.toml", self.theta, inputs=NAMES)
            first = values(run_json("evaluate", more, plain, "--policy", self.policy))
            second = values(run_json("evaluate", more, other, "--policy", self.policy))
            if name == "sparse":  # entries of a row are added up in their file's order
                for key, pair in first.items():
                    np.testing.assert_allclose(second[key], pair, rtol=1e-10)
            else:
                self.assertEqual(first, second, name)
            again = values(run_json("evaluate", other, "--policy", named))
            for key, pair in values(run_json("evaluate", plain, "--policy", self.policy)).items():
                np.testing.assert_allclose(again[key], pair, rtol=1e-10)

    def test_a_policy_finds_its_features_by_name(self):
        columns = self.theta[:, [0, 3, 1, 2]]
        policy = softmax(self.dir / "q.toml", columns, inputs=["share", "age", "visits"])
        for key, pair in values(run_json("evaluate", self.data, "--policy", policy)).items():
            np.testing.assert_allclose(self.found[key], pair, rtol=1e-10)
        # Fewer than the data has: the others do not count.
        fewer = softmax(self.dir / "r.toml", self.theta[:, [0, 3, 1]], inputs=["share", "age"])
        zeros = self.theta.copy()
        zeros[:, 2] = 0
        same = softmax(self.dir / "s.toml", zeros)
        self.assertEqual(values(run_json("evaluate", self.data, "--policy", fewer)),
                         values(run_json("evaluate", self.data, "--policy", same)))

    def test_quadratic_features_follow_their_names(self):
        random = np.random.default_rng(4)
        pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        scale = np.array([1, 0.02, 1, 1] + [[0.02, 1, 1][i] * [0.02, 1, 1][j] for i, j in pairs])
        theta = random.normal(size=(4, 10)) * scale
        order = [2, 0, 1]  # of the file: its columns are share, age, visits
        there = {pair: 4 + k for k, pair in enumerate(pairs)}
        moved = np.zeros_like(theta)
        moved[:, 0] = theta[:, 0]
        for j in range(3):
            moved[:, 1 + j] = theta[:, 1 + order[j]]
        for k, (i, j) in enumerate(pairs):
            moved[:, 4 + k] = theta[:, there[tuple(sorted((order[i], order[j])))]]
        plain = softmax(self.dir / "p2.toml", theta, features="quadratic")
        named = softmax(self.dir / "q2.toml", moved, features="quadratic", inputs=["share", "age", "visits"])
        for path in (plain, named):
            path.write_text(path.read_text().replace("features = quadratic", 'features = "quadratic"'))
        expected = values(run_json("evaluate", self.data, "--policy", plain))
        for key, pair in values(run_json("evaluate", self.data, "--policy", named)).items():
            np.testing.assert_allclose(expected[key], pair, rtol=1e-9)

    def test_what_is_missing_is_named(self):
        stranger = shop_log(self.dir / "b.h5", names=["age", "visits", "cart"])
        error = run("evaluate", self.data, stranger, "--policy", self.policy, check=1).stderr
        self.assertRegex(error, r"b\.h5.*context_columns.*'cart'.*a\.h5")
        named = softmax(self.dir / "named.toml", self.theta, inputs=["age", "visits", "cart"])
        self.assertRegex(run("evaluate", self.data, "--policy", named, check=1).stderr, r"named\.toml.*'cart'")
        self.assertRegex(run("act", named, "--contexts", self.data, "--seed", 1, "--out", self.dir / "o", check=1).stderr,
                         r"named\.toml.*'cart'")
        wrong = shop_log(self.dir / "c.h5", context_columns=["age"] * 3, names=None)
        self.assertIn("'age' twice", run("inspect", wrong, check=1).stderr)
        short = shop_log(self.dir / "d.h5", context_columns=["age", "visits"], names=None)
        self.assertIn("2 names", run("inspect", short, check=1).stderr)

    def test_files_without_names_beside_others_are_said(self):
        plain = [shop_log(self.dir / f"plain{k}.h5", names=None, seed=k) for k in (1, 2)]
        for first, second in ((self.data, plain[0]), (plain[0], self.data)):
            for command in (("evaluate", "--policy", self.policy), ("learn", "--lambda", 1, "--out", self.dir / "l.toml",
                            "--overwrite"), ("act", "--seed", 1, "--csv", "-")):
                data = ["--contexts", first, second] if command[0] == "act" else [first, second]
                name = [self.policy] if command[0] == "act" else []
                said = run(command[0], *name, *data, *command[1:]).stderr
                self.assertEqual(said.count("plain1.h5: does not name its features"), 1, (command, said))
            self.assertIn("plain1.h5: does not name", run("inspect", first, second).stdout)
            report = run_json("evaluate", first, second, "--policy", self.policy)
            self.assertIn("plain1.h5: does not name", report["warnings"][0])
            report = run_json("learn", first, second, "--lambda", 1, "--out", self.dir / "l.toml", "--overwrite")
            self.assertIn("plain1.h5: does not name", report["warnings"][0])
        # Where none does, or none has any, there is nothing to say.
        self.assertEqual(run("evaluate", *plain, "--policy", self.policy).stderr, "")

    def test_columns_without_names_are_taken_in_the_order_of_the_policy_with_a_word(self):
        plain = [shop_log(self.dir / f"plain{k}.h5", names=None, seed=k) for k in (1, 2)]
        named = softmax(self.dir / "named.toml", self.theta, inputs=["age", "visits", "share"])
        words = f"{plain[0]} has no column names: its columns are taken in the order of {named}'s inputs"
        learn = ("learn", *plain, "--start", named, "--lambda", 1, "--max-iter", 1, "--overwrite", "--out", self.dir / "l.toml")
        for command in (("evaluate", *plain, "--policy", named), learn,
                        ("act", named, "--contexts", *plain, "--seed", 1, "--csv", "-")):
            self.assertEqual(run(*command).stderr.count(words), 1, command)
            self.assertEqual(run(*command, "--quiet").stderr, "")
        self.assertIn(words, run_json("evaluate", *plain, "--policy", named)["policies"][0]["diagnostics"]["warnings"])
        self.assertIn(words, run_json(*learn)["warnings"])
        for data, policy in ((plain[0], self.policy), (self.data, named)):
            self.assertNotIn("column names", run("evaluate", data, "--policy", policy).stderr)

    def test_actions_are_matched_by_name(self):
        data = shop_log(self.dir / "b.h5", action_names=ACTIONS)
        order = [3, 1, 0, 2]
        policy = softmax(self.dir / "q.toml", self.theta[order], actions=[ACTIONS[k] for k in order])
        for key, pair in values(run_json("evaluate", data, "--policy", policy)).items():
            np.testing.assert_allclose(self.found[key], pair, rtol=1e-10)
        other = softmax(self.dir / "r.toml", self.theta, actions=["tea", "coffee", "water", "juice"])
        self.assertIn("no 'juice'", run("evaluate", data, "--policy", other, check=1).stderr)
        swapped = shop_log(self.dir / "c.h5", action_names=[ACTIONS[k] for k in order])
        self.assertRegex(run("inspect", data, swapped, check=1).stderr, r"c\.h5.*action 0 is 'nothing', but 'tea'")

    def test_names_are_shown_and_handed_on(self):
        data = shop_log(self.dir / "b.h5", action_names=ACTIONS, outcome="reward")
        text = run("inspect", data).stdout
        for name in NAMES + ACTIONS:
            self.assertRegex(text, rf"(?m)^\s+{name} ")
        self.assertEqual(run_json("inspect", data)["context_columns"], NAMES)
        learned = self.dir / "l.toml"
        run("learn", data, "--lambda", 1, "--out", learned)
        self.assertIn('inputs   = ["age", "visits", "share"]', learned.read_text())
        self.assertIn('actions  = ["tea", "coffee", "water", "nothing"]', learned.read_text())
        swapped = shop_log(self.dir / "c.h5", order=[1, 2, 0])
        run("act", learned, "--contexts", swapped, "--seed", 1, "--out", self.dir / "next")
        run("act", learned, "--contexts", data, "--seed", 1, "--out", self.dir / "same")
        with h5py.File(next((self.dir / "next").glob("*.h5"))) as a, h5py.File(next((self.dir / "same").glob("*.h5"))) as b:
            self.assertEqual(list(a.attrs["context_columns"]), ["visits", "share", "age"])
            self.assertEqual(list(a.attrs["action_names"]), ACTIONS)
            np.testing.assert_array_equal(a["action"][:], b["action"][:])

    def test_thousands_of_names(self):
        # More than HDF5 keeps in an object's header.
        rows, features = 20, 9000
        names = [f"feature number {j}" for j in range(features)]
        context = np.random.default_rng(0).normal(size=(rows, features))
        table = self.dir / "t.csv"
        header = ",".join(names + ["a", "l", "p"])
        lines = [",".join(map(str, [*row, 0.5, 1.0, 0.4])) for row in context]
        table.write_text("\n".join([header, *lines]) + "\n")
        run("import", table, "--format", "csv", "--action-kind", "continuous", "--context",
            f"{names[0]}:{names[-1]}", "--action", "a", "--loss", "l", "--propensity", "p", "--out", self.dir / "wide.h5")
        self.assertEqual(run_json("inspect", self.dir / "wide.h5")["context_columns"], names)


class Outcome(ProgramTest):
    def test_rewards_are_shown_as_rewards(self):
        policy = softmax(self.dir / "p.toml", np.zeros((4, 4)))
        says = shop_log(self.dir / "a.h5", outcome="reward")
        silent = shop_log(self.dir / "b.h5")
        found = run_json("evaluate", says, "--policy", policy)
        self.assertEqual(found["outcome"], "reward")
        with h5py.File(says) as file:
            rewards = file["loss"][:]
        self.assertAlmostEqual(found["logged_loss"]["mean"], rewards.mean(), places=12)
        ips = found["policies"][0]["estimates"][0]
        self.assertAlmostEqual(ips["value"], rewards.mean(), places=12)
        self.assertLess(ips["low"], ips["value"])
        self.assertLess(ips["value"], ips["high"])
        self.assertEqual(found["policies"], run_json("evaluate", silent, "--policy", policy, "--reward")["policies"])
        self.assertEqual(found["policies"], run_json("evaluate", says, "--policy", policy, "--reward")["policies"])
        self.assertIn("mean reward of the logged actions", run("evaluate", says, "--policy", policy).stdout)
        seen = run_json("inspect", says)
        self.assertEqual((seen["outcome"], seen["loss"]["max"]), ("reward", rewards.max()))

    def test_learning_earns_more(self):
        data = shop_log(self.dir / "a.h5", outcome="reward")
        found = run_json("learn", data, "--lambda", 1, "--out", self.dir / "p.toml")
        self.assertEqual(found["outcome"], "reward")
        self.assertGreater(found["held_out"]["value"], 0.6)  # by chance 0.25
        text = run("learn", data, "--lambda", 1, "--out", self.dir / "q.toml").stdout
        self.assertRegex(text, r"reward on .* training rows: 0\.[6-9]\d* \(the logged actions earned 0\.2")

    def test_contradictions_are_errors(self):
        policy = softmax(self.dir / "p.toml", np.zeros((4, 4)))
        losses = shop_log(self.dir / "l.h5", outcome="loss")
        rewards = shop_log(self.dir / "r.h5", outcome="reward")
        for command in ("evaluate", "learn", "inspect"):
            options = {"evaluate": ("--policy", policy), "learn": ("--out", self.dir / "o.toml"), "inspect": ()}[command]
            self.assertIn("contradicts", run(command, losses, *options, "--reward", check=1).stderr)
        error = run("evaluate", rewards, losses, "--policy", policy, check=1).stderr
        self.assertRegex(error, r"l\.h5.*outcome.*loss.*r\.h5 holds rewards")
        odd = shop_log(self.dir / "o.h5", outcome="profit")
        self.assertIn('"profit"', run("inspect", odd, check=1).stderr)


if __name__ == "__main__":
    main()
