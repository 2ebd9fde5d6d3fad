"""Random Fourier features in sweeps: for those who learn and for the skyline, and never for who logs first.

labels: cli fast threads
"""

import h5py
import numpy as np

from harness import few_under_sanitizers, main
from sweeps import SweepTest, archive

SEEDS = few_under_sanitizers(1, 2)


def write_bumps(path, rows=1200):
    """Two labels that say how far from the middle a context is, which no line can tell."""
    random = np.random.default_rng(5)
    context = random.normal(size=(rows, 2)) * [1.0, 50.0] + [3.0, -200.0]
    far = ((context - [3.0, -200.0]) / [1.0, 50.0]) ** 2 @ [1.0, 1.0] > 1.4
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "scrm-labelled"
        file.attrs["format_version"] = 1
        file["context"] = context
        file["label"] = np.column_stack([far, ~far]).astype(np.uint8)
    return path


TABLES = """
[method.scrm-fourier]
like = "scrm"
estimator = "dm"
lambdas = [0]
features = "fourier"
width = 40
bandwidth = 1.0

[method.crm-fourier]
like = "crm"
features = "fourier"
width = 40
bandwidth = 1.0

[method.skyline-fourier]
like = "skyline"
features = "fourier"
width = 40
bandwidth = 1.0

[method.baseline-fourier]
like = "baseline"
features = "fourier"
width = 40

[method.scrm-linear]
like = "scrm"
estimator = "dm"
lambdas = [0]
"""


def tables(methods):
    """The tables of these methods: a table about no method of the list is an error."""
    return "".join(f"\n[method.{part}" for part in TABLES.split("\n[method.")[1:] if part.split("]")[0] in methods)


class FourierSweeps(SweepTest):
    def keys(self, **more):
        data = write_bumps(self.dir / "bumps.h5")
        methods = ["baseline", "baseline-fourier", "scrm-linear", "scrm-fourier", "crm-fourier", "skyline", "skyline-fourier"]
        return {**dict(environments=[str(data)], methods=methods, seeds=SEEDS, rollouts=4, lambdas=[0.1], standardize=True),
                **more}

    def test_learners_and_skyline_follow_what_lines_cannot_and_who_logs_first_is_the_same(self):
        columns = archive(self.sweep(self.write(tables=TABLES, **self.keys()))[0])
        self.assertEqual(set(columns["status"]), {"ok"})
        loss = {}
        for method, value in zip(columns["method"], columns["final_loss"]):
            loss.setdefault(method, []).append(value)
        # To the last digits: scores of contexts with other features beside them are added up in another order.
        np.testing.assert_allclose(loss["baseline"], loss["baseline-fourier"], rtol=1e-12)
        # The best line is right on half of the rows; of a perfect policy an epsilon of a tenth leaves .05.
        for seed in range(SEEDS):
            self.assertGreater(loss["scrm-linear"][seed], 0.35)
            self.assertGreater(loss["skyline"][seed], 0.35)
            self.assertLess(loss["scrm-fourier"][seed], 0.15)
            self.assertLess(loss["skyline-fourier"][seed], 0.15)
            self.assertLess(loss["crm-fourier"][seed], loss["scrm-linear"][seed])
        widths = {method: len(theta) for method, theta in zip(columns["method"], columns["theta"])}
        self.assertEqual((widths["scrm-linear"], widths["scrm-fourier"]), (2 * 3, 2 * 43))

    def test_threads_change_nothing_and_runs_without_them_keep_their_identity(self):
        keys = self.keys(methods=["baseline", "scrm-fourier", "crm-fourier"])
        path = self.write(tables=tables(keys["methods"]), **keys)
        first, _ = self.sweep(path, "--threads", 1)
        second, _ = self.sweep(path, "--threads", 7, out="second.h5")
        self.assert_same_bits(first, second)
        plain, _ = self.sweep(self.write("plain.toml", **{**keys, "methods": ["baseline"]}), out="plain.h5")
        self.assertEqual(archive(plain)["identity"], archive(first)["identity"][:SEEDS])

    def test_seeds_have_maps_of_their_own_and_feature_seed_changes_them(self):
        keys = self.keys(methods=["skyline-fourier"], seeds=1)
        own = tables(keys["methods"])
        first = archive(self.sweep(self.write(tables=own, **keys))[0])
        second = archive(self.sweep(self.write("b.toml", tables=own, **keys, feature_seed=3), out="b.h5")[0])
        self.assertNotEqual(first["theta"][0].tobytes(), second["theta"][0].tobytes())

    def test_environments_that_draw_their_rows_refuse_them(self):
        path = self.write(environments=["pricing"], methods=["crm"], features="fourier")
        done = self.sweep(path, check=None)[1]
        self.assertIn(done.returncode, (1, 2))
        self.assertIn("labelled data", done.stderr)


if __name__ == "__main__":
    main()
