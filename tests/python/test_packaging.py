"""labels: python slow
pip installs the module from the source tree; version and files come from one place."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import scrm
from support import Case, run

SOURCE = Path(os.environ["SCRM_SOURCE_DIR"])


class PackagingTest(Case):
    def test_pip_installs_it_into_a_clean_folder(self):
        try:
            import pip  # noqa: F401
        except ImportError:
            self.skipTest("there is no pip here")
        # SCRM_BUILD_DIR is set: the build that is there is packed, and nothing compiled twice.
        subprocess.run([sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index",
                        "--quiet", "--disable-pip-version-check", "--target", self.path("site"), str(SOURCE)],
                       check=True, capture_output=True)
        code = ("import scrm, importlib.metadata as m; print(scrm.__file__, scrm.__version__, m.version('scrm')); "
                "print(scrm.evaluate(scrm.Logs(action=[0.1, 0.2], loss=[1, 2], propensity=[1, 1]), "
                "scrm.Policy('gaussian', [0.0], name='p'))['p']['snips'].value)")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": self.path("site")}, cwd=self.folder)
        where, version, packaged = done.stdout.splitlines()[0].split()
        self.assertTrue(where.startswith(self.path("site")))
        self.assertEqual((version, packaged), (scrm.__version__, scrm.__version__))

    def test_the_version_is_that_of_the_program(self):
        self.assertEqual(run("--version").split()[1], scrm.__version__)
        self.assertIn(f"VERSION {scrm.__version__}", (SOURCE / "CMakeLists.txt").read_text())

    def test_the_package_is_whole_and_no_more(self):
        there = {path.name for path in Path(scrm.__file__).parent.iterdir() if path.is_file()}
        source = {path.name for path in (SOURCE / "python" / "scrm").iterdir() if path.is_file()}
        compiled = [name for name in there if re.fullmatch(r"_scrm\..*\.so", name)]
        self.assertEqual((there - set(compiled), len(compiled)), (source, 1))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
