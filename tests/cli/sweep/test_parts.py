"""`scrm sweep --part` and `scrm merge`: parts in any order give the archive of one process."""
# labels: slow cli

import os
import shutil
import signal
import subprocess

import h5py

from harness import PROGRAM, SOURCE_DIR, main, run, run_json
from sweeps import SweepTest, archive, write_labelled

# Where a sweep ran and when, which parts change.
ELSEWHERE = {"host", "time", "threads"}


class Parts(SweepTest):
    def small(self, name="sweep.toml", **keys):
        return self.write(name, **{"environments": ["pricing", "gaussian", "advertising"],
                                   "methods": ["baseline", "crm", "scrm", "bkucb", "skyline"], "seeds": 3, "rollouts": 3,
                                   "lambdas": [1e-3, 1e-2], **keys})

    def part(self, path, text, *options, **more):
        return self.sweep(path, "--part", text, *options, out=f"part-{text.replace('/', '-')}.h5", **more)

    def parts(self, path, count):
        return [self.part(path, f"{i}/{count}")[0] for i in range(1, count + 1)]

    def merge(self, *files, out="merged.h5", **more):
        return self.dir / out, run("merge", *files, "--out", self.dir / out, **more)

    def attributes(self, path):
        with h5py.File(path) as file:
            return {name: value for name, value in file.attrs.items() if name not in ELSEWHERE}

    def test_parts_in_any_order_give_the_archive_of_one_process(self):
        sweep = self.small()
        whole, _ = self.sweep(sweep)
        for count in (2, 7):
            files = self.parts(sweep, count)
            merged, done = self.merge(*files[::-1], out=f"merged-{count}.h5")
            self.assert_same_bits(whole, merged)
            self.assertEqual({name: value for name, value in self.attributes(merged).items()
                              if not name.startswith("seal")},
                             {name: value for name, value in self.attributes(whole).items()
                              if not name.startswith("seal")})
            self.assertIn(f"of {count} parts", done.stdout)

    def test_every_run_is_in_one_part_and_costs_are_shared_out(self):
        sweep = self.small()
        whole, _ = self.sweep(sweep)
        files = self.parts(sweep, 3)
        found = [archive(path)["identity"] for path in files]
        self.assertEqual(sorted(sum(found, [])), sorted(archive(whole)["identity"]))
        # Runs of crm with one seed share their logs, so parts differ by a few runs at most.
        counts = [len(identities) for identities in found]
        self.assertGreater(min(counts), sum(counts) / 3 * 0.5, counts)

    def test_more_parts_than_runs_leave_parts_without_any(self):
        sweep = self.write(environments=["gaussian"], methods=["baseline"], seeds=2, rollouts=1)
        whole, _ = self.sweep(sweep)
        merged, _ = self.merge(*self.parts(sweep, 3))
        self.assert_same_bits(whole, merged)

    def test_a_part_that_was_killed_is_resumed(self):
        sweep = self.small(seeds=8)
        whole, _ = self.sweep(sweep)
        journal = self.dir / "part-1-2.h5.journal"
        process = self.start(sweep, "--part", "1/2", out="part-1-2.h5")
        self.wait_for_runs(process, journal)
        process.send_signal(signal.SIGKILL)
        process.wait()
        _, done = self.part(sweep, "2/2", "--resume", "--threads", 2)
        _, done = self.part(sweep, "1/2", "--resume", "--json")
        self.assertIn('"part":"1/2"', done.stdout)
        merged, _ = self.merge(self.dir / "part-1-2.h5", self.dir / "part-2-2.h5")
        self.assert_same_bits(whole, merged)
        # Once more: nothing is left to do.
        self.assertEqual(run_json("sweep", sweep, "--part", "1/2", "--out", self.dir / "part-1-2.h5",
                                  "--resume")["resumed"], len(archive(self.dir / "part-1-2.h5")["seed"]))

    def test_what_does_not_belong_together_is_named(self):
        sweep = self.small(environments=["gaussian"], methods=["baseline", "scrm"])
        one, two, three = self.parts(sweep, 3)
        self.assertIn("1 of 3 parts is missing (2/3)", self.merge(one, three, check=1)[1].stderr)
        copied = self.dir / "copy.h5"
        shutil.copy(one, copied)
        message = self.merge(one, two, three, copied, check=1)[1].stderr
        self.assertIn("copy.h5: is part 1/3, and so is", message)
        self.assertIn("part-1-3.h5", message)
        other = self.small("other.toml", environments=["gaussian"], methods=["baseline", "scrm"], seeds=4)
        stranger, _ = self.sweep(other, "--part", "2/3", out="stranger.h5")
        self.assertIn("stranger.h5: belongs to another sweep", self.merge(one, stranger, three, check=1)[1].stderr)
        half, _ = self.part(sweep, "1/2")
        self.assertIn("is one of 2 parts", self.merge(three, half, check=1)[1].stderr)
        whole, _ = self.sweep(sweep)
        self.assertIn("results.h5: is no part of a sweep", self.merge(one, whole, check=1)[1].stderr)
        self.assertFalse((self.dir / "merged.h5").exists())
        self.merge(one, two, three)
        self.assertIn("--overwrite", self.merge(one, two, three, check=1)[1].stderr)
        self.merge(one, two, three, "--overwrite")

    def test_nothing_is_written_over_a_part(self):
        sweep = self.small(environments=["gaussian"], methods=["baseline"])
        one, two = self.parts(sweep, 2)
        before = one.read_bytes()
        self.merge(one, two, "--overwrite", out=one.name, check=2)
        self.assertEqual(one.read_bytes(), before)

    def test_a_part_is_resumed_as_that_part_alone(self):
        sweep = self.small(environments=["gaussian"], methods=["baseline", "scrm"])
        self.part(sweep, "1/2")
        _, done = self.sweep(sweep, "--resume", out="part-1-2.h5", check=2)
        self.assertIn("holds part 1/2 of a sweep; go on with it with --part 1/2", done.stderr)
        _, done = self.sweep(sweep, "--part", "2/2", "--resume", out="part-1-2.h5", check=2)
        self.assertIn("holds part 1/2", done.stderr)
        self.sweep(sweep)
        _, done = self.sweep(sweep, "--part", "2/2", "--resume", check=2)
        self.assertIn("holds a whole sweep", done.stderr)
        more = self.small("more.toml", environments=["gaussian"], methods=["baseline", "scrm"], seeds=9)
        _, done = self.sweep(more, "--part", "1/2", "--resume", out="part-1-2.h5", check=2)
        self.assertIn("another list of runs", done.stderr)

    def test_parts_that_make_no_sense_are_refused(self):
        sweep = self.small()
        for text in ["0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2", "1/99999999999", "1.5/2"]:
            _, done = self.sweep(sweep, "--part", text, check=2)
            self.assertIn("such as 3/64", done.stderr)
            self.assertFalse((self.dir / "results.h5").exists())

    def test_failed_runs_are_kept_and_said(self):
        write_labelled(self.dir / "few.h5", 4, 1, 2)  # none is left to learn from
        sweep = self.write(environments=["gaussian", "few.h5"], methods=["crm"], lambdas=0.01, seeds=2, rollouts=3)
        whole, _ = self.sweep(sweep, check=1)
        files = [self.part(sweep, f"{i}/2", check=None)[0] for i in (1, 2)]
        merged, done = self.merge(*files)
        self.assertIn("2 of 4 runs failed", done.stderr)
        self.assert_same_bits(whole, merged)

    def test_the_example_runs_parts_side_by_side(self):
        sweep = self.small()
        whole, _ = self.sweep(sweep)
        command = [SOURCE_DIR / "examples/parallel.sh", sweep, "3", self.dir / "all.h5"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "SCRM": PROGRAM})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_same_bits(whole, self.dir / "all.h5")


if __name__ == "__main__":
    main()
