"""scrm import of ARFF and LIBSVM: labelled data sets, checked against a small parser, every mistake named."""
# labels: fast cli io

import resource
import signal
import subprocess

import h5py
import numpy as np

import harness
from harness import PROGRAM, ProgramTest, need_data, run, run_json

HEADER = "@relation r\n@attribute x numeric\n@attribute y real\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n"


def parse_arff(path):
    """Names of the attributes and the rows as one dense table, for files as plain as ours."""
    names, rows, data = [], [], False
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("%"):
            continue
        if data and line.startswith("{"):
            row = np.zeros(len(names))
            for entry in filter(None, line.strip()[1:-1].split(",")):
                index, value = entry.split()
                row[int(index)] = float(value)
            rows.append(row)
        elif data:
            rows.append(np.array(line.split(","), dtype=float))
        elif line.lower().startswith("@attribute"):
            names.append(line.split()[1])
        elif line.lower().startswith("@data"):
            data = True
    return names, np.array(rows)


def dense(context):
    """The context of an open file as a dense table, dense or sparse as it may be."""
    if isinstance(context, h5py.Dataset):
        return context[()]
    indptr, indices, values = (context[name][()] for name in ["indptr", "indices", "values"])
    table = np.zeros((len(indptr) - 1, context.attrs["num_features"]))
    table[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices] = values
    return table


class LabelledTest(ProgramTest):
    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def visible(self):
        return sorted(path.name for path in self.dir.iterdir())


class RealData(LabelledTest):
    def check(self, names, labels, shape, sparse):
        paths = [need_data(name) for name in names]
        parsed = [parse_arff(path) for path in paths]
        table = np.concatenate([rows for _, rows in parsed])
        features = table.shape[1] - labels
        self.assertEqual((len(table), features), shape)
        out = self.dir / "data.h5"
        result = run_json("import", *paths, "--format", "arff", "--out", out)
        self.assertEqual((result["rows"], result["features"], result["labels"]), (*shape, labels))
        self.assertEqual(result["sparse"], sparse)
        self.assertEqual(result["label_counts"], table[:, features:].sum(axis=0).astype(int).tolist())
        self.assertAlmostEqual(result["density"], np.mean(table[:, :features] != 0), delta=1e-12)
        run("import", *paths, "--format", "arff", "--labels", labels, "--compress", "gzip", "--out", self.dir / "z.h5")
        for name in ["data.h5", "z.h5"]:
            with h5py.File(self.dir / name) as file:
                self.assertEqual((file.attrs["format"], file.attrs["format_version"]), ("scrm-labelled", 1))
                self.assertEqual(isinstance(file["context"], h5py.Group), sparse)
                np.testing.assert_array_equal(dense(file["context"]), table[:, :features])
                self.assertEqual(file["label"].dtype, np.uint8)
                np.testing.assert_array_equal(file["label"][()], table[:, features:])
                self.assertEqual(file["label_names"].asstr()[()].tolist(), parsed[0][0][features:])
        seen = run_json("inspect", self.dir / "z.h5")
        for key in ["format", "rows", "features", "labels", "label_counts", "label_names", "density"]:
            self.assertEqual(seen[key], result[key])
        return result

    def test_scene_is_merged_from_two_dense_files(self):
        result = self.check(["scene-train.arff", "scene-test.arff"], 6, (2407, 294), sparse=False)
        self.assertEqual(result["name"], "scene")

    def test_yeast_keeps_the_order_of_its_attributes(self):
        self.check(["yeast.arff"], 14, (2417, 103), sparse=False)

    def test_tmc2007_is_sparse(self):
        self.check(["tmc2007-500.arff"], 22, (28596, 500), sparse=True)

    def test_tmc2007_is_the_same_through_libsvm(self):
        _, table = parse_arff(need_data("tmc2007-500.arff"))
        with open(self.dir / "tmc.svm", "w") as file:
            for row in table:
                labels = ",".join(map(str, np.flatnonzero(row[500:])))
                print(labels, *(f"{j + 1}:{row[j]:g}" for j in np.flatnonzero(row[:500])), file=file)
        result = run_json("import", self.dir / "tmc.svm", "--format", "libsvm", "--labels", 22, "--features", 30438,
                          "--out", self.dir / "tmc.h5")
        self.assertEqual((result["rows"], result["features"], result["labels"]), (28596, 30438, 22))
        self.assertEqual((result["first_label"], result["first_feature"]), (0, 1))
        with h5py.File(self.dir / "tmc.h5") as file:
            self.assertEqual(file["context"].attrs["num_features"], 30438)
            self.assertNotIn("label_names", file)
            np.testing.assert_array_equal(file["label"][()], table[:, 500:])
            rows, columns = np.nonzero(table[:, :500])
            np.testing.assert_array_equal(file["context/indices"][()], columns)
            np.testing.assert_array_equal(np.diff(file["context/indptr"][()]), np.bincount(rows, minlength=len(table)))


class Import(LabelledTest):
    def test_what_was_found_is_said_in_words(self):
        path = self.write("d.arff", HEADER + "1,0,0,1\n2,3,0,1\n0,0,0,0\n4,5,0,1\n")
        out = run("import", path, "--format", "arff", "--labels", 2, "--out", self.dir / "d.h5").stdout
        self.assertIn("4 rows, 2 features, dense, 62.5 % not zero, 2 labels -> ", out)
        self.assertIn("0.75", out)
        self.assertRegex(out, r"\n +b +3 +75\.0 %")
        self.assertRegex(out, r"labels that are 0 in every row: a\n")
        seen = run("inspect", self.dir / "d.h5").stdout
        self.assertIn("a labelled data set of 4 rows", seen)
        self.assertRegex(seen, r"\n +b +3 +75\.0 %")

    def test_libsvm_says_what_it_counted_from(self):
        path = self.write("d.txt", "3,7 1:0.5 12:1\n 2:1\n")
        out = run("import", path, "--format", "libsvm", "--out", self.dir / "d.h5").stdout
        self.assertIn("7 labels", out)
        self.assertIn("labels were counted from 1, features from 1", out)
        result = run_json("import", path, "--format", "libsvm", "--first-label", 0, "--out", self.dir / "d.h5",
                          "--overwrite")
        self.assertEqual((result["labels"], result["first_label"], result["rows"]), (8, 0, 2))

    def test_odd_shapes_arrive(self):
        cases = {"none": HEADER, "one": HEADER + "1,2,0,1\n", "bare": "@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0\n"}
        for name, text in cases.items():
            with self.subTest(name):
                path = self.write(name + ".arff", text)
                out = self.dir / (name + ".h5")
                result = run_json("import", path, "--format", "arff", "--labels", 2, "--out", out)
                seen = run_json("inspect", out)
                self.assertEqual((seen["rows"], seen["features"], seen["labels"]),
                                 (result["rows"], result["features"], 2))
                run("import", path, "--format", "arff", "--labels", 2, "--out", out, "--overwrite")
                run("inspect", out)

    def test_pipes_are_read(self):
        run("import", "/dev/stdin", "--format", "arff", "--labels", 2, "--out", self.dir / "d.h5",
            stdin=HEADER + "1,2,0,1\n" * 50000)
        self.assertEqual(run_json("inspect", self.dir / "d.h5")["rows"], 50000)

    def test_the_xml_beside_the_file_is_found_and_another_can_be_named(self):
        path = self.write("set-train.arff", HEADER + "1,2,0,1\n")
        failed = run("import", path, "--format", "arff", "--out", self.dir / "d.h5", check=2)
        self.assertIn("--labels K", failed.stderr)
        self.assertIn(str(self.dir / "set.xml"), failed.stderr)
        self.write("set.xml", '<labels><label name="b"/></labels>')
        self.assertEqual(run_json("import", path, "--format", "arff", "--out", self.dir / "d.h5")["label_names"], ["b"])
        other = self.write("other.xml", '<labels><label name="b"/><label name="a"/></labels>')
        named = run_json("import", path, "--format", "arff", "--label-xml", other, "--out", self.dir / "d.h5",
                         "--overwrite")
        self.assertEqual(named["label_names"], ["a", "b"])

    def test_bad_files_end_with_1_and_leave_nothing_behind(self):
        bad = self.write("d.arff", HEADER + "1,2,0,1\n1,?,0,1\n")
        failed = run("import", bad, "--format", "arff", "--labels", 2, "--out", self.dir / "d.h5", check=1)
        self.assertIn(f"{bad}: line 8: attribute 'y' is missing", failed.stderr)
        bad = self.write("d.svm", "1 1:1\n1 2:x\n")
        failed = run("import", bad, "--format", "libsvm", "--out", self.dir / "d.h5", check=1)
        self.assertIn(f"{bad}: line 2: the value in '2:x'", failed.stderr)
        failed = run("import", self.dir / "no.svm", "--format", "libsvm", "--out", self.dir / "d.h5", check=1)
        self.assertIn("no.svm: cannot read", failed.stderr)
        self.assertEqual(self.visible(), ["d.arff", "d.svm"])

    def test_options_of_another_format_are_wrong_usage(self):
        path = self.write("d.arff", HEADER + "1,2,0,1\n")
        svm = self.write("d.svm", "1 1:1\n")
        out = ["--out", self.dir / "d.h5"]
        for option in (["--context", "x"], ["--action", "a"], ["--loss", "l"], ["--action-kind", "multilabel"],
                       ["--delimiter", ";"], ["--skip-bad-rows"], ["--shards", 2], ["--rollout", 1]):
            for file, kind in ((path, "arff"), (svm, "libsvm")):
                with self.subTest(option=option, kind=kind):
                    failed = run("import", file, "--format", kind, *out, *option, check=2)
                    self.assertIn(f"{option[0]} belongs to --format csv, not to {kind}", failed.stderr)
        csv = self.write("d.csv", "a,l,p\n1,2,1\n")
        plain = ["--action-kind", "continuous", "--action", "a", "--loss", "l", "--propensity", "p"]
        for option in (["--labels", 2], ["--label-xml", "x.xml"], ["--features", 3], ["--first-label", 0]):
            failed = run("import", csv, "--format", "csv", *plain, *out, *option, check=2)
            self.assertIn(f"{option[0]} belongs to --format", failed.stderr)
        self.assertIn("given twice", run("import", csv, csv, "--format", "csv", *plain, *out, check=2).stderr)
        self.assertIn("--action is required", run("import", csv, "--format", "csv", *plain[:2], *out, check=2).stderr)
        self.assertIn("--action-kind is required", run("import", csv, "--format", "csv", *plain[2:], *out, check=2).stderr)
        self.assertIn("belongs to --format libsvm", run("import", path, "--format", "arff", "--features", 3, *out, check=2).stderr)
        self.assertIn("belongs to --format arff", run("import", svm, "--format", "libsvm", "--label-xml", "x", *out, check=2).stderr)
        self.assertIn(".h5", run("import", svm, "--format", "libsvm", "--out", self.dir / "folder", check=2).stderr)
        run("import", path, "--format", "arff", "--labels", 0, *out, check=2)
        run("import", path, "--format", "arff", "--labels", 1, "--label-xml", "x.xml", *out, check=2)
        self.assertEqual(self.visible(), ["d.arff", "d.csv", "d.svm"])

    def test_too_little_memory_and_a_full_disk_are_clean_errors(self):
        path = self.write("d.arff", HEADER + "1,2,0,1\n" * 30000)
        command = ["import", path, "--format", "arff", "--labels", 2, "--out", self.dir / "d.h5"]
        self.assertIn("held in memory", run(*command, "--memory", "100K", check=1).stderr)

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        failed = subprocess.run([PROGRAM, *map(str, command)], capture_output=True, text=True, preexec_fn=small_files)
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertIn("d.h5: cannot write, nothing appeared under this name: File too large", failed.stderr)
        self.assertEqual(self.visible(), ["d.arff"])


class NotLogs(LabelledTest):
    def test_commands_that_need_logs_say_what_this_is_and_what_to_do(self):
        path = self.write("d.arff", HEADER + "1,2,0,1\n")
        data = self.dir / "d.h5"
        run("import", path, "--format", "arff", "--labels", 2, "--out", data)
        policy = self.write("p.toml", 'kind = "uniform"\n')
        for command in (["evaluate", data, "--policy", policy],
                        ["learn", data, "--kind", "multilabel", "--lambda", "1", "--out", self.dir / "q.toml"]):
            failed = run(*command, check=1)
            self.assertIn(f"{data}: is a labelled data set, not logs", failed.stderr)
            self.assertIn("`scrm sweep`", failed.stderr)
        log = harness.gaussian_log(self.dir / "log.h5", rows=3)
        self.assertIn("inspect it alone", run("inspect", log, data, check=2).stderr)

    def test_damage_is_found_by_inspect(self):
        path = self.write("d.arff", HEADER + "1,2,0,1\n3,4,1,1\n")
        data = self.dir / "d.h5"
        run("import", path, "--format", "arff", "--labels", 2, "--out", data)
        with h5py.File(data, "r+") as file:
            file["context"][1, 0] = np.nan
        self.assertIn(f"{data}: context[:, 0], row 1: nan is not finite", run("inspect", data, check=1).stderr)


if __name__ == "__main__":
    harness.main()
