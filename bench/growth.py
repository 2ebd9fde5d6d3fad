#!/usr/bin/env python3
"""How cost grows: rows, features, policies, actions, shards and threads, one after the other, and the cost of a row.

usage: bench/growth.py [--program SCRM] [--largest ROWS] [--json FILE]
example: bench/growth.py --largest 100000000

Each line is one `scrm evaluate` of a data set made for it: seconds, processor seconds, nanoseconds of processor time a
row and an element (a number read or a score formed), and the resident set under --memory 256M. A column that should be
flat is flat when its last line is about its first; small data is dominated by the start of the process.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

from processes import best_of, cores, enough_space, processor, run

ROWS = 1_000_000
MEMORY = "256M"


class Growth:
    def __init__(self, program, folder):
        self.program, self.folder, self.lines = program, folder, []
        print(f"{'what':10} {'size':>11} {'rows':>11} {'seconds':>8} {'cpu s':>7} {'ns/row':>8} {'ns/element':>10} {'resident':>10}")

    def simulate(self, environment, rows, *options):
        data = os.path.join(self.folder, "data")
        policy = os.path.join(self.folder, "policy.toml")
        shutil.rmtree(data, ignore_errors=True)
        run(self.program, "simulate", environment, "--rows", str(rows), "--out", data, "--policy-out", policy, "--overwrite",
            "--quiet", *map(str, options))
        return data, policy

    def table(self, rows, features):
        """A data set of any width: the environments have ten features. Another process writes it, since the resident set
        of a child counts what its parent held when it was started."""
        data = os.path.join(self.folder, "data")
        policy = os.path.join(self.folder, "policy.toml")
        shutil.rmtree(data, ignore_errors=True)
        os.makedirs(data)
        run(sys.executable, os.path.abspath(__file__), "--write-table", os.path.join(data, "part.h5"), str(rows), str(features))
        with open(policy, "w", encoding="utf-8") as file:
            theta = ", ".join(["0.0"] * (features + 1))
            file.write(f'kind = "gaussian"\nfeatures = "linear"\nscale = 1.0\ntheta = [{theta}]\n')
        return data, policy

    def measure(self, what, size, data, policies, elements, threads=1):
        command = [self.program, "evaluate", data, "--quiet", "--json", "--threads", str(threads), "--memory", MEMORY]
        for policy in policies:
            command += ["--policy", policy]
        one = best_of(3, *command)
        rows = json.loads(one.output)["rows"]
        line = {"what": what, "size": size, "rows": rows, "seconds": one.wall, "cpu_seconds": one.cpu,
                "ns_per_row": 1e9 * one.cpu / rows, "ns_per_element": 1e9 * one.cpu / rows / elements, "resident_bytes": one.rss}
        self.lines.append(line)
        print(f"{what:10} {size:11,} {rows:11,} {one.wall:8.3f} {one.cpu:7.3f} {line['ns_per_row']:8.1f} "
              f"{line['ns_per_element']:10.3f} {one.rss / 2**20:6.0f} MiB", flush=True)


def write_table(path, rows, features):
    import h5py
    import numpy as np
    random = np.random.default_rng(features)
    with h5py.File(path, "w") as shard:
        shard.attrs.update(format="scrm-log", format_version=1, action_kind="continuous")
        context = shard.create_dataset("context", (rows, features), "f8", chunks=(min(rows, 4096), features))
        for first in range(0, rows, 4096):
            count = min(4096, rows - first)
            context[first:first + count] = random.normal(size=(count, features))
        shard["action"] = random.normal(size=rows)
        shard["loss"] = random.random(rows)
        shard["propensity"] = random.uniform(0.1, 1, rows)


def grow(growth, largest):
    rows = 100_000
    while rows <= largest:
        if not enough_space(growth.folder, 104 * rows):
            print(f"rows       {rows:11,} not measured: the disk is too small")
            break
        data, policy = growth.simulate("pricing", rows, "--shards", max(1, rows // 1_000_000))
        growth.measure("rows", rows, data, [policy], 13)
        rows *= 10
    for features in (1, 10, 100, 1000, 2000):
        data, policy = growth.table(max(20_000, ROWS * 10 // max(10, features)), features)
        growth.measure("features", features, data, [policy], features + 3)
    data, policy = growth.simulate("pricing", ROWS)
    for policies in (1, 4, 16, 32, 100):
        growth.measure("policies", policies, data, [policy] * policies, policies)
    for actions in (2, 10, 100, 1000, 10_000):
        data, policy = growth.simulate("categorical", max(20_000, ROWS // max(1, actions // 10)), "--actions", actions)
        growth.measure("actions", actions, data, [policy], actions)
    for shards in (1, 10, 100, 1000, 5000):
        data, policy = growth.simulate("pricing", ROWS, "--shards", shards)
        growth.measure("shards", shards, data, [policy], 13)
    data, policy = growth.simulate("pricing", 5 * ROWS, "--shards", 16)
    for threads in (1, 2, 4, 8):
        growth.measure("threads", threads, data, [policy], 13, threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/scrm")
    parser.add_argument("--largest", type=int, default=10_000_000, help="rows of the tallest data set")
    parser.add_argument("--json", help="also write the lines to this file")
    given = parser.parse_args()
    if not os.access(given.program, os.X_OK):
        sys.exit(f"{given.program}: there is no such program; build it (./quickstart.sh) or give --program")
    print(f"{processor()}, {cores()} cores")
    with tempfile.TemporaryDirectory(prefix="scrm-growth-") as folder:
        growth = Growth(given.program, folder)
        grow(growth, given.largest)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"processor": processor(), "cores": cores(), "lines": growth.lines}, file, indent=1)


if __name__ == "__main__":
    from python_modules import need_modules
    need_modules("h5py", "numpy")
    if sys.argv[1:2] == ["--write-table"]:
        write_table(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
