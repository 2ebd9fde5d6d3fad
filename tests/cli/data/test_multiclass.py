"""Labelled multiclass data of one's own: in from CSV, LIBSVM and ARFF, played in a sweep as a bandit problem."""
# labels: cli io

import json

import h5py
import numpy as np

import harness
from harness import need_data, run, run_json
from sweeps import SweepTest, archive

UCI = {"ecoli": 8, "glass": 7, "letter": 26, "optdigits": 10, "page.blocks": 5, "pendigits": 10, "segment": 7,
       "vehicle": 4, "vowel": 11}
METHODS = ["baseline", "crm", "scrm", "skyline", "majority"]


def blobs(rows, classes, seed=1):
    """Contexts in raw units, and a class that two of them tell."""
    random = np.random.default_rng(seed)
    category = np.arange(rows) % classes
    angle = 2 * np.pi * category / classes
    context = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) + 0.25 * random.normal(size=(rows, 3))
    return context * [1, 1000, 1] + [0, 5000, 0], category


class MulticlassTest(SweepTest):
    def play(self, environment, *, check=0, seeds=1, methods=METHODS, rollouts=3, **more):
        """Mean final loss by method."""
        file = self.write(environments=[str(environment)], methods=methods, seeds=seeds, rollouts=rollouts, lambdas=[0.01],
                          **more)
        path, done = self.sweep(file, "--overwrite", check=check)
        columns = archive(path)
        self.assertEqual(set(columns["status"]), {"ok"}, columns["message"])
        losses = {}
        for method, loss in zip(columns["method"], columns["final_loss"]):
            losses.setdefault(method, []).append(loss)
        return {method: np.mean(values) for method, values in losses.items()}

    def write_csv(self, name="flowers.csv", rows=600, classes=4):
        context, category = blobs(rows, classes)
        lines = ["a,b,c,species"] + [f"{x[0]!r},{x[1]!r},{x[2]!r},kind {k + 1}" for x, k in zip(context.tolist(), category)]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return self.dir / name


class Multiclass(MulticlassTest):
    def test_a_csv_file_becomes_an_environment_by_path_and_by_name(self):
        out = self.dir / "flowers.h5"
        result = run_json("import", self.write_csv(), "--format", "csv", "--class", "species", "--out", out)
        self.assertEqual((result["rows"], result["features"], result["labels"]), (600, 3, 4))
        self.assertEqual((result["multiclass"], result["label_counts"]), (True, [150] * 4))
        with h5py.File(out) as file:
            self.assertEqual(list(file["label_names"].asstr()[()]), [f"kind {k}" for k in range(1, 5)])
            self.assertEqual(file["label"][()].tolist(), [k % 4 for k in range(600)])
            self.assertEqual(file.attrs["num_classes"], 4)
        self.assertIn("4 classes", run("inspect", out).stdout)
        losses = self.play("flowers.h5")
        self.assertEqual(losses, self.play("flowers", data_dir=str(self.dir)))
        # 0.9 of certainty and 0.1 of chance: a perfect policy has 0.075, a constant one 0.75 and a little.
        self.assertLess(losses["skyline"], 0.1)
        self.assertLess(losses["scrm"], losses["majority"] - 0.3)
        self.assertAlmostEqual(losses["majority"], 0.75, delta=0.06)

    def test_units_do_not_matter_unless_asked(self):
        source = self.write_csv()
        run("import", source, "--format", "csv", "--class", "species", "--out", self.dir / "raw.h5")
        context, category = blobs(600, 4)
        with h5py.File(self.dir / "scaled.h5", "w") as file:
            file.attrs.update({"format": "scrm-labelled", "format_version": 1})
            file["context"] = context * [1, 1 / 512, 1] - [0, 8, 0]
            file["label"] = category
        raw, scaled = self.play("raw.h5"), self.play("scaled.h5")
        for method in METHODS:
            self.assertAlmostEqual(raw[method], scaled[method], delta=1e-3)
        self.assertNotEqual(self.play("raw.h5", standardize=False)["baseline"], raw["baseline"])

    def test_sparse_libsvm_rows_with_classes_from_one(self):
        context, category = blobs(400, 3)
        lines = [f"{k + 1} 1:{x[0]:.4f} 7:{x[1]:.2f} # {i}" for i, (x, k) in enumerate(zip(context, category))]
        (self.dir / "in.svm").write_text("\n".join(lines) + "\n")
        done = run("import", self.dir / "in.svm", "--format", "libsvm", "--multiclass", "--out", self.dir / "in.h5")
        self.assertIn("3 classes", done.stdout)
        losses = self.play("in.h5")
        self.assertLess(losses["skyline"], losses["majority"] - 0.2)
        with h5py.File(self.dir / "in.h5") as file:
            self.assertEqual(list(file["label_names"].asstr()[()]), ["1", "2", "3"])

    def test_one_class_few_rows_many_classes_and_classes_never_met(self):
        for rows, classes, declared in [(40, 1, 1), (3, 2, 2), (500, 64, 64), (60, 3, 10), (70, 60, 60)]:
            context, category = blobs(rows, classes)
            with h5py.File(self.dir / "odd.h5", "w") as file:
                file.attrs.update({"format": "scrm-labelled", "format_version": 1, "num_classes": declared})
                file["context"] = context
                file["label"] = category
            with self.subTest(rows=rows, classes=classes):
                for method, loss in self.play("odd.h5", rollouts=2).items():
                    self.assertTrue(0 <= loss <= 1, (method, loss))

    def test_what_does_not_apply_to_classes_is_left_out_and_no_failure(self):
        run("import", self.write_csv(rows=60), "--format", "csv", "--class", "species", "--out", self.dir / "f.h5")
        file = self.write(environments=["f.h5"], methods=["baseline", "all-zeros", "sbpe"], rollouts=1)
        path, done = self.sweep(file, "--json")
        self.assertEqual({entry["method"] for entry in json.loads(done.stdout)["not_applicable"]}, {"all-zeros", "sbpe"})
        self.assertEqual(archive(path)["method"], ["baseline"])

    def test_threads_do_not_change_a_bit(self):
        run("import", self.write_csv(rows=90), "--format", "csv", "--class", "species", "--out", self.dir / "f.h5")
        file = self.write(environments=["f.h5"], methods=METHODS, rollouts=2, lambdas=[0.1])
        losses = [archive(self.sweep(file, "--threads", n, out=f"{n}.h5")[0])["final_loss"].tobytes() for n in (1, 2)]
        self.assertEqual(losses[0], losses[1])

    def test_wrong_options_are_named(self):
        source = self.write_csv(rows=6)
        out = ["--out", self.dir / "x.h5"]

        def refused(*options):
            return run("import", source, *options, *out, check=2).stderr

        self.assertIn("no column 'specie'", refused("--format", "csv", "--class", "specie"))
        self.assertIn("--loss is about logs", refused("--format", "csv", "--class", "species", "--loss", "a"))
        self.assertIn("--multiclass", refused("--format", "csv", "--multiclass"))
        self.assertIn("which column is the class", self.sweep(self.write(environments=[source.name], methods=["crm"]),
                                                              check=2)[1].stderr)


class RealData(MulticlassTest):
    def test_the_nine_sets_of_the_literature(self):
        for name, classes in UCI.items():
            with self.subTest(name):
                result = run_json("import", need_data(f"uci/{name}.arff"), "--format", "arff", "--out",
                                  self.dir / f"{name}.h5")
                self.assertEqual(result["labels"], classes)
        # Two that are small and awkward: a class that never occurs, and texts among the features.
        for name in ["glass", "vowel"]:
            losses = self.play(f"{name}.h5", rollouts=2)
            self.assertLess(losses["skyline"], losses["majority"] - 0.1)


if __name__ == "__main__":
    harness.main()
