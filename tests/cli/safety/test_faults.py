"""Every command: system calls that fail one after another, kills at every rename, containers that start again."""
# labels: slow cli

import errno
import os
import shutil
import signal
import subprocess
import unittest

from harness import PROGRAM, ProgramTest, main, run
from sweeps import bits

SHIM = os.environ.get("SCRM_FAULT_SHIM")
POLICY = 'kind = "gaussian"\nfeatures = "linear"\nscale = 0.5\ntheta = [0.0, 0.3, 0.3, 0.3, 0, 0, 0, 0, 0, 0, 0]\n'
SWEEP = 'environments = ["pricing"]\nmethods = ["baseline", "crm"]\nseeds = 2\nrollouts = 2\nlambdas = 0.01\n'
CSV = ["--format", "csv", "--action-kind", "continuous", "--context", "x", "--action", "a", "--loss", "y", "--propensity",
       "p"]
# By name: the command, and what it writes, which is there already.
COMMANDS = {
    "simulate": (["simulate", "gaussian", "--rows", 50, "--seed", 2, "--shards", 2, "--out", "work/out"], "out"),
    "import": (["import", "in/table.csv", *CSV, "--shards", 2, "--out", "work/out"], "out"),
    "import one file": (["import", "in/table.csv", *CSV, "--out", "work/out.h5"], "out.h5"),
    "import labelled": (["import", "in/labels.svm", "--format", "libsvm", "--out", "work/out.h5"], "out.h5"),
    "learn": (["learn", "in/logs", "--lambda", "0.1", "--max-iter", 2, "--out", "work/out.toml"], "out.toml"),
    "act": (["act", "in/policy.toml", "--contexts", "in/logs", "--seed", 1, "--out", "work/out"], "out"),
    "act on text": (["act", "in/small.toml", "--contexts", "in/table.csv", "--context", "x", "--seed", 1, "--csv",
                     "work/out.csv"], "out.csv"),
}


def content(path):
    """A file, or a folder by names, as bytes; None where there is nothing."""
    if path.is_dir():
        return {entry.name: entry.read_bytes() for entry in path.iterdir()}
    return path.read_bytes() if path.exists() else None


@unittest.skipUnless(SHIM, "no library that makes calls fail beside sanitizers")
class FaultTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.work = self.dir / "work"
        inputs = self.dir / "in"
        inputs.mkdir()
        run("simulate", "pricing", "--rows", 60, "--out", inputs / "logs")
        (inputs / "policy.toml").write_text(POLICY)
        (inputs / "small.toml").write_text('kind = "gaussian"\nscale = 0.5\ntheta = [0.0, 0.3]\n')
        (inputs / "table.csv").write_text("x,a,y,p\n" + "".join(f"{i},{i / 7},{i % 3},0.25\n" for i in range(40)))
        (inputs / "labels.svm").write_text("0,2 1:0.5 3:1\n1 2:0.25\n0 1:1 2:1\n")
        (inputs / "sweep.toml").write_text(SWEEP)
        self.inputs = {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()}
        self.log = self.dir / "faults.log"

    def run_with_fault(self, args, at=0, error=errno.EIO, calls=None, under="work", prefix=(), **settings):
        """The finished process, and the calls that failed."""
        self.log.unlink(missing_ok=True)
        env = {**os.environ, "LD_PRELOAD": SHIM, "SCRM_FAULT_PATH": under, "SCRM_FAULT_AT": str(at),
               "SCRM_FAULT_ERROR": str(error), "SCRM_FAULT_LOG": str(self.log), **settings}
        if calls:
            env["SCRM_FAULT_CALLS"] = calls
        done = subprocess.run([*prefix, PROGRAM, *map(str, args), "--threads", "1"], capture_output=True, text=True,
                              env=env, cwd=self.dir, timeout=120)
        return done, self.log.read_text().splitlines() if self.log.exists() else []

    def hidden(self):
        return sorted(path.name for path in self.work.rglob(".*"))

    def fresh(self, old=None, name="out"):
        """The folder of outputs with the old one in it."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        if isinstance(old, dict):
            (self.work / name).mkdir()
            for entry, data in old.items():
                (self.work / name / entry).write_bytes(data)
        elif old is not None:
            (self.work / name).write_bytes(old)

    def old_folder(self):
        """Shards, which are all that a folder may hold to be replaced."""
        return {"part-00000.h5": (self.dir / "in" / "logs" / "part-00000.h5").read_bytes()}

    def old_and_new(self, args, name):
        """What is there before, and what a run that nothing disturbs makes of it."""
        self.fresh()
        run(*args, cwd=self.dir)
        new = content(self.work / name)
        old = self.old_folder() if isinstance(new, dict) else b"old"
        return old, new

    def assert_told(self, done, where):
        self.assertEqual(done.returncode, 1, (where, done))
        self.assertRegex(done.stderr, r"^scrm: error: .*(work|in)/", where)
        self.assertNotIn(".scrm-", done.stderr, where)
        self.assertEqual(done.stdout, "", where)


class Outputs(FaultTest):
    def walk(self, name, calls=None, **settings):
        """Lets every call fail in turn; gives the number of them."""
        args, output = COMMANDS[name]
        old, new = self.old_and_new(args, output)
        args = [*args, "--overwrite"]
        errors = [errno.ENOSPC, errno.EIO, errno.EINTR]
        for at in range(1, 1000):
            self.fresh(old, output)
            done, faults = self.run_with_fault(args, at, errors[at % 3], calls, **settings)
            if not faults:
                self.assertEqual(done.returncode, 0, done)
                return at - 1
            where = f"{name}, call {at}: {faults}"
            if done.returncode == 0:
                # A name that cannot be synced, a close after everything is on disk: nothing is lost.
                self.assertEqual(content(self.work / output), new, where)
            else:
                self.assert_told(done, where)
                self.assertEqual(content(self.work / output), old, where)
            if self.hidden():
                done = run(*args, cwd=self.dir)
                self.assertIn("which a killed process had left", done.stderr, where)
                self.assertEqual(content(self.work / output), new, where)
            self.assertEqual(self.hidden(), [], where)
        self.fail(f"{name} does not end")

    def test_every_failing_call_leaves_the_old_output_or_the_new_one(self):
        for name in COMMANDS:
            with self.subTest(name):
                self.assertGreaterEqual(self.walk(name), 6)
        self.assertEqual({path: path.read_bytes() for path in self.inputs}, self.inputs)

    def test_a_folder_is_replaced_too_where_folders_cannot_be_exchanged(self):
        self.assertGreaterEqual(self.walk("simulate", "rename,open", SCRM_NO_EXCHANGE="1"), 5)

    def killed(self, name, **settings):
        """Kills the command at every rename of its output, and runs it again; gives the number of kills."""
        args, output = COMMANDS[name]
        old, new = self.old_and_new(args, output)
        args = [*args, "--overwrite"]
        gone = 0
        for at in range(1, 1000):
            self.fresh(old, output)
            done, faults = self.run_with_fault(args, at, 0, "rename,sync", **settings)
            if not faults:
                self.assertGreater(at, 2)
                return at - 1, gone
            where = f"{name}, killed at {faults}"
            self.assertEqual(done.returncode, -signal.SIGKILL, where)
            found = content(self.work / output)
            gone += found is None
            if not settings:
                self.assertIn(found, (old, new), where)
            hidden = self.hidden()
            again = run(*args, cwd=self.dir)
            if found is None:
                self.assertIn("the folder is as it was before", again.stderr, where)
            elif hidden:
                self.assertIn("which a killed process had left", again.stderr, where)
            self.assertEqual(content(self.work / output), new, where)
            self.assertEqual(self.hidden(), [], where)

    def test_a_kill_at_any_rename_leaves_the_old_output_or_the_new_one(self):
        for name in COMMANDS:
            with self.subTest(name):
                self.assertEqual(self.killed(name)[1], 0)

    def test_a_folder_that_a_kill_left_under_another_name_comes_back(self):
        self.assertEqual(self.killed("simulate", SCRM_NO_EXCHANGE="1")[1], 1)

    def test_polite_signals_leave_nothing_behind(self):
        old = self.old_folder()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.fresh(old)
            process = subprocess.Popen([PROGRAM, "import", "/dev/stdin", *CSV, "--rows-per-shard", "10", "--out",
                                        "work/out", "--overwrite"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, cwd=self.dir)
            # The rest of the table never comes.
            process.stdin.write((self.dir / "in/table.csv").read_bytes())
            process.stdin.flush()
            while not self.hidden():
                self.assertIsNone(process.poll())
            process.send_signal(number)
            _, message = process.communicate()
            self.assertEqual((process.returncode, message), (-number, b""))
            self.assertEqual(self.hidden(), [])
            self.assertEqual(content(self.work / "out"), old)


    def test_a_polite_signal_at_any_call_leaves_the_old_output_or_the_new_one_and_nothing_else(self):
        for name, (args, output) in COMMANDS.items():
            old, new = self.old_and_new(args, output)
            for at in range(1, 1000):
                self.fresh(old, output)
                done, faults = self.run_with_fault([*args, "--overwrite"], at, -signal.SIGTERM,
                                                   "open,lock,write,sync,rename")
                if not faults:
                    break
                where = f"{name}, call {at}: {faults}"
                self.assertEqual((done.returncode, done.stderr), (-signal.SIGTERM, ""), where)
                self.assertIn(content(self.work / output), (old, new), where)
                self.assertEqual(self.hidden(), [], where)
            self.assertGreater(at, 4, name)


class Sweeps(FaultTest):
    ARGS = ["sweep", "in/sweep.toml", "--out", "work/out.h5"]

    def straight(self):
        self.fresh()
        run(*self.ARGS, cwd=self.dir)
        return bits(self.work / "out.h5")

    def go_on(self, where):
        """Whatever is there is gone on with, and becomes the whole archive."""
        done = run(*self.ARGS, "--resume", cwd=self.dir)
        self.assertEqual(self.hidden(), [], where)
        self.assertFalse((self.work / "out.h5.journal").exists(), where)
        return done

    def test_every_failing_call_can_be_gone_on_from(self):
        whole = self.straight()
        errors = [errno.ENOSPC, errno.EIO, errno.EINTR]
        for at in range(1, 1000):
            self.fresh()
            done, faults = self.run_with_fault(self.ARGS, at, errors[at % 3])
            if not faults:
                self.assertGreater(at, 20)
                return
            where = f"call {at}: {faults}"
            if done.returncode != 0:
                self.assert_told(done, where)
            if done.returncode != 0 and not (self.work / "out.h5").exists():
                self.assertTrue(not self.hidden() or faults[0].startswith("open"), where)
            self.go_on(where)
            self.assertEqual(bits(self.work / "out.h5"), whole, where)

    def test_a_kill_at_any_step_can_be_gone_on_from(self):
        whole = self.straight()
        for at in range(1, 1000):
            self.fresh()
            done, faults = self.run_with_fault(self.ARGS, at, 0, "rename,link,sync")
            if not faults:
                self.assertGreater(at, 5)
                return
            self.assertEqual(done.returncode, -signal.SIGKILL)
            hidden = self.hidden()
            done = self.go_on(faults)
            self.assertEqual("which a killed process had left" in done.stderr, bool(hidden), faults)
            self.assertEqual(bits(self.work / "out.h5"), whole, faults)

    def test_a_disk_that_is_full_ends_the_sweep_and_keeps_what_is_finished(self):
        (self.dir / "in/sweep.toml").write_text(SWEEP.replace("seeds = 2", "seeds = 30"))
        whole = self.straight()
        self.fresh()
        # The first write is the header's.
        done, faults = self.run_with_fault(self.ARGS, 18, errno.ENOSPC, "write", "out.h5.journal", SCRM_FAULT_FROM="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)
        self.assertIn("the 16 finished runs before it are kept here", done.stderr)
        self.assertIn("`scrm sweep in/sweep.toml --out work/out.h5 --resume`", done.stderr)
        # One run that could not be written and what its thread tidied up, not all that were left.
        self.assertLessEqual(len(faults), 4)
        self.go_on("full disk")
        self.assertEqual(bits(self.work / "out.h5"), whole)

    def test_a_container_that_starts_again_goes_on(self):
        container = ["unshare", "--map-root-user", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*container, "true"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("no namespaces of processes here")
        whole = self.straight()
        self.fresh()
        # Every start is process 1, and ends when the archive is about to get its name, or the journal is.
        for calls in ("link", "rename", "rename"):
            resume = ["--resume"] if calls == "rename" else []
            done, faults = self.run_with_fault([*self.ARGS, *resume], 1, 0, calls, prefix=container)
            self.assertEqual(len(faults), 1, done)
            self.assertEqual(done.stdout, "")
        self.assertEqual(len(self.hidden()), 1)  # each start has removed what the one before had left
        done, _ = self.run_with_fault([*self.ARGS, "--resume"], prefix=container)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.hidden(), bits(self.work / "out.h5")), ([], whole))


if __name__ == "__main__":
    main()
