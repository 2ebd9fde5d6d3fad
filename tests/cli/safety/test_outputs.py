"""What commands write, and never write over; what they refuse to read; how they end when nobody reads or room runs out."""
# labels: slow cli

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import threading
import unittest

import h5py
import numpy as np

from harness import PROGRAM, ProgramTest, gaussian_log, main, run, run_json
from sweeps import SweepTest, archive

POLICY = 'kind = "gaussian"\nfeatures = "linear"\nscale = 0.5\ntheta = [0.0, 0.3, 0.1, 0.2]\n'
CSV = ["--format", "csv", "--action-kind", "continuous", "--action", "a", "--loss", "y", "--propensity", "p"]
SWEEP = dict(environments=["pricing"], methods=["baseline", "crm"], seeds=2, rollouts=2, lambdas=0.01)


class OutputTest(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.dir / "logs").mkdir()
        self.shard = gaussian_log(self.dir / "logs" / "a.h5", rows=50)
        (self.dir / "policy.toml").write_text(POLICY)
        (self.dir / "table.csv").write_text("a,y,p\n1,2,0.5\n2,1,0.25\n")
        (self.dir / "labels.svm").write_text("0,1 1:0.5 3:1\n1 2:0.25\n")

    def snapshot(self):
        return {path: path.read_bytes() for path in self.dir.rglob("*") if path.is_file() and not path.is_symlink()}

    def refused(self, words, *args, code=2):
        before = self.snapshot()
        done = run(*args, check=code, cwd=self.dir, timeout=60)
        self.assertIn(words, done.stderr)
        self.assertEqual((done.stdout, self.snapshot()), ("", before))
        return done.stderr


class Inputs(OutputTest):
    def test_no_command_writes_over_what_it_reads(self):
        (self.dir / "link.toml").symlink_to("policy.toml")
        os.link(self.dir / "policy.toml", self.dir / "hard.toml")
        (self.dir / "elsewhere").mkdir()
        (self.dir / "elsewhere" / "b.h5").symlink_to(self.shard)
        (self.dir / "sweep.toml").write_text("".join(f"{k} = {v!r}\n" for k, v in SWEEP.items()).replace("'", '"'))
        learn = ["learn", "logs", "--start", "policy.toml", "--max-iter", 1, "--lambda", 0.1]
        act = ["act", "policy.toml", "--contexts", "logs/a.h5", "--seed", 1]
        for command in [
            [*learn, "--out", "logs/a.h5"], [*learn, "--out", "logs/../logs/a.h5"], [*learn, "--out", "policy.toml"],
            [*learn, "--out", "link.toml"], [*learn, "--out", "hard.toml"], [*learn, "--out", "elsewhere/b.h5"],
            [*learn, "--logging-policy", "hard.toml", "--out", "policy.toml"],
            ["import", "table.csv", *CSV, "--out", "table.csv"][:-1] + [self.alias("table.csv", "t.h5")],
            ["import", "labels.svm", "--format", "libsvm", "--out", self.alias("labels.svm", "l.h5")],
            [*act, "--out", "logs"], [*act, "--out", "logs/"], [*act, "--out", "missing/../logs", "--overwrite"], [*act, "--out", "elsewhere"],
            [*act, "--csv", "policy.toml"], [*act, "--csv", "logs/a.h5"],
            ["simulate", "gaussian", "--rows", 5, "--policy", "policy.toml", "--policy-out", "hard.toml", "--out", "new"],
            ["sweep", "sweep.toml", "--out", "sweep.toml"],
        ]:
            with self.subTest(" ".join(map(str, command))):
                self.refused("write elsewhere", *command, "--overwrite")
                self.refused("write elsewhere", *command)

    def alias(self, name, other):
        os.link(self.dir / name, self.dir / other)
        return other

    def test_a_sweep_does_not_write_over_its_data(self):
        run("import", "labels.svm", "--format", "libsvm", "--out", "set.h5", cwd=self.dir)
        (self.dir / "sweep.toml").write_text('environments = ["set.h5"]\nmethods = ["baseline"]\nrollouts = 1\n')
        for options in ["--overwrite"], ["--resume"], []:
            self.refused("write elsewhere", "sweep", "sweep.toml", "--out", "set.h5", *options)

    def test_a_study_does_not_write_over_its_data(self):
        (self.dir / "classes.svm").write_text("".join(f"{i % 3} 1:{i}\n" for i in range(30)))
        run("import", "classes.svm", "--format", "libsvm", "--multiclass", "--out", "classes.h5", cwd=self.dir)
        (self.dir / "study.toml").write_text('environments = ["classes.h5"]\nlogs = 1\nrows = 20\n')
        for out in "classes.h5", "study.toml":
            self.refused("write elsewhere", "study", "estimators", "study.toml", "--out", out, "--overwrite")
            self.refused("write elsewhere", "study", "estimators", "study.toml", "--out", out)


class Existing(OutputTest):
    COMMANDS = {
        "learned.toml": ["learn", "logs", "--max-iter", 1, "--lambda", 0.1, "--out", "learned.toml"],
        "many-lambda-0.5.toml": ["learn", "logs", "--max-iter", 1, "--lambda", "0.1,0.5", "--out", "many.toml"],
        "table.h5": ["import", "table.csv", *CSV, "--out", "table.h5"],
        "set.h5": ["import", "labels.svm", "--format", "libsvm", "--out", "set.h5"],
        "acted.csv": ["act", "policy.toml", "--contexts", "logs", "--seed", 1, "--csv", "acted.csv"],
        "first.toml": ["simulate", "gaussian", "--rows", 5, "--out", "simulated", "--policy-out", "first.toml"],
    }

    def test_what_is_there_is_replaced_with_overwrite_alone(self):
        for name, command in self.COMMANDS.items():
            with self.subTest(name):
                out = self.dir / name
                out.write_text("mine")
                self.assertIn(name, self.refused("is there already; --overwrite replaces it", *command, code=1))
                run(*command, "--overwrite", cwd=self.dir)
                self.assertNotEqual(out.read_bytes(), b"mine")

    def test_a_symbolic_link_is_written_through_with_overwrite_alone(self):
        (self.dir / "kept").mkdir()
        for name, command in self.COMMANDS.items():
            for real in "kept/there", "kept/nowhere":
                with self.subTest(name, real=real):
                    out = self.dir / name
                    out.unlink(missing_ok=True)
                    shutil.rmtree(self.dir / "simulated", ignore_errors=True)
                    for made in self.dir.glob("many-*"):
                        made.unlink()
                    (self.dir / "kept/there").write_text("mine")
                    (self.dir / "kept/nowhere").unlink(missing_ok=True)
                    out.symlink_to(real)
                    self.refused(f"is a symbolic link to {real}; --overwrite writes to what it points to", *command,
                                 code=1)
                    run(*command, "--overwrite", cwd=self.dir)
                    self.assertTrue(out.is_symlink())
                    self.assertNotEqual((self.dir / real).read_bytes(), b"mine")

    def test_folders_behind_symbolic_links_are_left_alone(self):
        run("simulate", "gaussian", "--rows", 5, "--out", "real", cwd=self.dir)
        (self.dir / "link").symlink_to("real")
        (self.dir / "dangling").symlink_to("nowhere")
        for name in "link", "dangling":
            for options in [], ["--overwrite"]:
                self.refused("symbolic link", "simulate", "gaussian", "--rows", 9, "--out", name, *options, code=1)

    def test_a_folder_with_files_of_others_is_left_alone(self):
        def other_hdf5(path):
            with h5py.File(path, "w") as file:
                file["weights"] = np.arange(3.0)

        strangers = {
            "notes.txt": lambda path: path.write_text("mine"),
            "model.h5": other_hdf5,
            "text.h5": lambda path: path.write_text("mine"),
            "set.h5": lambda path: run("import", "labels.svm", "--format", "libsvm", "--out", path, cwd=self.dir),
            "folder.h5": lambda path: path.mkdir(),
        }
        commands = [["simulate", "gaussian", "--rows", 9], ["act", "policy.toml", "--contexts", "logs", "--seed", 1],
                    ["import", "table.csv", *CSV, "--rows-per-shard", 1]]
        for name, make in strangers.items():
            for command in commands:
                with self.subTest(stranger=name, command=command[0]):
                    out = self.dir / f"{name}-{command[0]}"
                    run(*command, "--out", out, cwd=self.dir)
                    run(*command, "--out", out, "--overwrite", cwd=self.dir)
                    make(out / name)
                    message = self.refused("is left alone", *command, "--out", out.name, "--overwrite", code=1)
                    self.assertIn(f"{out.name}: this folder holds {name}, which is no shard", message)
                    self.assertTrue((out / name).exists())

    def test_shards_that_others_have_written_are_replaced(self):
        gaussian_log(self.dir / "logs" / "b.h5", rows=5)
        run("simulate", "gaussian", "--rows", 9, "--out", "logs", "--overwrite", cwd=self.dir)
        self.assertEqual(os.listdir(self.dir / "logs"), ["part-00000.h5"])

    def test_an_archive_behind_a_symbolic_link(self):
        (self.dir / "sweep.toml").write_text('environments = ["pricing"]\nmethods = ["baseline"]\nrollouts = 1\n')
        (self.dir / "out.h5").symlink_to("real.h5")
        self.refused("is a symbolic link to real.h5", "sweep", "sweep.toml", "--out", "out.h5", code=1)
        run("sweep", "sweep.toml", "--out", "out.h5", "--overwrite", cwd=self.dir)
        run("sweep", "sweep.toml", "--out", "out.h5", "--resume", cwd=self.dir)
        self.assertTrue((self.dir / "out.h5").is_symlink())
        self.assertEqual(archive(self.dir / "real.h5")["status"], ["ok"])


class Waiting(OutputTest):
    def test_pipes_sockets_and_devices_are_not_waited_for(self):
        os.mkfifo(self.dir / "pipe.h5")
        os.mkfifo(self.dir / "pipe.toml")
        (self.dir / "zero.h5").symlink_to("/dev/zero")
        with socket.socket(socket.AF_UNIX) as listening:
            here = os.getcwd()
            os.chdir(self.dir)  # the address of a socket is short
            listening.bind("socket.h5")
            os.chdir(here)
        for name, what in [("pipe.h5", "a named pipe"), ("socket.h5", "a socket"), ("zero.h5", "a device")]:
            folder = self.dir / f"folder-{name}"
            folder.mkdir()
            (folder / "b.h5").symlink_to(self.dir / name)
            for data in name, folder.name:
                for command in [["inspect", data], ["evaluate", data, "--policy", "policy.toml"],
                                ["learn", data, "--out", "new.toml"],
                                ["act", "policy.toml", "--contexts", data, "--seed", 1, "--out", "new"]]:
                    message = self.refused(f"is {what}, not a file", *command, code=1)
                    self.assertIn("b.h5" if data == folder.name else name, message)
            (self.dir / "sweep.toml").write_text(f'environments = ["{name}"]\nmethods = ["baseline"]\nrollouts = 1\n')
            done = run("sweep", "sweep.toml", "--out", f"{name}.out", cwd=self.dir, check=1, timeout=60)
            self.assertIn(f"is {what}, not a file", done.stderr)
        for command in [["evaluate", "logs", "--policy", "pipe.toml"], ["learn", "logs", "--start", "pipe.toml", "--out", "x"],
                        ["sweep", "pipe.toml", "--out", "x.h5"], ["act", "pipe.toml", "--contexts", "logs", "--seed", 1,
                                                                  "--out", "new"]]:
            self.refused("pipe.toml: is a named pipe, not a file", *command, code=1)
        # Nor written to, and not after the runs but before.
        (self.dir / "sweep.toml").write_text('environments = ["pricing"]\nmethods = ["baseline"]\nrollouts = 30\n')
        self.refused("pipe.h5: is not a regular file", "sweep", "sweep.toml", "--out", "pipe.h5", "--overwrite", code=1)
        self.refused("pipe.h5: is a named pipe", "sweep", "sweep.toml", "--out", "pipe.h5", "--resume", code=1)
        self.refused("no.such/out.toml: cannot write, the folder", "learn", "logs", "--out", "no.such/out.toml", code=1)

    def test_what_a_shell_hands_over_is_read(self):
        command = f"{PROGRAM} evaluate logs --policy <(cat policy.toml) --json"
        done = subprocess.run(["bash", "-c", command], cwd=self.dir, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run(["bash", "-c", f"cat policy.toml | {PROGRAM} evaluate logs --policy /dev/stdin"],
                              cwd=self.dir, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def feed(self, path, text):
        """Somebody who writes into a named pipe."""
        writer = threading.Thread(target=lambda: path.write_text(text), daemon=True)
        writer.start()
        self.addCleanup(writer.join, 60)

    def test_text_comes_from_pipes_too(self):
        (self.dir / "x.csv").write_text("x0,x1,x2\n1,2,3\n4,5,6\n")
        table, contexts = (self.dir / "table.csv").read_text(), (self.dir / "x.csv").read_text()
        run("import", "table.csv", *CSV, "--out", "file.h5", cwd=self.dir)
        os.mkfifo(self.dir / "pipe")
        self.feed(self.dir / "pipe", table)
        run("import", "pipe", *CSV, "--out", "pipe.h5", cwd=self.dir, timeout=60)
        self.feed(self.dir / "pipe", contexts)
        act = ["act", "policy.toml", "--context", "x*", "--seed", 1]
        run(*act, "--contexts", "x.csv", "--csv", "file.csv", cwd=self.dir)
        run(*act, "--contexts", "pipe", "--csv", "pipe.csv", cwd=self.dir, timeout=60)
        words = " ".join(CSV)
        for command in [f"{PROGRAM} import <(gzip -c table.csv) {words} --out shell.h5",
                        f"{PROGRAM} import /dev/stdin {words} --out stdin.h5 < table.csv",
                        f"{PROGRAM} act policy.toml --context 'x*' --seed 1 --contexts <(cat x.csv) --csv shell.csv"]:
            done = subprocess.run(["bash", "-c", command], cwd=self.dir, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "pipe.csv").read_text(), (self.dir / "file.csv").read_text())
        self.assertEqual((self.dir / "shell.csv").read_text(), (self.dir / "file.csv").read_text())
        for name in "pipe.h5", "shell.h5", "stdin.h5":
            with h5py.File(self.dir / name) as one, h5py.File(self.dir / "file.h5") as other:
                np.testing.assert_array_equal(one["loss"], other["loss"])

    def test_archives_do_not_come_from_pipes(self):
        os.mkfifo(self.dir / "pipe.npz")
        self.refused("pipe.npz: is not a file; an .npz archive cannot be read from a pipe", "import", "pipe.npz", "--out",
                     "new.h5", code=1)

    def test_ctrl_c_ends_the_wait_for_a_pipe_and_leaves_nothing(self):
        os.mkfifo(self.dir / "pipe")
        for command in [["import", "pipe", *CSV, "--out", "new"], ["import", "pipe", *CSV, "--out", "new.h5"],
                        ["act", "policy.toml", "--contexts", "pipe", "--context", "x*", "--seed", "1", "--csv", "new.csv"],
                        ["act", "policy.toml", "--contexts", "pipe", "--context", "x*", "--seed", "1", "--out", "new"]]:
            with self.subTest(" ".join(command)):
                before = sorted(os.listdir(self.dir))
                process = subprocess.Popen([PROGRAM, *command], cwd=self.dir, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True)
                # Opening succeeds once somebody reads: the program is then in the middle of its work, and still waits.
                with open(self.dir / "pipe", "w"):
                    process.send_signal(signal.SIGINT)
                    out, message = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out, message), (-signal.SIGINT, "", ""))
                self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_a_file_that_may_not_grow_is_an_error_with_a_message(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        for command in [["learn", "logs", "--max-iter", "1", "--lambda", "0.1,0.2", "--out", "new.toml"],
                        ["simulate", "gaussian", "--rows", "50", "--out", "new"],
                        ["act", "policy.toml", "--contexts", "logs", "--seed", "1", "--csv", "new.csv"]]:
            done = subprocess.run([PROGRAM, *command], cwd=self.dir, capture_output=True, text=True, timeout=60,
                                  preexec_fn=small_files)
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, "scrm: error: .*new.*: File too large")
            self.assertEqual(sorted(path.name for path in self.dir.glob("*new*")), [])
            self.assertEqual(list(self.dir.glob(".*")), [])

    def test_a_reader_that_has_gone_away_is_no_error(self):
        process = subprocess.Popen([PROGRAM, "simulate", "gaussian", "--rows", "50", "--out", "new"], cwd=self.dir,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait(timeout=60)), (b"", 0))
        process.stderr.close()
        self.assertTrue((self.dir / "new/part-00000.h5").exists())

    def test_a_reader_that_has_seen_enough_of_acted_rows_is_no_error(self):
        (self.dir / "p.toml").write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.0]\n')
        act = [PROGRAM, "act", "p.toml", "--contexts", "contexts", "--seed", "1", "--csv", "-"]
        for rows in ("50", "50000"):  # all of it within the first write, and much more
            run("simulate", "gaussian", "--rows", rows, "--overwrite", "--out", self.dir / "contexts")
            process = subprocess.Popen(act, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdout.close()
            self.assertEqual((process.stderr.read(), process.wait(timeout=60)), (b"", 0))
            process.stderr.close()
            with open("/dev/full", "wb") as full:
                done = subprocess.run(act, cwd=self.dir, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr.count("error:")), (1, 1), done.stderr)
            self.assertIn("No space left", done.stderr)


class Arithmetic(SweepTest):
    OTHER = {"SCRM_ISA": "SSE4", "OPENBLAS_CORETYPE": "Nehalem"}

    def setUp(self):
        super().setUp()
        if "sse4_2" not in pathlib.Path("/proc/cpuinfo").read_text().split():
            raise unittest.SkipTest("no SSE4 here")
        self.file = self.write(**{**SWEEP, "seeds": 20})

    def test_runs_of_two_instruction_sets_or_cores_are_not_mixed(self):
        process = self.start(self.file, env={**os.environ, **self.OTHER})
        journal = self.dir / "results.h5.journal"
        self.wait_for_runs(process, journal, 3_000)
        process.kill()
        process.communicate()
        before = journal.read_bytes()
        _, done = self.sweep(self.file, "--resume", check=2)
        self.assertIn("results.h5.journal: these runs were made with instruction set SSE4 and OpenBLAS core Nehalem",
                      done.stderr)
        self.assertIn("force it with SCRM_ISA=SSE4 OPENBLAS_CORETYPE=Nehalem", done.stderr)
        _, done = self.sweep(self.file, "--resume", check=2, env={"SCRM_ISA": "SSE4"})
        self.assertIn("were made with OpenBLAS core Nehalem, this program", done.stderr)
        self.assertEqual(journal.read_bytes(), before)
        # As the message says.
        path, _ = self.sweep(self.file, "--resume", env=self.OTHER)
        self.assert_same_bits(path, self.sweep(self.file, out="straight.h5", env=self.OTHER)[0])
        with h5py.File(path) as file:
            self.assertEqual((file.attrs["instruction_set"], file.attrs["openblas_core"]), ("SSE4", "Nehalem"))
        whole = path.read_bytes()
        _, done = self.sweep(self.write("more.toml", **{**SWEEP, "seeds": 21}), "--resume", check=2)
        self.assertIn("results.h5: these runs were made with instruction set SSE4", done.stderr)
        self.assertEqual(path.read_bytes(), whole)


    def test_another_instruction_set_changes_the_last_digits_alone(self):
        run("simulate", "pricing", "--rows", 20000, "--seed", 1, "--out", "logs", "--policy-out", "policy.toml",
            cwd=self.dir)
        (self.dir / "target.toml").write_text(
            'kind = "gaussian"\nscale = 0.5\ntheta = [0.0, 0.4, 0.4, 0.4, 0, 0, 0, 0, 0, 0, 0]\n')
        found = []
        for name, env in (("here", {}), ("other", self.OTHER)):
            evaluated = run_json("evaluate", "logs", "--policy", "target.toml", env=env, cwd=self.dir)["policies"][0]
            learned = run_json("learn", "logs", "--lambda", 1, "--out", f"{name}.toml", env=env, cwd=self.dir)
            losses = archive(self.sweep(self.file, out=f"{name}.h5", env=env)[0])["loss"]
            found.append(([one[key] for one in evaluated["estimates"] for key in ("value", "stderr")],
                          [learned["objective"]], losses))
        for one, other, tolerance in zip(*found, (1e-12, 1e-10, 1e-6)):
            np.testing.assert_allclose(one, other, rtol=tolerance)


class Equal(SweepTest):
    def test_two_equal_sweeps_differ_in_three_names_alone(self):
        def everything(path):
            out = {}

            def add(name, thing):
                out.update({f"{name}@{key}": bytes(str(value), "utf-8") for key, value in thing.attrs.items()})
                if isinstance(thing, h5py.Dataset):
                    values = thing[()]
                    out[name] = [value.tobytes() for value in values] if name.endswith("theta") else (
                        list(values) if values.dtype == object else values.tobytes())

            with h5py.File(path) as file:
                add("", file)
                file.visititems(add)
            return out

        sweep_file = self.write(**SWEEP)
        first = everything(self.sweep(sweep_file, "--threads", "1")[0])
        second = everything(self.sweep(sweep_file, "--threads", "3", "--shuffle", "7", out="second.h5")[0])
        self.assertEqual(sorted(first), sorted(second))
        differing = {name for name in first if first[name] != second[name]}
        self.assertLessEqual(differing, {"runs/seconds", "@time", "@threads"})
        self.assertLessEqual({"runs/seconds", "@threads"}, differing)


if __name__ == "__main__":
    main()
