"""Damaged HDF5 metadata: whatever the byte, a message that names the file, and never a crash, a hang or another number."""
# labels: fast cli io

import shutil
import struct

import h5py
import numpy as np

import harness
from harness import ProgramTest, gaussian_log, run, run_json, some_under_sanitizers

# Long enough for any machine, and far too short for what never ends.
PATIENCE = 30


def places(data, pattern):
    found, at = [], data.find(pattern)
    while at >= 0:
        found.append(at)
        at = data.find(pattern, at + 1)
    return found


class Metadata(ProgramTest):
    def setUp(self):
        super().setUp()
        self.policy = self.dir / "policy.toml"
        self.policy.write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.1, 0.2, 0.0, 0.0]\n')

    def evaluate(self, path, check=None):
        return run("evaluate", path, "--policy", self.policy, "--json", check=check, timeout=PATIENCE)

    def value(self, path):
        return run_json("evaluate", path, "--policy", self.policy)["policies"]

    def refused(self, path, *words):
        done = self.evaluate(path, check=1)
        self.assertIn(f"scrm: error: {path}", done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")

    def patched(self, source, at, new):
        path = self.dir / "damaged.h5"
        data = bytearray(source.read_bytes())
        data[at:at + len(new)] = new
        path.write_bytes(data)
        return path

    def foreign(self, **options):
        return gaussian_log(self.dir / "foreign.h5", rows=600, **options)

    # Files of others

    def test_the_heap_of_texts(self):
        """Lengths and references of variable-length text, which HDF5 1.10 follows wherever they lead."""
        source = self.foreign()
        whole = self.value(source)
        heap = places(source.read_bytes(), b"GCOL")[0]
        for at in some_under_sanitizers(range(heap, heap + 120, 3)):
            for byte in (0x00, 0x7F, 0xFF):
                path = self.patched(source, at, bytes([byte]))
                done = self.evaluate(path)
                with self.subTest(at=at - heap, byte=byte):
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if done.returncode == 1:
                        self.assertIn(f"scrm: error: {path}", done.stderr)
                    else:
                        self.assertEqual(self.value(path), whole)

    def test_a_tree_of_chunks_that_leads_to_itself(self):
        source = self.foreign(chunk_rows=100)
        data = source.read_bytes()
        for at in places(data, b"TREE\x01"):
            with self.subTest(at=at):
                children = at + 24 + 32  # a header, the first key of a two-dimensional dataset, its child
                path = self.patched(source, at + 5, b"\x01")  # a level that has nodes below
                path = self.patched(path, children, struct.pack("<Q", at))
                path = self.patched(path, at + 24 + 24, struct.pack("<Q", at))  # and of a one-dimensional one
                self.assertEqual(self.evaluate(path).returncode, 1)

    def test_chunks_without_rows(self):
        source = self.foreign(chunk_rows=100)
        at = places(source.read_bytes(), struct.pack("<III", 100, 3, 8))
        self.assertTrue(at)
        for wrong in (struct.pack("<I", 0), struct.pack("<I", 0xFFFFFFFF)):
            self.refused(self.patched(source, at[0], wrong))

    def test_a_float_of_105_bytes(self):
        source = self.foreign()
        kind = struct.pack("<BBBBIHHBBBBI", 0x11, 0x20, 0x3F, 0, 8, 0, 64, 52, 11, 0, 52, 1023)
        for at in places(source.read_bytes(), kind):
            for offset, byte in ((4, 105), (10, 60), (12, 51), (16, 0xFE), (16, 0), (0, 0x10)):
                path = self.patched(source, at + offset, bytes([byte]))
                done = self.evaluate(path)
                with self.subTest(at=at, offset=offset):
                    self.assertEqual(done.returncode, 1, done.stdout)
                    self.assertIn(str(path), done.stderr)

    def test_more_rows_than_any_disk(self):
        path = self.dir / "huge.h5"
        with h5py.File(path, "w") as file:
            file.attrs.update(format="scrm-log", format_version=1, action_kind="continuous")
            for name in ("action", "loss", "propensity"):
                file.create_dataset(name, shape=(2**60,), chunks=(2**20,), dtype="f8")
        self.assertLess(path.stat().st_size, 10_000)
        self.refused(path, "1152921504606846976 rows", "damaged")

    def test_chunks_that_share_bytes(self):
        source = self.foreign(chunk_rows=100)
        with h5py.File(source) as file:
            first, second = (file["loss"].id.get_chunk_info(i).byte_offset for i in (0, 1))
            other = file["propensity"].id.get_chunk_info(0).byte_offset
        data = source.read_bytes()
        for address in (second, other):
            at = places(data, struct.pack("<Q", first))
            self.assertEqual(len(at), 1)
            self.refused(self.patched(source, at[0], struct.pack("<Q", address)), "share", "damaged")

    def test_addresses_that_lead_to_what_describes_the_file(self):
        """Rows would be made of the nodes of trees, of heaps and of headers."""
        for options in {"chunk_rows": 100}, {"chunk_rows": 100, "gzip": True}, {}:
            source = self.foreign(**options)
            data = source.read_bytes()
            with h5py.File(source) as file:
                datasets = [file[name] for name in ("context", "action", "loss", "propensity")]
                headers = [h5py.h5o.get_info(item.id).addr for item in datasets]
                rows = [item.id.get_chunk_info(2).byte_offset if options else item.id.get_offset() for item in datasets]
            others = [at for name in (b"TREE", b"HEAP", b"SNOD", b"GCOL") for at in places(data, name)]
            self.assertGreaterEqual(len(others), 3)
            for address in rows:
                for target in some_under_sanitizers(others + headers):
                    # In the midst of a structure and shortly before one, too.
                    for step in (0, -40) if target > 200 else (0,):
                        for pointer in places(data, struct.pack("<Q", address)):
                            path = self.patched(source, pointer, struct.pack("<Q", target + step))
                            with self.subTest(options=options, target=data[target:target + 4], step=step):
                                self.refused(path, "damaged")

    def test_files_that_hdf5_itself_reads(self):
        """Addresses are checked though nobody but HDF5 uses them: it makes up zeros for what it does not find."""
        random = np.random.default_rng(0)
        for name, how in (("fletcher", dict(chunks=(100,), fletcher32=True)), ("big", dict(dtype=">f8"))):
            source = self.foreign()
            with h5py.File(source, "a") as file:
                values = random.normal(size=600)
                for column in ("loss", "target/own"):
                    if column in file:
                        del file[column]
                    file.create_dataset(column, data=values, **how)
                loss, other = file["loss"].id, file["target/own"].id
                at, there = ((loss.get_chunk_info(1).byte_offset, other.get_chunk_info(0).byte_offset)
                             if how.get("chunks") else (loss.get_offset(), other.get_offset()))
            self.assertEqual(self.evaluate(source).returncode, 0)
            found = places(source.read_bytes(), struct.pack("<Q", at))
            self.assertEqual(len(found), 1)
            for address in (there, 2**63, 0, source.stat().st_size - 8):
                with self.subTest(name=name, address=address):
                    path = self.patched(source, found[0], struct.pack("<Q", address))
                    done = run("evaluate", path, "--policy", self.policy, "--target", "own", check=1, timeout=PATIENCE)
                    self.assertIn(str(path), done.stderr)
        for offset, number in ((24, 8), (24, 512), (40, 9000)):  # where the file begins and ends
            with self.subTest(offset=offset):
                self.refused(self.patched(source, offset, struct.pack("<Q", number)))

    def test_two_names_for_one_dataset(self):
        """Hard links share all bytes, as they should."""
        source = self.foreign()
        with h5py.File(source, "a") as file:
            file["target/same"] = file["propensity"]
        value = run_json("evaluate", source, "--target", "same")["policies"][0]
        self.assertAlmostEqual(value["diagnostics"]["mean_weight"], 1)

    def test_a_good_file_after_a_damaged_one(self):
        """The process that reads others' files may be the worse for a damaged one; whoever comes next must not suffer."""
        folder = self.dir / "many"
        folder.mkdir()
        for i in range(3):
            shutil.copy(self.foreign(), folder / f"{i}.h5")
        heap = places(self.foreign().read_bytes(), b"GCOL")[0]
        shutil.copy(self.patched(self.dir / "foreign.h5", heap + 24, b"\xff\xff\xff\x7f"), folder / "1.h5")
        self.refused(folder / "1.h5")
        done = run("evaluate", folder, "--policy", self.policy, check=1, timeout=PATIENCE)
        self.assertIn(str(folder / "1.h5"), done.stderr)

    # Files of our own

    def test_no_byte_of_a_sealed_shard_but_its_rows_may_change(self):
        run("simulate", "pricing", "--rows", 300, "--seed", 1, "--out", self.dir / "own")
        shard = self.dir / "own/part-00000.h5"
        data = shard.read_bytes()
        with h5py.File(shard) as file:
            chunks = [file[name].id.get_chunk_info(i) for name in ("context", "action", "loss", "propensity")
                      for i in range(file[name].id.get_num_chunks())]
            self.assertEqual(file.attrs["format"], "scrm-log")  # as text, with a seal behind it
        rows = np.zeros(len(data), bool)
        for chunk in chunks:
            rows[chunk.byte_offset:chunk.byte_offset + chunk.size] = True
        outside = np.flatnonzero(~rows)
        end = len(data) - 16  # the last bytes say that there is a seal
        random = np.random.default_rng(0)
        for at in some_under_sanitizers(random.choice(outside[outside < end], 60, replace=False)):
            path = self.patched(shard, int(at), bytes([data[at] ^ (1 << int(random.integers(8)))]))
            self.refused(path, "damaged")

    def test_a_seal_that_was_cut_off(self):
        """What h5py adds to a shard is no damage."""
        run("simulate", "pricing", "--rows", 300, "--seed", 1, "--out", self.dir / "own")
        shard = self.dir / "own/part-00000.h5"
        with h5py.File(shard, "a") as file:
            file["target/mine"] = file["propensity"][:]
        value = run_json("evaluate", shard, "--target", "mine")["policies"][0]
        self.assertAlmostEqual(value["diagnostics"]["mean_weight"], 1)


if __name__ == "__main__":
    harness.main()
