"""scrm import and act: columns by name, whatever is in the name, and what is said of headers that are not as they should be."""
# labels: fast cli io

import csv
import io

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json

ROLES = ["--action-kind", "continuous", "--action", "a", "--loss", "l", "--propensity", "p"]
ODD = ["Größe, cm", 'say "hi", now', "x,y", "b"]


def table(names, rows, delimiter=","):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([names, *rows])
    return out.getvalue()


class HeaderTest(ProgramTest):
    def write(self, text, name="in.csv"):
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def columns(self, *options, roles=ROLES, **run_options):
        run("import", *options, *roles, "--out", self.dir / "o.h5", "--overwrite", **run_options)
        with h5py.File(self.dir / "o.h5") as file:
            return file.attrs["context_columns"].tolist(), file["context"][()]

    def refused(self, *options, roles=ROLES, check=2, **run_options):
        done = run("import", *options, *roles, "--out", self.dir / "no.h5", check=check, **run_options)
        self.assertFalse((self.dir / "no.h5").exists())
        return done.stderr


class Lists(HeaderTest):
    def setUp(self):
        super().setUp()
        self.table = self.write(table([*ODD, "a", "l", "p"], [[1, 2, 3, 4, 1, 1, 1], [5, 6, 7, 8, 1, 1, 1]]))

    def test_a_name_with_a_comma_is_named_as_it_is_or_in_quotes_in_a_list(self):
        for name, first in zip(ODD, (1, 2, 3, 4)):
            columns, context = self.columns(self.table, "--context", name)
            self.assertEqual((columns, context.tolist()), ([name], [[first], [first + 4]]))
        for chosen, lists in ((["b", "Größe, cm"], ['b,"Größe, cm"']), (["x,y", "b"], ['"x,y", b']),
                              (ODD[::-1], ["b", "x,y", '"say ""hi"", now","Größe, cm"']), (ODD, ["Größe*,say*,x*,b"]),
                              (ODD[:3], ['"Größe, cm","say ""hi"", now",x*'])):
            columns, context = self.columns(self.table, *(word for one in lists for word in ("--context", one)))
            self.assertEqual(columns, chosen)
            self.assertEqual(context[0].tolist(), [ODD.index(name) + 1 for name in chosen])

    def test_every_option_that_takes_a_list_takes_such_names(self):
        columns, _ = self.columns(self.table, "--context", "b", "--categorical", "Größe, cm")
        self.assertEqual(columns, ["b", "Größe, cm=1", "Größe, cm=5", "Größe, cm=other"])
        bits = self.write(table(["t,1", "t,2", "q,1", "q,2", "l"], [[0, 1, 0.5, 0.25, 1], [1, 0, 0.5, 0.25, 1]]), "bits.csv")
        run("import", bits, "--action-kind", "multilabel", "--action", '"t,1","t,2"', "--loss", "l", "--label-propensity",
            '"q,1","q,2"', "--out", self.dir / "bits.h5")
        with h5py.File(self.dir / "bits.h5") as file:
            self.assertEqual(file.attrs["action_names"].tolist(), ["t,1", "t,2"])
            np.testing.assert_array_equal(file["label_propensity"][()], [[0.5, 0.25]] * 2)
        run("import", self.table, "--class", "a", "--context", "Größe, cm", "--out", self.dir / "class.h5")
        # An encoding names its columns, and the next file has them or not.
        self.columns(self.table, "--context", '"Größe, cm",b', "--encoding", self.dir / "e.toml")
        self.assertEqual(self.columns(self.table, "--encoding", self.dir / "e.toml")[0], ["Größe, cm", "b"])
        other = self.write("b,a,l,p\n1,1,1,1\n", "other.csv")
        self.assertIn("no column is named 'Größe, cm'", self.refused(other, "--encoding", self.dir / "e.toml"))

    def test_what_is_not_there_is_told_with_how_to_name_it(self):
        said = self.refused(self.table, "--context", "Größe, cm,b")
        self.assertIn("no column is named 'Größe'; in a list, a name with a comma stands in double quotes, as in "
                      "'\"Größe, cm\",...'", said)
        self.assertIn("no column is named 'nowhere, c'", self.refused(self.table, "--context", '"nowhere, c",b'))

    def test_act_takes_and_keeps_such_columns(self):
        policy = self.dir / "p.toml"
        policy.write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.0, 1.0, 1.0]\n')
        command = ["act", policy, "--contexts", self.table, "--seed", 1]
        lines = run(*command, "--context", '"Größe, cm",b', "--keep", "x,y", "--csv", "-").stdout.splitlines()
        self.assertEqual(lines[0], '"x,y",action,propensity')
        # The command that brings the rows back has the names as they were given.
        said = run(*command, "--context", "Größe, cm", "--context", "b", "--csv", self.dir / "out.csv").stdout
        self.assertIn("--context 'Größe, cm' --context b", said)
        # Of two files, the second one's kept columns are those of the first.
        second = self.write(table(["b", "x,y", "Größe, cm"], [[1, 2, 3]]), "second.csv")
        lines = run("act", policy, "--contexts", self.table, second, "--seed", 1, "--context", '"Größe, cm",b', "--keep",
                    "x,y", "--csv", "-").stdout.splitlines()
        self.assertEqual([line.split(",")[0] for line in lines[1:]], ["3", "7", "2"])


class Files(HeaderTest):
    def test_the_delimiter_is_advised_where_names_hold_commas_too(self):
        rows = [["1,5", "2,5", "1", "1", "1"], ["3", "4,5", "1", "1", "1"]]
        semicolons = self.write(table(["Größe, cm", "Stadt", "a", "l", "p"], rows, ";"))
        self.assertIn("give --delimiter ';'", self.refused(semicolons, "--context", "Stadt"))
        # What was typed is nowhere, yet every line has as many fields with the other delimiter.
        wrong = [*ROLES[:-1], "prop"]
        self.assertIn("give --delimiter ';'", self.refused(semicolons, "--context", "Stadt", roles=wrong))
        named = self.write(table(["u,v", "a", "l", "p"], [["1", "1", "1", "1"]], ";"))
        self.assertNotIn("--delimiter", self.refused(named, "--context", "u", "--delimiter", ";").split("hint")[0])
        commas = self.write(table(["u", "a", "l", "p"], [["x;y", 1, 1, 1]]))
        self.assertNotIn("--delimiter", self.refused(commas, "--context", "v"))

    def test_text_that_is_not_utf8_is_told_with_the_byte_and_how_to_convert_it(self):
        latin = self.write("b,Größe,a,l,p\n1,1,1,1,1\n".encode("latin-1"))
        for asked in ("Größe", "Größe*"):
            said = self.refused(latin, "--context", asked)
            self.assertIn("line 1 is not UTF-8 text: byte 3 of the name of column 2 is 0xF6; convert the file", said)
            self.assertIn(f"`iconv -f latin1 -t utf-8 {latin}", said)
        self.assertEqual(self.columns(latin, "--context", "b")[0], ["b"])
        level = self.write("b,a,l,p\nGröße,1,1,1\n".encode("latin-1"))
        self.assertIn("iconv -f latin1 -t utf-8", self.refused(level, "--categorical", "b", check=1))

    def test_lines_that_end_in_cr_alone_are_read(self):
        rows = [[i, i % 7, 1, 1, 1] for i in range(20_000)]
        text = table(["x", "y", "a", "l", "p"], rows)
        plain = self.columns(self.write(text, "lf.csv"), "--context", "x,y")
        for threads in (1, 3):
            old = self.columns(self.write(text.replace("\n", "\r"), "cr.csv"), "--context", "x,y", "--threads", threads)
            self.assertEqual(old[0], plain[0])
            np.testing.assert_array_equal(old[1], plain[1])
        piped = self.columns("-", "--format", "csv", "--context", "x,y", stdin=text.replace("\n", "\r"))
        np.testing.assert_array_equal(piped[1], plain[1])
        # A CR inside a line is a character of it.
        within = self.columns(self.write("x,c,a,l,p\n1,u\rv,1,1,1\n"), "--categorical", "c")
        self.assertEqual(len(within[1]), 1)

    def test_a_file_without_names_is_told_as_such(self):
        for text in ("1,2,3,4\n5,6,7,8\n", "u1,0.5,2026-01-31,0,0,1\n", "u1,0.5,0.25,,0,1\n", "0.25,2026-01-31,u1,0.5\n"):
            path = self.write(text)
            said = self.refused(path, "--context", "x", check=None)
            self.assertIn("the first line looks like data, not names; put a line above it that names the", said)
            self.assertIn(f"`sed '1i NAME,NAME,...' {path} > named.csv`", said)
        named = self.write("u,u,a,l,p\n1,1,1,1,1\n")
        self.assertIn("the name 'u' is given to columns 1 and 2", self.refused(named, "--context", "u", check=1))

    def test_a_dash_is_the_standard_input(self):
        text = "x,a,l,p\n1,1,1,1\n2,1,1,1\n"
        self.assertEqual(self.columns("-", "--format", "csv", "--context", "x", stdin=text)[1].tolist(), [[1], [2]])
        self.assertIn("--format", self.refused("-", "--context", "x", stdin=text))


class Actions(HeaderTest):
    ROLES = ["--action-kind", "categorical", "--context", "x", "--action", "a", "--loss", "l", "--propensity", "p"]

    def test_actions_that_would_have_one_name_are_named(self):
        both = self.write('x,a,l,p\n1,"u\nv",0,.5\n2,u v,1,.5\n')
        complaint = "the actions 'u\\nv' and 'u v' would both have the name 'u v'"
        self.assertIn(complaint, self.refused(both, roles=self.ROLES))
        self.assertIn(complaint, self.refused(both, "--encoding", self.dir / "e.toml", roles=self.ROLES))
        self.assertFalse((self.dir / "e.toml").exists())
        # A recipe that was kept from before may have both.
        recipe = self.dir / "kept.toml"
        self.columns(self.write('x,a,l,p\n1,"u\nv",0,.5\n2,w,1,.5\n', "one.csv"), "--encoding", recipe, roles=self.ROLES)
        recipe.write_text(recipe.read_text().replace('"w"', '"u v"'))
        self.assertIn(complaint, self.refused(both, "--encoding", recipe, roles=self.ROLES))
        labels = self.write('x,"u\nv",u v,l,p\n1,0,1,0,.5\n', "labels.csv")
        roles = ["--action-kind", "multilabel", "--action", "u*", "--context", "x", "--loss", "l", "--propensity", "p"]
        self.assertIn(complaint, self.refused(labels, roles=roles))

    def test_two_days_that_were_counted_apart_are_told_how_to_go_together(self):
        roles = [*self.ROLES, "--out"]
        for day, last in (("monday", 3), ("tuesday", 2)):
            text = "".join(f"{i},{i % (last + 1)},0,.25\n" for i in range(20))
            run("import", self.write("x,a,l,p\n" + text, f"{day}.csv"), *roles, self.dir / f"{day}.h5")
        for days in (("monday", "tuesday"), ("tuesday", "monday")):
            said = run("inspect", *(self.dir / f"{day}.h5" for day in days), check=1).stderr
            self.assertIn("import it again with --num-actions 4, or all files in one `scrm import`", said)
        run("import", self.dir / "tuesday.csv", *roles, self.dir / "tuesday.h5", "--overwrite", "--num-actions", 4)
        run("inspect", self.dir / "monday.h5", self.dir / "tuesday.h5")
        run("import", self.dir / "monday.csv", self.dir / "tuesday.csv", *roles, self.dir / "both.h5")


if __name__ == "__main__":
    harness.main()
