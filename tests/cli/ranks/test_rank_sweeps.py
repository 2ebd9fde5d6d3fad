"""`mpirun scrm-mpi sweep`: the archive of one process, whatever happens to the ranks on the way."""
# labels: slow cli mpi

import json
import os
import random
import signal
import time

from harness import main, run
from ranks import need_mpi, ranks_of, run_ranks, start_ranks
from sweeps import SweepTest, archive, write_labelled

# How often a rank is killed; 50 by hand.
KILLS = int(os.environ.get("SCRM_KILLS", "3"))


class RankSweeps(SweepTest):
    def setUp(self):
        super().setUp()
        need_mpi()

    def small(self, **keys):
        return self.write(**{"environments": ["pricing", "gaussian"], "methods": ["baseline", "crm", "scrm", "bkucb"],
                             "seeds": 4, "rollouts": 3, "lambdas": [1e-3, 1e-2], **keys})

    def ranked(self, count, sweep, *options, out, **more):
        done = run_ranks(count, "sweep", sweep, "--out", self.dir / out, *options, **more)
        return self.dir / out, done

    def test_any_number_of_ranks_writes_the_archive_of_one_process(self):
        sweep = self.small()
        whole, alone = self.sweep(sweep)
        for count in (1, 2, 3, 5):
            path, done = self.ranked(count, sweep, "--threads", 1 + count % 2, out=f"{count}.h5")
            self.assert_same_bits(whole, path)
            self.assertEqual(done.stdout.split("\n\n")[0], alone.stdout.split("\n\n")[0])
        self.assertEqual([name for name in self.visible() if "journal" in name], [])

    def test_a_run_that_fails_on_a_rank_is_recorded_and_the_others_go_on(self):
        write_labelled(self.dir / "few.h5", 4, 1, 2)  # none is left to learn from
        sweep = self.small(environments=["pricing", "few.h5"], methods=["baseline", "scrm"])
        whole, _ = self.sweep(sweep, check=1)
        path, done = self.ranked(3, sweep, out="ranked.h5", check=1)
        self.assert_same_bits(whole, path)
        self.assertIn("runs failed", done.stderr)

    def test_data_that_cannot_be_read_is_told_once_before_any_run(self):
        sweep = self.small(environments=["pricing", "nowhere/data.h5"], methods=["baseline"])
        _, done = self.ranked(3, sweep, out="ranked.h5", check=1)
        self.assertEqual(done.stderr.count("scrm: error"), 1)
        self.assertIn("nowhere/data.h5", done.stderr)
        self.assertFalse((self.dir / "ranked.h5").exists())

    def test_an_archive_that_is_there_is_refused_once(self):
        sweep = self.small(environments=["gaussian"], methods=["baseline"])
        self.sweep(sweep)
        _, done = self.ranked(3, sweep, out="results.h5", check=2)
        self.assertEqual(done.stderr.count("scrm: error"), 1)
        self.assertIn("the archive is there already", done.stderr)

    def test_ranks_go_on_with_what_one_process_began_and_the_other_way_round(self):
        sweep = self.small(seeds=30)
        whole, _ = self.sweep(sweep)
        process = self.start(sweep, "--threads", 1, out="one.h5")
        self.wait_for_runs(process, self.dir / "one.h5.journal")
        process.kill()
        process.wait()
        self.assert_same_bits(whole, self.ranked(2, sweep, "--resume", out="one.h5")[0])
        self.kill_one(3, sweep, "two.h5", 0)
        self.assert_same_bits(whole, self.sweep(sweep, "--resume", out="two.h5")[0])

    def kill_one(self, count, sweep, out, wait, *options):
        """Starts ranks, kills one of them after a while, and waits for the job to end. Whether there was one to kill."""
        process = start_ranks(count, "sweep", sweep, "--out", self.dir / out, *options)
        try:
            while process.poll() is None and not list(self.dir.glob(f"{out}.journal*")):
                time.sleep(0.002)
            time.sleep(wait)
            found = ranks_of(process)
            if found:
                os.kill(random.Random(wait).choice(found), signal.SIGKILL)
            begin = time.monotonic()
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
        if process.returncode == 0:
            return False
        self.assertLess(time.monotonic() - begin, 60, "the other ranks went on waiting")
        self.assertTrue(said)
        return True

    def test_a_rank_that_is_killed_ends_the_job_and_no_finished_run_is_lost(self):
        sweep = self.small(seeds=8)
        whole, alone = self.sweep(sweep)
        identities = [identity.encode() for identity in archive(whole)["identity"]]
        draw = random.Random(19)
        killed = resumed = 0
        for attempt in range(KILLS):
            out = f"killed-{attempt}.h5"
            killed += self.kill_one(draw.randint(2, 4), sweep, out, draw.uniform(0, 0.6))
            # Once more on the way, now and then, and then to the end with any number of ranks.
            if attempt % 3 == 0 and not (self.dir / out).exists():
                self.kill_one(draw.randint(2, 3), sweep, out, draw.uniform(0, 0.4), "--resume")
            journals = [path.read_bytes() for path in self.dir.glob(f"{out}.journal*")]
            finished = sum(any(identity in journal for journal in journals) for identity in identities)
            if (self.dir / out).exists():
                finished = len(identities)
            count = draw.choice([0, 1, 3])
            args = ["sweep", sweep, "--out", self.dir / out, "--resume"]
            done = json.loads((run_ranks(count, *args, "--json") if count else run(*args, "--json")).stdout)
            self.assertEqual(done["runs"], len(identities))
            # The last record of a journal may be torn.
            self.assertGreaterEqual(done["resumed"], finished - len(journals), f"attempt {attempt}")
            self.assertLessEqual(done["resumed"], finished)
            resumed += done["resumed"]
            self.assert_same_bits(whole, self.dir / out)
            self.assertEqual(list(self.dir.glob(f"{out}.journal*")), [])
        print(f"{killed} of {KILLS} sweeps were killed on the way, and went on with {resumed} finished runs")
        self.assertGreater(killed, 0)
        self.assertGreater(resumed, 0)


if __name__ == "__main__":
    main()
