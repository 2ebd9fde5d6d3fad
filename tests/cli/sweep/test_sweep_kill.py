"""`scrm sweep`: killed, interrupted, out of disk or short of memory, it ends with the same archive."""
# labels: slow cli

import json
import os
import random
import re
import resource
import signal
import subprocess
import time
import unittest

from harness import PROGRAM, main
from sweeps import SweepTest, archive, write_labelled

KEYS = dict(environments=["pricing", "advertising"], methods=["baseline", "crm", "scrm"], seeds=10, rollouts=4)
KILLS = 10


def small_files(size):
    """For a child: files cannot grow beyond `size` bytes, which is what a full disk looks like."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


class Killed(SweepTest):
    def test_ten_kills_at_random_moments_change_no_bit(self):
        sweep_file = self.write(**KEYS)
        begin = time.monotonic()
        straight, _ = self.sweep(sweep_file, out="straight.h5")
        whole = time.monotonic() - begin
        # The moments are fixed as shares of the whole time; a sweep that is through makes way for a new one, until ten
        # kills have met a sweep at work.
        moments = random.Random(20230701)
        kills = sweeps = kept_by_kills = 0
        while kills < KILLS:
            out = self.dir / f"killed{sweeps}.h5"
            journal = self.dir / f"killed{sweeps}.h5.journal"
            ended = False
            while not ended:
                options = ["--resume"] if journal.exists() or out.exists() else []
                if kills < KILLS:
                    ended = not self.killed_after(moments.uniform(0, whole / 3), sweep_file, options, out)
                    kills += not ended
                    kept_by_kills += not ended and journal.exists() and journal.stat().st_size > 10_000
                    if out.exists():
                        # Under its name only when it is complete, also for one who was killed right after that.
                        self.assert_same_bits(straight, out)
                    continue
                result = json.loads(self.sweep(sweep_file, *options, "--json", out=out.name)[1].stdout)
                self.assertEqual(result["runs"], 220)
                ended = True
            self.assert_same_bits(straight, out)
            self.assertFalse(journal.exists())
            sweeps += 1
        self.assertGreaterEqual(kept_by_kills, 3)

    def killed_after(self, seconds, sweep_file, options, out):
        """Whether the kill met the sweep at work."""
        process = self.start(sweep_file, *options, out=out.name)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        _, errors = process.communicate()
        self.assertIn(process.returncode, (0, -signal.SIGKILL), errors)
        return process.returncode != 0

    def test_a_journal_without_resume_is_kept(self):
        sweep_file = self.write(**KEYS)
        process = self.start(sweep_file)
        journal = self.dir / "results.h5.journal"
        self.wait_for_runs(process, journal, 10_000)
        # Nobody else may go on with it meanwhile.
        _, done = self.sweep(sweep_file, "--resume", check=1)
        self.assertIn("results.h5.journal", done.stderr)
        process.kill()
        process.communicate()
        before = journal.read_bytes()
        for options in [(), ("--overwrite",)]:
            _, done = self.sweep(sweep_file, *options, check=2)
            found = re.search(r"an unfinished sweep is here, with (\d+) finished runs; --resume goes on", done.stderr)
            self.assertGreater(int(found[1]), 0)
        # Nor is it mixed with another experiment, or lost when its tail is torn.
        _, done = self.sweep(self.write("other.toml", **{**KEYS, "rollouts": 5}), "--resume", check=2)
        self.assertIn("rollouts was 4 and is 5", done.stderr)
        self.assertEqual(journal.read_bytes(), before)
        self.assertFalse((self.dir / "results.h5").exists())
        journal.write_bytes(before[:-3])
        result = json.loads(self.sweep(sweep_file, "--resume", "--json")[1].stdout)
        self.assertEqual(result["resumed"], int(found[1]) - 1)
        self.assert_same_bits(self.sweep(sweep_file, out="straight.h5")[0], self.dir / "results.h5")

    def test_a_sweep_that_was_to_replace_an_archive_still_does(self):
        path, _ = self.sweep(self.write("old.toml", **{**KEYS, "rollouts": 2, "seeds": 1}))
        before = path.read_bytes()
        sweep_file = self.write(**KEYS)
        journal = self.dir / "results.h5.journal"
        # Before its first run is finished, and after some are.
        for options, size in [("--overwrite", 0), ("--resume", 10_000), ("--resume", 20_000)]:
            process = self.start(sweep_file, options)
            self.wait_for_runs(process, journal, size)
            process.kill()
            process.communicate()
            self.assertEqual(path.read_bytes(), before)
        self.sweep(sweep_file, "--resume")
        self.assert_same_bits(self.sweep(sweep_file, out="straight.h5")[0], path)

    def test_a_sweep_that_goes_on_may_ask_for_more(self):
        sweep_file = self.write(**KEYS)
        process = self.start(sweep_file)
        self.wait_for_runs(process, self.dir / "results.h5.journal", 10_000)
        process.kill()
        process.communicate()
        more = self.write(**{**KEYS, "environments": ["pricing", "gaussian", "advertising"], "seeds": 11})
        self.sweep(more, "--resume")
        self.assert_same_bits(self.sweep(more, out="straight.h5")[0], self.dir / "results.h5")


    def test_what_joined_a_sweep_later_cannot_change_either(self):
        journal = self.dir / "results.h5.journal"

        def killed(sweep_file, *options):
            size = journal.stat().st_size if journal.exists() else 0
            process = self.start(sweep_file, *options)
            self.wait_for_runs(process, journal, size + 10_000)
            process.kill()
            process.communicate()

        killed(self.write(**KEYS))
        # The longest come first, so that those which join are the next to be finished.
        joined = {**KEYS, "environments": ["pricing", "advertising", "gaussian"]}
        killed(self.write(**joined, tables="[environment.gaussian]\nrollouts = 10\n"), "--resume")
        before = journal.read_bytes()
        _, done = self.sweep(self.write("other.toml", **joined, tables="[environment.gaussian]\nrollouts = 9\n"),
                             "--resume", check=2)
        self.assertRegex(done.stderr, "the finished run gaussian / .* was made under other options")
        self.assertEqual(journal.read_bytes(), before)
        self.sweep(self.dir / "sweep.toml", "--resume")
        self.assert_same_bits(self.sweep(self.dir / "sweep.toml", out="straight.h5")[0], self.dir / "results.h5")


class Interrupted(SweepTest):
    def interrupted(self, number):
        folder = self.dir / "with spaces, 'quotes'"
        folder.mkdir()
        sweep_file = self.write("with spaces, 'quotes'/sweep.toml", **KEYS)
        process = self.start(sweep_file, out="with spaces, 'quotes'/results.h5")
        self.wait_for_runs(process, folder / "results.h5.journal", 10_000)
        process.send_signal(number)
        output, message = process.communicate(timeout=120)
        self.assertEqual((process.returncode, output), (1, ""))
        found = re.search(r"stopped on request: (\d+) of 220 runs are finished and kept in .*journal; go on with `",
                          message)
        self.assertTrue(found, message)
        self.assertFalse((folder / "results.h5").exists())
        done = self.go_on(message)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["runs"], result["resumed"]), (220, int(found[1])))
        self.assertGreater(result["resumed"], 0)
        self.assertLess(result["resumed"], 220)
        self.assert_same_bits(self.sweep(sweep_file, out="straight.h5")[0], folder / "results.h5")

    def test_control_c_keeps_what_is_finished_and_says_how_to_go_on(self):
        self.interrupted(signal.SIGINT)

    def test_a_polite_kill_does_the_same(self):
        self.interrupted(signal.SIGTERM)

    def test_the_end_of_the_terminal_does_the_same(self):
        self.interrupted(signal.SIGHUP)

    def test_nohup_is_respected(self):
        sweep_file = self.write(**KEYS)
        process = self.start(sweep_file, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_runs(process, self.dir / "results.h5.journal", 10_000)
        process.send_signal(signal.SIGHUP)
        _, message = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, message)


class FullDisk(SweepTest):
    KEYS = dict(environments=["pricing"], methods=["baseline", "crm", "scrm"], seeds=4, rollouts=3)

    def test_a_full_disk_loses_nothing(self):
        sweep_file = self.write(**self.KEYS)
        straight, _ = self.sweep(sweep_file, out="straight.h5")
        # No room for the header of the journal, for all its runs, and for the archive.
        sizes = [1_000, 12_000, straight.stat().st_size - 1_000]
        for size in sizes:
            with self.subTest(size=size):
                out = self.dir / f"full{size}.h5"
                process = self.start(sweep_file, out=out.name, preexec_fn=small_files(size))
                _, message = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 1, message)
                self.assertIn(out.name, message)
                self.assertIn("File too large", message)
                self.assertFalse(out.exists())
                self.assertEqual(list(self.dir.glob(".*")), [])
                journal = self.dir / f"{out.name}.journal"
                self.assertEqual(journal.exists(), size > sizes[0])
                result = json.loads(self.sweep(sweep_file, "--resume", "--json", out=out.name)[1].stdout)
                self.assertEqual(result["resumed"] > 0, size > sizes[0])
                self.assert_same_bits(straight, out)
                self.assertFalse(journal.exists())

    def test_an_archive_that_cannot_be_replaced_stays(self):
        straight, _ = self.sweep(self.write(**self.KEYS), out="straight.h5")
        before = straight.read_bytes()
        more = self.write(**{**self.KEYS, "seeds": 5})
        process = self.start(more, "--resume", out="straight.h5", preexec_fn=small_files(len(before) - 1_000))
        _, message = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, message)
        self.assertEqual(straight.read_bytes(), before)
        self.sweep(more, "--resume", out="straight.h5")
        self.assert_same_bits(straight, self.sweep(more, out="other.h5")[0])


class Memory(SweepTest):
    def peak(self, sweep_file, memory, out):
        """Bytes that a sweep under this budget had resident at its peak."""
        command = [PROGRAM, "sweep", str(sweep_file), "--out", str(self.dir / out), "--memory", memory, "--quiet"]
        silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        pid = os.posix_spawn(PROGRAM, command, os.environ, file_actions=silence)
        _, status, usage = os.wait4(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        return usage.ru_maxrss * 1024

    def test_rows_that_do_not_fit_are_made_anew_to_the_same_bits(self):
        # CRM pools 3.3 million rows in the end, 24 bytes each.
        sweep_file = self.write(environments=["gaussian"], methods=["crm", "scrm"], rollouts=15)
        plenty = self.peak(sweep_file, "4G", "plenty.h5")
        little = self.peak(sweep_file, "128M", "little.h5")
        self.assert_same_bits(self.dir / "plenty.h5", self.dir / "little.h5")
        if os.environ.get("SCRM_SANITIZE"):
            raise unittest.SkipTest("sanitizers need memory of their own")
        self.assertLess(little, plenty)
        self.assertLessEqual(little, 128 << 20)

    def test_labelled_rows_of_more_than_64_megabytes_are_held(self):
        data = write_labelled(self.dir / "data.h5", 3200, 10, 2)
        sweep_file = self.write(environments=[str(data)], methods=["crm", "scrm"], rollouts=2, lambdas=0.1,
                                max_iterations=2, projection=4500)
        path, _ = self.sweep(sweep_file, "--memory", "1G")
        self.assertEqual(archive(path)["status"], ["ok", "ok"])
        _, done = self.sweep(sweep_file, "--memory", "150M", out="little.h5", check=1)
        self.assertIn("give a larger --memory", done.stderr)

    def test_many_runs_at_once_stay_within_the_budget(self):
        sweep_file = self.write(environments=["pricing"], methods=["scrm"], seeds=6, rollouts=10, lambdas=[1e-3, 1e-2],
                                tables='[method.scrm]\npast = "all-naive"\n')
        little = self.peak(sweep_file, "100M", "little.h5")
        self.peak(sweep_file, "4G", "plenty.h5")
        self.assert_same_bits(self.dir / "plenty.h5", self.dir / "little.h5")
        if os.environ.get("SCRM_SANITIZE"):
            raise unittest.SkipTest("sanitizers need memory of their own")
        self.assertLessEqual(little, 100 << 20)


if __name__ == "__main__":
    main()
