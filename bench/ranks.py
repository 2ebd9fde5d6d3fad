#!/usr/bin/env python3
"""What ranks cost and gain on one machine: the constants of docs/scale.md.

usage: bench/ranks.py [--programs FOLDER OF scrm AND scrm-mpi] [--rows ROWS] [--ranks N] [--repeats N] [--only WHAT]...
example: bench/ranks.py --rows 10000000 --ranks 8 --only start --only evaluate

Prints, for 1, 2, 4, ... N ranks of one thread: what starting them takes (two rows); evaluating ROWS cached rows, beside
what the model of docs/scale.md says; the bytes that ranks send, counted by OpenMPI; the largest resident set of a rank;
one evaluation of an objective by its number of parameters; and two ranks of one thread against one rank of two, for
evaluate and a sweep, in turns. Every result must be the same, but for times, on any number of ranks.
"""
import argparse
import json
import glob
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time

SWEEP = """environments = ["pricing", "advertising"]
methods = ["crm", "scrm"]
seeds = 10
lambdas = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
"""


# Run in place of a rank: its largest resident set goes to a file of its own.
RESIDENT = """import os, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
rank = os.environ["OMPI_COMM_WORLD_RANK"]
with open(sys.argv[1] + rank, "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bench:
    def __init__(self, programs, folder, repeats, most):
        self.scrm, self.mpi = os.path.join(programs, "scrm"), os.path.join(programs, "scrm-mpi")
        self.folder, self.repeats = folder, repeats
        self.counts = [2 ** k for k in range(most.bit_length())]
        self.answers, self.starting = {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, ranks, *args, options=(), before=()):
        """Seconds from start to exit, and the JSON that was printed. No ranks: `scrm` itself."""
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launch = ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np", str(ranks), *options, *before,
                  self.mpi] if ranks else [self.scrm]
        begin = time.perf_counter()
        done = subprocess.run([*launch, *map(str, args), "--json", "--quiet"], stdout=subprocess.PIPE, check=True)
        return time.perf_counter() - begin, json.loads(done.stdout)

    def check(self, key, answer):
        kept = {name: value for name, value in answer.items()
                if name not in ("seconds", "cpu_seconds", "threads", "archive", "rows_per_second")}
        if self.answers.setdefault(key, kept) != kept:
            raise SystemExit(f"{key}: ranks changed the result")

    def logs(self, rows):
        """Rows, and the policy that logged them."""
        logs, policy = self.path(f"logs-{rows}"), self.path(f"policy-{rows}.toml")
        if os.path.exists(logs):
            return [logs, "--policy", policy]
        subprocess.run([self.scrm, "simulate", "pricing", "--rows", str(rows), "--seed", "1", "--shards", "2", "--out",
                        logs, "--policy-out", policy, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return [logs, "--policy", policy]

    def cost(self, key, ranks, *args):
        """Medians of the seconds from start to exit, the command's own, and all processors' together."""
        taken = []
        for _ in range(self.repeats):
            before = processor_seconds()
            whole, answer = self.run(ranks, *args)
            taken.append((whole, answer["seconds"], processor_seconds() - before))
            self.check(key, answer)
        return [statistics.median(column) for column in zip(*taken)]

    def start(self):
        logs = self.logs(2)
        for ranks in (0, *self.counts):
            whole, inside, cpu = self.cost("two rows", ranks, "evaluate", *logs, "--threads", 1)
            self.starting[ranks] = whole, cpu
            print(f"start, {ranks or 'no'} ranks: {whole:.3f} s, of which {inside:.3f} are the command's; {cpu:.3f} CPU-s",
                  flush=True)

    def evaluate(self, rows):
        if not self.starting:
            self.start()
        args = ["evaluate", *self.logs(rows), "--threads"]
        self.run(0, *args, 2)  # into the page cache
        alone = self.cost("evaluate", 0, *args, 1)
        row = (alone[2] - self.starting[0][1]) / rows
        print(f"evaluate {rows} rows, no ranks x 1 thread: {alone[0]:.3f} s, {alone[2]:.3f} CPU-s, {row * 1e9:.1f} ns a row")
        cores = len(os.sched_getaffinity(0))
        for ranks in self.counts:
            whole, inside, cpu = self.cost("evaluate", ranks, *args, 1)
            start = self.starting[ranks]
            print(f"evaluate {rows} rows, {ranks} ranks x 1 thread: {whole:.3f} s, model "
                  f"{start[0] + rows * row / min(ranks, cores):.3f}; {cpu:.3f} CPU-s, model {start[1] + rows * row:.3f}; the "
                  f"command itself {inside:.3f} s", flush=True)

    def evaluate_pairs(self, rows):
        args = ["evaluate", *self.logs(rows), "--threads"]
        self.pair("evaluate", lambda: self.run(2, *args, 1)[1]["seconds"],
                  lambda: self.run(1, *args, 2)[1]["seconds"])

    def sent(self, ranks, *args):
        """Bytes and messages that ranks send each other, and the bytes that arrive at rank 0."""
        name = self.path("sent")
        self.run(ranks, *args, options=["--mca", "pml_monitoring_enable", "1", "--mca", "pml_monitoring_enable_output",
                                        "3", "--mca", "pml_monitoring_filename", name])
        total = messages = first = 0
        for path in glob.glob(name + ".*.prof"):
            with open(path, encoding="ascii") as file:
                for to, size, count in re.findall(r"^E\t\d+\t(\d+)\t(\d+) bytes\t(\d+) msgs", file.read(), re.MULTILINE):
                    total, messages = total + int(size), messages + int(count)
                    first += int(size) if to == "0" else 0
            os.unlink(path)
        return f"{messages} messages, {total / 1e6:.3f} MB in all, {first / 1e6:.3f} MB to rank 0"

    def bytes(self):
        few, more = self.logs(100_000), self.logs(1_000_000)
        for ranks in self.counts[1:]:
            for name, logs in (("100,000 rows", few), ("1,000,000 rows", more)):
                print(f"evaluate {name}, {ranks} ranks: {self.sent(ranks, 'evaluate', *logs, '--threads', 1)}", flush=True)
            for actions in (100, 1000):
                said = self.sent(ranks, *self.learning(actions))
                print(f"learn, {actions} actions, {ranks} ranks: {said}", flush=True)

    def memory(self, rows):
        wrapper, found = self.path("resident.py"), self.path("resident-")
        with open(wrapper, "w", encoding="ascii") as file:
            file.write(RESIDENT)
        logs = self.logs(rows)
        for ranks in self.counts:
            for name, args in (("evaluate", ["evaluate", *logs]), ("learn, 1,000 actions", self.learning(1000))):
                self.run(ranks, *args, "--memory", "1G", before=["python3", wrapper, found])
                sizes = [int(open(f"{found}{rank}", encoding="ascii").read()) / 1024 for rank in range(ranks)]
                print(f"memory of {name}, {ranks} ranks: rank 0 {sizes[0]:.0f} MiB, largest {max(sizes):.0f}", flush=True)

    def pair(self, what, ranks, threads):
        ratios = []
        for _ in range(2 * self.repeats + 1):
            one, other = ranks(), threads()
            ratios.append(other / one)
        print(f"{what}: 2 ranks x 1 thread do {statistics.median(ratios):.3f} of 1 rank x 2 threads "
              f"({min(ratios):.3f} to {max(ratios):.3f})", flush=True)

    def learning(self, actions):
        """A command with few rows and many parameters: what is left is telling and merging."""
        logs = self.path(f"actions-{actions}")
        if not os.path.exists(logs):
            subprocess.run([self.scrm, "simulate", "categorical", "--rows", "4096", "--seed", "1", "--out", logs,
                            "--actions", str(actions), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return ["learn", logs, "--lambda", "0.1", "--out", self.path("learned.toml"), "--overwrite", "--holdout", "0",
                "--max-iter", "8", "--threads", "1"]

    def objective(self):
        for actions in (100, 1000, 10_000):
            for ranks in (0, *self.counts):
                before = processor_seconds()
                answer = self.run(ranks, *self.learning(actions))[1]
                cpu = processor_seconds() - before
                self.check(f"objective {actions}", answer)
                parameters = sum(map(len, answer["theta"])) if isinstance(answer["theta"][0], list) else len(answer["theta"])
                print(f"learn, {parameters} parameters, {ranks or 'no'} ranks: "
                      f"{1e3 * answer['seconds'] / answer['evaluations']:.3f} ms an evaluation of {answer['evaluations']}, "
                      f"{cpu:.2f} CPU-s in all", flush=True)

    def sweep(self):
        with open(self.path("sweep.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP)
        args = ["sweep", self.path("sweep.toml"), "--out", self.path("sweep.h5"), "--overwrite", "--threads"]
        self.pair("sweep", lambda: self.run(2, *args, 1)[1]["seconds"], lambda: self.run(1, *args, 2)[1]["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append",
                        choices=("start", "evaluate", "pairs", "bytes", "memory", "objective", "sweep"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scrm-ranks-") as folder:
        bench = Bench(options.programs, folder, options.repeats, options.ranks)
        steps = {"start": bench.start, "evaluate": lambda: bench.evaluate(options.rows),
                 "pairs": lambda: bench.evaluate_pairs(options.rows), "bytes": bench.bytes,
                 "memory": lambda: bench.memory(options.rows), "objective": bench.objective, "sweep": bench.sweep}
        for name, step in steps.items():
            if not options.only or name in options.only:
                step()


if __name__ == "__main__":
    main()
