"""Pages of reports in headless Chromium, wide and narrow, light and dark: nothing overlaps and nothing is cut off."""
# labels: slow cli

import os
import pathlib

import numpy as np

import harness
from archives import made_up_run, write_archive
from browser import look, need_browser
from harness import ProgramTest, gaussian_log, run

# Set to a folder to keep screenshots for people.
SCREENSHOTS = os.environ.get("SCRM_SCREENSHOTS")


class Browser(ProgramTest):
    def setUp(self):
        super().setUp()
        need_browser()

    def check(self, name, page):
        for width in (1280, 400):
            for dark in (False, True):
                kind = f"{name}-{width}-{'dark' if dark else 'light'}"
                shot = str(pathlib.Path(SCREENSHOTS) / f"{kind}.png") if SCREENSHOTS else None
                found = look(page, width, dark, shot)
                self.assertEqual((found["wrong"], found["dark"], found["width"]), ([], dark, width), kind)
                self.assertEqual(found["paper"], "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
                self.assertGreater(found["charts"], 0)

    def report(self, name, source):
        run("report", source, "--out", self.dir / name)
        self.check(name, self.dir / name / "index.html")

    def test_a_sweep_of_three_methods(self):
        random = np.random.default_rng(1)
        runs = []
        for environment, best in (("pricing", -5.6), ("advertising", -0.72)):
            for method, gain in (("crm", 0.6), ("scrm", 0.9)):
                for seed in range(5):
                    loss = [best * (1 - np.exp(-gain * (m + 1))) * (1 + 0.02 * random.normal()) for m in range(10)]
                    runs.append(made_up_run(environment, method, seed, loss, ess=[50.0 * 1.7**m for m in range(10)],
                                            mean_weight=[1 - 0.03 * m for m in range(10)]))
            for method, loss in (("baseline", 0.6 * best), ("skyline", 1.03 * best), ("trpo", 1.02 * best)):
                runs += [made_up_run(environment, method, seed, [loss] * 10, [0] * 10, rule="") for seed in range(5)]
        self.report("sweep", write_archive(self.dir / "sweep.h5", runs))

    def test_forty_methods_long_names_and_failures(self):
        runs = [made_up_run("environment & <co>", f"method-{i:02}", s, [-1, -i / 10, -i / 8]) for i in range(40) for s in (0, 1)]
        runs += [made_up_run("b" * 60, method, s, [-1, -2, -3]) for method in ("m" * 60, "w" * 60, "<b>&amp;") for s in (0, 1)]
        runs.append(made_up_run("b" * 60, "m" * 60, 2, [], failed="out of memory: " + "x" * 200))
        self.report("odd", write_archive(self.dir / "odd.h5", runs))

    def test_an_evaluation_with_heavy_weights(self):
        data = gaussian_log(self.dir / "log.h5", rows=3000)
        given = []
        for name, theta, scale in (("near.toml", 0.2, 0.9), ("far.toml", 3.0, 0.3), ("n" * 60 + ".toml", -0.3, 0.8)):
            (self.dir / name).write_text(f'kind = "gaussian"\nscale = {scale}\ntheta = [{theta}, 0.0, 0.0, 0.0]\n')
            given += ["--policy", self.dir / name]
        text = run("evaluate", data, *given, "--weight-histogram", "--json").stdout
        (self.dir / "evaluation.json").write_text(text)
        self.report("evaluation", self.dir / "evaluation.json")


if __name__ == "__main__":
    harness.main()
