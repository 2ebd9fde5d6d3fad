#!/usr/bin/env python3
"""What ranks cost and gain on one machine: the constants of docs/scale.md.

usage: bench/ranks.py [--programs FOLDER OF scrm AND scrm-mpi] [--rows ROWS] [--ranks N] [--repeats N]
example: bench/ranks.py --rows 10000000 --ranks 8

Prints, in seconds: starting so many ranks (two rows), evaluating ROWS cached rows on each number of ranks of one thread
and on one rank of as many threads, one evaluation of an objective by its number of parameters, and a sweep on two ranks
and on two threads, in turns. Every result must be the same, but for times, on any number of ranks.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

SWEEP = """environments = ["pricing", "advertising"]
methods = ["crm", "scrm"]
seeds = 10
lambdas = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
"""


class Bench:
    def __init__(self, programs, folder, repeats):
        self.scrm, self.mpi = os.path.join(programs, "scrm"), os.path.join(programs, "scrm-mpi")
        self.folder, self.repeats = folder, repeats
        self.answers = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, ranks, *args):
        """Seconds from start to exit, and the JSON that was printed. No ranks: `scrm` itself."""
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launch = ["mpirun", *root, "--oversubscribe", "-np", str(ranks), self.mpi] if ranks else [self.scrm]
        begin = time.perf_counter()
        done = subprocess.run([*launch, *map(str, args)], stdout=subprocess.PIPE, check=True)
        return time.perf_counter() - begin, json.loads(done.stdout) if done.stdout else None

    def seconds(self, key, ranks, *args, inside=False):
        """The median; of the command's own clock with `inside`, which leaves out starting MPI."""
        times = []
        for _ in range(self.repeats):
            taken, answer = self.run(ranks, *args, "--json", "--quiet")
            times.append(answer["seconds"] if inside else taken)
            self.check(key, answer)
        return statistics.median(times)

    def check(self, key, answer):
        kept = {name: value for name, value in answer.items()
                if name not in ("seconds", "cpu_seconds", "threads", "archive", "rows_per_second")}
        if self.answers.setdefault(key, kept) != kept:
            raise SystemExit(f"{key}: ranks changed the result")

    def logs(self, rows):
        subprocess.run([self.scrm, "simulate", "gaussian", "--rows", str(rows), "--seed", "1", "--shards", "8", "--out",
                        self.path(f"logs-{rows}"), "--policy-out", self.path("policy.toml"), "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        return self.path(f"logs-{rows}")

    def start(self, most):
        logs = self.logs(2)
        print("start, seconds by ranks:", {ranks: round(self.seconds("two rows", ranks, "evaluate", logs, "--policy",
                                                                     self.path("policy.toml")), 3)
                                           for ranks in range(0, most + 1)})

    def evaluate(self, rows, most):
        logs = self.logs(rows)
        args = ["evaluate", logs, "--policy", self.path("policy.toml"), "--threads"]
        self.run(0, *args, 2)  # into the page cache
        for ranks in range(0, most + 1):
            print(f"evaluate {rows} rows, {ranks or 'no'} ranks x 1 thread: "
                  f"{self.seconds('evaluate', ranks, *args, 1, inside=True):.3f} s")
        self.pair("evaluate", lambda: self.run(2, *args, 1, "--json")[1]["seconds"],
                  lambda: self.run(1, *args, 2, "--json")[1]["seconds"])

    def pair(self, what, ranks, threads):
        ratios = []
        for _ in range(2 * self.repeats + 1):
            one, other = ranks(), threads()
            ratios.append(other / one)
        print(f"{what}: 2 ranks x 1 thread do {statistics.median(ratios):.3f} of 1 rank x 2 threads "
              f"({min(ratios):.3f} to {max(ratios):.3f})")

    def objective(self, most):
        """Few rows and many parameters: what is left is telling and merging."""
        for actions in (100, 1000, 10_000):
            logs = self.path(f"actions-{actions}")
            subprocess.run([self.scrm, "simulate", "categorical", "--rows", "4096", "--seed", "1", "--out", logs,
                            "--actions", str(actions), "--quiet"], check=True, stdout=subprocess.DEVNULL)
            for ranks in (0, *[2 ** k for k in range(most.bit_length())]):
                args = ["learn", logs, "--lambda", "0.1", "--out", self.path("learned.toml"), "--overwrite", "--holdout",
                        "0", "--max-iter", "8", "--threads", "1"]
                taken, answer = self.run(ranks, *args, "--json", "--quiet")
                self.check(f"objective {actions}", answer)
                parameters = sum(len(row) for row in answer["theta"]) if isinstance(answer["theta"][0], list) else len(
                    answer["theta"])
                print(f"learn, {parameters} parameters, {ranks or 'no'} ranks: "
                      f"{answer['seconds'] / answer['evaluations']:.5f} s an evaluation")

    def sweep(self):
        with open(self.path("sweep.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP)
        args = ["sweep", self.path("sweep.toml"), "--out", self.path("sweep.h5"), "--overwrite", "--json", "--quiet",
                "--threads"]
        self.pair("sweep", lambda: self.run(2, *args, 1)[1]["seconds"], lambda: self.run(1, *args, 2)[1]["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scrm-ranks-") as folder:
        bench = Bench(options.programs, folder, options.repeats)
        bench.start(options.ranks)
        bench.evaluate(options.rows, options.ranks)
        bench.objective(options.ranks)
        bench.sweep()


if __name__ == "__main__":
    main()
