"""Mutates data sets in HDF5 and runs the whole program on each: COUNT mutations, from SEED on.

  fuzz/shards.py COUNT [SEED] [--keep FOLDER] [--jobs N]

Files of others (h5py's, in every layout that is read) and files of our own; most mutations lie outside of rows. Prints how
they ended: refused with a message, the same numbers as before, numbers of rows that were changed themselves, or other
numbers. A crash, a hang, a message that names no file, and other numbers from a sealed file are failures, and kept; so are
other numbers from a file without a seal, which nobody can notice in general, for those who want to look.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cli"))
sys.dont_write_bytecode = True

import h5py  # noqa: E402
import numpy as np  # noqa: E402

from harness import PROGRAM, run, write_log  # noqa: E402

SECONDS = 20  # of the clock, on a machine that does other things too
INTEGERS = [0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 60, 1 << 62, (1 << 64) - 1]


def columns(rows, seed, dtype=np.float64):
    draw = np.random.default_rng(seed)
    action = draw.normal(size=rows)
    return dict(context=draw.normal(size=(rows, 3)).astype(dtype), action=action, loss=draw.normal(size=rows),
                propensity=np.exp(-action**2 / 2) / np.sqrt(2 * np.pi))


def write_foreign(folder):
    """Files of h5py by name, with the arguments that read them."""
    (folder / "gaussian.toml").write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.1, 0.2, 0.0, 0.0]\n')
    (folder / "uniform.toml").write_text('kind = "uniform"\n')
    gaussian, uniform = ("--policy", folder / "gaussian.toml"), ("--policy", folder / "uniform.toml")
    draw = np.random.default_rng(5)
    n = 400
    cases = {}

    def add(name, arguments, action_kind="continuous", **options):
        cases[name] = (write_log(folder / f"{name}.h5", action_kind, **options), ("evaluate", *arguments))

    add("contiguous", gaussian, **columns(n, 1))
    add("chunked", gaussian, chunk_rows=64, **columns(n, 2))
    add("packed", gaussian, chunk_rows=64, gzip=True, **columns(n, 3))
    add("floats", gaussian, **columns(n, 4, np.float32))
    add("named", gaussian, attributes={"context_columns": ["age", "visits", "basket"], "outcome": "reward"}, **columns(n, 5))
    outside = columns(n, 6)
    add("model", ("--target", "t", "--model", "m"), chunk_rows=128, targets={"t": outside["propensity"] * 0.9},
        cluster=draw.integers(0, 90, n), **{"model/m/logged": draw.normal(size=n), "model/m/target/t": draw.normal(size=n)},
        **outside)
    add("categorical", uniform, "categorical", num_actions=4, context=draw.normal(size=(n, 3)),
        action=draw.integers(0, 4, n).astype(np.int32), loss=draw.random(n), propensity=np.full(n, 0.25))
    add("multilabel", uniform, "multilabel", context=draw.normal(size=(n, 3)), loss=draw.random(n),
        action=draw.integers(0, 2, (n, 3)).astype(np.uint8), label_propensity=draw.uniform(0.3, 0.7, (n, 3)))
    sparse = (np.arange(n + 1) * 2, np.tile([0, 2], n), draw.normal(size=2 * n), 3)
    add("sparse", gaussian, **{**columns(n, 7), "context": sparse})
    for name, options in {"latest": {"libver": "latest"}, "user-block": {"userblock_size": 512}}.items():
        with h5py.File(folder / f"{name}.h5", "w", **options) as file:
            file.attrs.update({"format": "scrm-log", "format_version": 1, "action_kind": "continuous"})
            for column, values in columns(n, 8).items():
                file.create_dataset(column, data=values, chunks=(100,) + values.shape[1:])
        cases[name] = (folder / f"{name}.h5", ("evaluate", *gaussian))
    with h5py.File(folder / "odd.h5", "w") as file:  # what HDF5 itself has to read
        file.attrs.update({"format": "scrm-log", "format_version": 1, "action_kind": "continuous"})
        for (column, values), dtype in zip(columns(n, 9).items(), (">f8", "f2", ">f4", "f8")):
            file.create_dataset(column, data=values.astype(dtype), fletcher32=True, chunks=(100,) + values.shape[1:])
    cases["odd"] = (folder / "odd.h5", ("evaluate", *gaussian))
    return cases


def write_own(folder):
    """Files that the program wrote, by name, with the arguments that read them."""
    for name, options in {"own": (), "own-packed": ("--compress", "gzip"), "own-floats": ("--float32",)}.items():
        run("simulate", "pricing", "--rows", 400, "--seed", 1, "--out", folder / name, *options)
    (folder / "rows.csv").write_text("name,x,a,l,p\n" + "".join(f"n{i % 5},{i / 7},{i % 3},{i % 2},0.4\n" for i in range(300)))
    run("import", folder / "rows.csv", "--format", "csv", "--action-kind", "categorical", "--context", "x", "--categorical",
        "name", "--action", "a", "--loss", "l", "--propensity", "p", "--encoding", folder / "e.toml", "--out", folder / "named")
    (folder / "linear.toml").write_text(f'kind = "gaussian"\nscale = 1.0\ntheta = {[3.0] + [0.1] * 10}\n')
    cases = {}
    for name in ("own", "own-packed", "own-floats", "named"):
        for shard in sorted((folder / name).glob("*.h5")) if (folder / name).is_dir() else [folder / name]:
            if shard.is_file():
                policy = "uniform.toml" if name == "named" else "linear.toml"
                cases[f"sealed {name}"] = (shard, ("evaluate", "--policy", folder / policy))
    (folder / "classes.svm").write_text("".join(f"{i % 3} 1:{i / 9} 3:{i % 4}\n" for i in range(60)))
    run("import", folder / "classes.svm", "--format", "libsvm", "--multiclass", "--out", folder / "classes.h5")
    cases["sealed labelled"] = (folder / "classes.h5", ("inspect",))
    (folder / "sweep.toml").write_text('environments = ["pricing"]\nmethods = ["baseline", "crm"]\nseeds = 2\nrollouts = 2\n'
                                       'lambdas = [0.1]\n')
    run("sweep", folder / "sweep.toml", "--out", folder / "sweep.h5")
    cases["sealed archive"] = (folder / "sweep.h5", ("inspect",))
    return cases


def row_bytes(path):
    """Which bytes are rows, true or false for each."""
    size = path.stat().st_size
    rows = np.zeros(size, bool)

    def mark(_, item):
        if not isinstance(item, h5py.Dataset) or item.dtype.kind == "O":
            return
        if item.id.get_offset() is not None:
            rows[item.id.get_offset():item.id.get_offset() + item.id.get_storage_size()] = True
        elif item.chunks:
            for i in range(item.id.get_num_chunks()):
                chunk = item.id.get_chunk_info(i)
                rows[chunk.byte_offset:chunk.byte_offset + chunk.size] = True

    with h5py.File(path) as file:
        file.visititems(mark)
        offset = file.userblock_size
    return np.concatenate([np.zeros(offset, bool), rows])[:size] if offset else rows


class Input:
    def __init__(self, name, path, arguments):
        self.name, self.path, self.sealed = name, path, name.startswith("sealed")
        self.command, *self.options = map(str, arguments)
        self.bytes = path.read_bytes()
        self.rows = row_bytes(path)
        self.outside = np.flatnonzero(~self.rows)
        self.expected = self.read(path)[1]

    def read(self, path):
        """Exit code, and what was printed but for times and names; None for a hang."""
        command = [PROGRAM, self.command, str(path), *self.options, "--json", "--threads", "1"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None, ""
        if done.returncode != 0:
            return done.returncode, done.stderr.decode(errors="replace")
        result = json.loads(done.stdout)
        for key in ("seconds", "threads", "file", "files", "name", "archive"):
            result.pop(key, None)
        return 0, json.dumps(result, sort_keys=True)

    def mutated(self, draw):
        """Bytes, and the places that were changed."""
        data = bytearray(self.bytes)
        places = []
        for _ in range(draw.choice([1, 1, 1, 2, 4])):
            anywhere = draw.random() < 0.1
            at = draw.randrange(len(data)) if anywhere else min(len(data) - 1, int(draw.choice(self.outside)))
            kind = draw.randrange(8)
            if kind == 0 and len(data) > 2:
                del data[at:]
            elif kind == 1:
                width = draw.choice([1, 2, 4, 8])
                value = (draw.choice(INTEGERS) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
                data[at:at + width] = value[:len(data) - at]
            elif kind == 2:
                other = int(draw.choice(self.outside)) & ~7
                here = at & ~7
                if max(here, other) + 8 <= len(data):
                    data[here:here + 8], data[other:other + 8] = data[other:other + 8], data[here:here + 8]
            elif kind == 3:
                word = (at & ~7)
                if word + 8 <= len(data):
                    value = (struct.unpack_from("<Q", data, word)[0] + draw.choice([-8, -1, 1, 4, 8, 64])) % (1 << 64)
                    struct.pack_into("<Q", data, word, value)
            elif kind == 4:
                data[at] = draw.randrange(256)
            else:
                data[at] ^= 1 << draw.randrange(8)
            places.append(at)
            if not data:
                break
        return bytes(data), places


def attempt(item, number, seed, folder):
    """How the mutation of this number ended: a word, seconds, and the bytes if they are worth keeping."""
    draw = random.Random(f"{seed}/{number}")
    data, places = item.mutated(draw)
    path = folder / f"{number}.h5"
    path.write_bytes(data)
    begin = time.monotonic()
    code, text = item.read(path)
    seconds = time.monotonic() - begin
    path.unlink()
    before, after = (np.frombuffer(part, np.uint8)[:min(len(data), len(item.bytes))] for part in (item.bytes, data))
    rows_changed = bool(np.any((before != after) & item.rows[:len(after)]))
    if code is None:
        return "HANG", seconds, data, places
    if code == 0 and text == item.expected:
        return "same numbers", seconds, None, places
    if code == 0 and rows_changed:
        return "other rows", seconds, None, places
    if code == 0:
        return "SEALED AND WRONG" if item.sealed else "other numbers", seconds, data, places
    if code != 1 or "scrm: error: " not in text:
        return f"CRASH {code}", seconds, data, places
    # A context that has lost its name is missed by the policy.
    named = str(path) in text or "the data has no context" in text
    return "refused" if named else "REFUSED WITHOUT A NAME", seconds, None if named else data, places


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="scrm-shards-", dir=base) as name:
        folder = pathlib.Path(name)
        cases = {**write_foreign(folder), **write_own(folder)}
        inputs = [Input(case, *parts) for case, parts in cases.items()]
        ends, slowest, begin = collections.Counter(), 0.0, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tasks = {pool.submit(attempt, inputs[i % len(inputs)], i, options.seed, folder): i for i in range(options.count)}
            for task in concurrent.futures.as_completed(tasks):
                number = tasks[task]
                item = inputs[number % len(inputs)]
                how, seconds, data, places = task.result()
                ends["sealed" if item.sealed else "foreign", how] += 1
                slowest = max(slowest, seconds)
                if data is not None and options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    words = f"{how.replace(' ', '-')}_{item.name.replace(' ', '-')}_{number}_{'-'.join(map(str, places))}"
                    (options.keep / f"{words}.h5").write_bytes(data)
        passed = time.monotonic() - begin
    for (kind, how), count in sorted(ends.items()):
        print(f"{kind:8} {how:24} {count}")
    print(f"{options.count} mutations of {len(inputs)} files, {options.count / passed:.0f} a second, slowest {slowest:.2f} s")
    sys.exit(any(how.isupper() or how.startswith("CRASH") for _, how in ends))


if __name__ == "__main__":
    main()
