#!/usr/bin/env python3
"""What reading NumPy arrays costs: scrm.evaluate from Python against the pass over rows that the engine holds itself.

usage: bench/python_arrays.py [--build FOLDER] [--module FOLDER] [--rows N] [--features D] [--kind gaussian|softmax]
       [--type float64|float32] [--order C|F] [--threads T] [--pairs N]
example: bench/python_arrays.py --build build/bench --module build/release/python --rows 10000000

The same rows are given to scrm.evaluate as arrays and to bench/memory_pass as shards, which it reads into blocks of its
own before anything is measured. Both are timed in turns; every estimate must be the same to the bit, and ips is checked
against NumPy. Prints the medians, the median of the ratios (arrays over blocks), and the growth of the peak memory.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import h5py
import numpy as np

CATEGORIES = 10


def gaussian_rows(random, rows, features, kind):
    """Contexts, actions, losses and densities, and θ of the policy that is asked for."""
    theta = np.r_[0.0, np.full(features, 0.1)]
    context = random.random((rows, features), dtype=kind) + 1
    action = context @ theta[1:].astype(kind) + random.normal(size=rows)
    density = np.exp(-(action - context @ theta[1:].astype(kind)) ** 2 / 2) / np.sqrt(2 * np.pi)
    return context, action, 0.6 * action ** 2 - 4.5 * action, density, theta + 0.002


def gaussian_weights(context, action, density, theta):
    mean = theta[0] + context @ theta[1:]
    return np.exp(-((action - mean) / 0.8) ** 2 / 2) / (0.8 * np.sqrt(2 * np.pi)) / density


def softmax_rows(random, rows, features, kind):
    context = random.random((rows, features), dtype=kind)
    action = random.integers(0, CATEGORIES, rows, dtype=np.int32)
    theta = random.normal(size=(CATEGORIES, 1 + features)) * 0.1
    return context, action, (action == 3).astype(float) - 1, np.full(rows, 1 / CATEGORIES), theta


def softmax_weights(context, action, density, theta):
    scores = np.exp(theta[:, 0] + context @ theta[:, 1:].T)
    return scores[np.arange(len(action)), action] / scores.sum(1) / density


MAKE = {"gaussian": (gaussian_rows, gaussian_weights), "softmax": (softmax_rows, softmax_weights)}


def peak():
    """The largest resident set since the last reset, in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024


def write_shard(path, kind, context, action, loss, density):
    with h5py.File(path, "w") as file:
        file.attrs.update(format="scrm-log", format_version=1,
                          action_kind="continuous" if kind == "gaussian" else "categorical")
        if kind == "softmax":
            file.attrs["num_actions"] = CATEGORIES
        for name, values in dict(context=context, action=action, loss=loss, propensity=density).items():
            file.create_dataset(name, data=values)


def compare(options, folder, scrm):
    make, weights_of = MAKE[options.kind]
    context, action, loss, density, theta = make(np.random.default_rng(1), options.rows, options.features,
                                                 np.dtype(options.type))
    context = np.asarray(context, order=options.order)
    policy = scrm.Policy(options.kind, theta, **({"scale": 0.8} if options.kind == "gaussian" else {}), name="p")
    shard, file = os.path.join(folder, "rows.h5"), os.path.join(folder, "policy.toml")
    policy.save(file)
    write_shard(shard, options.kind, context, action, loss, density)
    more = {} if options.kind == "gaussian" else {"num_actions": CATEGORIES}
    logs = scrm.Logs(context, action, loss, density, **more)
    with subprocess.Popen([os.path.join(options.build, "bin", "memory_pass"), shard, file, str(options.threads)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as blocks:
        blocks.stdout.readline()
        os.unlink(shard)
        times, growth = [], 0
        for pair in range(options.pairs + 1):  # the first is not counted
            blocks.stdin.write("go\n")
            blocks.stdin.flush()
            seconds, *values = blocks.stdout.readline().split()
            with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
                reset.write("5")
            before = peak()
            begin = time.perf_counter()
            result = scrm.evaluate(logs, {"p": policy}, threads=options.threads)["p"]
            taken = time.perf_counter() - begin
            growth = max(growth, peak() - before)
            for value in values:
                name, number = value.split("=")
                if result[name].value != float(number):
                    sys.exit(f"{name} is {result[name].value!r} from arrays and {number} from blocks")
            if pair:
                times.append((taken, float(seconds)))
        blocks.stdin.close()
    plain = float(np.mean(weights_of(context[:, :].astype(float), action, density, theta) * loss))
    if abs(result["ips"].value / plain - 1) > 1e-9:
        sys.exit(f"ips is {result['ips'].value}, NumPy finds {plain}")
    return times, growth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--module", default="build/release/python")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--kind", choices=MAKE, default="gaussian")
    parser.add_argument("--type", choices=("float64", "float32"), default="float64")
    parser.add_argument("--order", choices="CF", default="C")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    sys.path.insert(0, options.module)
    import scrm
    warnings.simplefilter("ignore", scrm.ScrmWarning)
    with tempfile.TemporaryDirectory(prefix="scrm-arrays-") as folder:
        times, growth = compare(options, folder, scrm)
    ratios = sorted(arrays / blocks for arrays, blocks in times)
    arrays, blocks = (statistics.median(column) for column in zip(*times))
    print(f"{options.kind}, {options.rows} x {options.features} {options.type} ({options.order}), {options.threads} "
          f"threads: arrays {arrays:.4f} s, blocks {blocks:.4f} s, ratio {statistics.median(ratios):.3f} "
          f"({ratios[0]:.3f} to {ratios[-1]:.3f}, {len(ratios)} pairs), peak + {growth / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
