"""What people do today: NumPy one-liners over h5py reads. Prints seconds and answers as JSON for ratios.py."""
import glob
import json
import statistics
import sys
import time

import h5py
import numpy as np

# The target policy of bench/logs.hpp.
SCALE = 0.8
THETA = 0.1 + 0.002 * (np.arange(10) - 4.5)
COLUMNS = ("context", "action", "loss", "propensity")


def read(folder):
    shards = []
    for path in sorted(glob.glob(folder + "/*.h5")):
        with h5py.File(path, "r") as shard:
            shards.append([shard[name][:] for name in COLUMNS])
    return [np.concatenate(parts) for parts in zip(*shards)]


def evaluate(folder):
    x, a, y, p = read(folder)
    w = np.exp(-0.5 * ((a - x @ THETA) / SCALE) ** 2) / (SCALE * np.sqrt(2 * np.pi)) / p
    ix = w / (1 + w / len(w))
    value, spread = np.mean(ix * y), np.std(ix * y, ddof=1) / np.sqrt(len(w))
    return float(np.mean(w * y)), float(value), float(spread)


def seconds(work, times):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken), result


def resample(rng, w, y):
    """One replicate of the estimators of `scrm evaluate`."""
    index = rng.integers(0, len(w), len(w))
    wi, yi = w[index], y[index]
    wy = wi * yi
    return wy.mean(), wy.sum() / wi.sum(), (np.minimum(wi, 4.0) * yi).mean(), (wy / (1 + wi / len(w))).mean()


def main():
    folder = sys.argv[1]
    evaluate_s, (ips, _, _) = seconds(lambda: evaluate(folder + "/plain"), 5)
    decode_s, _ = seconds(lambda: read(folder + "/gzip"), 3)
    rng = np.random.default_rng(0)
    w, y = rng.lognormal(-0.5, 1, 1_000_000), rng.normal(size=1_000_000)
    resample_s, _ = seconds(lambda: resample(rng, w, y), 7)
    json.dump({"evaluate_s": evaluate_s, "ips": ips, "decode_s": decode_s, "resample_s": resample_s}, sys.stdout)


if __name__ == "__main__":
    main()
