"""Finds a Python that has the modules a script needs, before the script does anything else."""

import importlib.util
import os
import subprocess
import sys


def need_modules(*names):
    """Returns when this Python has them all; else starts the script again with one that has, or ends with what to install.

    The order is that of cmake/ScrmPython.cmake: the variable SCRM_PYTHON, Debian's own Python, then python3 in PATH."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return
    for candidate in (os.environ.get("SCRM_PYTHON"), "/usr/bin/python3", "python3"):
        if candidate and has_modules(candidate, names):
            os.execvp(candidate, [candidate, *sys.argv])
    packages = " ".join(f"python3-{name}" for name in names)
    sys.exit(f"{sys.argv[0]}: no python3 with {', '.join(missing)}; install {packages}, or name a Python that has them in "
             "the variable SCRM_PYTHON")


def has_modules(python, names):
    command = [python, "-c", f"import {', '.join(names)}"]
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False
