"""What the tests of `scrm sweep` share: sweep files, and archives as values that can be compared to the bit."""

import json
import os
import pathlib
import re
import subprocess

import h5py
import numpy as np

from harness import PROGRAM, ProgramTest, run

# Wall-clock times differ from run to run; everything else in an archive may not.
TIMES = {"seconds"}
STRINGS = ["environment", "method", "lambda_rule", "identity", "status", "message"]


def toml(value):
    """A Python value as TOML; JSON writes lists, numbers and texts the same way."""
    return json.dumps(value)


def archive(path):
    """The columns of an archive by name: lists of texts, of arrays for theta, else one array."""
    columns = {}
    with h5py.File(path) as file:
        for name, data in file["runs"].items():
            if name in STRINGS:
                columns[name] = list(data.asstr()[()])
            elif name == "theta":
                columns[name] = list(data[()])
            else:
                columns[name] = data[()]
    return columns


def bits(path):
    """All that must be the same whenever the same sweep is run."""
    out = {}
    for name, column in archive(path).items():
        if name in TIMES:
            continue
        if name in STRINGS:
            out[name] = column
        elif name == "theta":
            out[name] = [theta.tobytes() for theta in column]
        else:
            out[name] = (column.dtype.str, column.shape, column.tobytes())
    return out


def runs(path):
    """The runs of an archive by what they are, each as the bits of its curves and its theta."""
    columns = archive(path)
    out = {}
    for i, seed in enumerate(columns["seed"]):
        # NaN is no key: it is not equal to itself.
        numbers = [repr(float(columns[name][i])) for name in ("hyperparameter", "l2") if name in columns]
        key = (columns["environment"][i], columns["method"][i], columns["lambda_rule"][i], *numbers, int(seed))
        if key in out:
            raise AssertionError(f"{key} is in the archive twice")
        out[key] = (columns["status"][i], columns["loss"][i].tobytes(), columns["rows"][i].tobytes(),
                    columns["regret"][i].tobytes(), columns["theta"][i].tobytes(), columns["identity"][i])
    return out


def write_labelled(path, rows, features, labels):
    """A labelled data set whose bits lean on the first feature, where there is one."""
    random = np.random.default_rng(rows)
    context = random.normal(size=(rows, features))
    leaning = context[:, :1] if features else 0
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "scrm-labelled"
        file.attrs["format_version"] = 1
        file["context"] = context
        file["label"] = (random.normal(size=(rows, labels)) + leaning > 0.3).astype(np.uint8)
    return path


class SweepTest(ProgramTest):
    """A test that writes sweep files into its folder and runs them."""

    def write(self, name="sweep.toml", tables="", **keys):
        """A sweep file with these top-level keys, followed by `tables` as they are."""
        path = self.dir / name
        path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in keys.items()) + tables)
        return path

    def sweep(self, path, *options, out="results.h5", check=0, **more):
        """Runs a sweep file; returns the path of its archive and the finished process."""
        done = run("sweep", path, "--out", self.dir / out, *options, check=check, **more)
        return self.dir / out, done

    def start(self, path, *options, out="results.h5", **more):
        """A sweep in the background, ended at the latest with its test."""
        process = subprocess.Popen([PROGRAM, "sweep", str(path), "--out", str(self.dir / out), *map(str, options)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def wait_for_runs(self, process, journal, more_than=0):
        """Until the journal holds more bytes than that, so that runs are finished; fails when the sweep ends first."""
        while not (journal.exists() and journal.stat().st_size > more_than):
            try:
                process.wait(timeout=0.002)
            except subprocess.TimeoutExpired:
                continue
            self.fail(f"the sweep ended before a run was in its journal: {process.communicate()}")

    def go_on(self, message):
        """Runs the command that a message gives between backquotes, as a shell would."""
        command = re.findall(r"`(scrm sweep [^`]*)`", message)
        self.assertEqual(len(command), 1, message)
        path = os.pathsep.join([str(pathlib.Path(PROGRAM).parent), os.environ.get("PATH", "")])
        return subprocess.run(command[0] + " --json", shell=True, capture_output=True, text=True, timeout=600,
                              env={**os.environ, "PATH": path})

    def assert_same_bits(self, first, second):
        one, other = bits(first), bits(second)
        self.assertEqual(sorted(one), sorted(other))
        for name in one:
            self.assertEqual(one[name], other[name], f"runs/{name} differs between {first} and {second}")

    def visible(self):
        return sorted(path.name for path in self.dir.iterdir() if not path.name.startswith("."))
