"""scrm import: CSV to shards, every mistake named, nothing half-written."""
# labels: fast cli io

import json
import os
import resource
import signal
import subprocess
import unittest

import h5py
import numpy as np

import harness
from harness import PROGRAM, ProgramTest, run, run_json

COLUMNS = ["--context", "x*", "--action", "a", "--loss", "l", "--propensity", "p"]
CONTINUOUS = ["--format", "csv", "--action-kind", "continuous", *COLUMNS]


def small_files():
    """In the child: files cannot grow beyond 100 kB, which is what a full disk looks like."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


class Import(ProgramTest):
    def table(self, rows=3000, features=3, seed=0):
        random = np.random.default_rng(seed)
        values = random.normal(size=(rows, features + 3))
        values[:, -1] = np.exp(values[:, -1])
        names = [f"x{j}" for j in range(features)] + ["a", "l", "p"]
        path = self.dir / "log.csv"
        with open(path, "w") as file:
            print(",".join(names), file=file)
            for row in values.tolist():
                print(",".join(map(repr, row)), file=file)
        return path, values

    def check_values(self, path, values):
        with h5py.File(path) as file:
            features = values.shape[1] - 3
            np.testing.assert_array_equal(file["context"][()], values[:, :features])
            for i, name in enumerate(["action", "loss", "propensity"]):
                np.testing.assert_array_equal(file[name][()], values[:, features + i])

    def visible(self):
        return sorted(path.name for path in self.dir.iterdir() if not path.name.startswith("."))

    def test_every_bit_arrives_in_a_file_that_h5py_reads(self):
        table, values = self.table()
        out = self.dir / "log.h5"
        result = run_json("import", table, *CONTINUOUS, "--out", out, "--rollout", 4)
        self.assertEqual({key: result[key] for key in ["rows", "shards", "features", "action_kind", "out"]},
                         {"rows": 3000, "shards": 1, "features": 3, "action_kind": "continuous", "out": str(out)})
        self.assertGreater(result["seconds"], 0)
        self.check_values(out, values)
        with h5py.File(out) as file:
            self.assertEqual(file.attrs["format"], "scrm-log")
            self.assertEqual(file.attrs["format_version"], 1)
            self.assertEqual(file.attrs["action_kind"], "continuous")
            self.assertEqual(file.attrs["rollout"], 4)
            self.assertEqual(file.attrs["source"], "log.csv")
            self.assertEqual(file.attrs["context_columns"].tolist(), ["x0", "x1", "x2"])

    def test_gzip_float32_and_shards(self):
        table, values = self.table()
        run("import", table, *CONTINUOUS, "--out", self.dir / "z.h5", "--compress", "gzip")
        self.check_values(self.dir / "z.h5", values)
        with h5py.File(self.dir / "z.h5") as file:
            self.assertEqual(file["context"].compression, "gzip")
            self.assertTrue(file["context"].shuffle)
        done = run("import", table, *CONTINUOUS, "--out", self.dir / "parts", "--shards", 4, "--float32")
        self.assertIn("3,000 rows, 3 features, continuous actions", done.stdout)
        self.assertIn("(4 shards)", done.stdout)
        parts = sorted((self.dir / "parts").iterdir())
        self.assertEqual([path.name for path in parts], [f"part-0000{i}.h5" for i in range(4)])
        contexts = [h5py.File(path)["context"][()] for path in parts]
        np.testing.assert_array_equal(np.concatenate(contexts), values[:, :3].astype(np.float32))

    def test_two_imports_are_the_same_file(self):
        table, _ = self.table()
        for name in ["one.h5", "two.h5"]:
            run("import", table, *CONTINUOUS, "--out", self.dir / name, "--compress", "gzip")
        self.assertEqual((self.dir / "one.h5").read_bytes(), (self.dir / "two.h5").read_bytes())

    def test_categorical_multilabel_targets_and_pipes(self):
        text = "x,shown,cost,p,p_new\n0.5,0,1,0.5,0.25\n1.5,2,0,0.5,1\n"
        kind = ["--format", "csv", "--context", "x", "--action", "shown", "--loss", "cost", "--propensity", "p",
                "--action-kind", "categorical", "--target", "new=p_new"]
        run("import", "/dev/stdin", *kind, "--num-actions", 5, "--out", self.dir / "c.h5", stdin=text)
        with h5py.File(self.dir / "c.h5") as file:
            self.assertEqual(file.attrs["num_actions"], 5)
            self.assertEqual(file["action"].dtype, np.int32)
            np.testing.assert_array_equal(file["action"][()], [0, 2])
            np.testing.assert_array_equal(file["target/new"][()], [0.25, 1])
        (self.dir / "c.csv").write_text(text)
        self.assertEqual(run_json("import", self.dir / "c.csv", *kind, "--out", self.dir / "d.h5")["num_actions"], 3)

        (self.dir / "m.csv").write_text('"b1";b2;q1;q2;gain\n1;0;0.5;0.25;3\n')
        run("import", self.dir / "m.csv", "--format", "csv", "--delimiter", ";", "--action-kind", "multilabel",
            "--action", "b1,b2", "--label-propensity", "q1,q2", "--reward-column", "gain", "--out", self.dir / "m.h5")
        with h5py.File(self.dir / "m.h5") as file:
            self.assertEqual(sorted(file), ["action", "label_propensity", "loss"])
            np.testing.assert_array_equal(file["action"][()], [[1, 0]])
            np.testing.assert_array_equal(file["label_propensity"][()], [[0.5, 0.25]])
            self.assertEqual(file["loss"][0], 3)
            self.assertEqual(file.attrs["outcome"], "reward")

    def test_what_is_imported_can_be_inspected(self):
        harness.need_command("inspect")
        table, _ = self.table()
        run("import", table, *CONTINUOUS, "--out", self.dir / "logs", "--rows-per-shard", 700)
        seen = run_json("inspect", self.dir / "logs")
        self.assertEqual((seen["rows"], seen["shards"], seen["features"], seen["bad_rows"]), (3000, 5, 3, 0))

    def test_bad_rows_end_the_command_or_are_counted(self):
        table, _ = self.table(rows=10)
        with open(table, "a") as file:
            file.write("1,2,3,4,5,0\n1,2,3,4,5,-1\n1,2,3,4,,1\n1,2,3\n")
        failed = run("import", table, *CONTINUOUS, "--out", self.dir / "a.h5", check=1)
        self.assertIn(f"{table}: line 12, column 'p': propensity is not above zero: '0'", failed.stderr)
        self.assertIn("4 bad rows in all", failed.stderr)
        self.assertEqual(failed.stdout, "")
        self.assertEqual(sorted(os.listdir(self.dir)), ["log.csv"])

        done = run("import", table, *CONTINUOUS, "--out", self.dir / "a.h5", "--skip-bad-rows", "--json")
        self.assertIn("4 bad rows were left out", done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["rows"], result["skipped_rows"]), (10, 4))
        self.assertEqual(result["skipped"],
                         {"propensity_not_positive": 2, "value_missing": 1, "wrong_number_of_fields": 1})

    def test_wrong_usage_says_what_to_do(self):
        table, _ = self.table(rows=3)
        out = ["--out", self.dir / "a.h5"]

        def complaint(*args):
            return run("import", table, *args, check=2).stderr

        self.assertIn("csv", complaint("--format", "libsvm", *CONTINUOUS[2:], *out))
        self.assertIn("did you mean 'x1'?", complaint(*CONTINUOUS, "--context", "x11", *out))
        self.assertIn("NAME=COLUMN", complaint(*CONTINUOUS, "--target", "new", *out))
        self.assertIn("name a folder", complaint(*CONTINUOUS, "--shards", 2, *out))
        self.assertIn("--delimiter", complaint(*CONTINUOUS, "--delimiter", "ab", *out))
        self.assertIn("--out", complaint(*CONTINUOUS))
        self.assertIn("pipe", run("import", "/dev/stdin", *CONTINUOUS, "--shards", 2, "--out", self.dir / "b", check=2,
                                  stdin="x,a,l,p\n").stderr)
        self.assertEqual(os.listdir(self.dir), ["log.csv"])

    def test_files_that_cannot_be_read_or_written_are_named(self):
        table, _ = self.table(rows=3)
        missing = self.dir / "none.csv"
        self.assertIn(f"{missing}: cannot read", run("import", missing, *CONTINUOUS, "--out", self.dir / "a.h5",
                                                     check=1).stderr)
        nowhere = self.dir / "none" / "a.h5"
        self.assertIn(str(nowhere), run("import", table, *CONTINUOUS, "--out", nowhere, check=1).stderr)
        (self.dir / "full").mkdir()
        (self.dir / "full" / "notes.txt").write_text("mine")
        self.assertIn("not empty", run("import", table, *CONTINUOUS, "--out", self.dir / "full", check=1).stderr)
        self.assertEqual(os.listdir(self.dir / "full"), ["notes.txt"])

    def test_a_full_disk_leaves_nothing(self):
        table, _ = self.table(rows=12000)
        for out, shown, options in [("a.h5", "a.h5", []), ("parts", "parts/part-00000.h5", ["--shards", "2"])]:
            done = subprocess.run([PROGRAM, "import", table, *CONTINUOUS, "--out", self.dir / out, *options],
                                  capture_output=True, text=True, preexec_fn=small_files, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{self.dir / shown}: ", done.stderr)
            self.assertIn("nothing appeared under this name", done.stderr)
            self.assertEqual(os.listdir(self.dir), ["log.csv"])

    def test_a_killed_import_leaves_nothing_under_the_final_name(self):
        table, _ = self.table(rows=20000)
        text = table.read_bytes()
        for out in ["a.h5", "parts"]:
            child = subprocess.Popen([PROGRAM, "import", "/dev/stdin", *CONTINUOUS, "--out", self.dir / out,
                                      "--rows-per-shard" if out == "parts" else "--rollout", "5000"],
                                     stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # The pipe stays open, so the import cannot have ended; what was written has been taken in, bar one buffer.
            child.stdin.write(text)
            child.stdin.flush()
            child.send_signal(signal.SIGKILL)
            child.wait()
            child.stdin.close()
            self.assertEqual(self.visible(), ["log.csv"])

    @unittest.skipIf(os.environ.get("SCRM_SANITIZE"), "sanitizers keep freed memory, so peaks say nothing")
    def test_memory_does_not_grow_with_the_file(self):
        header, row = "x1,x2,a,l,p\n", "0.123456789,1.5,-2.25,0.75,0.5\n"

        def peak(rows):
            path = self.dir / "long.csv"
            path.write_text(header + row * rows)
            with subprocess.Popen([PROGRAM, "import", path, *CONTINUOUS, "--out", self.dir / "long.h5", "--quiet",
                                   "--overwrite"], stdout=subprocess.DEVNULL) as child:
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            return usage.ru_maxrss

        # Both are beyond the first full chunk; 15 times the rows may cost 4 MB of file system and allocator noise.
        self.assertLess(peak(1_500_000), peak(100_000) + 4096)

    def test_help_has_an_example(self):
        text = run("import", "--help").stdout
        self.assertIn("Example:", text)
        self.assertIn("--action-kind", text)


if __name__ == "__main__":
    harness.main()
