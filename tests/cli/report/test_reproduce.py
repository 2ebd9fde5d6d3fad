"""`scrm reproduce`: the same bytes twice, sweeps that are kept, data sets that are not there, and what is refused."""
# labels: slow cli

import harness
from archives import check_page
from harness import ProgramTest, run, run_json


class Reproduce(ProgramTest):
    def files(self, name):
        return {str(p.relative_to(self.dir / name)): p.read_bytes() for room in ("tables", "figures")
                for p in (self.dir / name / room).rglob("*") if p.is_file()}

    def test_two_runs_give_the_same_bytes_and_the_second_in_a_folder_runs_nothing(self):
        parts = ("fig1", "fig8", "--quick", "--protocol", "paper", "--quiet")
        run("reproduce", *parts, "--out", self.dir / "one", "--threads", 1)
        run("reproduce", *parts, "--out", self.dir / "two", "--threads", 2)
        self.assertEqual(self.files("one"), self.files("two"))
        self.assertEqual((self.dir / "one/index.html").read_bytes(), (self.dir / "two/index.html").read_bytes())
        page, data = check_page(self, self.dir / "one")
        self.assertIn("Where it departs from the paper", page)
        self.assertEqual(list(data["sweeps"]), ["gaussian-paper"])
        before = {p: p.stat().st_mtime_ns for p in (self.dir / "one/sweeps").iterdir()}
        self.assertEqual(sorted(p.suffix for p in before), [".h5", ".toml"])
        run("reproduce", *parts, "--out", self.dir / "one")
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in (self.dir / "one/sweeps").iterdir()})

    def test_missing_data_sets_are_named_with_where_they_are_published_and_left_out(self):
        done = run("reproduce", "fig8", "--out", self.dir / "out", "--data-dir", self.dir / "nowhere")
        for word in ("nowhere", "scene-train.arff + scene-test.arff", "tmc2007-500", "Mulan", "SCRM_DATA_DIR"):
            self.assertIn(word, done.stderr)
        page, _ = check_page(self, self.dir / "out")
        self.assertIn("yeast is left out", page)

    def test_the_folder_of_data_is_the_option_then_the_variable_then_data(self):
        here = str(self.dir.resolve())
        said = lambda *args, **env: run("reproduce", "fig8", "--out", "out", *args, cwd=self.dir, env=env).stderr
        self.assertIn(f"not in {here}/data,", said(SCRM_DATA_DIR=""))
        self.assertIn("not in /nowhere,", said(SCRM_DATA_DIR="/nowhere"))
        self.assertIn(f"not in {here}/mine,", said("--data-dir", "mine", SCRM_DATA_DIR="/nowhere"))

    def test_the_estimators_are_studied_and_the_files_are_listed(self):
        facts = run_json("reproduce", "fig3", "--quick", "--quiet", "--out", self.dir / "out")
        self.assertEqual(len(facts["figures"]), 4)
        table = (self.dir / "out/tables/fig3.md").read_text()
        for name in ("ips", "clipped", "snips", "ips-ix"):
            self.assertIn(f"| {name} |", table)

    def test_other_folders_are_left_alone_and_parts_are_checked(self):
        (self.dir / "mine").mkdir()
        (self.dir / "mine/thesis.txt").write_text("years")
        self.assertIn("other things than a report", run("reproduce", "fig8", "--out", self.dir / "mine", check=1).stderr)
        self.assertIn("table1", run("reproduce", "tabel1", "--out", self.dir / "out", check=2).stderr)
        (self.dir / "file").write_text("")
        self.assertIn("file", run("reproduce", "fig8", "--out", self.dir / "file" / "out", check=1).stderr)


if __name__ == "__main__":
    harness.main()
