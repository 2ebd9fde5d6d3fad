"""`scrm sweep`: what it refuses, in which words, and what it goes on with."""
# labels: slow cli

import json
import os
import unittest

import h5py

from harness import main, run
from sweeps import SweepTest, archive, bits, runs, write_labelled

BASE = {"environments": ["pricing"], "methods": ["crm"], "rollouts": 1, "lambdas": 0.01}
# Key, value, what is said about it.
WRONG = [
    ("seeds", "many", "wants a whole number from 1 to 1000000"),
    ("seeds", 0, "wants a whole number"),
    ("seeds", 2.5, "wants a whole number"),
    ("seeds", [1, 1], "a seed comes twice"),
    ("seeds", [], "the list is empty"),
    ("seeds", [-1], "wants a whole number from 0"),
    ("rollouts", 0, "wants a whole number from 1 to 40"),
    ("rollouts", True, "wants a whole number"),
    ("first_batch", 0, "wants a whole number from 1"),
    ("growth", "cubic", 'wants one of "doubling", "linear"'),
    ("lambdas", [-1], "wants a number of 0 or more"),
    ("lambdas", [True], "wants a number of 0 or more"),
    ("lambdas", [], "the list is empty"),
    ("lambdas", "best", 'wants one of "auto"'),
    ("lambdas", [0.1, 0.1], "one comes twice"),
    ("l2", float("inf"), "wants a number of 0 or more"),
    ("l2", [0.1, -2], "wants a number of 0 or more"),
    ("l2", float("nan"), "wants a number of 0 or more"),
    ("l2", "best", 'wants one of "auto"'),
    ("l2", ["auto", 0.1, "auto"], "one comes twice"),
    ("l2_candidates", [-1], "wants a number of 0 or more"),
    ("alpha", 0, "wants a number above 0"),
    ("alpha", float("inf"), "wants a number above 0"),
    ("epsilon", 1.5, "wants a number from 0 to 1"),
    ("warm_start", 1, "wants true or false"),
    ("past", "none", 'wants one of "last", "all-naive", "all-balance"'),
    ("penalty", "var", 'wants one of "se", "sd"'),
    ("estimator", "sndr", 'wants one of "ips"'),
    ("protocol", "mine", 'wants one of "paper", "published"'),
    ("bound", [1, 0], "wants two numbers, the lower first"),
    ("bound", "wide", "wants a finite number"),
    ("replays", 3, "wants a divisor of"),
    ("data_dir", 5, "wants a text in quotes"),
    ("environments", "pricing", "wants a list of names"),
    ("environments", [], "wants a list of names"),
    ("methods", [7], "wants names in quotes"),
    ("methods", ["crm", "crm"], '"crm" comes twice'),
    ("environment", 3, "wants tables such as [environment.NAME]"),
]


class SweepFile(SweepTest):
    def refused(self, tables="", **keys):
        """Exit 2, the file's name in the message, and no trace in the folder."""
        _, done = self.sweep(self.write(tables=tables, **{**BASE, **keys}), check=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.visible(), ["sweep.toml"])
        return done.stderr

    def test_unknown_keys_get_a_line_and_a_suggestion(self):
        self.assertIn("sweep.toml: line 5: rolouts: there is no such key; did you mean rollouts?",
                      self.refused(rolouts=3))
        self.assertIn("line 6: wam_start: there is no such key; did you mean warm_start?",
                      self.refused("[method.crm]\nwam_start = true\n"))
        self.assertIn("line 6: like: there is no such key", self.refused('[environment.pricing]\nlike = "gaussian"\n'))
        self.assertIn("did you mean seeds?", self.refused(seed=3))

    def test_unknown_names_get_a_suggestion(self):
        self.assertIn('there is no environment "prcing"; did you mean "pricing"?',
                      self.refused(environments=["prcing"]))
        self.assertIn('there is no method "srcm"; did you mean "scrm"?', self.refused(methods=["srcm"]))
        self.assertIn('"baseline"', self.refused('[method.mine]\nlike = "basline"\n', methods=["mine"]))
        message = self.refused(methods=["zzzzzz"])
        for name in ["baseline", "crm", "scrm", "skyline"]:
            self.assertIn(name, message)

    def test_values_of_the_wrong_type_or_size_are_named_with_their_line(self):
        for key, value, complaint in WRONG:
            with self.subTest(key=key, value=value):
                keys = {name: BASE[name] for name in BASE if name != key}
                text = {"inf": "inf", "nan": "nan"}.get(str(value))
                path = self.write(**keys, **({} if text else {key: value}))
                if text:
                    path.write_text(path.read_text() + f"{key} = {text}\n")
                _, done = self.sweep(path, check=2)
                self.assertIn(f"sweep.toml: line {len(keys) + 1}: {key}: {complaint}", done.stderr)
                self.assertEqual(self.visible(), ["sweep.toml"])

    def test_tables_that_are_about_nothing_are_refused(self):
        self.assertIn("line 5: scrm: this table is about no method of the list", self.refused("[method.scrm]\n"))
        self.assertIn("line 5: gaussian: this table is about no environment of the list",
                      self.refused("[environment.gaussian]\n"))
        self.assertIn("line 6: crm: wants a table", self.refused("[method]\ncrm = 5\n"))
        self.assertIn("line 6: like: wants a text in quotes", self.refused("[method.crm]\nlike = 5\n"))

    def test_more_rows_than_can_be_counted_are_refused(self):
        message = self.refused(rollouts=40, first_batch=10**9)
        self.assertIn("pricing / crm: rollouts = 40 with first_batch = 1000000000", message)
        self.assertIn("first_batch = 100000", self.refused("[method.crm]\nrollouts = 40\n", first_batch=100_000))

    def test_what_is_no_toml_or_not_there_is_named(self):
        path = self.dir / "broken.toml"
        path.write_text('environments = ["pricing"]\nmethods = [crm]\n')
        self.assertIn("broken.toml: line 2: not TOML", self.sweep(path, check=2)[1].stderr)
        path.write_text("")
        self.assertIn("the sweep file is empty", self.sweep(path, check=1)[1].stderr)
        path.write_text('methods = ["crm"]\n')
        self.assertIn('environments is missing; write for instance environments = ["pricing"]',
                      self.sweep(path, check=2)[1].stderr)
        self.assertIn("none.toml", self.sweep(self.dir / "none.toml", check=1)[1].stderr)
        self.assertEqual(self.visible(), ["broken.toml"])

    def test_methods_of_bits_are_left_out_where_actions_are_numbers(self):
        path, done = self.sweep(self.write(**{**BASE, "methods": ["majority", "baseline", "all-zeros"]}))
        self.assertIn("majority is left out on pricing: its actions are neither bits nor categories", done.stderr)
        self.assertIn("all-zeros is left out on pricing: its actions are not bits", done.stderr)
        self.assertEqual(archive(path)["method"], ["baseline"])
        _, done = self.sweep(self.write(**{**BASE, "methods": ["majority"]}), "--overwrite", check=2)
        self.assertIn("there is nothing to run", done.stderr)
        self.assertEqual(archive(path)["method"], ["baseline"])


class Places(SweepTest):
    def test_an_archive_that_is_there_is_kept(self):
        sweep_file = self.write(**BASE)
        path, _ = self.sweep(sweep_file)
        before = path.read_bytes()
        _, done = self.sweep(sweep_file, check=2)
        self.assertIn("results.h5: the archive is there already; --resume adds what it lacks, --overwrite replaces it",
                      done.stderr)
        self.assertEqual(path.read_bytes(), before)
        self.sweep(sweep_file, "--resume", "--overwrite", check=2)
        self.assertEqual(path.read_bytes(), before)
        self.sweep(self.write(**{**BASE, "rollouts": 2}), "--overwrite")
        self.assertEqual(archive(path)["rollouts"].tolist(), [2])

    def test_a_file_that_is_no_archive_is_not_resumed_from(self):
        (self.dir / "results.h5").write_text("not an archive")
        _, done = self.sweep(self.write(**BASE), "--resume", check=1)
        self.assertIn("results.h5", done.stderr)
        (self.dir / "results.h5").unlink()
        (self.dir / "results.h5.journal").write_text("not a journal")
        _, done = self.sweep(self.write(**BASE), "--resume", check=1)
        self.assertIn("results.h5.journal", done.stderr)
        self.assertEqual((self.dir / "results.h5.journal").read_text(), "not a journal")

    def test_places_that_cannot_be_written_are_refused_before_anything_runs(self):
        # So long that a sweep which did run first would not come back in time.
        sweep_file = self.write(**{**BASE, "rollouts": 25})
        (self.dir / "folder").mkdir()
        for out, code, complaint in [("nowhere/results.h5", 1, "nowhere"), ("sweep.toml/results.h5", 1, "sweep.toml"),
                                     ("folder", 2, "is a folder; give the name of a file")]:
            for options in [(), ("--overwrite",), ("--resume",)]:
                _, done = self.sweep(sweep_file, *options, out=out, check=code, timeout=60)
                self.assertIn(complaint, done.stderr)
        self.assertIn("is empty", run("sweep", sweep_file, "--out", "", check=2, cwd=self.dir, timeout=60).stderr)
        self.assertEqual(self.visible(), ["folder", "sweep.toml"])
        self.assertEqual(list(self.dir.glob(".*")), [])

    @unittest.skipIf(os.geteuid() == 0, "nothing is forbidden to root")
    def test_a_folder_without_permission_is_refused(self):
        (self.dir / "locked").mkdir(mode=0o500)
        self.assertIn("locked", self.sweep(self.write(**BASE), out="locked/results.h5", check=1)[1].stderr)

    def test_data_that_cannot_be_read_is_told_before_any_run(self):
        keys = dict(environments=["scene", "pricing"], methods=["baseline"], seeds=2, rollouts=1)
        (self.dir / "data").mkdir()
        _, done = self.sweep(self.write(**keys, data_dir="data"), check=1)
        self.assertIn("scene-train.arff", done.stderr)
        self.assertIn(str(self.dir / "data"), done.stderr)
        self.assertIn("no run was begun", done.stderr)
        self.assertEqual(self.visible(), ["data", "sweep.toml"])
        (self.dir / "bad.h5").write_text("no data")
        for name in ("nowhere.h5", "bad.h5"):
            _, done = self.sweep(self.write(**{**keys, "environments": ["pricing", name]}), check=1)
            self.assertIn(name, done.stderr)
            self.assertEqual(self.visible(), ["bad.h5", "data", "sweep.toml"])
        # Of a part, only the data of its own runs.
        written = self.write(environments=["pricing", "nowhere.h5"], methods=["baseline"], seeds=1, rollouts=1)
        codes = [self.sweep(written, "--part", f"{i}/2", out=f"{i}.h5", check=None)[1].returncode for i in (1, 2)]
        self.assertEqual(sorted(codes), [0, 1])

    def test_data_may_go_once_its_runs_are_finished(self):
        data = write_labelled(self.dir / "mine.h5", 40, 2, 2)
        path, _ = self.sweep(self.write(environments=["pricing", "mine.h5"], methods=["baseline", "crm"], seeds=2,
                                        rollouts=2, lambdas=0.01, max_iterations=3))
        before = bits(path)
        data.unlink()
        self.sweep(self.dir / "sweep.toml", "--resume")
        self.assertEqual(bits(path), before)
        # A run more cannot be had.
        more = self.dir / "sweep.toml"
        more.write_text(more.read_text().replace("seeds = 2", "seeds = 3"))
        self.assertIn("mine.h5", self.sweep(more, "--resume", check=1)[1].stderr)
        self.assertEqual(bits(path), before)


class Resume(SweepTest):
    KEYS = dict(environments=["pricing"], methods=["crm", "scrm"], seeds=2, rollouts=4, lambdas=[1e-3, 1e-2])

    def resumed(self, path):
        """Runs made now and runs kept, of a sweep that goes on."""
        result = json.loads(self.sweep(path, "--resume", "--json")[1].stdout)
        return result["runs"] - result["resumed"], result["resumed"]

    def test_a_change_that_conflicts_is_named_with_old_and_new(self):
        path, _ = self.sweep(self.write(**self.KEYS))
        before = path.read_bytes()
        for name, old, new in [("rollouts", 4, 5), ("growth", "doubling", "linear"), ("alpha", "auto", 0.5),
                               ("past", "last", "all-naive")]:
            _, done = self.sweep(self.write(**{**self.KEYS, name: new}), "--resume", check=2)
            self.assertIn(f"pricing / crm: {name} was {old} and is {new}", done.stderr)
            self.assertIn("another --out", done.stderr)
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(self.visible(), ["results.h5", "sweep.toml"])

    def test_more_seeds_lambdas_methods_and_environments_run_only_what_is_new(self):
        path, _ = self.sweep(self.write(**self.KEYS))
        seen = runs(path)
        keys = dict(self.KEYS)
        for change, new in [({"seeds": 3}, 4), ({"lambdas": [0.1, 1e-3, "auto", 1e-2]}, 12), ({"l2": [0.0, 0.5]}, 24),
                            ({"methods": ["baseline", "crm", "scrm"]}, 3),
                            ({"environments": ["gaussian", "pricing"]}, 15)]:
            keys.update(change)
            self.assertEqual(self.resumed(self.write(**keys)), (new, len(seen)), change)
            now = runs(path)
            self.assertEqual({key: now[key] for key in seen}, seen, change)
            seen = now
        self.assertEqual(self.resumed(self.dir / "sweep.toml"), (0, len(seen)))
        self.assert_same_bits(path, self.sweep(self.dir / "sweep.toml", out="straight.h5")[0])
        with h5py.File(path) as file:
            self.assertEqual(file.attrs["sweep"], (self.dir / "sweep.toml").read_text())

    def test_runs_that_are_no_longer_asked_for_stay_in_the_archive(self):
        path, _ = self.sweep(self.write(**self.KEYS))
        before = runs(path)
        self.sweep(self.write(**{**self.KEYS, "seeds": [1], "methods": ["scrm"]}), "--resume")
        self.assertEqual(runs(path), before)
        self.assertEqual(archive(path)["method"][:2], ["scrm", "scrm"])

    def test_resume_without_anything_to_go_on_with_begins(self):
        path, _ = self.sweep(self.write(**self.KEYS), "--resume")
        self.assert_same_bits(path, self.sweep(self.dir / "sweep.toml", out="straight.h5")[0])


if __name__ == "__main__":
    main()
