"""`mpirun scrm-mpi` with a rank that dies: the job ends within seconds and leaves nothing half-written."""
# labels: slow cli mpi

import os
import random
import signal
import subprocess
import time

from harness import ProgramTest, main, run
from sweeps import toml
from ranks import is_watched, need_mpi, ranks_of, start_ranks

# How many jobs lose a rank, at moments spread from the start of the ranks on; 200 by hand.
KILLS = int(os.environ.get("SCRM_KILLS", "12"))
SECONDS = 20  # until a job has ended, on a machine with much else to do


class RankDeaths(ProgramTest):
    def setUp(self):
        super().setUp()
        need_mpi()
        self.logs = self.dir / "logs"
        run("simulate", "pricing", "--rows", 60_000, "--seed", 3, "--out", self.logs, "--shards", 4, "--quiet",
            "--policy-out", self.dir / "p.toml")
        self.out = self.dir / "out"
        self.out.mkdir()

    def commands(self):
        """Work for hours, were it left alone."""
        sweep = self.dir / "sweep.toml"
        keys = dict(environments=["pricing"], methods=["crm", "scrm"], seeds=5000, rollouts=8, lambdas=[1e-3, 1e-2])
        sweep.write_text("".join(f"{key} = {toml(value)}\n" for key, value in keys.items()))
        return {"learn": ["learn", self.logs, "--out", self.out / "new.toml", "--lambda", 1, "--tolerance", 0,
                          "--restarts", 100_000, "--threads", 1],
                "evaluate": ["evaluate", self.logs, "--policy", self.dir / "p.toml", "--interval", "bootstrap",
                             "--replicates", 2_000_000, "--threads", 1],
                "sweep": ["sweep", sweep, "--out", self.out / "results.h5", "--threads", 1]}

    def start(self, command):
        process = start_ranks(3, *self.commands()[command])
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        while len(ranks_of(process)) < 3:
            self.assertIsNone(process.poll())
            time.sleep(0.002)
        return process

    def ended(self, process):
        """Seconds until the job has ended, as it should."""
        begin = time.monotonic()
        try:
            _, said = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.fail(f"the job goes on {SECONDS} s after a rank was killed; ranks: {ranks_of(process)}")
        self.assertNotEqual(process.returncode, 0)
        self.assertTrue(said)
        # A journal is whole at any time: it is what --resume goes on from.
        self.assertEqual([path.name for path in self.out.iterdir()
                          if not path.name.startswith(".") and ".journal" not in path.name], [])
        for journal in self.out.glob("*.journal*"):
            journal.unlink()
        return time.monotonic() - begin, said

    def test_whenever_a_rank_is_killed_the_job_ends(self):
        draw = random.Random(4)
        slowest = helped = 0
        for attempt in range(KILLS):
            command = ("learn", "learn", "evaluate", "sweep")[attempt % 4]
            # Half of them while the ranks start: mpirun's own library may then not come to an end.
            wait = draw.uniform(0, 0.15) if attempt % 2 else draw.uniform(0.15, 1.5)
            with self.subTest(command=command, wait=wait):
                process = self.start(command)
                time.sleep(wait)
                os.kill(draw.choice(ranks_of(process)), signal.SIGKILL)
                seconds, said = self.ended(process)
                slowest, helped = max(slowest, seconds), helped + ("its launcher" in said)
        print(f"{KILLS} jobs lost a rank; the slowest ended {slowest:.1f} s after, {helped} with mpirun killed")

    def test_an_mpirun_that_does_not_end_is_ended(self):
        """A stopped mpirun stands for one that waits for ever: libpmix 4.2.2 does after some deaths at the start."""
        for victim in range(2):
            process = self.start("learn")
            ranks = ranks_of(process)
            while not is_watched(ranks[victim]):
                time.sleep(0.002)
            time.sleep(victim)
            os.kill(process.pid, signal.SIGSTOP)
            os.kill(ranks[victim], signal.SIGKILL)
            _, said = self.ended(process)
            self.assertIn(f"rank {victim} has died, and its launcher (process {process.pid})", said)
            self.assertEqual(process.returncode, -signal.SIGKILL)
            deadline = time.monotonic() + SECONDS
            while any(os.path.exists(f"/proc/{rank}") for rank in ranks):
                self.assertLess(time.monotonic(), deadline, "a rank has outlived mpirun")
                time.sleep(0.05)

    def test_a_job_that_ends_as_it_should_leaves_no_process_behind(self):
        process = start_ranks(2, "inspect", self.logs)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)
        deadline = time.monotonic() + SECONDS
        while watchers := [pid for pid in os.listdir("/proc") if pid.isdigit() and self.watches_nothing(pid)]:
            self.assertLess(time.monotonic(), deadline, f"{watchers} are left")
            time.sleep(0.05)

    @staticmethod
    def watches_nothing(pid):
        """Whether this process watches a launcher that has ended; those of other jobs are not ours to judge."""
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as name, open(f"/proc/{pid}/fdinfo/4",
                                                                           encoding="ascii") as launcher:
                return name.read() == "scrm-watch\n" and "Pid:\t-1" in launcher.read()
        except OSError:
            return False


if __name__ == "__main__":
    main()
