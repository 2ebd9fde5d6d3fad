"""Every kind of damage a data set can have: exit 1, a message that names file, dataset, row and value, no output."""
# labels: fast cli io

import os
import shutil

import h5py
import numpy as np

import harness
from harness import ProgramTest, gaussian_log, run, write_log

ROWS = 5000
ROW = 4097  # beyond the first block, so that places are counted in the file and not in a block


def with_value(values, value, row=ROW):
    values = np.array(values, copy=True)
    values[row] = value
    return values


def categorical_log(path, **replace):
    random = np.random.default_rng(0)
    columns = dict(context=random.normal(size=(ROWS, 3)), action=random.integers(0, 3, ROWS).astype(np.int32),
                   loss=random.normal(size=ROWS), propensity=np.full(ROWS, 0.3), num_actions=3)
    return write_log(path, action_kind="categorical", **{**columns, **replace})


def multilabel_log(path, **replace):
    random = np.random.default_rng(0)
    columns = dict(context=random.normal(size=(ROWS, 3)), action=random.integers(0, 2, (ROWS, 2)).astype(np.uint8),
                   loss=random.normal(size=ROWS), propensity=np.full(ROWS, 0.3))
    return write_log(path, action_kind="multilabel", **{**columns, **replace})


class Damage(ProgramTest):
    POLICIES = {"continuous": 'kind = "gaussian"\nscale = 1.0\ntheta = [0.0, 0.0, 0.0, 0.0]\n',
                "categorical": 'kind = "uniform"\n', "multilabel": 'kind = "uniform"\n'}

    def setUp(self):
        super().setUp()
        self.data = self.dir / "data"
        self.data.mkdir()
        self.path = self.data / "b.h5"

    def check(self, *words, bad_row=False, paths=None, kind="continuous"):
        """Each command that reads the data must fail with exit 1 and say all of these words."""
        policy = self.dir / "policy.toml"
        policy.write_text(self.POLICIES[kind])
        paths = paths or [self.data]
        attempts = [["inspect", *paths], ["evaluate", *paths, "--policy", policy]]
        before = sorted(os.listdir(self.dir)), sorted(os.listdir(self.data))
        for attempt in attempts:
            for threads in (1, 2):
                with self.subTest(command=attempt[0], threads=threads):
                    done = run(*attempt, "--json", "--threads", threads, check=1)
                    for word in words:
                        self.assertIn(str(word), done.stderr)
                    # Inspect shows what it found and then fails; anything else says nothing but the error.
                    self.assertEqual(bool(done.stdout), bad_row and attempt[0] == "inspect")
                    self.assertRegex(done.stderr, r"^scrm: error: ")
                    self.assertEqual((sorted(os.listdir(self.dir)), sorted(os.listdir(self.data))), before)

    def check_row(self, dataset, value, kind="continuous"):
        self.check(self.path, dataset, f"row {ROW}", value, bad_row=True, kind=kind)

    # Files

    def test_a_missing_file(self):
        self.check(self.data / "nowhere.h5", paths=[self.data / "nowhere.h5"])

    def test_an_empty_directory(self):
        self.check(self.data, ".h5")

    def test_a_file_that_is_not_hdf5(self):
        gaussian_log(self.data / "a.h5")
        self.path.write_text("context,action,loss\n1,2,3\n" * 100)
        self.check(self.path, "HDF5")

    def test_an_empty_file(self):
        self.path.touch()
        self.check(self.path)

    def test_an_hdf5_file_of_someone_else(self):
        with h5py.File(self.path, "w") as file:
            file["numbers"] = np.arange(10)
        self.check(self.path, "format")

    def test_a_truncated_file(self):
        gaussian_log(self.data / "a.h5")
        for keep in (0.3, 0.99):
            with self.subTest(keep=keep):
                gaussian_log(self.path, rows=ROWS)
                os.truncate(self.path, int(self.path.stat().st_size * keep))
                self.check(self.path, "truncated")

    def test_an_unknown_format_version(self):
        gaussian_log(self.path, attributes={"format_version": 99})
        self.check(self.path, "format_version", 99)

    def test_an_unknown_action_kind(self):
        gaussian_log(self.path, attributes={"action_kind": "telepathic"})
        self.check(self.path, "action_kind", "telepathic")

    # Datasets

    def test_a_missing_dataset(self):
        for name in ("action", "loss", "propensity"):
            with self.subTest(name=name):
                gaussian_log(self.path)
                with h5py.File(self.path, "a") as file:
                    del file[name]
                self.check(self.path, name)

    def test_a_dataset_of_the_wrong_type(self):
        for name in ("context", "action", "loss", "propensity"):
            with self.subTest(name=name):
                gaussian_log(self.path, rows=10, replace={name: np.array([b"text"] * 10)})
                self.check(self.path, name)

    def test_a_dataset_of_the_wrong_shape(self):
        gaussian_log(self.path, rows=10, replace={"loss": np.zeros((10, 2))})
        self.check(self.path, "loss")

    def test_a_context_that_has_lost_its_name(self):
        for attributes in {}, {"context_columns": ["a", "b", "c"]}:
            gaussian_log(self.path, rows=50, attributes=attributes)
            with h5py.File(self.path, "a") as file:
                file.move("context", "kontext")
            policy = self.dir / "policy.toml"
            policy.write_text(self.POLICIES["continuous"])
            for command in (["evaluate", self.data, "--policy", policy],
                            ["learn", self.data, "--start", policy, "--out", self.dir / "new.toml"],
                            ["act", policy, "--contexts", self.data, "--seed", 1, "--out", self.dir / "new"]):
                with self.subTest(command=command[0], attributes=attributes):
                    self.assertIn("no context", run(*command, check=1).stderr)
        gaussian_log(self.data / "a.h5", rows=50)
        with h5py.File(self.path, "a") as file:
            del file.attrs["context_columns"]
        self.assertIn(f"{self.path}: has no context, but {self.data / 'a.h5'} has 3 features",
                      run("evaluate", self.data, "--policy", policy, check=1).stderr)

    def test_lengths_that_differ(self):
        for name in ("action", "loss", "propensity"):
            with self.subTest(name=name):
                gaussian_log(self.path, rows=10, replace={name: np.ones(9)})
                self.check(self.path, name, 9, 10)

    def test_a_dimension_that_differs_between_shards(self):
        gaussian_log(self.data / "a.h5", features=3)
        gaussian_log(self.path, features=4)
        self.check(self.path, 3, 4)

    def test_action_kinds_that_differ_between_shards(self):
        gaussian_log(self.data / "a.h5", features=3)
        categorical_log(self.path)
        self.check(self.path, "categorical", "continuous")

    def test_sparse_offsets_that_run_backwards_or_past_the_end(self):
        for offsets in ([0, 2, 1, 3], [0, 1, 2, 9]):
            with self.subTest(offsets=offsets):
                gaussian_log(self.path, rows=3, replace={"context": (offsets, [0, 1, 2], [1.0, 2.0, 3.0], 3)})
                self.check(self.path, "context")

    def test_a_sparse_index_out_of_range(self):
        for index in (-1, 3):
            with self.subTest(index=index):
                gaussian_log(self.path, rows=3, replace={"context": ([0, 1, 2, 3], [0, index, 2], [1.0, 2.0, 3.0], 3)})
                self.check(self.path, "context", index)

    def test_a_flipped_byte_inside_a_deflate_chunk(self):
        gaussian_log(self.data / "a.h5")
        for name in ("context", "action", "loss", "propensity"):
            with self.subTest(name=name):
                gaussian_log(self.path, rows=ROWS, chunk_rows=1000, gzip=True)
                with h5py.File(self.path) as file:
                    chunk = file[name].id.get_chunk_info(3)
                with open(self.path, "r+b") as file:
                    file.seek(chunk.byte_offset + chunk.size // 2)
                    byte = file.read(1)[0]
                    file.seek(-1, os.SEEK_CUR)
                    file.write(bytes([byte ^ 0x10]))
                self.check(self.path, name)

    # Rows

    def test_a_propensity_that_is_no_density(self):
        for value, shown in ((0.0, "0"), (-0.5, "-0.5"), (np.nan, "nan"), (np.inf, "inf")):
            with self.subTest(value=value):
                gaussian_log(self.path, rows=ROWS, replace={"propensity": with_value(np.ones(ROWS), value)})
                self.check_row("propensity", shown)

    def test_a_log_propensity_that_is_no_density(self):
        for value, shown in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
            with self.subTest(value=value):
                gaussian_log(self.path, rows=ROWS, replace={"log_propensity": with_value(np.zeros(ROWS), value)})
                with h5py.File(self.path, "a") as file:
                    del file["propensity"]
                self.check_row("log_propensity", shown)

    def test_a_probability_above_one(self):
        propensity = with_value(np.full(ROWS, 0.3), 1.5)
        categorical_log(self.path, propensity=propensity)
        self.check_row("propensity", 1.5, kind="categorical")
        multilabel_log(self.path, propensity=propensity)
        self.check_row("propensity", 1.5, kind="multilabel")

    def test_a_label_probability_that_is_none(self):
        for value in (0.0, 1.5):
            with self.subTest(value=value):
                multilabel_log(self.path, label_propensity=with_value(np.full((ROWS, 2), 0.5), [0.5, value]))
                self.check_row("label_propensity", f"{value:g}", kind="multilabel")

    def test_an_action_out_of_range(self):
        for value in (-1, 3):
            with self.subTest(value=value):
                categorical_log(self.path, action=with_value(np.zeros(ROWS, np.int32), value))
                self.check_row("action", value, kind="categorical")
        multilabel_log(self.path, action=with_value(np.zeros((ROWS, 2), np.uint8), [0, 2]))
        self.check_row("action", 2, kind="multilabel")

    def test_an_action_that_is_not_finite(self):
        gaussian_log(self.path, rows=ROWS, replace={"action": with_value(np.zeros(ROWS), np.nan)})
        self.check_row("action", "nan")

    def test_a_loss_that_is_not_finite(self):
        for value in (np.nan, -np.inf):
            with self.subTest(value=value):
                gaussian_log(self.path, rows=ROWS, replace={"loss": with_value(np.zeros(ROWS), value)})
                self.check_row("loss", value)

    def test_a_context_that_is_not_finite(self):
        for dtype in (np.float32, np.float64):
            context = with_value(np.zeros((ROWS, 3), dtype), [0, 0, np.inf])
            gaussian_log(self.path, rows=ROWS, replace={"context": context})
            self.check_row("context[:, 2]", "inf")

    def test_a_sparse_context_that_is_not_finite(self):
        values = with_value(np.zeros(ROWS), np.nan)
        gaussian_log(self.path, rows=ROWS, replace={"context": (np.arange(ROWS + 1), np.zeros(ROWS), values, 3)})
        self.check_row("context", "nan")

    def test_a_prediction_or_a_target_that_is_no_number(self):
        random = np.random.default_rng(0)
        names = "model/m/logged", "model/m/target/t"
        for damaged in (*names, "target/t"):
            for value, shown in ((np.nan, "nan"), (-np.inf, "-inf")):
                target = np.full(ROWS, 0.2)
                models = {name: random.normal(size=ROWS) for name in names}
                (target if damaged == "target/t" else models[damaged])[ROW] = value
                categorical_log(self.path, targets={"t": target}, **models)
                with self.subTest(damaged=damaged, value=value):
                    done = run("evaluate", self.path, "--target", "t", "--model", "m", "--json", check=1)
                    self.assertIn(f"{self.path}: {damaged}, row {ROW}: {shown} is not", done.stderr)
                    self.assertEqual(done.stdout, "")
        for short in names:
            models = {name: random.normal(size=ROWS - (name == short)) for name in names}
            categorical_log(self.path, targets={"t": np.full(ROWS, 0.2)}, **models)
            done = run("evaluate", self.path, "--target", "t", "--model", "m", check=1)
            self.assertIn(f"{self.path}: {short}: has {ROWS - 1} rows, but loss has {ROWS}", done.stderr)

    def test_the_first_bad_row_is_named_whatever_the_order_of_work(self):
        gaussian_log(self.data / "a.h5", rows=ROWS)
        loss = with_value(with_value(np.zeros(ROWS), np.nan), np.nan, row=ROWS - 1)
        gaussian_log(self.path, rows=ROWS, replace={"loss": loss})
        shutil.copy(self.path, self.data / "c.h5")
        self.check_row("loss", "nan")
        self.check(4, bad_row=True)

    def test_a_row_is_counted_in_its_own_file(self):
        for number in range(3):
            gaussian_log(self.data / f"a{number}.h5", rows=777)
        gaussian_log(self.path, rows=ROWS, replace={"loss": with_value(np.zeros(ROWS), np.nan)})
        self.check_row("loss", "nan")


if __name__ == "__main__":
    harness.main()
