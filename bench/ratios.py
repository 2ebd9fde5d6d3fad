#!/usr/bin/env python3
"""Runs the benchmarks, whole processes and what people use today side by side and prints one table: what, measured,
target, ratio; the rows that miss their target come first.

usage: bench/ratios.py [FOLDER OF THE BUILT BENCHMARKS] [--program SCRM] [--json FILE]
       (default build/bench/bin, and build/release/bin/scrm)
example: bench/ratios.py --json today.json

Ratios are medians of pairs measured in turns, so that a machine that is busy for a while slows both sides; a quiet one
still gives better numbers. `cpu` is the same ratio in processor seconds. --json writes the table for comparing two
versions. DuckDB is measured where node finds the npm package @duckdb/node-api. Exit 1 when a benchmark finds a wrong
answer; a missed target is no error.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from processes import best_of, cores, duckdb_seconds, enough_space, paired_ratio, pread_all, processor, run
from python_modules import need_modules

PROCESS_ROWS = 10_000_000
CONTINUOUS = """environments = ["pricing", "advertising"]
methods = ["crm", "scrm"]
seeds = 10
lambdas = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
"""
LABELS = """environments = ["scene", "yeast"]
methods = ["crm", "scrm"]
seeds = 10
lambdas = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000, 10000, 100000]
protocol = "published"
"""


def row(what, measured, target, ratio, cpu=None):
    return {"what": what, "measured": measured, "target": target, "ratio": ratio, "cpu": cpu, "met": met(target, ratio)}


def met(target, ratio):
    if not target:
        return None
    sign, number = target.split()
    return (ratio >= float(number)) == (sign == ">=")


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


def milliseconds(one, other):
    return f"{one * 1e3:.0f} against {other * 1e3:.0f} ms"


def pair(what, measured, target, mark, invert=False):
    ratio, cpu = mark["ratio"], mark["cpu_ratio"]
    return row(what, measured, target, 1 / ratio if invert else ratio, 1 / cpu if invert else cpu)


def gigabytes(one, left="pass_GB/s", right="read_GB/s"):
    return f"{one[left]:.1f} of {one[right]:.1f} GB/s"


def pass_rows(marks):
    one, every = marks["value_pass_against_read_sum/1"], marks["value_pass_against_read_sum/0"]
    two, many = marks["value_pass_on_two_threads"], marks["many_policies_against_one/32"]
    yield pair("value pass, 1 thread / read-sum", gigabytes(one), ">= 0.80", one)
    yield pair("value pass, all threads / read-sum", gigabytes(every), ">= 0.80", every)
    for threads, name in ((1, "1 thread"), (0, "all threads")):
        mark = marks[f"gradient_pass_against_read_sum/{threads}"]
        yield pair(f"value and gradient, {name} / read-sum", gigabytes(mark), ">= 0.60", mark)
    if cores() == 2:
        gain = every["read_GB/s"] / one["read_GB/s"]
        yield row("two threads' gain / the read-sum's", f"{two['ratio']:.2f} against {gain:.2f}", ">= 0.95", two["ratio"] / gain)
    for count, name in ((1, "one policy"), (4, "four policies")):
        mark = marks[f"differences_against_none/{count}"]
        yield pair(f"differences to the logged actions, {name} / none, time",
                   milliseconds(mark["subject_s"], mark["reference_s"]), "", mark, invert=True)
    yield pair("32 policies / one, time", milliseconds(many["subject_s"], many["reference_s"]), "<= 10", many, invert=True)
    for kind, name in ((4, "additive"), (3, "ips-ix")):
        mark = marks[f"label_gradient_against_products/{kind}"]
        yield pair(f"22 labels, {name} gradient / DGEMM",
                   f"{mark['pass_GFLOPS']:.1f} of {mark['products_GFLOPS']:.1f} GFLOPS", ">= 0.50", mark)


def shard_rows(marks, numpy):
    memory, packed = marks["shards_against_memory"], marks["shards_against_hdf5/1"]
    for name, mark, target in (("in-memory pass", memory, ""), ("pread, as many threads", marks["shards_against_pread"], ""),
                               ("H5Dread", marks["shards_against_hdf5/0"], "")):
        yield pair(f"cached shards / {name}", gigabytes(mark, "GB/s", "reference_GB/s"), target, mark)
    yield row("cached shards / NumPy one-liners with h5py", milliseconds(memory["subject_s"], numpy["evaluate_s"]), ">= 8",
              numpy["evaluate_s"] / memory["subject_s"])
    inflate = marks["shards_against_libdeflate"]
    yield pair("gzip shards / libdeflate, as many threads", gigabytes(inflate, "GB/s", "reference_GB/s"), ">= 0.80", inflate)
    yield row("gzip shards evaluated / h5py decoding", milliseconds(packed["subject_s"], numpy["decode_s"]), ">= 5",
              numpy["decode_s"] / packed["subject_s"])


def task_rows(marks, numpy):
    bootstrap, learn = marks["thousand_replicates"], marks["learn_from_shards"]
    yield row("1,000 bootstrap replicates / NumPy resampling",
              f"{bootstrap['subject_s'] * 1e3:.0f} against {numpy['resample_s'] * 1e6:.0f} ms", ">= 100",
              1000 * numpy["resample_s"] / bootstrap["subject_s"])
    yield row("learn from shards / SciPy's L-BFGS-B", milliseconds(learn["subject_s"], numpy["learn_s"]), ">= 10",
              numpy["learn_s"] / learn["subject_s"])


def softmax_rows(marks, program):
    for actions in (10, 100, 4000):
        mark = marks[f"log_sum_exp_against_exp/{actions}/10"]
        yield pair(f"log-sum-exp, K = {actions} / vector exp",
                   f"{mark['softmax_exp/s'] * 1e-6:.0f} of {mark['exp/s'] * 1e-6:.0f} M exp/s", ">= 0.50", mark)
    from softmax_rival import compare
    for actions, memory, file, ours in compare(program):
        for where, rival in (("from memory", memory), ("from the file", file)):
            yield row(f"softmax, K = {actions} / blocked NumPy {where}, 1 thread", f"{ours:.2f} against {rival:.2f} cpu s",
                      ">= 6", rival / ours)


def process_rows(program, here):
    version = min(run(program, "--version").cpu for _ in range(20))
    yield row("start-up, ms of processor time", "scrm --version", "<= 10", version * 1e3)
    with tempfile.TemporaryDirectory(prefix="scrm-ratios-") as folder:
        if not enough_space(folder, 104 * PROCESS_ROWS):
            print("not enough disk for 10 million rows: evaluate as a process is not measured", file=sys.stderr)
            return
        data, policy = os.path.join(folder, "data"), os.path.join(folder, "policy.toml")
        run(program, "simulate", "pricing", "--rows", str(PROCESS_ROWS), "--shards", "16", "--out", data, "--policy-out", policy,
            "--quiet")
        command = [program, "evaluate", data, "--policy", policy, "--json", "--quiet"]
        run(*command)
        for threads in sorted({1, cores()}):
            read, evaluate, ratio = paired_ratio(lambda: pread_all(data, threads)[1],
                                                 lambda: run(*command, "--threads", str(threads)).wall, 11)
            yield row(f"evaluate, {threads} thread{'s' if threads > 1 else ''}, whole process / pread",
                      milliseconds(evaluate, read), ">= 0.60", ratio)
        duckdb = duckdb_seconds(here, PROCESS_ROWS, cores())
        if duckdb is not None:
            yield row("evaluate, whole process / DuckDB on Parquet", milliseconds(evaluate, duckdb), ">= 5", duckdb / evaluate)
        small = best_of(3, *command, "--memory", "128M")
        yield row("resident set / --memory 128M, 1 GB of rows", f"{small.rss / 2**20:.0f} MiB", "<= 1", small.rss / 2**27)
        hundred = best_of(1, program, "evaluate", data, *["--policy", policy] * 100, "--json", "--quiet", "--memory", "128M")
        yield row("resident set / 128M, 100 policies", f"{hundred.rss / 2**20:.0f} MiB", "<= 1", hundred.rss / 2**27)
        learn = best_of(1, program, "learn", data, "--start", policy, "--lambda", "0.1", "--max-iter", "3", "--out",
                        os.path.join(folder, "learned.toml"), "--overwrite", "--json", "--quiet", "--memory", "128M")
        yield row("resident set / 128M, learn", f"{learn.rss / 2**20:.0f} MiB", "<= 1", learn.rss / 2**27)
        many = os.path.join(folder, "many")
        run(program, "simulate", "categorical", "--actions", "10000", "--rows", "100000", "--out", many, "--policy-out", policy,
            "--overwrite", "--quiet")
        wide = best_of(1, program, "evaluate", many, "--policy", policy, "--json", "--quiet", "--memory", "64M")
        yield row("resident set / 64M, 10,000 actions", f"{wide.rss / 2**20:.0f} MiB", "<= 1", wide.rss / 2**26)


def sweep_rows(program, here, gains):
    """Also notes in `gains` how much faster all cores are than one."""
    data = os.environ.get("SCRM_DATA_DIR", os.path.join(here, "../../shared/data"))
    with tempfile.TemporaryDirectory(prefix="scrm-ratios-") as folder:
        for what, text, target in (("continuous sweep, 200 runs, cpu s", CONTINUOUS, "<= 4.4"),
                                   ("scene + yeast, 440 runs, cpu s", LABELS + f'data_dir = "{data}"\n', "<= 30")):
            if "data_dir" in text and not os.path.isdir(data):
                print(f"{what}: skipped, there is no {data} (SCRM_DATA_DIR)", file=sys.stderr)
                continue
            path = os.path.join(folder, "sweep.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            one, every = (run(program, "sweep", path, "--out", os.path.join(folder, "out.h5"), "--overwrite", "--quiet",
                              "--threads", str(threads)) for threads in (1, cores()))
            yield row(what, f"{one.wall:.1f} s on 1 thread, {every.wall:.1f} on {cores()}", target, one.cpu)
            gains[what.split(",")[0]] = one.wall / every.wall
            if "data_dir" in text:
                continue
            small = run(program, "sweep", path, "--out", os.path.join(folder, "out.h5"), "--overwrite", "--quiet",
                        "--memory", "64M")
            yield row(f"resident set / 64M, {what.split(',')[0]}", f"{small.rss / 2**20:.0f} MiB", "<= 1", small.rss / 2**26)


def all_rows(folder, program, here):
    # First, while this process is small: the resident set of a child counts what its parent held when it was started.
    yield from process_rows(program, here)
    gains = {}
    yield from sweep_rows(program, here, gains)
    with tempfile.TemporaryDirectory(prefix="scrm-ratios-") as data:
        marks = {}
        for name in ("pass_bench", "shards_bench", "bootstrap_bench", "learn_bench", "softmax_bench"):
            marks.update(run_benchmark(os.path.join(folder, name), data))
        rivals = subprocess.run([sys.executable, os.path.join(here, "numpy_rivals.py"), data], stdout=subprocess.PIPE,
                                check=True)
    numpy = json.loads(rivals.stdout)
    if abs(numpy["ips"] / marks["shards_against_memory"]["value"] - 1) > 1e-9:
        sys.exit(f"NumPy finds {numpy['ips']}, scrm {marks['shards_against_memory']['value']}")
    if abs(numpy["objective"] - marks["learn_from_shards"]["objective"]) > 1e-6:
        sys.exit(f"SciPy's optimum is {numpy['objective']}, scrm's {marks['learn_from_shards']['objective']}")
    yield from pass_rows(marks)
    if cores() == 2:
        reads = [marks[f"value_pass_against_read_sum/{threads}"]["read_GB/s"] for threads in (1, 0)]
        for sweep, gain in gains.items():
            yield row(f"two threads' gain, {sweep} / the read-sum's", f"{gain:.2f} against {reads[1] / reads[0]:.2f}", ">= 0.95",
                      gain * reads[0] / reads[1])
    yield from shard_rows(marks, numpy)
    yield from task_rows(marks, numpy)
    yield from softmax_rows(marks, program)


def show(rows):
    print(f"{'what':48} {'measured':26} {'target':8} {'ratio':>7} {'cpu':>7}  met")
    for one in sorted(rows, key=lambda r: r["met"] is not False):
        cpu = f"{one['cpu']:7.2f}" if one["cpu"] is not None else " " * 7
        word = {True: "yes", False: "no", None: ""}[one["met"]]
        print(f"{one['what']:48} {one['measured']:26} {one['target']:8} {one['ratio']:7.2f} {cpu}  {word}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="build/bench/bin")
    parser.add_argument("--program", default="build/release/bin/scrm")
    parser.add_argument("--json", help="also write the table to this file")
    given = parser.parse_args()
    for path in (given.program, os.path.join(given.folder, "pass_bench")):
        if not os.access(path, os.X_OK):
            sys.exit(f"{path}: there is no such program; build it first (docs/speed.md)")
    load = os.getloadavg()[0]
    rows = list(all_rows(given.folder, given.program, os.path.dirname(os.path.abspath(__file__))))
    print(f"{processor()}, {cores()} cores, load {load:.1f} before")
    show(rows)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"processor": processor(), "cores": cores(), "load": load, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    need_modules("h5py", "numpy", "scipy")
    main()
