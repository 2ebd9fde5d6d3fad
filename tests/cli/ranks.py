"""What the tests of `scrm-mpi` share: starting it over ranks, and results without times."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from harness import PROGRAM

RANKED = str(pathlib.Path(PROGRAM).with_name("scrm-mpi"))
MPIRUN = shutil.which("mpirun")


def mpirun(ranks):
    """As many ranks as asked for on however few cores, root or not."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [MPIRUN, *root, "--oversubscribe", "-np", str(ranks), RANKED]


def need_mpi():
    if MPIRUN is None or not os.path.exists(RANKED):
        raise unittest.SkipTest("there is no scrm-mpi, or no mpirun")


def run_ranks(ranks, *args, check=0, env=None, timeout=300, **options):
    command = [*mpirun(ranks), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=timeout,
                          **options)
    if check is not None and done.returncode != check:
        raise AssertionError(f"{' '.join(command)}\nexit {done.returncode}, expected {check}\n{done.stdout}{done.stderr}")
    return done


def start_ranks(ranks, *args):
    return subprocess.Popen([*mpirun(ranks), *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True)


def ranks_of(process):
    """The processes that mpirun has started, and that are ranks by now."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == process.pid and os.readlink(entry / "exe").endswith("scrm-mpi"):
                found.append(int(entry.name))
        except (OSError, IndexError, ValueError):
            continue
    return sorted(found)


def is_watched(rank):
    """Whether the process beside this rank runs that ends a launcher which outlives it."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            name, fields = (entry / "stat").read_text().rsplit(")", 1)
            if name.endswith("(scrm-watch") and int(fields.split()[1]) == rank:
                return True
        except (OSError, IndexError, ValueError):
            continue
    return False


def without_times(text):
    """JSON text with its order kept and every number as it was printed, but for times."""
    def keep(value):
        if isinstance(value, dict):
            return {name: keep(part) for name, part in value.items()
                    if name not in ("seconds", "cpu_seconds", "rows_per_second")}
        return [keep(part) for part in value] if isinstance(value, list) else value

    return json.dumps(keep(json.loads(text, parse_float=str, parse_int=str)))
