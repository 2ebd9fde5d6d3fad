"""scrm import: what it advises about fields that it cannot read, and what it warns of though it can."""
# labels: fast cli io

import subprocess

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json

ROLES = ["--action-kind", "continuous", "--action", "a", "--loss", "l", "--propensity", "p"]
SKIPPING = "--skip-bad-rows goes on without"


class Advice(ProgramTest):
    def write(self, text, name="in.csv"):
        path = self.dir / name
        path.write_text(text, encoding="utf-8")
        return path

    def table(self, strays, column="x", rows=5000):
        """A table of many different numbers, with these texts in one column of its first rows."""
        lines = []
        for i in range(rows):
            row = {"x": f"{i}.5", "a": "1", "l": "2", "p": "1"}
            if i < len(strays):
                row[column] = strays[i]
            lines.append(",".join(row.values()))
        return self.write("x,a,l,p\n" + "\n".join(lines) + "\n")

    def refused(self, table, *options):
        done = run("import", table, *ROLES, "--context", "x", *options, "--out", self.dir / "no.h5", check=1)
        self.assertFalse((self.dir / "no.h5").exists())
        return done.stderr

    def test_a_stray_text_among_numbers_is_left_out_rather_than_made_a_category(self):
        for strays in (["oops"], ["oops"] * 50):
            said = self.refused(self.table(strays))
            self.assertIn("line 2, column 'x': 'oops' is not a number (", said)
            self.assertLess(said.index(SKIPPING), said.index("--categorical 'x'"))
        result = run_json("import", self.table(["oops"]), *ROLES, "--context", "x", "--skip-bad-rows", "--out", self.dir / "o.h5")
        self.assertEqual((result["rows"], result["features"]), (4999, 1))
        # Where many are texts a category is likely meant.
        for strays in (["oops"] * 51, ["oops"] * 4999):
            said = self.refused(self.table(strays))
            self.assertIn("--categorical 'x'", said)
            self.assertNotIn(SKIPPING, said)
        # Actions by name alike.
        said = self.refused(self.table(["oops"], "a"))
        self.assertLess(said.index(SKIPPING), said.index("--action-kind categorical"))

    def test_the_advice_does_not_go_round_in_a_circle(self):
        said = self.refused(self.table(["oops"]), "--categorical", "x")
        self.assertIn("has more than 1000 different values; most of them are numbers", said)
        self.assertIn(SKIPPING, said)
        self.assertNotIn("leave the column out", said)

    def test_numbers_in_other_spellings_are_told_from_texts(self):
        for text, hint in (('"1,234.5"', "thousands have no separator here, as in 1234.5"),
                           ('"-1,234,567"', "thousands have no separator here, as in -1234567"),
                           ("1 234.5", "as in 1234.5"), ("1'234", "as in 1234"), ("1\u202f234", "as in 1234"),
                           ('"1,234"', "as in 1.234 or 1234"), ('"1.234,5"', "decimals are written with a point"),
                           ('"1.234,5"', "as in 1234.5"), ('"1,5"', "decimals are written with a point here")):
            for column in "xlp":
                said = self.refused(self.table([text], column))
                self.assertIn(hint, said)
                self.assertNotIn("--categorical", said)
                self.assertNotIn(SKIPPING, said)  # those of a thousand and more, and no others
        for text in ('"1,23"x', '"12,34.5"', '"1234,567.5"', '",234"', "1 2"):
            self.assertNotIn("thousands", self.refused(self.table([text])))
        self.assertIn("write 1 for true and 0 for false", self.refused(self.table(["True"], "l")))

    def test_dates_in_other_spellings_are_told_how_dates_are_read(self):
        for text in ("31.01.2026", "01/31/2026", "2026/01/31", "1.2.26", "31-01-2026 12:30"):
            said = self.refused(self.table([text] * 300, rows=300))
            self.assertIn(f"'{text}' is not a number but looks like a date; dates are read as 2026-01-31 alone", said)
            self.assertNotIn("--categorical", said)
        for text in ("1.2.3.4", "31.31.2026", "2026-01", "99/99/2026", "1/2"):
            self.assertNotIn("looks like a date", self.refused(self.table([text])))

    def test_a_column_of_numbers_that_are_all_dates_gets_a_note(self):
        def said(values, threads=1):
            done = run("import", self.table(values, rows=len(values)), *ROLES, "--context", "x", "--out", self.dir / "o.h5",
                       "--overwrite", "--threads", threads)
            return done.stderr

        days = [f"2026{month:02}{day:02}" for month in range(1, 13) for day in range(1, 29)] * 60
        for threads in (1, 3):
            self.assertIn("column 'x': all its values look like dates without dashes, such as 20260101", said(days, threads))
            for other in ("20260230", "20261301", "20260131.5", "18000101", "7"):
                for at in (0, len(days) // 2, len(days) - 1):
                    self.assertEqual(said([*days[:at], other, *days[at + 1:]], threads), "")
        self.assertEqual(said([]), "")

    def test_a_header_in_the_middle_of_a_file_is_told(self):
        said = self.refused(self.write("x,a,l,p\n1,1,1,1\n x,a, l,p\n2,1,1,1\n"))
        self.assertIn("line 3, column 'x': ' x' is the name of the column: the header is there once more", said)
        self.assertIn(SKIPPING, said)
        # A value that is the name of its column is a value.
        for column in ("x", "l"):
            said = self.refused(self.table([column], column, rows=3))
            self.assertIn(f"'{column}' is not a number", said)
            self.assertNotIn("once more", said)
        # Left out, its words are no levels and no actions.
        table = self.write("x,c,a,l,p\n1,red,no,1,1\nx,c,a,l,p\n2,blue,yes,1,1\n")
        roles = ["--action-kind", "categorical", *ROLES[2:], "--context", "x", "--categorical", "c"]
        result = run_json("import", table, *roles, "--skip-bad-rows", "--out", self.dir / "o.h5")
        self.assertEqual((result["rows"], result["skipped_rows"], result["action_names"]), (2, 1, ["no", "yes"]))
        self.assertEqual(result["context_columns"], ["x", "c=blue", "c=red", "c=other"])

    def test_a_delimiter_is_advised_as_a_shell_takes_it(self):
        for delimiter in (";", "|", "\t", ","):
            table = self.write("x,a,l,p\n1,2,3,4\n".replace(",", delimiter))
            command = ["import", table, *ROLES, "--context", "x", "--out", self.dir / "o.h5", "--overwrite"]
            said = run(*command, "--delimiter", "#", check=2).stderr.splitlines()[0]
            advice = said[said.index("--delimiter"):]
            shell = subprocess.run(["sh", "-c", f"printf '%s\\n' {advice}"], capture_output=True, text=True, timeout=60)
            advised = ["--delimiter", "tab" if delimiter == "\t" else delimiter]
            self.assertEqual(shell.stdout.splitlines(), advised)
            run(*command, *advised)

    def test_two_levels_that_would_have_one_name_are_named(self):
        table = self.write('c,a,l,p\n"a\nb",1,1,1\na b,1,1,1\n')
        done = run("import", table, *ROLES, "--categorical", "c", "--out", self.dir / "no.h5", check=2)
        self.assertIn("column 'c': its values 'a\\nb' and 'a b' would both be the feature 'c=a b'", done.stderr)
        self.assertNotIn("rename one of the columns", done.stderr)
        table = self.write("c,c=x,a,l,p\nx,1,1,1,1\n")
        done = run("import", table, *ROLES, "--context", "c=x", "--categorical", "c", "--out", self.dir / "no.h5", check=2)
        self.assertIn("rename one of the columns", done.stderr)

    def test_truth_values_are_bits_of_labels_and_categories(self):
        table = self.write("u,b0,b1,b2,q,r\n1,True,false,TRUE,.5,1\n1,False,true,0,.5,1\n1,FALSE,1, True,.5,1\n")
        roles = ["--action-kind", "multilabel", "--action", "b*", "--reward-column", "r", "--propensity", "q"]
        run("import", table, *roles, "--context", "u", "--out", self.dir / "o.h5")
        with h5py.File(self.dir / "o.h5") as file:
            np.testing.assert_array_equal(file["action"][()], [[1, 0, 1], [0, 1, 0], [0, 1, 1]])
        table.write_text(table.read_text().replace("TRUE", "yes"))
        done = run("import", table, *roles, "--context", "u", "--out", self.dir / "no.h5", check=1)
        self.assertIn("line 2, column 'b2': 'yes' is not a number", done.stderr)
        # A feature of truth values is a category, as the advice says.
        table = self.write("x,a,l,p\nTrue,1,1,1\nFalse,1,1,1\n")
        self.assertIn("'True' is not a number; --categorical 'x'", self.refused(table))
        result = run_json("import", table, *ROLES, "--categorical", "x", "--out", self.dir / "x.h5")
        self.assertEqual(result["context_columns"], ["x=False", "x=True", "x=other"])


class Leaks(ProgramTest):
    def warnings(self, *options, kind="continuous", **run_options):
        (self.dir / "in.csv").write_text("x,a,l,p,t\n1,0,3,.5,.5\n2,1,3,.5,.5\n")
        done = run("import", self.dir / "in.csv", "--action-kind", kind, *ROLES[2:], *options, "--out", self.dir / "o.h5",
                   "--overwrite", **run_options)
        return done.stderr

    def test_a_feature_that_tells_the_outcome_or_the_action_is_warned_of(self):
        self.assertIn("column 'l' is the outcome, and a feature too", self.warnings("--context", "x,l"))
        said = self.warnings("--context", "x,a,p,t", "--target", "t=t", kind="categorical")
        self.assertIn("column 'a' is the logged action, and a feature too", said)
        self.assertIn("column 'p' is the propensity of the logged action", said)
        self.assertIn("column 't' is a probability of the logged action", said)
        self.assertEqual(said.count("warning"), 3)
        self.assertEqual(self.warnings("--context", "x,l", "--quiet"), "")
        # An encoding that has the column says so again, on the next day's file.
        for _ in range(2):
            context = [] if (self.dir / "e.toml").exists() else ["--context", "x,l"]
            self.assertIn("column 'l' is the outcome", self.warnings(*context, "--encoding", self.dir / "e.toml"))

    def test_patterns_take_no_column_of_another_role(self):
        for pattern in ("*", "x:t"):
            self.assertEqual(self.warnings("--context", pattern), "")
            with h5py.File(self.dir / "o.h5") as file:
                self.assertEqual(file.attrs["context_columns"].tolist(), ["x", "t"])
        self.assertEqual(self.warnings("--context", "x", "--cluster", "x"), "")


if __name__ == "__main__":
    harness.main()
