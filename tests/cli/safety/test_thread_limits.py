"""Threads that the system refuses: fewer do the work, with a word, or the command ends with a message; no abort, no wait."""
# labels: fast cli threads

import json
import os
import resource
import subprocess
import unittest

import harness
from harness import ProgramTest

SWEEP = """environments = ["pricing"]
methods = ["crm", "sbpe"]
seeds = 2
rollouts = 3
lambdas = [0.01]
"""

SECONDS = 60  # nothing here takes more than one; a command that waits for a thread waits forever


def limited(args, env=None, **limits):
    """Runs the program under limits (names of resource.RLIMIT_*, in their units) and returns the finished process."""

    def apply():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return subprocess.run([harness.PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=SECONDS,
                          env={**os.environ, **(env or {})}, preexec_fn=apply)


class ThreadLimits(ProgramTest):
    def setUp(self):
        super().setUp()
        if os.environ.get("SCRM_SANITIZE"):
            self.skipTest("sanitizers reserve memory and start threads themselves")
        self.logs = harness.gaussian_log(self.dir / "logs.h5", rows=50_000)
        self.policy = self.dir / "p.toml"
        self.policy.write_text('kind = "gaussian"\nscale = 0.8\ntheta = [0.1, 0.2, 0.0, -0.1]\n')
        self.sweep = self.dir / "sweep.toml"
        self.sweep.write_text(SWEEP)

    def commands(self, threads):
        common = ("--json", "--threads", threads)
        return {
            "evaluate": ("evaluate", self.logs, "--policy", self.policy, "--interval", "bootstrap", *common),
            "learn": ("learn", self.logs, "--kind", "gaussian", "--lambda", "0.01", "--out", self.dir / "out.toml",
                      *common),
            "sweep": ("sweep", self.sweep, "--out", self.dir / "out.h5", *common),
        }

    def clear(self):
        for file in [*self.dir.glob("out.*"), *self.dir.glob(".*out*")]:
            file.unlink()

    def numbers(self, text):
        """What a result says, without the time it took and the threads it had."""
        found = json.loads(text)
        for key in ("seconds", "cpu_seconds", "threads"):
            found.pop(key, None)
        return found

    def check_ended_well(self, done, what):
        self.assertIn(done.returncode, (0, 1), f"{what}: exit {done.returncode}\n{done.stderr}")
        if done.returncode == 1:
            self.assertIn("scrm: error: ", done.stderr, what)

    def test_creation_that_fails_at_any_call_leaves_the_numbers_as_they_are(self):
        shim = os.environ.get("SCRM_THREAD_SHIM")
        if not shim:
            self.skipTest("built without the shim")
        threads = 4
        for name, args in self.commands(threads).items():
            self.clear()
            expected = self.numbers(limited(args).stdout)
            for allowed in (0, 1, 2, 3, 4, 5):
                with self.subTest(command=name, allowed=allowed):
                    self.clear()
                    done = limited(args, {"LD_PRELOAD": shim, "SCRM_THREADS_ALLOWED": str(allowed)})
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.numbers(done.stdout), expected)
                    # The thread that runs the program works too, except where it waits for a sweep's jobs.
                    left = max(1, allowed + (name != "sweep"))
                    if left >= threads:
                        self.assertEqual(done.stderr, "")
                    else:
                        said = f"warning: only {left} of {threads} threads could be started"
                        self.assertEqual(done.stderr.count(said), 1, done.stderr)
                        self.assertEqual(json.loads(done.stdout).get("threads", left), left)

    def test_quiet_says_nothing_of_it(self):
        shim = os.environ.get("SCRM_THREAD_SHIM")
        if not shim:
            self.skipTest("built without the shim")
        done = limited([*self.commands(4)["evaluate"], "--quiet"], {"LD_PRELOAD": shim, "SCRM_THREADS_ALLOWED": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_little_address_space_ends_with_a_message_or_with_fewer_threads(self):
        for name, args in self.commands(64).items():
            ended = []
            for megabytes in (40, 56, 64, 96, 128, 160, 200, 256, 320, 400, 512, 1024, 4096):
                self.clear()
                done = limited(args, AS=megabytes << 20)
                if done.returncode == 127:  # the libraries themselves found no room
                    continue
                self.check_ended_well(done, f"{name} under {megabytes} MB")
                ended.append(done.returncode)
            self.assertEqual(ended[-1], 0, f"{name}: 4 GB are enough\n{done.stderr}")

    def test_few_processes_are_enough(self):
        for name, args in self.commands(64).items():
            for processes in (1, 2, 10):
                self.clear()
                self.check_ended_well(limited(args, NPROC=processes), f"{name} with {processes} processes")

    def test_a_tiny_stack_ends_with_a_message_or_is_enough(self):
        for name, args in self.commands(2).items():
            for kilobytes in (64, 128, 512):
                self.clear()
                self.check_ended_well(limited(args, STACK=kilobytes << 10), f"{name} on a stack of {kilobytes} kB")


if __name__ == "__main__":
    harness.main()
