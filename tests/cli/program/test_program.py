"""The program itself: version, help, exit codes, output that cannot be written, and the lines README promises."""
# labels: fast cli

import os
import pathlib
import re
import subprocess
import sys
import unittest

import harness
from harness import ProgramTest, run


class Help(unittest.TestCase):
    def test_alone_it_lists_every_command(self):
        out = run().stdout
        for name in harness.commands():
            self.assertIn(f"  {name} ", out)

    def test_version_names_what_it_is_made_of(self):
        out = run("--version").stdout
        self.assertRegex(out, r"^scrm \d+\.\d+\.\d+\n")
        for part in ("compiler", "instruction set", "oneTBB", "HDF5", "OpenBLAS"):
            self.assertRegex(out, rf"\n  {part} +\S+")

    def test_every_command_has_help_with_an_example_and_the_common_options(self):
        for name in harness.commands():
            with self.subTest(command=name):
                out = run(name, "--help").stdout
                self.assertRegex(out, rf"(?i)example[\s\S]*\n +(\$ )?scrm {name} ")
                for option in ("--json", "--threads", "--memory", "--quiet"):
                    self.assertIn(option, out)

    def test_help_is_a_word_too_and_version_has_a_letter(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        for name in harness.commands():
            self.assertEqual(run("help", name).stdout, run(name, "--help").stdout)
        self.assertEqual(run("-V").stdout, run("--version").stdout)
        self.assertIn("did you mean 'learn'?", run("help", "laern", check=2).stderr)
        self.assertIn("one command", run("help", "learn", "act", check=2).stderr)

    def test_help_fits_a_hundred_columns_and_goes_on_below_its_text(self):
        for args in (("--help",), (), *((name, "--help") for name in harness.commands())):
            for line in run(*args).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)
        lines = run("learn", "--help").stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("  --lambda "))
        column = lines[first].index("Weight of the penalty")
        self.assertRegex(lines[first + 1], rf"^ {{{column}}}\S")

    def test_the_registered_commands_are_those_whose_files_exist(self):
        files = (harness.SOURCE_DIR / "experiments/src/cli").glob("*.cpp")
        commands = [file.stem for file in files if f"void add_{file.stem}_command(" in file.read_text()]
        self.assertEqual(sorted(harness.commands()), sorted(commands))


class WrongUsage(unittest.TestCase):
    def test_an_unknown_command_exits_with_2_and_suggests_the_closest(self):
        for name in harness.commands():
            slip = name[:-2] + name[-1] + name[-2]
            self.assertIn(f"did you mean '{name}'?", run(slip, check=2).stderr)
        self.assertIn("there is no command 'xyzzy'", run("xyzzy", check=2).stderr)

    def test_an_unknown_option_exits_with_2_and_suggests_the_closest(self):
        self.assertIn("did you mean --version?", run("--vresion", check=2).stderr)

    def test_a_misspelt_choice_is_answered_with_the_choices(self):
        learn = ("learn", "x.h5", "--kind", "gaussian", "--out", "o.toml")
        for args, choices, meant in (
                (("evaluate", "x.h5", "--interval", "nomral"), ("normal", "student", "bernstein", "bootstrap"), "normal"),
                ((*learn, "--features", "linera"), ("linear", "quadratic"), "linear"),
                ((*learn, "--mixing", "lable"), ("label", "joint"), "label"),
                ((*learn, "--penalty", "sf"), ("sd", "se"), None),
                ((*learn, "--kind", "gausian"), ("gaussian", "softmax"), "gaussian"),
                (("import", "x.csv", "--out", "o", "--action-kind", "catgorical"), ("continuous", "multilabel"), "categorical"),
                (("import", "x.csv", "--out", "o", "--impute", "man"), ("mean", "zero", "error"), "mean"),
                (("act", "p.toml", "--contexts", "x", "--seed", 1, "--out", "o", "--compress", "gzp"), ("gzip", "none"), "gzip"),
                (("import", "x.csv", "--out", "o", "--format", "cvs"), ("csv", "arff", "libsvm"), None)):
            with self.subTest(args=args):
                said = run(*args, check=2).stderr.splitlines()[0]
                for choice in choices:
                    self.assertIn(choice, said)
                if meant:
                    self.assertIn(f"did you mean '{meant}'?", said)
                self.assertNotIn("\\x", said)
        self.assertIn("none of", run("evaluate", "x.h5", "--interval", "1", check=2).stderr)

    def test_common_options_are_checked_before_anything_is_read(self):
        for name in harness.commands():
            for wrong in (("--threads", "0"), ("--threads", "-3"), ("--threads", "many"), ("--memory", "lots"),
                          ("--memory", "-1G"), ("--memory", "0")):
                with self.subTest(command=name, wrong=wrong):
                    done = run(name, *wrong, check=2)
                    self.assertRegex(done.stderr, r"^scrm: error: ")
                    self.assertEqual(done.stdout, "")

    def test_messages_carry_no_colour_off_a_terminal(self):
        self.assertNotIn("\033", run("xyzzy", check=2).stderr + run().stdout)

    def test_a_forced_instruction_set_that_is_not_there_is_refused(self):
        self.assertIn("SCRM_ISA=nonsense", run(check=2, env={"SCRM_ISA": "nonsense"}).stderr)


class Output(unittest.TestCase):
    def test_a_full_disk_under_stdout_exits_with_1(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for args in ((), ("--version",), ("--help",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([harness.PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1, args)
            self.assertIn("cannot write to standard output", done.stderr)

    def test_a_reader_that_left_is_no_error(self):
        for args in (["--help"], ["evaluate", "--help"], ["man"], ["completion", "bash"]):  # less than a buffer, and more
            read_end, write_end = os.pipe()
            os.close(read_end)
            done = subprocess.run([harness.PROGRAM, *args], stdout=write_end, stderr=subprocess.PIPE, text=True)
            os.close(write_end)
            self.assertEqual((args, done.returncode, done.stderr), (args, 0, ""))


class OpenBlas(unittest.TestCase):
    def test_a_choice_of_the_user_is_kept(self):
        self.assertIn("Prescott kernels", run("--version", env={"OPENBLAS_CORETYPE": "Prescott"}).stdout)

    def with_shim(self, **env):
        """--version of a program whose OpenBLAS says that it runs Prescott kernels."""
        shim = os.environ.get("SCRM_OPENBLAS_SHIM")
        if not shim:
            self.skipTest("built without the shim")
        if not re.search(r"\bavx2\b", pathlib.Path("/proc/cpuinfo").read_text()):
            self.skipTest("Prescott is the best there is")
        # Whoever runs the tests may have chosen a core, and that choice would be kept.
        return run("--version", env={"LD_PRELOAD": shim, "OPENBLAS_CORETYPE": None, **env}).stdout

    def test_kernels_that_are_too_weak_are_put_right_by_starting_again(self):
        self.assertRegex(self.with_shim(), r"(Haswell|Zen|SkylakeX) kernels \(put right: it had chosen Prescott\)")

    def test_it_starts_itself_again_at_most_once(self):
        self.assertRegex(self.with_shim(SCRM_SHIM_IS_DEAF="1"), r"OpenBLAS +\S+ Prescott kernels\n")


class Readme(ProgramTest):
    def readme_lines(self):
        text = (harness.SOURCE_DIR / "README.md").read_text()
        blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "scrm-log" in b]
        self.assertEqual(len(blocks), 1, "README has one block of Python that writes a shard")
        return blocks[0]

    def test_the_h5py_lines_write_a_shard_that_the_program_reads(self):
        subprocess.run([sys.executable, "-c", self.readme_lines()], cwd=self.dir, check=True)
        shards = list(self.dir.glob("**/*.h5"))
        self.assertEqual(len(shards), 1)
        harness.need_command("inspect")
        found = harness.run_json("inspect", shards[0])
        self.assertGreater(found["rows"], 0)
        self.assertEqual(found["bad_rows"], 0)

    def test_the_lines_that_read_an_archive_find_its_curves(self):
        text = (harness.SOURCE_DIR / "README.md").read_text()
        blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "results.h5" in b]
        self.assertEqual(len(blocks), 1, "README has one block of Python that reads an archive")
        sweep = self.dir / "sweep.toml"
        sweep.write_text('environments = ["pricing"]\nmethods = ["crm", "scrm"]\nrollouts = 3\nlambdas = [0.01]\n')
        harness.run("sweep", sweep, "--out", self.dir / "results.h5", check=0)
        # A plotter that notes what it is given stands in for the real one, which need not be installed.
        fake = self.dir / "matplotlib"
        fake.mkdir()
        (fake / "__init__.py").write_text("")
        (fake / "pyplot.py").write_text(
            "curves = []\n"
            "def semilogx(x, y, label): curves.append((label, [float(v) for v in x], [float(v) for v in y]))\n"
            "def legend(): pass\n"
            "def savefig(name): print(curves)\n")
        done = subprocess.run([sys.executable, "-c", blocks[0]], cwd=self.dir, check=True, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(self.dir)})
        curves = eval(done.stdout)
        self.assertEqual([c[0] for c in curves], ["crm", "scrm"])
        self.assertEqual(curves[0][1], [100.0, 300.0, 700.0])
        self.assertEqual(len(curves[1][2]), 3)


if __name__ == "__main__":
    harness.main()
