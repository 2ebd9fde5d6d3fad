"""What the tests of the program share: running it, temporary folders, writing shards with h5py."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

SOURCE_DIR = pathlib.Path(os.environ.get("SCRM_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = os.environ.get("SCRM_PROGRAM", str(SOURCE_DIR / "build/release/bin/scrm"))
DATA_DIR = pathlib.Path(os.environ.get("SCRM_DATA_DIR", SOURCE_DIR.parent / "shared/data"))


def environment(changes=None):
    """This process's environment with some variables changed; those that are None are taken out."""
    return {name: value for name, value in {**os.environ, **(changes or {})}.items() if value is not None}


def run(*args, check=0, env=None, cwd=None, timeout=600, stdin=None):
    """Runs `scrm ARGS...` and returns the finished process with text output. `check` is the exit code that is expected;
    None expects nothing. `env` changes variables, as environment() does."""
    command = [PROGRAM, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(env), cwd=cwd, timeout=timeout,
                          input=stdin)
    if check is not None and done.returncode != check:
        raise AssertionError(f"{' '.join(command)}\nexit {done.returncode}, expected {check}\n{done.stdout}{done.stderr}")
    return done


def run_json(*args, **options):
    """Runs with --json and returns the parsed result."""
    return json.loads(run(*args, "--json", **options).stdout)


def few_under_sanitizers(few, everything):
    """`everything`, or where sanitizers are built in, with which all takes ten times as long and more memory, `few`."""
    return few if os.environ.get("SCRM_SANITIZE") else everything


def some_under_sanitizers(cases):
    """Every fourth of many alike cases where sanitizers are built in; all of them elsewhere."""
    cases = list(cases)
    return few_under_sanitizers(cases[::4], cases)


@functools.cache
def commands():
    """Names of the commands the program has, from its own help."""
    lines = run("--help").stdout.splitlines()
    start = lines.index("Subcommands:") + 1 if "Subcommands:" in lines else len(lines)
    names = []
    for line in lines[start:]:
        if not line.startswith("  "):
            break
        if line[2] != " ":
            names.append(line.split()[0])
    return names


def write_log(path, action_kind="continuous", rollout=None, chunk_rows=None, gzip=False, attributes=None, **columns):
    """Writes one shard. Columns are arrays by dataset name: context, action, loss, propensity, ...; `targets` is a
    dictionary of columns under target/; `num_actions` becomes an attribute. A context given as (indptr, indices, values,
    num_features) is written sparse."""
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "scrm-log"
        file.attrs["format_version"] = 1
        file.attrs["action_kind"] = action_kind
        if "num_actions" in columns:
            file.attrs["num_actions"] = columns.pop("num_actions")
        if rollout is not None:
            file.attrs["rollout"] = rollout
        for name, value in (attributes or {}).items():
            file.attrs[name] = value

        def write(name, values):
            values = np.asarray(values)
            options = {}
            if chunk_rows and values.size:
                options["chunks"] = (min(chunk_rows, len(values)),) + values.shape[1:]
            if gzip and values.size:
                options.update(compression="gzip", shuffle=True)
            file.create_dataset(name, data=values, **options)

        for name, values in columns.pop("targets", {}).items():
            write(f"target/{name}", values)
        context = columns.pop("context", None)
        if isinstance(context, tuple):
            indptr, indices, values, num_features = context
            write("context/indptr", np.asarray(indptr, dtype=np.int64))
            write("context/indices", np.asarray(indices, dtype=np.int32))
            write("context/values", values)
            file["context"].attrs["num_features"] = num_features
        elif context is not None:
            write("context", context)
        for name, values in columns.items():
            write(name, values)
    return path


def gaussian_log(path, rows=1000, features=3, seed=0, **options):
    """A shard of continuous actions drawn from N(0, 1), with contexts and losses that mean nothing in particular."""
    random = np.random.default_rng(seed)
    action = random.normal(size=rows)
    columns = dict(context=random.normal(size=(rows, features)), action=action, loss=random.normal(size=rows),
                   propensity=np.exp(-action**2 / 2) / np.sqrt(2 * np.pi))
    columns.update(options.pop("replace", {}))
    return write_log(path, **columns, **options)


class ProgramTest(unittest.TestCase):
    """A test with an empty folder of its own, `self.dir`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scrm-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)


def need_data(name):
    """The path of a shared data file; skips the test where it is not there."""
    path = DATA_DIR / name
    if not path.exists():
        raise unittest.SkipTest(f"{name} is not in {DATA_DIR}")
    return path


def need_command(*names):
    """Skips the test where the program lacks one of these commands."""
    missing = sorted(set(names) - set(commands()))
    if missing:
        raise unittest.SkipTest(f"the program has no {', '.join(missing)}")


def main():
    unittest.main(module=sys.modules["__main__"], verbosity=2)
