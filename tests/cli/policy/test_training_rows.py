"""Rows that a policy was learned from are known again: as files, in pieces, put together, and given twice.

labels: cli fast
"""

import itertools

import h5py
import numpy as np

from harness import ProgramTest, main, run, run_json, write_log
from shop_logs import shop_log


class TrainingRows(ProgramTest):
    def setUp(self):
        super().setUp()
        self.numbers = itertools.count()

    def rare_day(self, name, seed, rows=6000):
        """A day on which nothing is sold at first, under one constant propensity: contexts and actions alone tell it."""
        random = np.random.default_rng(seed)
        sold = np.zeros(rows)
        sold[4500 + 7 * np.arange(20 if rows else 0)] = 1
        return write_log(self.dir / name, action_kind="categorical", num_actions=2, context=random.normal(size=(rows, 3)),
                         action=random.integers(0, 2, rows).astype(np.int32), loss=sold, propensity=np.full(rows, 0.5),
                         attributes={"outcome": "reward"})

    def learn(self, *files, out="p.toml", holdout=0.2):
        run("learn", *files, "--lambda", 1, "--max-iter", 3, "--holdout", holdout, "--out", self.dir / out, "--overwrite")
        return self.dir / out

    def pieces(self, path, *cuts):
        """The rows of a log in files of their own, from cut to cut."""
        return [self.joined(path, rows=slice(*ends)) for ends in itertools.pairwise((*cuts, None))]

    def joined(self, *paths, rows=slice(None)):
        columns = {}
        for path in paths:
            with h5py.File(path) as file:
                attributes = {name: file.attrs[name] for name in ("outcome", "context_columns") if name in file.attrs}
                actions = file.attrs["num_actions"]
                for name in ("context", "action", "loss", "propensity"):
                    columns.setdefault(name, []).append(file[name][rows])
        return write_log(self.dir / f"joined{next(self.numbers)}.h5", action_kind="categorical", num_actions=actions,
                         attributes=attributes, **{name: np.concatenate(parts) for name, parts in columns.items()})

    def said(self, policy, *data):
        """What is said of training rows, if anything."""
        report = run_json("evaluate", *data, "--policy", policy, "--estimator", "ips")
        warnings = [one for one in report["policies"][0]["diagnostics"]["warnings"] if "optimist" in one]
        self.assertLessEqual(len(warnings), 1)
        return warnings[0] if warnings else ""

    def refusal(self, policy, *data):
        return run("evaluate", *data, "--holdout-of", policy, check=1).stderr

    def test_other_days_and_another_order_are_refused_where_outcomes_and_propensities_are_alike(self):
        days = [self.rare_day(f"day{k}.h5", k) for k in range(3)]
        policy = self.learn(days[0], days[1])
        run("evaluate", days[0], days[1], "--holdout-of", policy)
        empty = self.rare_day("empty.h5", 9, rows=0)  # is no other file
        run("evaluate", days[0], empty, days[1], "--holdout-of", policy)
        self.assertIn("file number 2", self.refusal(policy, days[0], empty))
        self.assertRegex(self.refusal(policy, days[1], days[0]), r"another order \(the first was \S*day0.h5\).*in the order of")
        self.assertRegex(self.refusal(policy, days[0], days[2]), r"these are others .*: \S*day2.h5 is none of its files")
        self.assertRegex(self.refusal(policy, days[2], days[1]), r"these are others .*: \S*day2.h5 is none of its files")
        self.assertRegex(self.refusal(policy, days[0]), "6,000 rows in 1 file.*file number 2, of 6,000 rows, is not among them")
        self.assertIn("is none of its files", self.refusal(self.learn(days[0]), days[1]))

    def test_rows_are_held_out_of_the_same_rows_however_they_are_cut_into_files(self):
        days = [self.rare_day(f"day{k}.h5", k) for k in range(2)]
        policy = self.learn(*days)
        judged = run_json("evaluate", *days, "--holdout-of", policy)["policies"]
        for files in ([self.joined(*days)], self.pieces(days[0], 0, 1, 4000) + [days[1]]):
            self.assertEqual(run_json("evaluate", *files, "--holdout-of", policy)["policies"], judged)
            self.assertRegex(self.said(policy, *files), "learned from these rows.*--holdout-of .*p.toml judges")
        self.assertIn("these are others", self.refusal(policy, self.joined(days[1], days[0])))

    def test_rows_that_have_changed_since_are_refused(self):
        day = self.rare_day("day.h5", 0)
        policy = self.learn(day)
        for name, row in (("propensity", 3), ("loss", 5999)):  # what begins alike, and what comes behind it
            with h5py.File(day, "r+") as file:
                before = file[name][row]
                file[name][row] = 0.75
            self.assertIn("whose losses or propensities are others", self.refusal(policy, day))
            with h5py.File(day, "r+") as file:
                file[name][row] = before
        run("evaluate", day, "--holdout-of", policy)

    def test_the_warning_says_how_many_rows_of_which_files_were_learned_from(self):
        old, new, other = (shop_log(self.dir / f"{name}.h5", outcome="reward", seed=k)
                           for k, name in enumerate(("old", "new", "other")))
        policy = self.learn(old, new)
        for files, which in (([other, new], r"3,000 of these 6,000 rows \(\S*new.h5\)"),
                             ([old, other, new], r"6,000 of these 9,000 rows \(\S*old.h5, \S*new.h5\)"),
                             ([self.joined(old, other)], r"3,000 of these 6,000 rows \(\S*joined0.h5\)"),
                             ([other, self.joined(old, new)], r"6,000 of these 9,000 rows \(\S*joined1.h5\)"),
                             (self.pieces(old, 0, 1000) + [other], r"3,000 of these 6,000 rows \(\S*joined2.h5, \S*joined3.h5\)"),
                             (self.pieces(new, 0, 500)[:1], "these rows"), ([new], "these rows")):
            self.assertRegex(self.said(policy, *files), f"learned from {which}.*; judge it on other rows$")
        self.assertEqual(self.said(policy, other), "")
        first, rest = self.pieces(old, 0, 1)
        policy = self.learn(first, rest, out="q.toml")
        self.assertRegex(self.said(policy, other, old), r"3,000 of these 6,000 rows \(\S*old.h5\)")

    def test_held_out_rows_are_advised_only_where_the_data_has_them(self):
        files = [shop_log(self.dir / f"{k}.h5", outcome="reward", seed=k) for k in range(2)]
        policy = self.learn(*files)
        self.assertRegex(self.said(policy, *files), "these rows.*; --holdout-of .*p.toml judges it on those that were held out")
        run("evaluate", *files, "--holdout-of", policy)
        self.assertRegex(self.said(policy, *files[::-1]), "these rows.*; --holdout-of .*p.toml, given the files in the order")
        copy = self.dir / "copy.h5"
        copy.write_bytes(files[0].read_bytes())
        for others in ([files[0], copy], [files[0]], [copy]):
            self.assertIn("these rows, and its estimate on them is an optimist's; judge it on other rows", self.said(policy, *others))
            self.assertIn("is not among them", self.refusal(policy, *others))
        # Files of before do not know their files: the same rows are known by how they begin, and by a sample.
        text = policy.read_text()
        policy.write_text("".join(line for line in text.splitlines(True) if not line.startswith("shards")))
        self.assertRegex(self.said(policy, *files), "these rows.*; --holdout-of .*p.toml judges")
        self.assertRegex(self.said(policy, files[0], copy), "; judge it on other rows")
        policy = self.learn(*files, holdout=0)
        self.assertRegex(self.said(policy, *files), "these rows.*; judge it on other rows")

    def test_copies_count_twice_and_are_named(self):
        day, other = (shop_log(self.dir / f"day{k}.h5", outcome="reward", seed=k) for k in range(2))
        copy, third = self.dir / "copy.h5", self.dir / "third.h5"
        for path in (copy, third):
            path.write_bytes(day.read_bytes())
        policy = self.learn(day)
        words = f"{day} and {copy} hold the same rows: they count twice"
        for command in (("evaluate", "--policy", policy), ("learn", "--lambda", 1, "--out", self.dir / "q.toml", "--overwrite")):
            done = run(command[0], day, other, copy, *command[1:], "--json")
            self.assertEqual(done.stderr.count(words), 1, done.stderr)
            self.assertEqual(done.stdout.count(words), 1, done.stdout)
            self.assertNotIn("hold the same rows", run(command[0], day, other, *command[1:]).stderr)
        self.assertIn(words, run("inspect", day, other, copy).stdout)
        self.assertIn(words, run_json("inspect", day, other, copy)["remarks"])
        self.assertIn(f"{day}, {copy} and 1 file more hold the same rows: they count 3 times",
                      run("inspect", day, copy, third).stdout)


if __name__ == "__main__":
    main()
