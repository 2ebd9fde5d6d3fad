"""`scrm study`: its list, its options, what it prints, and its archive."""
# labels: fast cli

import re
import unittest

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json

SMALL = ("study", "coverage", "--design", "near,multilabel", "--interval", "normal,student", "--rows", "40,20", "--logs", 30)
COLUMNS = {"design", "rows", "estimator", "interval", "coverage", "coverage_error", "below", "above", "relative_width",
           "median_width", "equals_normal", "warned", "warned_any", "warned_ess", "without", "logs"}


def timeless(result):
    return {key: value for key, value in result.items() if key not in ("seconds", "threads")}


class Coverage(ProgramTest):
    def test_the_archive_opens_in_h5py_and_says_what_json_says(self):
        path = self.dir / "study.h5"
        result = run_json(*SMALL, "--seed", 5, "--level", 0.9, "--out", path)
        self.assertEqual((result["archive"], result["logs"], result["seed"], result["level"]), (str(path), 30, 5, 0.9))
        with h5py.File(path) as file:
            study = {name: column[()] for name, column in file["study"].items()}
            self.assertEqual((file.attrs["seed"], file.attrs["level"]), (5, 0.9))
            self.assertRegex(file.attrs["version"], r"^\d+\.\d+\.\d+$")
        self.assertLessEqual(COLUMNS, set(study))
        self.assertEqual({len(column) for column in study.values()}, {2 * 2 * (4 + 6)})
        for name in COLUMNS:
            told = [row[name] for row in result["table"]]
            if study[name].dtype == object:
                self.assertEqual([value.decode() for value in study[name]], told, name)
            else:
                np.testing.assert_array_equal(study[name], np.array(told, dtype=study[name].dtype), name)
        np.testing.assert_allclose(study["coverage"] + study["below"] + study["above"], 1)
        np.testing.assert_allclose(study["coverage_error"],
                                   np.sqrt(study["coverage"] * (1 - study["coverage"]) / study["logs"]))
        self.assertTrue(np.all(study["relative_width"][study["interval"] == b"normal"] == 1))
        self.assertTrue(np.all(study["relative_width"][study["interval"] == b"student"] > 1))
        self.assertTrue(np.all(study["equals_normal"] == (study["interval"] == b"normal")))

    def test_threads_change_neither_numbers_nor_bytes(self):
        paths = self.dir / "one.h5", self.dir / "seven.h5"
        for path, threads in zip(paths, (1, 7)):
            run(*SMALL, "--threads", threads, "--out", path)
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
        self.assertEqual(timeless(run_json(*SMALL, "--threads", 1)), timeless(run_json(*SMALL, "--threads", 3)))
        self.assertNotEqual(timeless(run_json(*SMALL)), timeless(run_json(*SMALL, "--seed", 1)))

    def test_the_table_has_every_line_and_a_summary(self):
        out = run(*SMALL).stdout
        for design in ("near", "multilabel"):
            self.assertRegex(out, rf"(?m)^{design}: ")
        self.assertEqual(len(re.findall(r"(?m)^ .* ± ", out)), 40)
        self.assertRegex(out, r"(?m)^interval +cells +fall short")
        self.assertRegex(out, r"(?m)^student +20 ")
        self.assertIn("30 logs of each design and size in ", out)

    def test_every_design_and_every_kind_of_interval_runs(self):
        kinds = re.search(r"(?s)Intervals hold when:\n(.*?)\n\n", run("study", "--help").stdout)[1]
        names = re.findall(r"(?m)^  (\S+)", kinds)
        self.assertIn("clopper-pearson", names)
        result = run_json("study", "coverage", "--interval", ",".join(names), "--rows", 20, "--logs", 2)
        self.assertEqual({row["interval"] for row in result["table"]}, set(names))
        self.assertEqual({row["design"] for row in result["table"]}, {design["name"] for design in result["designs"]})
        for row in result["table"]:  # numbers, or a reason
            self.assertTrue(row["logs"] == 2 or row["message"], row)

    def test_one_log_of_one_row_has_no_interval(self):
        table = run_json("study", "coverage", "--design", "near", "--rows", 1, "--logs", 1)["table"]
        self.assertEqual({(row["coverage"], row["without"], row["warned"]) for row in table}, {(None, 1, 1)})
        self.assertIn(" - ", run("study", "coverage", "--design", "near", "--rows", 1, "--logs", 1).stdout)

    def test_what_is_given_twice_runs_once(self):
        table = run_json("study", "coverage", "--design", "near,near", "--interval", "normal,normal", "--rows", "9,9",
                         "--logs", 2)["table"]
        self.assertEqual(len(table), 4)


class Usage(ProgramTest):
    def test_without_a_study_it_lists_them(self):
        self.assertRegex(run("study").stdout, r"(?m)^  coverage +\S+")
        self.assertEqual([study["name"] for study in run_json("study")["studies"]], ["coverage", "estimators"])

    def test_wrong_words_and_numbers_are_answered_with_what_there_is(self):
        coverage = ("study", "coverage", "--logs", 1)
        for args, said in (((*coverage, "--design", "naer"), "did you mean 'near'?"),
                           ((*coverage, "--interval", "nomral"), "did you mean 'normal'?"),
                           (("study", "coverge"), "did you mean 'coverage'?"),
                           ((*coverage, "--rows", 0), "--rows"),
                           (("study", "coverage", "--logs", 0), "--logs"),
                           ((*coverage, "--level", 1), "between 0 and 1"),
                           ((*coverage, "--seed", -1), "--seed"),
                           ((*coverage, "--seed", 2**63), "--seed is 9223372036854775808")):
            with self.subTest(args=args):
                self.assertIn(said, run(*args, check=2).stderr)

    def test_an_archive_is_replaced_only_on_request(self):
        path = self.dir / "study.h5"
        path.write_text("mine")
        self.assertIn("--overwrite", run(*SMALL, "--out", path, check=None).stderr)
        self.assertEqual(path.read_text(), "mine")
        run(*SMALL, "--out", path, "--overwrite")
        self.assertEqual(h5py.File(path)["study/logs"][0], 30)

    def test_a_log_that_does_not_fit_the_memory_is_refused(self):
        said = run("study", "coverage", "--design", "near", "--rows", 2 * 10**9, "--logs", 1, "--memory", "64M",
                   check=1).stderr
        self.assertIn("a log of 2000000000 rows of the design near needs", said)


def write_arff(path, rows=300, classes=4, seed=3):
    """Classes that the first of three features tells, with noise."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 3))
    labels = np.clip(np.floor((x[:, 0] + 0.5 * random.normal(size=rows) + 2) / 4 * classes), 0, classes - 1).astype(int)
    lines = ["@relation made-up", *(f"@attribute x{j} numeric" for j in range(3)),
             "@attribute class {" + ",".join(f"c{k}" for k in range(classes)) + "}", "@data"]
    path.write_text("\n".join(lines + [f"{a:.6f},{b:.6f},{c:.6f},c{k}" for (a, b, c), k in zip(x, labels)]) + "\n")


class Estimators(ProgramTest):
    NUMBERS = ("logs", "undefined", "truth", "bias", "bias_error", "variance", "variance_error", "mse", "mse_error")

    def setUp(self):
        super().setUp()
        write_arff(self.dir / "made-up.arff")
        self.file = self.dir / "study.toml"
        self.file.write_text('environments = ["made-up.arff"]\nrows = [120, 60]\nlogs = 40\n')

    def test_the_archive_says_what_json_says_of_every_estimator(self):
        path = self.dir / "estimators.h5"
        result = run_json("study", "estimators", self.file, "--out", path)
        self.assertEqual([(design["name"]) for design in result["designs"]], ["made-up"])
        names = [row["estimator"] for row in result["table"] if row["rows"] == 120]
        for name in ("ips", "clipped", "snips", "ips-ix", "dm", "dr", "sndr", "switch-dr", "dros", "ls"):
            self.assertIn(name, names)
        with h5py.File(path) as file:
            self.assertEqual(file.attrs["format"], "scrm-estimators")
            study = {name: column[()] for name, column in file["study"].items()}
        for name in self.NUMBERS:
            np.testing.assert_array_equal(study[name], [row[name] for row in result["table"]], name)
        np.testing.assert_allclose(study["mse"], study["bias"]**2 + study["variance"] * 39 / 40)
        np.testing.assert_allclose(study["bias_error"], np.sqrt(study["variance"] / 40))

    def test_threads_change_neither_numbers_nor_bytes_and_options_overrule_the_file(self):
        paths = self.dir / "one.h5", self.dir / "seven.h5"
        for path, threads in zip(paths, (1, 7)):
            run("study", "estimators", self.file, "--threads", threads, "--out", path)
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
        short = run_json("study", "estimators", self.file, "--logs", 3, "--rows", 50)
        self.assertEqual({(row["logs"], row["rows"]) for row in short["table"]}, {(3, 50)})

    def test_the_table_marks_what_it_has_and_designs_need_no_file(self):
        out = run("study", "estimators", self.file).stdout
        self.assertEqual(len(re.findall(r"(?m)^made-up, (120|60) rows: the truth is -0\.\d+$", out)), 2)
        self.assertRegex(out, r"(?m)^  dr +-?0\.\d{4} ± 0\.\d{4} ")
        self.assertIn("40 logs of each design and size in ", out)
        out = run("study", "estimators", "--design", "near", "--rows", 50, "--logs", 4).stdout
        self.assertRegex(out, r"(?m)^near, 50 rows: the truth is ")

    @unittest.skipUnless((harness.DATA_DIR / "uci/ecoli.arff").exists(), "there is no ecoli.arff")
    def test_dr_has_no_bias_where_one_row_alone_has_a_feature(self):
        # As one row of ecoli has. Its predictions are far off, and a penalty that was chosen by its own error would know
        # of its action. Four standard errors: a false alarm in 16,000 seeds.
        self.file.write_text('environments = ["uci/ecoli.arff"]\n')
        env = {"SCRM_DATA_DIR": str(harness.DATA_DIR)}
        table = run_json("study", "estimators", self.file, "--logs", 200, env=env)["table"]
        dr = next(row for row in table if row["estimator"] == "dr")
        self.assertLess(abs(dr["bias"]), 4 * dr["bias_error"])

    def test_what_is_wrong_is_named(self):
        def refused(text, message, code=2):
            self.file.write_text(text)
            self.assertIn(message, run("study", "estimators", self.file, check=code).stderr)

        refused('environment = ["a"]\n', "did you mean environments?")
        refused("logs = 3\n", "environments is missing")
        refused('environments = ["made-up.arff"]\nlogs = 0\n', "study.toml")
        refused('environments = ["no.arff"]\n', "no.arff", code=1)
        message = run("study", "coverage", self.file, check=2).stderr
        self.assertIn("`scrm study estimators`", message)
        message = run("study", "estimators", self.file, "--design", "near", check=2).stderr
        self.assertIn("not both", message)


if __name__ == "__main__":
    harness.main()
