"""`mpirun scrm-mpi`: evaluate, learn and inspect give the bytes that `scrm` gives, on any number of ranks."""
# labels: slow cli mpi

import os
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np

from harness import ProgramTest, main, run, write_log
from sweeps import toml
from ranks import RANKED, mpirun, need_mpi, ranks_of, run_ranks, start_ranks, without_times

ROWS = 30_000  # fifteen blocks, the last one short
COUNTS = (1, 2, 3, 5)


class Ranks(ProgramTest):
    def setUp(self):
        super().setUp()
        need_mpi()

    def simulate(self, environment, *options, rows=ROWS, out="logs"):
        run("simulate", environment, "--rows", rows, "--seed", 3, "--out", self.dir / out, "--shards", 4, "--quiet",
            *options)
        return self.dir / out

    def policy(self, name="p.toml", **keys):
        keys = {"kind": "gaussian", "scale": 0.6, **keys} if "kind" not in keys else keys
        path = self.dir / name
        path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in keys.items()))
        return path

    def both(self, *args, counts=COUNTS, check=0, threads=1):
        """What `scrm` says, after every number of ranks has said the same: output, warnings and exit code."""
        args = [*args, "--threads", threads]
        alone = run(*args, check=check)
        for count in counts:
            ranked = run_ranks(count, *args, check=check)
            compare = without_times if alone.stdout else str
            self.assertEqual(compare(ranked.stdout), compare(alone.stdout), f"{count} ranks: {args}")
            said = [line for line in ranked.stderr.splitlines() if line.startswith(("scrm:", "hint:", "warning"))]
            self.assertEqual(said, [line for line in alone.stderr.splitlines()
                                    if line.startswith(("scrm:", "hint:", "warning"))], f"{count} ranks: {args}")
        return alone

    def test_evaluate_with_all_intervals(self):
        logs = self.simulate("pricing", "--policy-out", self.dir / "p.toml")
        policies = ["--policy", self.dir / "p.toml", "--policy", self.policy("q.toml", theta=[4.0] + [0.1] * 10, scale=2)]
        self.both("evaluate", logs, *policies, "--model", "ridge", "--json", "--weight-histogram")
        for interval, counts in (("bootstrap", (2, 5)), ("student", (3,)), ("bernstein", (2,)), ("cressie-read", (3,)),
                                 ("sequence", (5,))):
            self.both("evaluate", logs, *policies, "--json", "--interval", interval, "--seed", 7, "--replicates", 60,
                      counts=counts)
        bounds = ["--outcome-range", "-100:100", "--max-weight", "1e6"]
        self.both("evaluate", logs, *policies, "--json", "--interval", "sequence", *bounds, counts=(3,))
        self.both("evaluate", logs, *policies, "--json", "--simultaneous", "--replicates", 40, "--baseline",
                  policies[1], counts=(3,), threads=2)

    def test_evaluate_labels_clusters_and_rollouts(self):
        logs = self.simulate("multilabel", rows=9000)
        self.both("evaluate", logs, "--policy", self.policy(kind="uniform"), "--json", counts=(2, 3))
        for shard in sorted(logs.glob("*.h5")):
            with h5py.File(shard, "a") as file:
                rows = len(file["loss"])
                file["cluster"] = np.arange(rows, dtype=np.int64) * 7919 % 611
        self.both("evaluate", logs, "--policy", self.policy(kind="uniform"), "--json", counts=(2, 5))
        zero = self.dir / "zero.toml"
        logs = self.simulate("pricing", "--policy-out", zero, out="first", rows=9000)
        second = self.policy("second.toml", theta=[4.5] + [0.1] * 10, scale=1.5)
        more = self.simulate("pricing", "--policy", second, "--rollout", 1, out="second", rows=5000)
        self.both("evaluate", logs, more, "--policy", self.policy(theta=[5] + [0.1] * 10, scale=1), "--logging-policy",
                  zero, "--logging-policy", second, "--json", counts=(3,))

    def bad_log(self, rows=ROWS):
        random = np.random.default_rng(1)
        loss = random.normal(size=rows)
        loss[[rows - 5, rows // 2, rows // 2 + 1]] = np.nan
        for part in range(3):
            part_rows = slice(part * rows // 3, (part + 1) * rows // 3)
            write_log(self.dir / f"bad-{part}.h5", context=np.ones((rows, 1))[part_rows], action=np.zeros(rows)[part_rows],
                      loss=loss[part_rows], propensity=np.full(rows, 0.4)[part_rows])
        return [self.dir / f"bad-{part}.h5" for part in range(3)]

    def test_bad_rows_are_reported_once_and_as_by_one_process(self):
        logs = self.bad_log()
        policy = self.policy(theta=[0.1, 0.1])
        done = self.both("evaluate", *logs, "--policy", policy, "--json", check=1)
        self.assertIn("bad-1.h5: loss, row 5000", done.stderr)
        self.assertIn("3 bad rows in all", done.stderr)
        self.both("evaluate", *logs, "--policy", policy, "--json", "--skip-bad-rows", counts=(2, 5))
        self.both("inspect", *logs, "--json", check=1, counts=(2, 5))
        self.both("inspect", *logs, "--json", "--skip-bad-rows", counts=(3,))
        text = run_ranks(2, "inspect", *logs, "--skip-bad-rows").stdout
        self.assertEqual(text.split(" in ")[0], run("inspect", *logs, "--skip-bad-rows").stdout.split(" in ")[0])
        self.both("learn", *logs, "--out", self.dir / "l.toml", "--json", check=1, counts=(3,))

    def test_learn(self):
        logs = self.simulate("pricing", rows=20_000)
        for options in (["--lambda", "auto"], ["--lambda", "0.1,1", "--estimator", "snips", "--memory", "64M"],
                        ["--lambda", "theory", "--estimator", "clipped", "--holdout", "0"]):
            files = {}
            for count in (0, 1, 2, 3, 5) if options[1] == "auto" else (0, 2, 3):
                folder = self.dir / f"{options[1]}-{count}"
                folder.mkdir()
                args = ["learn", logs, "--out", folder / "new.toml", "--json", "--max-iter", 20, "--threads", 1, *options]
                done = run_ranks(count, *args) if count else run(*args)
                written = sorted(folder.iterdir())
                self.assertTrue(written)
                text = without_times(done.stdout.replace(str(folder), "FOLDER"))
                files[count] = [text, *[path.name + path.read_text() for path in written]]
                self.assertEqual(files[count], files[0], f"{count} ranks: {options}")

    def test_a_rank_that_dies_ends_the_job_and_nothing_is_half_written(self):
        logs = self.simulate("pricing", rows=60_000)
        for victim in range(3):
            out = self.dir / "out"
            out.mkdir(exist_ok=True)
            # Hours of work, were it left alone.
            process = start_ranks(3, "learn", logs, "--out", out / "new.toml", "--lambda", 1, "--tolerance", 0,
                                  "--restarts", 100_000, "--threads", 1)
            try:
                while len(ranks_of(process)) < 3:
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                time.sleep(0.5 * victim)
                os.kill(ranks_of(process)[victim], signal.SIGKILL)
                _, said = process.communicate(timeout=60)
            finally:
                process.kill()
            self.assertNotEqual(process.returncode, 0)
            self.assertTrue(said)
            self.assertEqual([path.name for path in out.iterdir() if not path.name.startswith(".")], [])

    def test_a_command_that_cannot_be_shared_is_refused(self):
        done = run_ranks(2, "simulate", "gaussian", "--rows", 10, "--seed", 1, "--out", self.dir / "logs", check=2)
        self.assertIn("does not run over ranks", done.stderr)
        self.assertEqual(done.stderr.count("scrm: error"), 1)
        self.assertFalse((self.dir / "logs").exists())
        done = run_ranks(2, "evaluate", "--nonsense", check=2)
        self.assertEqual(done.stderr.count("scrm: error"), 1)
        self.assertEqual(run_ranks(3, "--version").stdout.count("scrm"), run("--version").stdout.count("scrm"))

    def test_ranks_that_see_different_inputs_say_so(self):
        """Each rank in a folder of its own, as on machines that do not share their discs."""
        script = self.dir / "rank.sh"
        script.write_text('#!/bin/sh\ncd "$1/$OMPI_COMM_WORLD_RANK" && shift && exec "$@"\n')
        script.chmod(0o755)
        for rank in range(3):
            (self.dir / str(rank)).mkdir()
            write_log(self.dir / str(rank) / "log.h5", context=np.ones((50, 1)), action=np.zeros(50),
                      loss=np.arange(50.0) + (rank == 2), propensity=np.full(50, 0.4))
            (self.dir / str(rank) / "p.toml").write_text(self.policy(theta=[0.1, 0.1]).read_text())
        command = [*mpirun(3)[:-1], str(script), str(self.dir), RANKED, "evaluate", "log.h5", "--policy", "p.toml"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the ranks differ in log.h5", done.stderr)
        self.assertIn("on rank 2", done.stderr)
        os.unlink(self.dir / "1" / "p.toml")
        (self.dir / "2" / "log.h5").write_bytes((self.dir / "0" / "log.h5").read_bytes())
        (self.dir / "1" / "log.h5").write_bytes((self.dir / "0" / "log.h5").read_bytes())
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertIn("the ranks differ in p.toml", done.stderr)
        self.assertIn("not there on rank 1", done.stderr)

    def test_ranks_of_different_programs_machines_or_arguments_say_so(self):
        logs, policy = self.simulate("pricing", rows=50), self.policy(theta=[0.1] * 11)
        args = ["evaluate", str(logs), "--policy", str(policy), "--json"]
        other = self.dir / "scrm-mpi"
        shutil.copy(RANKED, other)
        with open(other, "ab") as file:
            file.write(b"another build")
        # The first rank is as ever; those after the colon are the others.
        for name, others in {"version": [other, *args], "instruction set": ["-x", "SCRM_ISA=scalar", RANKED, *args],
                             "kernels of OpenBLAS": ["-x", "OPENBLAS_CORETYPE=Prescott", RANKED, *args],
                             "arguments": [RANKED, *args, "--level", "0.9"]}.items():
            with self.subTest(name=name):
                done = subprocess.run([*mpirun(1), *args, ":", "-np", "2", *map(str, others)], capture_output=True,
                                      text=True, timeout=120)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"the ranks differ in {name}", done.stderr)
                self.assertEqual(done.stderr.count("scrm: error"), 1)


if __name__ == "__main__":
    main()
