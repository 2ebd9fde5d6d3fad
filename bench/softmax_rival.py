#!/usr/bin/env python3
"""Softmax evaluation on one thread: `scrm evaluate` on shards against NumPy in blocks on the same rows.

usage: bench/softmax_rival.py [SCRM]     (default build/release/bin/scrm)

NumPy gets the rows in memory, the fastest of several block sizes, and no cost of reading; scrm is the whole process.
Both in processor seconds, in turns. Exit 1 when they disagree.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy loads it

from python_modules import need_modules  # noqa: E402

need_modules("h5py", "numpy")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

FEATURES = 10
SHAPES = ((10, 4_000_000), (100, 1_000_000), (4000, 150_000))  # actions, rows
BLOCKS = (64, 1024, 8192)
ROUNDS = 3


def make_logs(folder, actions, rows):
    """A shard, a policy file, and the same as arrays."""
    rng = np.random.default_rng(actions)
    x, theta = rng.normal(size=(rows, FEATURES)), 0.3 * rng.normal(size=(actions, 1 + FEATURES))
    a, y = rng.integers(0, actions, rows, dtype=np.int32), rng.normal(size=rows)
    data, policy = os.path.join(folder, "log.h5"), os.path.join(folder, "policy.toml")
    with h5py.File(data, "w") as shard:
        shard.attrs.update(format="scrm-log", format_version=1, action_kind="categorical", num_actions=actions)
        for name, values in (("context", x), ("action", a), ("loss", y), ("propensity", np.full(rows, 1 / actions))):
            shard.create_dataset(name, data=values, chunks=(min(rows, 65536),) + values.shape[1:])
    with open(policy, "w") as file:
        rows_of_theta = ",\n  ".join(str(row.tolist()) for row in theta)
        file.write(f'kind = "softmax"\ntheta = [\n  {rows_of_theta}]\n')
    return data, policy, (x, a, y, theta)


def numpy_ips(x, a, y, theta, block):
    total, actions, weights = 0.0, len(theta), np.ascontiguousarray(theta[:, 1:].T)
    for start in range(0, len(x), block):
        rows = slice(start, start + block)
        scores = x[rows] @ weights
        scores += theta[:, 0]
        chosen = scores[np.arange(len(scores)), a[rows]]
        top = scores.max(axis=1)
        scores -= top[:, None]
        np.exp(scores, out=scores)
        total += np.sum(np.exp(chosen - top) / scores.sum(axis=1) * actions * y[rows])
    return total / len(x)


def cpu_seconds(work):
    own, child = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - child.ru_utime - child.ru_stime
    return time.process_time() - own + spent, result


def scrm_ips(program, data, policy):
    out = subprocess.run([program, "evaluate", data, "--policy", policy, "--threads", "1", "--json", "--quiet"],
                         stdout=subprocess.PIPE, check=True)
    return next(e["value"] for e in json.loads(out.stdout)["policies"][0]["estimates"] if e["estimator"] == "ips")


def compare(program):
    """Actions, NumPy's processor seconds with its best block, scrm's; for every shape."""
    for actions, rows in SHAPES:
        with tempfile.TemporaryDirectory(prefix="scrm-softmax-") as folder:
            data, policy, arrays = make_logs(folder, actions, rows)
            rival, ours = [], []
            for _ in range(ROUNDS):
                for block in BLOCKS:
                    spent, expected = cpu_seconds(lambda: numpy_ips(*arrays, block))
                    rival.append(spent)
                spent, found = cpu_seconds(lambda: scrm_ips(program, data, policy))
                ours.append(spent)
            if abs(found - expected) > 1e-9 * abs(expected):
                sys.exit(f"{actions} actions: NumPy finds {expected}, scrm {found}")
        yield actions, min(rival), min(ours)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/scrm"
    print(f"{'actions':>7} {'NumPy s':>8} {'scrm s':>7} {'ratio':>6}  target >= 6")
    for actions, rival, ours in compare(program):
        print(f"{actions:7} {rival:8.2f} {ours:7.2f} {rival / ours:6.1f}")


if __name__ == "__main__":
    main()
