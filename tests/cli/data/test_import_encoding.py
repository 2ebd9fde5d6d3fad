"""scrm import: categories, names of actions, dates and holes become numbers, by a recipe that is kept and used again."""
# labels: fast cli io

import csv
import json

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json

ROLES = ["--action-kind", "categorical", "--action", "item", "--reward-column", "revenue", "--propensity", "p"]
SHOP = '''id,age,city,since,item,revenue,p
1,20,Paris,2026-01-31,SKU-2,1.5,0.5
2,,"Lyon, ""Est""",1970-01-02T12:00:00Z,SKU-10,-2,0.25
3,41,Zürich,2026-02-01,SKU-2,0,1
'''
FEATURES = ["--context", "age,since", "--categorical", "city", "--impute", "mean"]
NAMES = ["age", "age missing", "since", 'city=Lyon, "Est"', "city=Paris", "city=Zürich", "city=other"]


class Encoding(ProgramTest):
    def write(self, name, text):
        path = self.dir / name
        path.write_text(text, encoding="utf-8")
        return path

    def imported(self, text, *options, name="in.csv", out="out.h5", **run_options):
        result = run_json("import", self.write(name, text), *ROLES, *options, "--out", self.dir / out, **run_options)
        with h5py.File(self.dir / out) as file:
            columns = {key: file[key][()] for key in ("context", "action", "loss") if key in file}
            return result, columns

    def refused(self, text, *options, code=1, roles=ROLES):
        done = run("import", self.write("in.csv", text), *roles, *options, "--out", self.dir / "no.h5", check=code)
        self.assertFalse((self.dir / "no.h5").exists())
        return done.stderr

    def test_categories_holes_dates_and_names_of_actions(self):
        result, columns = self.imported(SHOP, *FEATURES)
        self.assertEqual(result["context_columns"], NAMES)
        self.assertEqual((result["num_actions"], result["action_names"]), (2, ["SKU-10", "SKU-2"]))
        self.assertEqual((result["outcome"], result["filled_holes"]), ("reward", 1))
        np.testing.assert_array_equal(columns["context"], [[20, 0, 20484, 0, 1, 0, 0],
                                                           [30.5, 1, 1.5, 1, 0, 0, 0],
                                                           [41, 0, 20485, 0, 0, 1, 0]])
        np.testing.assert_array_equal(columns["action"], [1, 0, 1])
        np.testing.assert_array_equal(columns["loss"], [1.5, -2, 0])

    def test_a_recipe_is_written_once_and_used_unchanged(self):
        recipe = self.dir / "shop.toml"
        first, _ = self.imported(SHOP, *FEATURES, "--encoding", recipe)
        text = recipe.read_text()
        tomorrow = ('revenue,p,item,since,city,age\n' "3,0.5,SKU-10,2026-01-31,Nice,NA\n" "3,0.5,SKU-10,2026-01-31,,7\n"
                    "3,0.5,SKU-10,,Paris,7\n")
        second, columns = self.imported(tomorrow, "--encoding", recipe, out="next.h5")
        self.assertEqual(second["context_columns"], first["context_columns"])
        self.assertEqual(second["action_names"], ["SKU-10", "SKU-2"])
        since = (20484 + 1.5 + 20485) / 3
        np.testing.assert_array_equal(columns["context"], [[30.5, 1, 20484, 0, 0, 0, 1], [7, 0, 20484, 0, 0, 0, 1],
                                                           [7, 0, since, 0, 1, 0, 0]])
        self.assertEqual(second["filled_holes"], 2)
        np.testing.assert_array_equal(columns["action"], [0, 0, 0])
        self.assertEqual(recipe.read_text(), text)
        # Learned from the same rows in another order, it is the same recipe.
        lines = SHOP.splitlines()
        self.imported("\n".join([lines[0], *reversed(lines[1:])]) + "\n", *FEATURES, "--encoding", self.dir / "2.toml",
                      out="2.h5")
        self.assertEqual((self.dir / "2.toml").read_text(), text)

    def test_a_recipe_is_not_contradicted(self):
        recipe = self.dir / "shop.toml"
        self.imported(SHOP, *FEATURES, "--encoding", recipe)
        for options, words in ((("--impute", "zero"), "--impute zero contradicts"), (("--unseen", "error"), "contradicts"),
                               (("--context", "age,city"), "'since', which --context lacks"),
                               (("--num-actions", 3), "--num-actions 3 contradicts")):
            self.assertIn(words, self.refused(SHOP, "--encoding", recipe, *options, code=2))
        self.assertIn("'SKU-9' is not among the 2 actions",
                      self.refused(SHOP.replace("SKU-10", "SKU-9"), "--encoding", recipe))
        self.assertIn("no column is named 'age'", self.refused(SHOP.replace("age", "old"), "--encoding", recipe, code=2))
        recipe.write_text(recipe.read_text().replace("levels", "lewels"))
        self.assertIn("did you mean 'levels'?", self.refused(SHOP, "--encoding", recipe))

    def test_what_fails_leaves_no_recipe(self):
        self.refused(SHOP.replace("0.25", "-1"), *FEATURES, "--encoding", self.dir / "shop.toml")
        self.assertFalse((self.dir / "shop.toml").exists())

    def test_no_rows_make_no_recipe(self):
        message = self.refused("age,city,since,item,revenue,p\n", *FEATURES, "--encoding", self.dir / "shop.toml")
        self.assertIn("in.csv: there are no rows that ", message)
        self.assertIn("leave out --encoding", message)
        self.assertFalse((self.dir / "shop.toml").exists())

    def test_a_column_without_a_good_row_is_another_one(self):
        rows = "".join(f"{i},Paris,2026-01-31,a,tea,1\n" for i in range(3))
        message = self.refused("age,city,since,item,revenue,p\n" + rows, "--context", "age")
        self.assertIn("(all 3 rows are bad: is this the right column?)", message)
        message = self.refused("age,city,since,item,revenue,p\n" + rows + "1,Paris,2026-01-31,a,1,1\n", "--context", "age")
        self.assertIn("(3 bad rows in all; --skip-bad-rows goes on without them)", message)

    def test_levels_that_were_never_seen(self):
        text = "city,item,revenue,p\nParis,0,1,1\nother,1,1,1\n"
        result, _ = self.imported(text, "--categorical", "city", "--encoding", self.dir / "a.toml")
        self.assertEqual(result["context_columns"], ["city=Paris", "city=other"])  # a level of that name is theirs
        self.assertEqual((result["num_actions"], result["action_names"]), (2, []))
        _, columns = self.imported(text.replace("Paris", "Rome"), "--encoding", self.dir / "a.toml", out="b.h5")
        np.testing.assert_array_equal(columns["context"], [[0, 1], [0, 1]])
        result, _ = self.imported(text, "--categorical", "city", "--unseen", "error", "--encoding", self.dir / "b.toml",
                                  out="c.h5")
        self.assertEqual(result["context_columns"], ["city=Paris", "city=other"])
        message = self.refused(text.replace("Paris", "Rome"), "--encoding", self.dir / "b.toml")
        self.assertIn("line 2, column 'city': 'Rome' is a level that the encoding does not have", message)

    def test_levels_that_were_never_seen_are_counted_and_most_of_a_column_is_warned_of(self):
        text = "city,tier,item,revenue,p\nParis,a,0,1,.5\nRome,b,1,2,.5\nParis,a,1,2,.5\n"
        recipe = self.dir / "u.toml"
        first, _ = self.imported(text, "--categorical", "city,tier", "--encoding", recipe)
        self.assertEqual(first["other_levels"], 0)
        respelt = self.write("u.csv", text.replace("Paris", "paris").replace(",b,", ",c,"))
        command = ["import", respelt, *ROLES, "--encoding", recipe, "--overwrite", "--out", self.dir / "u.h5"]
        self.assertEqual(run_json(*command)["other_levels"], 3)
        done = run(*command)
        self.assertIn("3 values that the encoding does not have became other", done.stdout)
        self.assertEqual(done.stderr.count("warning"), 1)  # tier: one row of three
        self.assertIn("column 'city': 2 of 3 rows became city=other", done.stderr)
        self.assertIn("such as 'paris'; did you mean 'Paris'?", done.stderr)
        self.assertEqual(run(*command, "--quiet").stderr, "")
        # Half of the rows are not most of them, and rows that are left out are not counted.
        half = self.write("h.csv", "city,tier,item,revenue,p\nParis,a,0,1,.5\nLyon,a,0,1,.5\nLyon,a,0,1,7\n")
        done = run("import", half, *ROLES, "--encoding", recipe, "--skip-bad-rows", "--json", "--out", self.dir / "h.h5")
        self.assertEqual(json.loads(done.stdout)["other_levels"], 1)
        self.assertNotIn("city", done.stderr)

    def test_counts_of_levels_are_the_same_on_any_number_of_threads(self):
        recipe = self.dir / "u.toml"
        self.imported("city,item,revenue,p\nParis,0,1,.5\nRome,1,2,.5\n", "--categorical", "city", "--encoding", recipe)
        rows = "".join(f"{'Paris' if i % 3 == 0 else f'lost{i}'},{i % 2},1,.5\n" for i in range(30_000))
        path = self.write("many.csv", "city,item,revenue,p\n" + rows)
        said = set()
        for threads in (1, 2, 3):
            done = run("import", path, *ROLES, "--encoding", recipe, "--threads", threads, "--json", "--overwrite", "--out",
                       self.dir / "many.h5")
            self.assertEqual(json.loads(done.stdout)["other_levels"], 20_000)
            said.add(done.stderr)
        self.assertEqual(len(said), 1)
        self.assertIn("such as 'lost1'", said.pop())

    def test_a_column_without_a_value_is_warned_of(self):
        text = "age,visits,city,item,revenue,p\n,1,,0,1,1\nNA,,,1,1,1\n"
        command = ["import", self.write("in.csv", text), *ROLES, "--context", "age,visits", "--categorical", "city",
                   "--impute", "mean", "--out", self.dir / "a.h5", "--overwrite"]
        done = run(*command)
        self.assertIn("5 missing values filled", done.stdout)
        self.assertIn("column 'age' has no value in any row", done.stderr)
        self.assertIn("column 'city' has no value in any row", done.stderr)
        self.assertNotIn("visits", done.stderr)
        self.assertEqual(run(*command, "--quiet").stderr, "")

    def test_numbers_can_be_categories_and_names(self):
        text = "zip,item,revenue,p\n75001,1004,1,1\n8000,99,1,1\n75001,20,1,1\n"
        result, columns = self.imported(text, "--context", "zip", "--categorical", "zip,item")
        self.assertEqual(result["context_columns"], ["zip=8000", "zip=75001", "zip=other"])
        self.assertEqual(result["action_names"], ["20", "99", "1004"])
        np.testing.assert_array_equal(columns["action"], [2, 1, 0])
        plain, columns = self.imported(text.replace("1004", "3"), "--context", "zip", out="p.h5")
        self.assertEqual((plain["num_actions"], plain["action_names"]), (100, []))
        np.testing.assert_array_equal(columns["action"], [3, 99, 20])

    def test_the_message_says_which_option_makes_a_number(self):
        def message(row, *options):
            return self.refused(f"x,item,revenue,p\n1,0,1,1\n{row}\n", "--context", "x", *options)

        for text, remedy in ((message("Paris,0,1,1"), "'Paris' is not a number; --categorical 'x'"),
                             (message(",0,1,1"), "the value is missing; --impute mean"),
                             (message("NA,0,1,1"), "'NA' is not a number; --impute mean"),
                             (message("nan,0,1,1"), "--impute mean"),
                             (message("1,b,1,1"), "'b' is not a number; --categorical 'item'")):
            self.assertIn(remedy, text)
            self.assertNotIn("--skip-bad-rows", text)
        self.assertIn("--skip-bad-rows", message("1,0,,1"))
        self.assertIn("but a date", message("2026-01-31,0,1,1"))
        self.assertIn("decimals are written with a point", message('"1,5",0,1,1'))
        text = self.refused("item,revenue,p\nSKU,1,1\n", roles=["--action-kind", "continuous", *ROLES[2:]])
        self.assertIn("'SKU' is not a number; --action-kind categorical", text)

    def test_impute_zero_and_columns_without_holes(self):
        text = "a,b,c,item,revenue,p\nNA,1,x,0,1,1\n2,2,,1,1,1\n"
        result, columns = self.imported(text, "--context", "a,b", "--categorical", "c", "--impute", "zero")
        self.assertEqual(result["context_columns"], ["a", "a missing", "b", "c=x", "c=other", "c missing"])
        np.testing.assert_array_equal(columns["context"], [[0, 1, 1, 1, 0, 0], [2, 0, 2, 0, 0, 1]])

    def test_a_column_of_identifiers_is_refused(self):
        rows = "".join(f"user-{i},0,1,1\n" for i in range(1001))
        message = self.refused("user,item,revenue,p\n" + rows, "--categorical", "user")
        self.assertIn("column 'user': has more than 1000 different values", message)
        self.assertIn("--categorical", message)
        result, _ = self.imported("user,item,revenue,p\n" + rows[:rows.index("user-1000")], "--categorical", "user")
        self.assertEqual(result["features"], 1001)
        self.assertIn("256 at most", self.refused(f"user,item,revenue,p\n{'u' * 257},0,1,1\n", "--categorical", "user"))

    def test_ten_thousand_actions_by_name(self):
        rows = "".join(f"{i % 7},SKU-{i:05},1,1\n" for i in range(10_000))
        result, columns = self.imported("x,item,revenue,p\n" + rows, "--context", "x", "--encoding", self.dir / "k.toml")
        self.assertEqual((result["num_actions"], result["action_names"][4321]), (10_000, "SKU-04321"))
        np.testing.assert_array_equal(columns["action"], np.arange(10_000))
        seen = run_json("inspect", self.dir / "out.h5")
        self.assertEqual((seen["rows"], seen["bad_rows"]), (10_000, 0))
        again, _ = self.imported("x,item,revenue,p\n1,SKU-00009,1,1\n", "--encoding", self.dir / "k.toml", out="2.h5")
        self.assertEqual(again["num_actions"], 10_000)

    def test_text_that_is_not_utf8_is_named(self):
        path = self.dir / "in.csv"
        path.write_bytes("city,item,revenue,p\nZürich,0,1,1\n".encode("latin-1"))
        done = run("import", path, *ROLES, "--categorical", "city", "--out", self.dir / "no.h5", check=1)
        self.assertIn("UTF-8", done.stderr)

    def test_one_row_and_no_row(self):
        result, _ = self.imported("city,item,revenue,p\nParis,a,1,1\n", "--categorical", "city")
        self.assertEqual((result["rows"], result["context_columns"], result["num_actions"]),
                         (1, ["city=Paris", "city=other"], 1))
        result, _ = self.imported("city,item,revenue,p\n", "--categorical", "city", "--impute", "mean", out="0.h5")
        self.assertEqual((result["rows"], result["context_columns"], result["num_actions"]), (0, ["city=other"], 1))


class Act(ProgramTest):
    def test_act_uses_the_recipe_and_keeps_what_it_was_given(self):
        (self.dir / "shop.csv").write_text(SHOP, encoding="utf-8")
        run("import", self.dir / "shop.csv", *ROLES, *FEATURES, "--encoding", self.dir / "shop.toml", "--out",
            self.dir / "logs.h5")
        theta = [[0.0] * 8, [0.0, 0.01, 1.0, 0.0, 0.5, -0.5, 0.25, 3.0]]
        (self.dir / "p.toml").write_text(f'kind = "softmax"\ntheta = {theta}\n')
        today = 'when,city,id,age,since\n2026-03-01,"Nice, FR",a7,,2026-01-31\n2026-03-01,Paris,"b""8",30,2026-01-31\n'
        (self.dir / "today.csv").write_text(today)
        act = ["act", self.dir / "p.toml", "--contexts", self.dir / "today.csv", "--encoding", self.dir / "shop.toml",
               "--seed", 3]
        text = run(*act, "--csv", self.dir / "out.csv").stdout
        with open(self.dir / "out.csv", newline="") as file:
            rows = list(csv.reader(file))
        self.assertEqual(rows[0], ["when", "city", "id", "age", "since", "action", "propensity"])
        self.assertEqual([row[:5] for row in rows[1:]], [["2026-03-01", "Nice, FR", "a7", "", "2026-01-31"],
                                                         ["2026-03-01", "Paris", 'b"8', "30", "2026-01-31"]])
        self.assertTrue(all(row[5] in ("SKU-2", "SKU-10") for row in rows[1:]))
        scores = np.array([0.01 * 30.5 + 1 + 3, 0.01 * 30 - 0.5])  # of SKU-2; those of SKU-10 are 0
        share = 1 / (1 + np.exp(-scores))
        for row, p in zip(rows[1:], share):
            self.assertAlmostEqual(float(row[6]), p if row[5] == "SKU-2" else 1 - p, places=12)
        self.assertEqual(run(*act, "--csv", "-").stdout, (self.dir / "out.csv").read_text())
        piped = run("act", self.dir / "p.toml", "--contexts", "/dev/stdin", "--encoding", self.dir / "shop.toml", "--seed",
                    3, "--csv", "-", "--keep", "id", stdin=today).stdout
        self.assertEqual([line.split(",")[0] for line in piped.splitlines()], ["id", "a7", '"b""8"'])

        # Half of these cities are unknown; where most are, a warning says so.
        self.assertIn("1 missing value filled", text)
        self.assertIn("1 value that the encoding does not have became other", text)
        (self.dir / "respelt.csv").write_text(today.replace("Paris", "paris"))
        done = run(*act[:3], self.dir / "respelt.csv", *act[4:], "--csv", self.dir / "respelt.out", "--json")
        self.assertEqual([json.loads(done.stdout)[key] for key in ("filled_holes", "other_levels")], [1, 2])
        self.assertIn("respelt.csv: column 'city': 2 of 2 rows became city=other", done.stderr)
        self.assertNotIn("city", run(*act[:3], self.dir / "respelt.csv", *act[4:], "--csv", "-", "--quiet").stderr)

        # The command that the summary names brings the file back, once revenue is there.
        command = text.splitlines()[-1].split()
        lines = (self.dir / "out.csv").read_text().splitlines()
        (self.dir / "out.csv").write_text("\n".join([lines[0] + ",loss"] + [line + ",1" for line in lines[1:]]) + "\n")
        command[command.index("logs")] = self.dir / "back.h5"
        run(*command[1:])
        found = run_json("evaluate", self.dir / "back.h5", "--policy", self.dir / "p.toml")["policies"][0]["diagnostics"]
        self.assertAlmostEqual(found["max_weight"], 1, places=12)

    def test_a_column_that_acting_adds_takes_the_place_of_an_old_one(self):
        (self.dir / "in.csv").write_text("x,action,y\n1,0,2\n")
        (self.dir / "p.toml").write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.0, 1.0]\n')
        act = ["act", self.dir / "p.toml", "--contexts", self.dir / "in.csv", "--context", "x", "--seed", 1, "--csv"]
        done = run(*act, self.dir / "out.csv")
        self.assertEqual((self.dir / "out.csv").read_text().splitlines()[0], "x,y,action,propensity")
        self.assertIn("action of", done.stderr)
        self.assertIn("--keep", run(*act, self.dir / "no.csv", "--keep", "x,action", check=2).stderr)
        self.assertFalse((self.dir / "no.csv").exists())
        self.assertIn("--csv -", run(*act, "-", "--keep", "x", "--json", check=2).stderr)
        self.assertIn("--csv -", run(*act[:-1], "--out", "-", check=2).stderr)

    def test_files_in_another_order_are_kept_in_the_order_of_the_first(self):
        (self.dir / "a.csv").write_text("id,x,y\n1,2,3\n")
        (self.dir / "b.csv").write_text("y,id,x\n30,10,20\n")
        (self.dir / "p.toml").write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.0, 1.0, 0.0]\n')
        text = run("act", self.dir / "p.toml", "--contexts", self.dir / "a.csv", self.dir / "b.csv", "--context", "x,y",
                   "--seed", 1, "--csv", "-").stdout
        self.assertEqual([line.split(",")[:3] for line in text.splitlines()],
                         [["id", "x", "y"], ["1", "2", "3"], ["10", "20", "30"]])


if __name__ == "__main__":
    harness.main()
