"""labels: python slow threads
The module is a good guest: beside h5py and NumPy, in threads, under Ctrl-C, after a fork, and in the environment."""

import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import numpy as np
import scrm
from support import Case, continuous

USE_ALL = """
import os, sys, threading
before, program, threads = dict(os.environ), os.getpid(), threading.active_count()
for name in sys.argv[1].split(","):
    __import__(name)
import h5py, numpy, scrm
x = numpy.random.default_rng(0).normal(size=(500, 3))
numpy.linalg.svd(x @ x.T)
with h5py.File(sys.argv[2], "w") as file:
    file.attrs.update(format="scrm-log", format_version=1, action_kind="continuous")
    file["context"], file["action"], file["loss"] = x, x[:, 0], x[:, 1]
    file.create_dataset("propensity", data=numpy.full(500, 0.4), compression="gzip")
policy = scrm.Policy("gaussian", [0.0, 0.1, 0.0, 0.0], name="p")
import warnings
warnings.simplefilter("ignore")
from_file = scrm.evaluate(scrm.open(sys.argv[2]), policy, model="ridge")
from_arrays = scrm.evaluate(scrm.Logs(x, x[:, 0], x[:, 1], 0.4), policy, model="ridge")
assert from_file["p"]["dr"] == from_arrays["p"]["dr"]
with h5py.File(sys.argv[2]) as file:
    assert (file["propensity"][:] == 0.4).all() and (file["context"][:] == x).all()
numpy.linalg.svd(x.T @ x)
assert dict(os.environ) == before and os.getpid() == program
"""


def rows(count):
    context, action, loss, density = continuous(count)
    return scrm.Logs(context=context, action=action, loss=loss, propensity=density)


POLICY = scrm.Policy("gaussian", [0.1, 0.2, 0.0, 0.0], name="p")


class ProcessTest(Case):
    def about(self, **variables):
        """scrm.about() of a process whose environment has no core of OpenBLAS but the one given."""
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        done = subprocess.run([sys.executable, "-c", "import json, scrm; print(json.dumps(scrm.about()))"], text=True,
                              stdout=subprocess.PIPE, env={**environment, **variables}, check=True, timeout=120)
        return json.loads(done.stdout)

    def test_beside_h5py_and_numpy_in_every_order(self):
        for order in itertools.permutations(("h5py", "numpy", "scrm")):
            with self.subTest(order=order):
                done = subprocess.run([sys.executable, "-c", USE_ALL, ",".join(order), self.path("a.h5")],
                                      capture_output=True, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_nothing_of_the_module_is_seen_by_others(self):
        names = subprocess.run(["nm", "-D", "--defined-only", scrm._scrm.__file__], capture_output=True, text=True)
        seen = [line.split()[-1] for line in names.stdout.splitlines()]
        self.assertEqual([name for name in seen if not name.startswith("PyInit_")], [])

    def test_about_says_what_is_in_use(self):
        self.assertEqual(scrm.about()["version"], scrm.__version__)

    def test_a_private_openblas_runs_the_best_kernels_there_are(self):
        about = self.about()
        if not about["openblas_private"]:
            self.skipTest("others may use this OpenBLAS too")
        self.assertIsNone(about["openblas_better_core"])

    def test_a_core_that_the_user_chose_is_kept(self):
        self.assertEqual(self.about(OPENBLAS_CORETYPE="Prescott")["openblas_core"], "Prescott")

    def test_two_threads_at_once(self):
        logs = rows(200_000)
        wanted = scrm.evaluate(logs, POLICY, interval="bootstrap", replicates=200)["p"]["snips"]
        found = []
        threads = [threading.Thread(target=lambda: found.append(
            scrm.evaluate(logs, POLICY, interval="bootstrap", replicates=200, threads=2)["p"]["snips"]))
            for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted, wanted])

    def test_other_threads_run_meanwhile(self):
        # Rows wait for a thread of Python's, which waits for the GIL; where that is kept the process never ends.
        code = """
import threading
import numpy as np, scrm
asked, answered = threading.Event(), threading.Event()
def answer():
    asked.wait()
    answered.set()
threading.Thread(target=answer).start()
def even(contexts, actions):
    asked.set()
    answered.wait()
    return np.full(len(actions), 0.4)
x = np.random.default_rng(0).normal(size=(5_000, 1))
scrm.evaluate(scrm.Logs(x, x[:, 0], x[:, 0], 0.4), even)
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_other_threads_run_while_nothing_of_python_is_called(self):
        # The key is pressed by a thread that needs the GIL several times; where that is kept the call takes an hour.
        code = """
import os, signal, threading, time
import numpy as np, scrm
x = np.random.default_rng(0).normal(size=(200_000, 1))
logs = scrm.Logs(x, x[:, 0], x[:, 0], 0.4)
def press():
    for _ in range(20):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    scrm.evaluate(logs, scrm.Policy("gaussian", [0.0, 0.1], name="p"), interval="bootstrap", replicates=10_000_000)
except KeyboardInterrupt:
    print("pressed")
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "pressed\n", ""))

    def test_as_many_threads_work_as_were_asked_for(self):
        logs = rows(700_000)
        for threads in (1, 2, 3):
            seen, together = set(), threading.Barrier(threads)

            def even(contexts, actions):
                if threading.get_ident() not in seen:  # each waits for all others, once
                    seen.add(threading.get_ident())
                    together.wait(30)
                return np.ones(len(actions))

            with self.subTest(threads=threads):
                self.assertEqual(scrm.evaluate(logs, even, threads=threads).to_dict()["threads"], threads)
                self.assertEqual(len(seen), threads)

    def test_progress_is_told_and_what_it_raises_ends_the_call(self):
        calls = []
        logs = rows(300_000)
        scrm.evaluate(logs, POLICY, interval="bootstrap", replicates=200, progress=lambda *said: calls.append(said))
        self.assertEqual(calls[-1], (300_000, 300_000, "evaluating"))

        def refuse(done, total, label):
            raise LookupError("enough")

        for threads in (1, 4):
            with self.assertRaisesRegex(LookupError, "enough"):
                scrm.evaluate(logs, POLICY, interval="bootstrap", replicates=2_000, progress=refuse, threads=threads)
        with self.assertRaisesRegex(LookupError, "enough"):
            scrm.learn(logs, progress=refuse)
        scrm.evaluate(logs, POLICY, progress=True)

    def interrupt(self, call):
        """Presses Ctrl-C while the call runs."""
        def press():
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=press)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
        finally:
            try:  # where the call was over too soon, the key is pressed here
                thread.join()
            except KeyboardInterrupt:
                pass

    def test_ctrl_c_ends_a_call(self):
        def slow(contexts, actions):
            time.sleep(0.05)
            return np.ones(len(actions))

        logs = rows(400_000)  # each of these would take minutes
        calls = {"evaluate": lambda: scrm.evaluate(logs, POLICY, interval="bootstrap", replicates=100_000),
                 "learn": lambda: scrm.learn(logs, tolerance=0, restarts=1_000),
                 "function": lambda: scrm.evaluate(logs, slow)}
        for name, call in calls.items():
            with self.subTest(call=name):
                self.interrupt(call)
        self.assertTrue(scrm.evaluate(logs, POLICY))

    def test_a_fork_after_import_is_safe_and_after_use_refused(self):
        code = """
import os, sys, warnings
import numpy as np, scrm
warnings.simplefilter("ignore")
x = np.random.default_rng(0).normal(size=(50_000, 3))
logs = scrm.Logs(x, x[:, 0], x[:, 1], 0.4)
policy = scrm.Policy("gaussian", [0.0, 0.1, 0.0, 0.0], name="p")
def child(expected):
    pid = os.fork()
    if pid == 0:
        try:
            value = scrm.evaluate(logs, policy, threads=2)["p"]["ips"].value
        except scrm.RunError as error:
            os._exit(3 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == expected
child(2)
scrm.evaluate(logs, policy, threads=2)
child(3)
scrm.evaluate(logs, policy, threads=2)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_spawned_processes_work(self):
        scrm.evaluate(rows(1_000), POLICY)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.apply(evaluate_here), evaluate_here())


def evaluate_here():
    return scrm.evaluate(rows(1_000), POLICY)["p"]["ips"].value


if __name__ == "__main__":
    unittest.main(warnings="ignore")
