"""labels: python fast threads
Threads that the system refuses: fewer do the work, with a warning, or there is a scrm.Error; no abort, no wait."""

import json
import os
import resource
import subprocess
import sys
import unittest

from support import Case, continuous, write_shard

# Says as JSON what each call gave, or the error of the family that it raised; all else ends the process otherwise.
CALLS = """
import json, sys, warnings
import numpy as np
sys.path.insert(0, sys.argv[1])
import scrm
shard, sweep, out, threads, calls = sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6].split(",")
policy = scrm.Policy("gaussian", [0.1, 0.2, 0.0, -0.1], scale=0.8, name="p")
made = {
    "evaluate": lambda: scrm.evaluate(scrm.open(shard), policy, interval="bootstrap", replicates=50, threads=threads)
        ["p"]["snips"].value,
    "learn": lambda: scrm.learn(scrm.open(shard), kind="gaussian", lam=0.01, threads=threads).theta.tolist(),
    "sample": lambda: policy.sample(np.zeros((9_000, 3)), seed=1, threads=threads).action.sum(),
    "sweep": lambda: scrm.sweep(sweep, out=out, threads=threads).to_frame()["final_loss"].tolist()}
for name in calls:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = {"value": made[name]()}
        except scrm.Error as error:
            result = {"error": str(error)}
    print(json.dumps({**result, "said": [str(one.message) for one in said if "could be started" in str(one.message)]}))
"""

SWEEP = """environments = ["pricing"]
methods = ["crm", "sbpe"]
seeds = 2
rollouts = 3
lambdas = [0.01]
"""

ALL = ("evaluate", "learn", "sample", "sweep")
SECONDS = 120  # nothing here takes more than a few; a call that waits for a thread waits forever
NOBODY = 54_321  # limits of processes do not hold for root; nobody else has this number


class ThreadLimitsTest(Case):
    def setUp(self):
        super().setUp()
        context, action, loss, density = continuous(20_000)
        self.shard = write_shard(self.path("logs.h5"), {"action_kind": "continuous"}, context=context, action=action,
                                 loss=loss, propensity=density)
        self.sweep = self.write("sweep.toml", SWEEP)
        self.module = os.environ["PYTHONPATH"].split(":")[0]
        os.chmod(self.folder, 0o777)

    def call(self, threads, calls=ALL, env=None, **limits):
        """A finished process that made the calls under limits (names of resource.RLIMIT_*)."""
        def apply():
            for name, value in limits.items():
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
            if "NPROC" in limits and os.getuid() == 0:
                os.setuid(NOBODY)

        out = self.folder / "out.h5"
        for file in (out, *self.folder.glob(".*out*")):
            file.unlink(missing_ok=True)
        # NumPy's own BLAS starts no thread, so that all that are counted are ours.
        return subprocess.run([sys.executable, "-c", CALLS, self.module, self.shard, self.sweep, str(out), str(threads),
                               ",".join(calls)], capture_output=True, text=True, timeout=SECONDS, preexec_fn=apply,
                              env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(env or {})})

    def results(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_fewer_threads_give_the_same_numbers_and_say_so(self):
        shim = os.environ.get("SCRM_THREAD_SHIM")
        if not shim:
            self.skipTest("built without the shim")
        threads = 4
        wanted = self.results(self.call(threads))
        self.assertEqual([one["said"] for one in wanted], [[]] * len(ALL))
        for at_once in (0, 1, 2, 3, 4, 5):
            env = {"LD_PRELOAD": shim, "SCRM_THREADS_AT_ONCE": str(at_once)}
            for name, one, expected in zip(ALL, self.results(self.call(threads, env=env)), wanted):
                with self.subTest(call=name, at_once=at_once):
                    if at_once == 0:
                        self.assertIn("starts no further thread", one["error"])
                        continue
                    self.assertEqual(one["value"], expected["value"])
                    # A sweep is waited for by one more.
                    left = max(1, at_once - (name == "sweep"))
                    said = [] if left >= threads else [f"only {left} of {threads} threads could be started"]
                    self.assertEqual(len(one["said"]), len(said), one["said"])
                    for text, found in zip(said, one["said"]):
                        self.assertIn(text, found)

    def test_few_processes_are_enough_or_there_is_an_error(self):
        for processes in (1, 2, 3, 10):
            for one in self.results(self.call(64, NPROC=processes)):
                with self.subTest(processes=processes, result=one):
                    self.assertTrue("error" in one or os.getuid() != 0 or len(one["said"]) == 1)
                    if processes > 2 and os.getuid() == 0:  # the process counts too, and nobody else has its user
                        self.assertNotIn("error", one)

    def test_little_address_space_is_enough_or_there_is_an_error(self):
        for megabytes in (600, 800, 1_000, 1_500, 2_000, 8_000):
            done = self.call(64, AS=megabytes << 20)
            if done.returncode == 1 and "scrm" not in done.stdout and "import" in done.stderr:
                continue  # there was no room for the libraries themselves
            results = self.results(done)
            self.assertEqual(len(results), len(ALL))
        self.assertFalse(any("error" in one for one in results), f"8 GB are enough: {results}")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
