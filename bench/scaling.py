#!/usr/bin/env python3
"""What more cores give: evaluate, learn and a sweep at 1, 2, 4, ... N threads.

usage: bench/scaling.py [--program SCRM] [--threads N] [--rows ROWS] [--out FILE.h5]
example: bench/scaling.py --threads 128 --rows 100000000 --out scaling.h5

Prints a table with seconds, rows a second, the gain over one thread, the efficiency (gain / threads) and the memory
bandwidth that is used, and writes the same numbers to an HDF5 file: one group for each task, one row for each number of
threads. Results are compared: other than times, they must be the same bits at every number of threads.
"""
import argparse
import json
import os
import sys
import tempfile

from processes import best_of, cores, processor, run
from python_modules import need_modules

SWEEP = """environments = ["pricing", "advertising"]
methods = ["crm", "scrm"]
seeds = 10
lambdas = [1e-4, 1e-2]
"""


def thread_counts(most):
    counts = [1]
    while counts[-1] * 2 <= most:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == most else counts + [most]


def without_times(value):
    """What must not depend on threads."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items()
                if key not in ("seconds", "cpu_seconds", "threads", "rows_per_second", "time")}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def tasks(program, data, sweep, rows, row_bytes, folder):
    policy = os.path.join(folder, "policy.toml")
    learned = os.path.join(folder, "learned.toml")
    archive = os.path.join(folder, "sweep.h5")
    common = ["--quiet", "--json"]
    yield "evaluate", [program, "evaluate", data, "--policy", policy, *common], rows, row_bytes * rows
    yield "learn", [program, "learn", data, "--start", policy, "--lambda", "0.1", "--out", learned, "--overwrite",
                    *common], rows, None
    yield "sweep", [program, "sweep", sweep, "--out", archive, "--overwrite", *common], None, None


def measure(program, most, rows, repeats):
    found = {}
    with tempfile.TemporaryDirectory(prefix="scrm-scaling-") as folder:
        data, sweep = os.path.join(folder, "data"), os.path.join(folder, "sweep.toml")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP)
        run(program, "simulate", "pricing", "--rows", str(rows), "--shards", str(max(16, 2 * most)), "--out", data,
            "--policy-out", os.path.join(folder, "policy.toml"), "--quiet")
        for name, command, task_rows, task_bytes in tasks(program, data, sweep, rows, 13 * 8, folder):
            answers = set()
            for threads in thread_counts(most):
                one = best_of(repeats, *command, "--threads", str(threads))
                answers.add(json.dumps(without_times(json.loads(one.output)), sort_keys=True))
                found.setdefault(name, []).append(
                    {"threads": threads, "seconds": one.wall, "cpu_seconds": one.cpu, "resident_bytes": one.rss,
                     "rows_per_second": task_rows / one.wall if task_rows else float("nan"),
                     "bytes_per_second": task_bytes / one.wall if task_bytes else float("nan")})
            if len(answers) > 1:
                sys.exit(f"{name}: the result depends on the number of threads")
    for lines in found.values():
        for line in lines:
            line["gain"] = lines[0]["seconds"] / line["seconds"]
            line["efficiency"] = line["gain"] / line["threads"]
    return found


def show(found):
    print(f"{'task':10} {'threads':>7} {'seconds':>9} {'rows/s':>12} {'gain':>6} {'efficiency':>10} {'GB/s':>6} {'resident':>10}")
    for name, lines in found.items():
        for line in lines:
            rate = f"{line['rows_per_second']:,.0f}" if line["rows_per_second"] == line["rows_per_second"] else ""
            band = f"{line['bytes_per_second'] * 1e-9:.1f}" if line["bytes_per_second"] == line["bytes_per_second"] else ""
            print(f"{name:10} {line['threads']:7} {line['seconds']:9.3f} {rate:>12} {line['gain']:6.2f} "
                  f"{line['efficiency']:10.2f} {band:>6} {line['resident_bytes'] / 2**20:7.0f} MiB")


def write(path, found):
    import h5py
    with h5py.File(path, "w") as out:
        out.attrs["format"] = "scrm-scaling"
        out.attrs["processor"] = processor()
        out.attrs["cores"] = cores()
        for name, lines in found.items():
            for key in lines[0]:
                out[f"{name}/{key}"] = [line[key] for line in lines]


def main():
    need_modules("h5py", "numpy")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/scrm")
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", default="scaling.h5")
    given = parser.parse_args()
    if not os.access(given.program, os.X_OK):
        sys.exit(f"{given.program}: there is no such program; build it (./quickstart.sh) or give --program")
    print(f"{processor()}, {cores()} cores")
    found = measure(given.program, given.threads, given.rows, given.repeats)
    show(found)
    write(given.out, found)
    print(f"written to {given.out}")


if __name__ == "__main__":
    main()
