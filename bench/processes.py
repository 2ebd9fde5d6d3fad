"""Whole processes and the machine beside them: wall and processor seconds, resident set, reading with pread, DuckDB."""
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple

Run = namedtuple("Run", "wall cpu rss output")


def run(*command, environment=None):
    """Runs a command to its end; seconds, the largest resident set in bytes, and what it printed."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, env=environment)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)}: {errors.decode().strip()}")
        output.seek(0)
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output.read().decode())


def best_of(times, *command):
    """The median run of several by wall time, after one that warms the caches."""
    run(*command)
    runs = sorted((run(*command) for _ in range(times)), key=lambda one: one.wall)
    return runs[len(runs) // 2]


def files_of(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".h5")]


def pread_all(folder, threads, piece=1 << 17):
    """Reads every byte of a folder's files into a buffer of each thread's own; bytes and seconds."""
    waiting = files_of(folder)
    lock = threading.Lock()
    total = [0]

    def work():
        buffer = memoryview(mmap.mmap(-1, piece))
        done = 0
        while True:
            with lock:
                path = waiting.pop() if waiting else None
            if path is None:
                break
            file = os.open(path, os.O_RDONLY)
            offset = 0
            while got := os.preadv(file, [buffer], offset):
                offset += got
            os.close(file)
            done += offset
        with lock:
            total[0] += done

    start = time.perf_counter()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return total[0], time.perf_counter() - start


def paired_ratio(reference, subject, times):
    """Medians of seconds of two functions run in turns, and of their ratio reference / subject."""
    pairs = [(reference(), subject()) for _ in range(times)]
    return (statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs),
            statistics.median(a / b for a, b in pairs))


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown processor"


def cores():
    return len(os.sched_getaffinity(0))


def enough_space(folder, needed):
    return shutil.disk_usage(folder).free > 2 * needed


def duckdb_seconds(here, rows, threads, times=5):
    """DuckDB on Parquet: the same evaluation of as many rows of the same shape; None where it is not installed."""
    if shutil.which("node") is None:
        return None
    with tempfile.TemporaryDirectory(prefix="scrm-duckdb-") as folder:
        command = ["node", os.path.join(here, "duckdb_rival.mjs"), folder, str(rows), str(threads), str(times)]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return float(result.stdout) if result.returncode == 0 else None
