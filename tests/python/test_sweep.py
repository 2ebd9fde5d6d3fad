"""labels: python fast
sweep runs what the command line runs."""

import unittest

import h5py
import numpy as np
import scrm
from support import Case, run_json

SWEEP = """
environments = ["gaussian", "pricing"]
methods = ["baseline", "crm", "scrm", "skyline"]
seeds = 2
rollouts = 3
lambdas = [0.01]
"""


class SweepTest(Case):
    def test_the_archive_is_that_of_the_program(self):
        file = self.write("compare.toml", SWEEP)
        wanted = run_json("sweep", file, "--out", self.path("a.h5"))
        said = []
        found = scrm.sweep(file, out=self.path("b.h5"), threads=2, progress=lambda *state: said.append(state))
        self.assertEqual(found.to_dict()["table"], wanted["table"])
        self.assertEqual((found.failed, len(found)), (0, wanted["runs"]))
        with h5py.File(self.path("a.h5")) as one, h5py.File(self.path("b.h5")) as other:
            for name in ("loss", "final_loss", "regret"):
                np.testing.assert_array_equal(one["runs"][name][:], other["runs"][name][:])
            frame = found.to_frame()
            np.testing.assert_array_equal(frame["final_loss"], other["runs"]["final_loss"][:])
            self.assertEqual(list(frame["method"]), list(other["runs"]["method"].asstr()[:]))
        self.assertIn("scrm", repr(found))
        self.assertTrue(said)
        with self.assertRaises(scrm.Error):
            scrm.sweep(file, out=self.path("b.h5"))

    def test_what_is_wrong_with_a_file_is_named(self):
        with self.assertRaises(scrm.Error) as raised:
            scrm.sweep(self.write("wrong.toml", SWEEP + "rolluots = 3\n"), out=self.path("c.h5"))
        self.assertIn("rolluots", str(raised.exception))

    def test_a_sweep_that_was_stopped_goes_on(self):
        file = self.write("compare.toml", SWEEP.replace("seeds = 2", "seeds = 20"))

        def stop(done, total, label):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            scrm.sweep(file, out=self.path("d.h5"), progress=stop, threads=1)
        found = scrm.sweep(file, out=self.path("d.h5"), resume=True)
        self.assertEqual(len(found), found.to_dict()["runs"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
