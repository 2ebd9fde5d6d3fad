"""What people do today: NumPy and SciPy over h5py reads. Prints seconds and answers as JSON for ratios.py."""
import glob
import json
import statistics
import sys
import time
import tomllib

import h5py
import numpy as np
from scipy.optimize import minimize

# The target policy of bench/shared/logs.hpp.
SCALE = 0.8
THETA = 0.1 + 0.002 * (np.arange(10) - 4.5)
COLUMNS = ("context", "action", "loss", "propensity")
# Of bench/learn_bench.cpp.
LAMBDA = 0.1
TOLERANCE = 1e-7
# Rows at a time, so that NumPy's temporaries stay in the cache.
BLOCK = 8192


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


def objective(theta, scale, x, a, y, p):
    """mean(w_ix y) + lambda sqrt(V/n), V the variance of (w_ix - 1) y, and its gradient."""
    n = len(y)
    risk = terms = squares = 0.0
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        z = (a[rows] - theta[0] - x[rows] @ theta[1:]) / scale
        w = np.exp(-0.5 * z * z) / (scale * np.sqrt(2 * np.pi) * p[rows])
        shrink = 1 / (1 + w / n)
        ix = w * shrink
        term = (ix - 1) * y[rows]
        risk += ix @ y[rows]
        terms += term.sum()
        squares += term @ term
        slope = ix * shrink * y[rows] * z / scale
        for sums, column in ((first, slope), (second, term * slope)):
            sums[0] += column.sum()
            sums[1:] += column @ x[rows]
    mean = terms / n
    variance = (squares - n * mean * mean) / (n - 1)
    error = np.sqrt(variance / n)
    gradient = first / n + LAMBDA * (second - mean * first) / ((n - 1) * n * error)
    return risk / n + LAMBDA * error, gradient


def learn(folder):
    with open(folder + "/start.toml", "rb") as file:
        start = tomllib.load(file)
    theta = np.ravel(np.array(start["theta"], float))
    found = minimize(objective, theta, (start["scale"], *read(folder + "/learn")), "L-BFGS-B", jac=True,
                     options={"gtol": TOLERANCE, "ftol": 0, "maxiter": 500})
    return float(found.fun), int(found.nfev)


def main():
    folder = sys.argv[1]
    evaluate_s, (ips, _, _) = seconds(lambda: evaluate(folder + "/plain"), 5)
    decode_s, _ = seconds(lambda: read(folder + "/gzip"), 3)
    rng = np.random.default_rng(0)
    w, y = rng.lognormal(-0.5, 1, 1_000_000), rng.normal(size=1_000_000)
    resample_s, _ = seconds(lambda: resample(rng, w, y), 7)
    learn_s, (lowest, evaluations) = seconds(lambda: learn(folder), 3)
    json.dump({"evaluate_s": evaluate_s, "ips": ips, "decode_s": decode_s, "resample_s": resample_s, "learn_s": learn_s,
               "objective": lowest, "evaluations": evaluations}, sys.stdout)


if __name__ == "__main__":
    main()
