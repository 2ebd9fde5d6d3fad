"""scrm import: several files, compressed ones, patterns, delimiters, and the files of Open Bandit."""
# labels: fast cli io

import gzip
import json

import h5py
import numpy as np

import harness
from harness import ProgramTest, run, run_json

ROLES = ["--action-kind", "continuous", "--context", "x*", "--action", "a", "--loss", "l", "--propensity", "p"]


class Files(ProgramTest):
    def write(self, name, text):
        path = self.dir / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    def contexts(self, path):
        with h5py.File(path) as file:
            return file["context"][()].tolist()

    def test_several_files_are_matched_by_name(self):
        one = self.write("a.csv", "x0,x1,a,l,p\n1,2,3,4,5\n")
        two = self.write("b.csv", "p,l,id,a,x1,x0\n5,4,9,3,20,10\n5,4,9,3,40,30\n")
        result = run_json("import", one, two, *ROLES, "--out", self.dir / "o.h5")
        self.assertEqual((result["rows"], result["context_columns"]), (3, ["x0", "x1"]))
        self.assertEqual(self.contexts(self.dir / "o.h5"), [[1, 2], [10, 20], [30, 40]])
        run("import", one, two, *ROLES, "--out", self.dir / "parts", "--shards", 3)
        self.assertEqual([self.contexts(path) for path in sorted((self.dir / "parts").iterdir())],
                         [[[1, 2]], [[10, 20]], [[30, 40]]])

    def test_files_that_do_not_go_together_are_named(self):
        one = self.write("a.csv", "x0,x1,a,l,p\n1,2,3,4,5\n")
        for name, text, code, words in (
                ("short.csv", "x0,a,l,p\n1,3,4,5\n", 2, "no column is named 'x1'"),
                ("wide.csv", "x0,x1,x2,a,l,p\n1,2,9,3,4,5\n", 1, "'x*' fits the column 'x2'"),
                ("bad.csv", "x0,x1,a,l,p\n1,2,3,4,0\n", 1, "bad.csv: line 2, column 'p'")):
            done = run("import", one, self.write(name, text), *ROLES, "--out", self.dir / "o.h5", check=code)
            self.assertIn(words, done.stderr)
            self.assertIn(name, done.stderr)
        self.assertIn("none.csv", run("import", one, self.dir / "none.csv", *ROLES, "--out", self.dir / "o.h5",
                                      check=1).stderr)
        piped = run("import", one, "/dev/stdin", *ROLES, "--out", self.dir / "parts", "--shards", 2, check=2,
                    stdin="x0,x1,a,l,p\n1,2,3,4,5\n")
        self.assertIn("read only once", piped.stderr)
        self.assertIn("given twice", run("import", one, one, *ROLES, "--out", self.dir / "o.h5", check=2).stderr)
        self.assertFalse((self.dir / "o.h5").exists())

    def test_compressed_files_are_read_as_they_are(self):
        text = "x0,a,l,p\n" + "".join(f"{i},1,2,3\n" for i in range(50_000))
        plain, packed = self.write("a.csv", text), self.write("b.csv.gz", text)
        odd = self.dir / "odd.csv"  # the bytes say what it is, not the name; and gzip files can be joined
        odd.write_bytes(gzip.compress(text[:1000].encode()) + gzip.compress(text[1000:].encode()))
        for name, path in (("a", plain), ("b", packed), ("c", odd)):
            run("import", path, *ROLES, "--format", "csv", "--out", self.dir / f"{name}.h5")
        run("import", packed, *ROLES, "--out", self.dir / "parts", "--shards", 2)
        self.assertEqual(self.contexts(self.dir / "a.h5"), self.contexts(self.dir / "b.h5"))
        self.assertEqual(self.contexts(self.dir / "a.h5"), self.contexts(self.dir / "c.h5"))
        packed.write_bytes(packed.read_bytes()[:-2000])
        self.assertIn("ends in the middle", run("import", packed, *ROLES, "--out", self.dir / "d.h5", check=1).stderr)
        damaged = bytearray(gzip.compress(text.encode()))
        damaged[3000] ^= 0xFF
        packed.write_bytes(damaged)
        self.assertIn("b.csv.gz: the gzip-compressed file is damaged",
                      run("import", packed, *ROLES, "--out", self.dir / "d.h5", check=1).stderr)

    def test_patterns_for_labels_and_targets(self):
        table = self.write("m.csv", "x,tag_a,tag_b,q_a,q_b,l,p_new,p_old\n1,1,0,0.5,0.5,1,0.25,0.75\n")
        result = run_json("import", table, "--action-kind", "multilabel", "--context", "x", "--action", "tag_*",
                          "--label-propensity", "q_*", "--loss", "l", "--target", "*=p_*", "--out", self.dir / "m.h5")
        self.assertEqual((result["num_actions"], result["action_names"]), (2, ["tag_a", "tag_b"]))
        with h5py.File(self.dir / "m.h5") as file:
            self.assertEqual(sorted(file["target"]), ["new", "old"])
            np.testing.assert_array_equal(file["target/old"][()], [0.75])
            np.testing.assert_array_equal(file["action"][()], [[1, 0]])
        base = ["import", table, "--action-kind", "multilabel", "--action", "tag_a:tag_b", "--label-propensity", "q_*",
                "--loss", "l", "--out", self.dir / "n.h5", "--overwrite"]
        run(*base, "--target", "p_*")
        with h5py.File(self.dir / "n.h5") as file:
            self.assertEqual(sorted(file["target"]), ["p_new", "p_old"])
        self.assertIn("'*=p_*'", run(*base, "--target", "new=p_*", check=2).stderr)

    def test_propensities_are_paired_with_labels_by_what_the_stars_stand_for(self):
        table = self.write("m.csv", "u,tag_a,tag_b,q_b,q_a,s_1,s_2,z_y,z_x,tag_*,r\n1,1,0,.3,.9,.1,.2,0,1,1,1\n")
        command = ["import", table, "--action-kind", "multilabel", "--reward-column", "r", "--context", "u", "--out",
                   self.dir / "m.h5", "--overwrite"]

        def propensities(action, label_propensity):
            run(*command, "--action", action, "--label-propensity", label_propensity)
            with h5py.File(self.dir / "m.h5") as file:
                return file["label_propensity"][()].tolist()

        self.assertEqual(propensities("tag_a:tag_b", "q_*"), [[.3, .9]])  # no stars, no texts
        self.assertEqual(propensities("tag_*", "q_a"), [[.9]])  # the column of that name
        header, row = table.read_text().split("\n")[:2]
        table.write_text(header.replace(",tag_*", "") + "\n" + row.replace(",1,1", ",1") + "\n")
        self.assertEqual(propensities("tag_*", "q_*"), [[.9, .3]])
        self.assertEqual(propensities("tag_*", "s_*"), [[.1, .2]])  # other texts
        # Each pattern with its own, as far as they are as many.
        self.assertEqual(propensities("u,tag_*", "s_1,q_*"), [[.1, .9, .3]])
        self.assertEqual(propensities("tag_*,z_*", "q_*,s_*"), [[.9, .3, .1, .2]])

    def test_delimiters_byte_order_mark_and_crlf(self):
        for delimiter, name in ((";", ";"), ("\t", "tab"), ("|", "|")):
            text = "\ufeffx0,a,l,p\r\n1,2,\"3\",4\r\n".replace(",", delimiter)
            table = self.write("d.csv", text)
            run("import", table, *ROLES, "--delimiter", name, "--out", self.dir / "d.h5", "--overwrite")
            self.assertEqual(self.contexts(self.dir / "d.h5"), [[1]])
            done = run("import", table, *ROLES, "--out", self.dir / "no.h5", check=2)
            self.assertIn("--delimiter", done.stderr)

    def test_the_name_says_what_a_file_is(self):
        self.write("t.tsv", "x0\ta\tl\tp\n1\t2\t3\t4\n")
        run("import", self.dir / "t.tsv", *ROLES, "--out", self.dir / "t.h5")
        self.assertEqual(self.contexts(self.dir / "t.h5"), [[1]])
        self.write("t.txt", "x0,a,l,p\n1,2,3,4\n")
        self.assertIn("--format", run("import", self.dir / "t.txt", *ROLES, "--out", self.dir / "u.h5", check=2).stderr)

    def test_two_thousand_columns(self):
        names = ",".join(f"x{i}" for i in range(2000))
        row = ",".join(map(str, range(2000)))
        table = self.write("w.csv", f"{names},a,l,p\n{row},1,2,3\n")
        self.assertEqual(run_json("import", table, *ROLES, "--out", self.dir / "w.h5")["features"], 2000)
        self.assertEqual(self.contexts(self.dir / "w.h5"), [list(range(2000))])


class OpenBandit(ProgramTest):
    def feedback(self, rows=5000, actions=4, **changes):
        random = np.random.default_rng(0)
        dictionary = dict(n_rounds=rows, n_actions=actions, context=random.normal(size=(rows, 3)),
                          action=random.integers(actions - 1, size=rows), position=None,
                          reward=random.integers(2, size=rows), expected_reward=random.uniform(size=(rows, actions)),
                          pi_b=np.full((rows, actions, 1), 1 / actions), pscore=np.full(rows, 1 / actions),
                          action_context=np.eye(actions))
        dictionary.update(changes)
        return dictionary

    def test_the_dictionary_of_the_pipeline_in_one_command(self):
        feedback = self.feedback()
        for save in (np.savez, np.savez_compressed):
            save(self.dir / "feedback.npz", **feedback)
            result = run_json("import", self.dir / "feedback.npz", "--out", self.dir / "logs", "--shards", 2, "--overwrite")
            self.assertEqual((result["rows"], result["features"], result["num_actions"], result["outcome"]),
                             (5000, 3, 4, "reward"))
            parts = [h5py.File(path) for path in sorted((self.dir / "logs").iterdir())]
            for name, array in (("context", "context"), ("action", "action"), ("loss", "reward"), ("propensity", "pscore")):
                np.testing.assert_array_equal(np.concatenate([part[name][()] for part in parts]), feedback[array])
        self.assertEqual(run_json("inspect", self.dir / "logs")["bad_rows"], 0)

    def test_arrays_that_lie_by_columns_give_the_same_rows(self):
        random = np.random.default_rng(1)
        contexts = [random.normal(size=(5000, 7)), random.normal(size=(70_000, 9)).astype(np.float32),
                    random.integers(-9, 9, size=(300, 2)), random.random((3, 2000)) < 0.5, random.normal(size=(1, 4)),
                    np.zeros((0, 3)), random.normal(size=(6, 1))]
        contexts[0][4321, 5] = 5e-324
        memory = harness.few_under_sanitizers("1G", "64M")  # the program itself takes more there
        for context in contexts:
            for save in (np.savez, np.savez_compressed):
                files = []
                for order in "CF":
                    path = self.dir / f"{order}.npz"
                    save(path, **self.feedback(rows=len(context), context=np.array(context, order=order)))
                    run("import", path, "--out", self.dir / order, "--shards", 2, "--overwrite", "--memory", memory)
                    files.append([h5py.File(part)["context"][()] for part in sorted((self.dir / order).iterdir())])
                for by_rows, by_columns in zip(*files):
                    np.testing.assert_array_equal(by_rows, by_columns)
                np.testing.assert_array_equal(np.concatenate(files[1]), context)
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["C", "C.npz", "F", "F.npz"])

    def test_an_array_that_lies_by_columns_and_is_damaged_is_refused(self):
        feedback = self.feedback(rows=3000)
        feedback["context"] = np.asfortranarray(feedback["context"])
        for save in (np.savez, np.savez_compressed):
            save(self.dir / "bad.npz", **feedback)
            damaged = bytearray((self.dir / "bad.npz").read_bytes())
            damaged[damaged.index(b"context.npy") + 20_000] ^= 0x55
            (self.dir / "bad.npz").write_bytes(damaged)
            self.assertIn("context.npy: the array is damaged",
                          run("import", self.dir / "bad.npz", "--out", self.dir / "no", check=1).stderr)
            self.assertEqual([path.name for path in self.dir.iterdir()], ["bad.npz"])

    def test_other_arrays_and_types(self):
        np.savez(self.dir / "o.npz", x=np.arange(6, dtype=np.float32), a=np.arange(6, dtype=np.uint8),
                 cost=np.ones(6, dtype=bool), q=np.full(6, 0.5, dtype=np.float32), new=np.full(6, 0.25))
        result = run_json("import", self.dir / "o.npz", "--context", "x", "--action", "a", "--loss", "cost",
                          "--propensity", "q", "--target", "new=new", "--out", self.dir / "o.h5")
        self.assertEqual((result["num_actions"], result["outcome"], result["features"]), (6, "loss", 1))
        with h5py.File(self.dir / "o.h5") as file:
            np.testing.assert_array_equal(file["context"][()].ravel(), np.arange(6))
            np.testing.assert_array_equal(file["target/new"][()], [0.25] * 6)

    def test_arrays_of_big_endian_numbers_are_read(self):
        feedback = self.feedback(rows=3000)
        np.savez(self.dir / "little.npz", **feedback)
        for order in (np.ascontiguousarray, np.asfortranarray):
            swapped = {name: order(array.astype(array.dtype.newbyteorder(">"))) if np.ndim(array) else array
                       for name, array in feedback.items()}
            np.savez_compressed(self.dir / "big.npz", **swapped)
            shards = []
            for name in ("little", "big"):
                run("import", self.dir / f"{name}.npz", "--out", self.dir / f"{name}.h5", "--overwrite")
                with h5py.File(self.dir / f"{name}.h5") as file:
                    shards.append({column: file[column][()] for column in ("context", "action", "loss", "propensity")})
            for column, values in shards[0].items():
                np.testing.assert_array_equal(shards[1][column], values)

    def refused(self, words, **changes):
        np.savez(self.dir / "bad.npz", **self.feedback(rows=5, **changes))
        message = run("import", self.dir / "bad.npz", "--out", self.dir / "no", check=1).stderr
        self.assertIn("bad.npz", message)
        self.assertIn(words, message)
        self.assertFalse((self.dir / "no").exists())

    def test_arrays_that_cannot_be_used_are_named(self):
        self.refused("pscore: holds Python objects", pscore=None)
        self.refused("reward: has 4 rows, context has 5", reward=np.zeros(4))
        self.refused("action: has 2 axes", action=np.zeros((5, 2)))
        self.refused("context: holds elements of NumPy's type", context=np.ones((5, 3), dtype=complex))
        self.refused("pscore, row 3: 0 is not above zero", pscore=np.array([1, 1, 1, 0, 1.0]))
        self.refused("action, row 4: 4 is out of range", action=np.array([0, 1, 2, 3, 4]))
        feedback = self.feedback(rows=5)
        del feedback["pscore"]
        np.savez(self.dir / "bad.npz", **feedback)
        self.assertIn("has no array 'pscore'",
                      run("import", self.dir / "bad.npz", "--out", self.dir / "no", check=1).stderr)

    def test_damaged_archives_are_refused(self):
        np.savez_compressed(self.dir / "ok.npz", **self.feedback(rows=300))
        whole = (self.dir / "ok.npz").read_bytes()
        bad = self.dir / "bad.npz"
        for cut in (0, 10, 100, len(whole) // 2, len(whole) - 1):
            bad.write_bytes(whole[:cut])
            self.assertIn("bad.npz", run("import", bad, "--out", self.dir / "no", check=1).stderr)
        with_fault = bytearray(whole)
        with_fault[whole.index(b"context.npy") + 300] ^= 0x55
        bad.write_bytes(with_fault)
        self.assertIn("damaged", run("import", bad, "--out", self.dir / "no", check=1).stderr)

    def test_a_file_of_the_data_set_in_one_command(self):
        header = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1," \
                 "user-item_affinity_0,user-item_affinity_1"
        rows = ["0,2019-11-24 00:00:32.004101+00:00,79,2,0,0.0875,81ce123cbb5b,2d03db5543b1,0.0,1.0",
                "1,2019-11-24 00:00:46.020118+00:00,14,1,1,0.0045,cef3390ed299,2d03db5543b1,2.0,0.0"]
        (self.dir / "men.csv").write_text("\n".join([header, *rows]) + "\n")
        done = run("import", self.dir / "men.csv", "--format", "obd", "--out", self.dir / "men.h5", "--json")
        result = json.loads(done.stdout)
        self.assertEqual((result["rows"], result["num_actions"], result["outcome"]), (2, 80, "reward"))
        self.assertEqual(result["context_columns"],
                         ["user_feature_0=81ce123cbb5b", "user_feature_0=cef3390ed299", "user_feature_0=other",
                          "user_feature_1=2d03db5543b1", "user_feature_1=other", "user-item_affinity_0",
                          "user-item_affinity_1"])
        with h5py.File(self.dir / "men.h5") as file:
            np.testing.assert_array_equal(file["context"][()], [[1, 0, 0, 1, 0, 0, 1], [0, 1, 0, 1, 0, 2, 0]])
            np.testing.assert_array_equal(file["action"][()], [79, 14])
            np.testing.assert_array_equal(file["loss"][()], [0, 1])


if __name__ == "__main__":
    harness.main()
