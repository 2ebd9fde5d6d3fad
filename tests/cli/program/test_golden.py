"""Every number of a battery of commands is what it was: compared with a committed file, as hexadecimal doubles.

labels: cli slow

After a change that is meant to alter numbers, `SCRM_GOLDEN=write PYTHONPATH=tests/cli python3 tests/cli/program/test_golden.py` writes the file anew;
the commit says why, and by how much.
"""

import math
import os
import pathlib
import re
import tempfile
import unittest

import golden_battery
from harness import main, run

FILE = pathlib.Path(__file__).resolve().parents[1] / "golden" / "numbers.txt"

# Everything is compared to the bit, but for two things:
# - Kernel ridge solves linear systems with OpenBLAS, whose order of summation belongs to the solver that is chosen, not to
#   the method. The systems of the bandits here are well-conditioned (lambda >= 1; sbpe's least-norm solution has few
#   features), so that solvers agree to about 1e-11, and actions come from a grid: a loss moves only where two actions tie.
# - `inspect` describes: the formula that merges its means and spreads may change for another that is as accurate, and the
#   last digit with it.
TOLERANCES = [(re.compile(r"^sweep/bandits/"), 1e-9), (re.compile(r"^inspect/.*/(mean|sd|z)$"), 1e-13)]


def read():
    return dict(line.split("\t") for line in FILE.read_text().splitlines())


def write(numbers):
    FILE.write_text("".join(f"{key}\t{value}\n" for key, value in sorted(numbers.items())))


def same(key, expected, found):
    if expected == found:
        return True
    tolerance = next((allowed for pattern, allowed in TOLERANCES if pattern.match(key)), None)
    try:
        return tolerance is not None and math.isclose(float.fromhex(expected), float.fromhex(found), rel_tol=tolerance,
                                                      abs_tol=tolerance)
    except ValueError:
        return False


def forced_is_possible():
    """Asked of the processor: a program that cannot be forced to AVX2 on one that has it is to fail."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    return "avx2" in flags and "fma" in flags


class Golden(unittest.TestCase):
    maxDiff = None

    @unittest.skipUnless(forced_is_possible(), "this machine has no AVX2, and the golden numbers are those of AVX2")
    def test_every_number_is_what_it_was(self):
        version = run("--version", env=golden_battery.FORCED).stdout
        self.assertRegex(version, r"instruction set\s+AVX2\n")
        self.assertRegex(version, r"OpenBLAS\s+\S+, Haswell kernels")
        with tempfile.TemporaryDirectory(prefix="scrm-golden-") as folder:
            numbers = golden_battery.numbers(folder)
        if os.environ.get("SCRM_GOLDEN") == "write":
            write(numbers)
        expected = read()
        self.assertEqual(sorted(expected.keys() - numbers.keys()), [], "numbers that are no longer given")
        self.assertEqual(sorted(numbers.keys() - expected.keys()), [], "numbers that were not given before")
        changed = [f"{key}: {expected[key]} is now {numbers[key]}" for key in sorted(expected)
                   if not same(key, expected[key], numbers[key])]
        self.assertEqual(changed[:50], [], f"{len(changed)} of {len(expected)} numbers changed")


if __name__ == "__main__":
    main()
