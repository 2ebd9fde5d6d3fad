"""labels: python slow
Arrays are read where they lie: evaluating them takes hardly any memory of its own."""

import os
import resource
import subprocess
import sys
import unittest

from support import Case

MEASURE = """
import os, resource, sys, warnings
import numpy as np, scrm
warnings.simplefilter("ignore")
rows, layout = int(sys.argv[1]), sys.argv[2]
x = np.ones((rows, 10), order="F" if layout == "F" else "C")
x[:] = np.linspace(0, 1, rows)[:, None] * np.arange(1, 11) / 10
action = np.linspace(-2, 2, rows)
loss, density = action ** 2, np.exp(-action ** 2 / 2) / np.sqrt(2 * np.pi)
policy = scrm.Policy("gaussian", [0.1] + [0.05] * 10, name="p")
scrm.evaluate(scrm.Logs(x[:100], action[:100], loss[:100], density[:100]), policy)
# The peak counts from here.
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
before = peak()
logs = scrm.Logs(x, action, loss, density)
scrm.evaluate(logs, policy)
print(peak() - before)
"""


class MemoryTest(Case):
    def test_two_million_rows_grow_the_peak_by_less_than_50_mb(self):
        for layout in "CF":
            done = subprocess.run([sys.executable, "-c", MEASURE, "2000000", layout], capture_output=True, text=True,
                                  check=True)
            with self.subTest(layout=layout):
                self.assertLess(int(done.stdout), 50e6)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
