"""Rows that are not independent of each other: the dataset `cluster` from files to files, and what inspect says of it."""
# labels: fast cli io

import json

import h5py
import numpy as np

import harness
from harness import ProgramTest, gaussian_log, run, run_json

ROLES = ["--action-kind", "continuous", "--context", "x*", "--action", "a", "--loss", "l", "--propensity", "p"]


def fnv(text):
    """FNV-1a of 64 bits without the highest."""
    number = 0xcbf29ce484222325
    for byte in text.encode():
        number = (number ^ byte) * 0x100000001b3 % 2**64
    return number % 2**63


class Shards(ProgramTest):
    def add(self, path, values, **how):
        with h5py.File(path, "a") as file:
            file.create_dataset("cluster", data=values, **how)
        return path

    def test_every_type_and_layout_is_accepted(self):
        ways = {"contiguous": {}, "chunked": dict(chunks=(100,)), "gzip": dict(chunks=(100,), compression="gzip"),
                "shuffled": dict(compression="gzip", shuffle=True)}
        for dtype in ("i4", "i8", ">i8", "u2"):
            for name, how in ways.items():
                path = self.add(gaussian_log(self.dir / f"{name}{dtype.replace('>', 'b')}.h5", rows=1000),
                                np.arange(1000, dtype=dtype) // 7, **how)
                found = run_json("inspect", path)
                self.assertEqual((found["rows"], found["bad_rows"], found["clusters"]), (1000, 0, True))
        text = run("inspect", self.dir / "gzipi8.h5").stdout
        self.assertIn("cluster     rows of one number are not independent of each other", text)

    def test_without_the_dataset_nothing_is_said(self):
        path = gaussian_log(self.dir / "a.h5", rows=10)
        self.assertNotIn("clusters", run_json("inspect", path))
        self.assertNotIn("cluster", run("inspect", path).stdout)

    def test_one_row_no_rows_float32_and_many_tiny_shards(self):
        for rows in (0, 1):
            path = self.add(gaussian_log(self.dir / f"{rows}.h5", rows=rows), np.zeros(rows, dtype=np.int64))
            self.assertEqual(run_json("inspect", path)["clusters"], True)
        folder = self.dir / "many"
        folder.mkdir()
        for i in range(100):
            context = np.ones((i % 5, 3), dtype=np.float32)
            self.add(gaussian_log(folder / f"{i:03}.h5", rows=i % 5, seed=i, replace={"context": context}),
                     np.arange(i % 5, dtype=np.int32))
        found = run_json("inspect", folder)
        self.assertEqual((found["rows"], found["float32"], found["clusters"]), (200, True, True))

    def test_what_is_wrong_is_named(self):
        for name, values, words in (("short", np.arange(9), "cluster: has 9 rows, but loss has 10"),
                                    ("real", np.arange(10.0), "cluster: holds real numbers"),
                                    ("text", [b"u"] * 10, "cluster: holds strings")):
            path = self.add(gaussian_log(self.dir / f"{name}.h5", rows=10), values)
            self.assertIn(f"{path}: {words}", run("inspect", path, check=1).stderr)

    def test_one_shard_without_it_is_named_together_with_one_that_has_it(self):
        folder = self.dir / "logs"
        folder.mkdir()
        have = self.add(gaussian_log(folder / "a.h5", rows=10), np.arange(10))
        lacks = gaussian_log(folder / "b.h5", rows=10)
        message = run("inspect", folder, check=1).stderr
        self.assertIn(f"{lacks}: cluster: there is no such dataset, but {have} has one", message)
        self.assertIn("add it here", message)
        # Acting does not look at clusters.
        policy = self.dir / "p.toml"
        policy.write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.0, 0.1, 0.1, 0.1]\n')
        run("act", policy, "--contexts", folder, "--seed", 1, "--out", self.dir / "acted")


class Import(ProgramTest):
    def write(self, text, name="log.csv"):
        (self.dir / name).write_text(text)
        return self.dir / name

    def clusters(self, path):
        with h5py.File(path) as file:
            self.assertEqual(file["cluster"].dtype, np.int64)
            return file["cluster"][()].tolist()

    def test_integers_are_kept_and_texts_are_hashed(self):
        users = ["7", "-3", "9007199254740993", "9223372036854775807", "alice", "Zoë", "007", "9223372036854775808",
                 "alice"]
        table = self.write("user,x0,a,l,p\n" + "".join(f"{user},1,2,3,1\n" for user in users))
        result = run_json("import", table, *ROLES, "--cluster", "user", "--out", self.dir / "o.h5")
        self.assertEqual((result["rows"], result["features"], result["clusters"]), (9, 1, True))
        self.assertEqual(self.clusters(self.dir / "o.h5"),
                         [7, -3, 9007199254740993, 2**63 - 1, fnv("alice"), fnv("Zoë"), fnv("007"),
                          fnv("9223372036854775808"), fnv("alice")])
        self.assertEqual(run_json("inspect", self.dir / "o.h5")["clusters"], True)

    def test_one_user_has_one_number_in_all_files(self):
        one = self.write("u,x0,a,l,p\nann,1,2,3,1\nbob,1,2,3,1\n", "1.csv")
        two = self.write("p,l,a,x0,u\n1,3,2,1,bob\n1,3,2,1,ann\n", "2.csv")
        run("import", one, two, *ROLES, "--cluster", "u", "--out", self.dir / "both.h5", "--compress", "gzip")
        ann, bob = fnv("ann"), fnv("bob")
        self.assertEqual(self.clusters(self.dir / "both.h5"), [ann, bob, bob, ann])
        run("import", two, *ROLES, "--cluster", "u", "--out", self.dir / "two.h5")
        self.assertEqual(self.clusters(self.dir / "two.h5"), [bob, ann])
        lacking = self.write("x0,a,l,p\n1,2,3,1\n", "3.csv")
        message = run("import", one, lacking, *ROLES, "--cluster", "u", "--out", self.dir / "no.h5", check=2).stderr
        self.assertIn("3.csv", message)
        self.assertIn("no column is named 'u'", message)

    def test_patterns_leave_its_column_to_it(self):
        table = self.write("x0,xuser,a,l,p\n1,5,2,3,1\n")
        result = run_json("import", table, *ROLES, "--cluster", "xuser", "--out", self.dir / "o.h5")
        self.assertEqual(result["context_columns"], ["x0"])
        # A user may be a feature too, where that is said.
        result = run_json("import", table, *ROLES[:2], "--context", "x0,xuser", *ROLES[4:], "--cluster", "xuser",
                          "--categorical", "xuser", "--out", self.dir / "f.h5")
        self.assertEqual(result["context_columns"], ["x0", "xuser=5", "xuser=other"])
        self.assertEqual(self.clusters(self.dir / "f.h5"), [5])
        message = run("import", table, *ROLES, "--cluster", "xuser", "--categorical", "xuser", "--out",
                      self.dir / "no.h5", check=2).stderr
        self.assertIn("'xuser' has another role", message)

    def test_missing_values_are_bad_rows(self):
        table = self.write("u,x0,a,l,p\nann,1,2,3,1\n,1,2,4,1\nNA,1,2,5,1\nbob,1,2,6,0\nbob,1,2,7,1\n")
        options = [*ROLES, "--cluster", "u", "--out", self.dir / "o.h5"]
        message = run("import", table, *options, check=1).stderr
        self.assertIn(f"{table}: line 3, column 'u': the value is missing (3 bad rows in all", message)
        self.assertFalse((self.dir / "o.h5").exists())
        done = run("import", table, *options, "--skip-bad-rows", "--json")
        self.assertEqual(json.loads(done.stdout)["skipped"], {"propensity_not_positive": 1, "value_missing": 2})
        self.assertEqual(self.clusters(self.dir / "o.h5"), [fnv("ann"), fnv("bob")])
        with h5py.File(self.dir / "o.h5") as file:
            self.assertEqual(file["loss"][()].tolist(), [3, 7])

    def test_shards_of_many_blocks_keep_rows_and_clusters_together(self):
        rows = 10_000
        table = self.write("u,x0,a,l,p\n" + "".join(f"user {i // 3},{i},0,{i},1\n" for i in range(rows)))
        run("import", table, *ROLES, "--cluster", "u", "--out", self.dir / "parts", "--shards", 3, "--float32")
        found = []
        for path in sorted((self.dir / "parts").iterdir()):
            with h5py.File(path) as file:
                found += zip(file["loss"][()].tolist(), file["cluster"][()].tolist())
        self.assertEqual(found, [(i, fnv(f"user {i // 3}")) for i in range(rows)])
        self.assertEqual(run_json("inspect", self.dir / "parts")["clusters"], True)

    def test_no_other_format_takes_it(self):
        self.write("@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n1,a\n", "r.arff")
        message = run("import", self.dir / "r.arff", "--cluster", "x", "--multiclass", "--out", self.dir / "o.h5", check=2).stderr
        self.assertIn("--cluster belongs to --format csv", message)

    def test_arrays(self):
        feedback = dict(context=np.ones((5, 2)), action=np.zeros(5, dtype=int), reward=np.ones(5), pscore=np.ones(5))
        users = np.array([5, 5, 2**53 + 1, -1, 0])

        def load(*options, check=0, **more):
            np.savez(self.dir / "f.npz", **feedback, **more)
            return run("import", self.dir / "f.npz", "--out", self.dir / "f.h5", "--overwrite", *options, check=check)

        load()
        with h5py.File(self.dir / "f.h5") as file:
            self.assertNotIn("cluster", file)
        load(cluster=users)
        self.assertEqual(self.clusters(self.dir / "f.h5"), users.tolist())
        load("--cluster", "user", user=users.astype(np.int32) % 100)
        self.assertEqual(self.clusters(self.dir / "f.h5"), (users.astype(np.int32) % 100).tolist())
        self.assertIn("cluster: has 4 rows, context has 5", load(cluster=users[:4], check=1).stderr)
        self.assertIn("cluster: holds real numbers", load(cluster=users / 2, check=1).stderr)
        self.assertIn("has no array 'user'", load("--cluster", "user", check=1).stderr)


if __name__ == "__main__":
    harness.main()
