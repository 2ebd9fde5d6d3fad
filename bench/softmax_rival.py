#!/usr/bin/env python3
"""Softmax evaluation on one thread: `scrm evaluate` on shards against NumPy in blocks on the same rows.

usage: bench/softmax_rival.py [SCRM]     (default build/release/bin/scrm)

Two rivals, each with the fastest of several block sizes. `memory` has the rows as arrays, no cost of reading, knows that
all propensities are the same, and finds the ips estimate alone. `file` does what scrm does in part: it reads the same
file and its propensities, and finds ips and snips with their standard errors and the effective sample size; four
estimators with intervals, differences to the logged loss and the audit of every number are scrm's alone. scrm is the
whole process. All in processor seconds, in turns. Exit 1 when they disagree.
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


def probabilities(x, a, theta, weights):
    """Of the logged actions."""
    scores = x @ weights
    scores += theta[:, 0]
    chosen = scores[np.arange(len(scores)), a]
    top = scores.max(axis=1)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    return np.exp(chosen - top) / scores.sum(axis=1)


def numpy_ips(x, a, y, theta, block):
    total, actions, weights = 0.0, len(theta), np.ascontiguousarray(theta[:, 1:].T)
    for start in range(0, len(x), block):
        rows = slice(start, start + block)
        total += np.sum(probabilities(x[rows], a[rows], theta, weights) * actions * y[rows])
    return {"ips": total / len(x)}


def numpy_from_file(data, theta, block):
    sums, weights = np.zeros(6), np.ascontiguousarray(theta[:, 1:].T)
    with h5py.File(data, "r") as shard:
        context, action, loss, propensity = (shard[n] for n in ("context", "action", "loss", "propensity"))
        rows, read = len(loss), context.chunks[0]
        for first in range(0, rows, read):
            part = slice(first, first + read)
            x, a, y, p = context[part], action[part], loss[part], propensity[part]
            for start in range(0, len(y), block):
                own = slice(start, start + block)
                w, v = probabilities(x[own], a[own], theta, weights) / p[own], y[own]
                wv = w * v
                sums += [w.sum(), w @ w, wv.sum(), wv @ wv, w @ wv, len(w)]
    w, ww, wy, wywy, wwy, n = sums
    snips = wy / w
    return {"ips": wy / n, "ips error": np.sqrt((wywy / n - (wy / n) ** 2) / n), "snips": snips,
            "snips error": np.sqrt(wywy - 2 * snips * wwy + snips**2 * ww) / w, "ess": w * w / ww}


def cpu_seconds(work):
    own, child = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - child.ru_utime - child.ru_stime
    return time.process_time() - own + spent, result


def scrm_estimates(program, data, policy):
    out = subprocess.run([program, "evaluate", data, "--policy", policy, "--threads", "1", "--json", "--quiet"],
                         stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout)["policies"][0]
    by_name = {e["estimator"]: e for e in report["estimates"]}
    return {"ips": by_name["ips"]["value"], "ips error": by_name["ips"]["stderr"], "snips": by_name["snips"]["value"],
            "snips error": by_name["snips"]["stderr"], "ess": report["diagnostics"]["ess"]}


def require_agreement(actions, expected, found):
    # Errors are n or n - 1 in the denominator, as one likes.
    for name, value in expected.items():
        if abs(found[name] - value) > (1e-5 if "error" in name else 1e-9) * abs(value):
            sys.exit(f"{actions} actions, {name}: NumPy finds {value}, scrm {found[name]}")


def compare(program):
    """Actions; processor seconds of NumPy from memory and from the file, each with its best block, and of scrm."""
    for actions, rows in SHAPES:
        with tempfile.TemporaryDirectory(prefix="scrm-softmax-") as folder:
            data, policy, arrays = make_logs(folder, actions, rows)
            memory, file, ours = [], [], []
            for _ in range(ROUNDS):
                for block in BLOCKS:
                    spent, from_memory = cpu_seconds(lambda: numpy_ips(*arrays, block))
                    memory.append(spent)
                    spent, from_file = cpu_seconds(lambda: numpy_from_file(data, arrays[3], block))
                    file.append(spent)
                spent, found = cpu_seconds(lambda: scrm_estimates(program, data, policy))
                ours.append(spent)
            require_agreement(actions, from_memory, found)
            require_agreement(actions, from_file, found)
        yield actions, min(memory), min(file), min(ours)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/scrm"
    print(f"{'actions':>7} {'memory s':>8} {'file s':>7} {'scrm s':>7} {'memory / scrm':>13} {'file / scrm':>11}  target >= 6")
    for actions, memory, file, ours in compare(program):
        print(f"{actions:7} {memory:8.2f} {file:7.2f} {ours:7.2f} {memory / ours:13.1f} {file / ours:11.1f}")


if __name__ == "__main__":
    main()
