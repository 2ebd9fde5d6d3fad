#!/usr/bin/env python3
"""Runs the benchmarks and NumPy side by side and prints one table: what, measured, target, ratio.

usage: bench/ratios.py [FOLDER OF THE BUILT BENCHMARKS]     (default build/bench/bin)

Ratios are medians of pairs measured in turns, so that a machine that is busy for a while slows both sides; a quiet one
still gives better numbers. `cpu` is the same ratio in processor seconds. Exit 1 when a benchmark finds a wrong answer;
a missed target is no error.
"""
import json
import os
import subprocess
import sys
import tempfile

from python_modules import need_modules


def run_benchmark(program, folder):
    environment = dict(os.environ, SCRM_BENCH_DIR=folder)
    result = subprocess.run([program, "--benchmark_format=json"], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True)
    found = {}
    for one in json.loads(result.stdout)["benchmarks"]:
        if one.get("error_occurred"):
            sys.exit(f"{one['name']}: {one['error_message']}")
        found[one["name"].split("/iterations")[0]] = one
    return found


def gigabytes(one, left="pass_GB/s", right="read_GB/s"):
    return f"{one[left]:.1f} of {one[right]:.1f} GB/s"


def table_rows(marks, numpy):
    one = marks["value_pass_against_read_sum/1"]
    every = marks["value_pass_against_read_sum/0"]
    two = marks["value_pass_on_two_threads"]
    many = marks["many_policies_against_one/32"]
    memory = marks["shards_against_memory"]
    pread = marks["shards_against_pread"]
    plain, packed = marks["shards_against_hdf5/0"], marks["shards_against_hdf5/1"]
    bootstrap = marks["thousand_replicates"]
    shards_s, replicates_s = memory["subject_s"], bootstrap["subject_s"]
    gradient, gradients = marks["gradient_pass_against_read_sum/1"], marks["gradient_pass_against_read_sum/0"]
    additive, joint = marks["label_gradient_against_products/4"], marks["label_gradient_against_products/3"]
    learn = marks["learn_from_shards"]

    def pair(what, measured, target, mark, invert=False):
        ratio, cpu = mark["ratio"], mark["cpu_ratio"]
        if invert:
            ratio, cpu = 1 / ratio, 1 / cpu
        return what, measured, target, ratio, cpu

    yield pair("value pass, 1 thread / read-sum", gigabytes(one), ">= 0.80", one)
    yield pair("value pass, all threads / read-sum", gigabytes(every), ">= 0.80", every)
    yield pair("two threads / one", f"{two['subject_s'] * 1e3:.0f} against {two['reference_s'] * 1e3:.0f} ms", ">= 1.9", two)
    yield pair("32 policies / one, time", f"{many['subject_s'] * 1e3:.0f} against {many['reference_s'] * 1e3:.0f} ms",
               "<= 10", many, invert=True)
    yield pair("cached shards / in-memory pass", gigabytes(memory, "GB/s", "reference_GB/s"), ">= 0.50", memory)
    yield ("cached shards / NumPy one-liners with h5py",
           f"{shards_s * 1e3:.0f} against {numpy['evaluate_s'] * 1e3:.0f} ms", ">= 8", numpy["evaluate_s"] / shards_s, None)
    yield pair("cached shards / pread of the files, 1 thread", gigabytes(pread, "GB/s", "reference_GB/s"), "", pread)
    yield pair("cached shards / H5Dread", gigabytes(plain, "GB/s", "reference_GB/s"), "", plain)
    yield ("gzip shards evaluated / h5py decoding",
           f"{packed['subject_s'] * 1e3:.0f} against {numpy['decode_s'] * 1e3:.0f} ms", ">= 5",
           numpy["decode_s"] / packed["subject_s"], None)
    yield pair("gzip shards evaluated / H5Dread", gigabytes(packed, "GB/s", "reference_GB/s"), "", packed)
    yield ("1,000 bootstrap replicates / NumPy resampling",
           f"{replicates_s * 1e3:.0f} against {numpy['resample_s'] * 1e6:.0f} ms", ">= 100",
           1000 * numpy["resample_s"] / replicates_s, None)
    yield pair("value and gradient, 1 thread / read-sum", gigabytes(gradient), ">= 0.60", gradient)
    yield pair("value and gradient, all threads / read-sum", gigabytes(gradients), ">= 0.60", gradients)
    for name, mark in (("additive", additive), ("ips-ix", joint)):
        yield pair(f"22 labels, {name} gradient / DGEMM",
                   f"{mark['pass_GFLOPS']:.1f} of {mark['products_GFLOPS']:.1f} GFLOPS", ">= 0.50", mark)
    yield ("learn from shards / SciPy's L-BFGS-B",
           f"{learn['subject_s'] * 1e3:.0f} against {numpy['learn_s'] * 1e3:.0f} ms", ">= 10",
           numpy["learn_s"] / learn["subject_s"], None)


def met(target, ratio):
    if not target:
        return ""
    sign, number = target.split()
    return "yes" if (ratio >= float(number)) == (sign == ">=") else "no"


def main():
    need_modules("h5py", "numpy", "scipy")
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/bench/bin"
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory(prefix="scrm-ratios-") as data:
        marks = {}
        for name in ("pass_bench", "shards_bench", "bootstrap_bench", "learn_bench"):
            marks.update(run_benchmark(os.path.join(folder, name), data))
        rivals = subprocess.run([sys.executable, os.path.join(here, "numpy_rivals.py"), data], stdout=subprocess.PIPE,
                                check=True)
    numpy = json.loads(rivals.stdout)
    if abs(numpy["ips"] / marks["shards_against_memory"]["value"] - 1) > 1e-9:
        sys.exit(f"NumPy finds {numpy['ips']}, scrm {marks['shards_against_memory']['value']}")
    if abs(numpy["objective"] - marks["learn_from_shards"]["objective"]) > 1e-6:
        sys.exit(f"SciPy's optimum is {numpy['objective']}, scrm's {marks['learn_from_shards']['objective']}")
    load = os.getloadavg()[0]
    print(f"{'what':46} {'measured':26} {'target':8} {'ratio':>7} {'cpu':>7}  met   (load {load:.1f})")
    for what, measured, target, ratio, cpu in table_rows(marks, numpy):
        shown = f"{cpu:7.2f}" if cpu is not None else " " * 7
        print(f"{what:46} {measured:26} {target:8} {ratio:7.2f} {shown}  {met(target, ratio)}")


if __name__ == "__main__":
    main()
