"""Behind tests/soak.sh: kills at random moments, and archives that must not show them."""

import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PROGRAM, run
from sweeps import bits

SWEEPS = [
    'environments = ["pricing"]\nmethods = ["baseline", "crm", "scrm"]\nseeds = 4\nrollouts = 3\nlambdas = [0.001, 0.1]\n',
    'environments = ["gaussian", "advertising"]\nmethods = ["crm", "scrm"]\nseeds = 3\nrollouts = 2\nlambdas = "auto"\n',
    'environments = ["pricing"]\nmethods = ["sbpe", "bkucb"]\nseeds = 3\nrollouts = 3\nfirst_batch = 20\n',
    'environments = ["gaussian"]\nmethods = ["baseline"]\nseeds = 40\nrollouts = 1\n',
]


def instruction_sets():
    """Those that the program can be told to use here, from its own message about one that it cannot."""
    message = run("--version", env={"SCRM_ISA": "none"}, check=2).stderr
    return re.search(r"choose among ([^\n]*)", message)[1].split(", ")


class Soak:
    def __init__(self, folder, seed):
        self.dir = pathlib.Path(folder)
        self.random = random.Random(seed)
        self.isas = instruction_sets()
        self.counts = collections.Counter()
        self.expected = {}  # by sweep and instruction set: the bits of an archive that nothing disturbed, and its seconds
        self.folders = {}  # by seed: a simulated folder

    def require(self, good, what):
        if not good:
            raise AssertionError(what)

    def hidden(self):
        return sorted(path.name for path in self.dir.glob(".*"))

    def killed(self, args, env, seconds):
        """Whether a signal met the command at work."""
        before = self.hidden()
        process = subprocess.Popen([PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **env}, cwd=self.dir)
        number = self.random.choices([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP], [12, 1, 1, 1])[0]
        try:
            process.wait(timeout=self.random.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        _, message = process.communicate(timeout=600)
        polite = process.returncode == 1 and "stopped on request" in message
        self.require(process.returncode in (0, -number) or polite, f"{args}: exit {process.returncode}: {message}")
        if process.returncode != 0:
            self.counts["kills" if number == signal.SIGKILL else "polite signals"] += 1
            # One that comes in the very moment a file is made or named may leave it to the next start.
            if number != signal.SIGKILL and set(self.hidden()) - set(before):
                self.counts["left by polite signals"] += 1
        return process.returncode != 0

    def reference(self, sweep, isa):
        if (sweep, isa) not in self.expected:
            (self.dir / "straight.toml").write_text(SWEEPS[sweep])
            begin = time.monotonic()
            run("sweep", "straight.toml", "--out", "straight.h5", "--overwrite", env={"SCRM_ISA": isa}, cwd=self.dir)
            self.expected[sweep, isa] = bits(self.dir / "straight.h5"), time.monotonic() - begin
        return self.expected[sweep, isa]

    def one_sweep(self):
        sweep, isa = self.random.randrange(len(SWEEPS)), self.random.choice(self.isas)
        whole, seconds = self.reference(sweep, isa)
        (self.dir / "sweep.toml").write_text(SWEEPS[sweep])
        out, journal = self.dir / "out.h5", self.dir / "out.h5.journal"
        out.unlink(missing_ok=True)
        while True:
            resume = ["--resume"] if out.exists() or journal.exists() else []
            threads = ["--threads", self.random.choice([1, 2, 3, 4, 8]), "--shuffle", self.random.randrange(1000)]
            args = ["sweep", "sweep.toml", "--out", "out.h5", *threads, *resume]
            if resume and self.random.random() < 0.1:
                self.other_instruction_set(args, isa, journal if journal.exists() else out)
            if not self.killed(args, {"SCRM_ISA": isa}, 1.2 * seconds):
                break
            self.counts["resumes"] += 1
            if out.exists():
                self.require(bits(out) == whole, "an archive that is not the whole one is there after a kill")
        self.require(bits(out) == whole, f"{out}: other bits than without kills")
        self.require(not journal.exists() and not self.hidden(), f"left: {sorted(os.listdir(self.dir))}")
        self.counts["archives compared"] += 1

    def other_instruction_set(self, args, isa, file):
        """Refused, and nothing has changed, where there is a finished run."""
        other = self.random.choice([name for name in self.isas if name != isa] or [isa])
        if other == isa:
            return
        before = file.read_bytes()
        done = run(*args, env={"SCRM_ISA": other}, check=None, cwd=self.dir)
        if done.returncode == 2 and "these runs were made with instruction set" in done.stderr:
            self.require(file.read_bytes() == before, f"{file} has changed though the resume was refused")
            self.counts["refused resumes"] += 1
            return
        # A journal without a finished run is begun anew; its runs must not stay for this instruction set.
        self.require(done.returncode == 0, done.stderr)
        (self.dir / "out.h5").unlink()

    def one_folder(self):
        """A folder that is replaced again and again is always one of the two."""
        out = self.dir / "logs"
        args = ["simulate", "gaussian", "--rows", 3000, "--shards", 3, "--out", "logs", "--overwrite"]

        def content():
            return {path.name: path.read_bytes() for path in out.iterdir()} if out.exists() else None

        for seed in (0, 1):
            if seed not in self.folders:
                begin = time.monotonic()
                run(*args, "--seed", seed, cwd=self.dir)
                self.folders[seed] = content()
                self.seconds = time.monotonic() - begin
        for seed in (0, 1):
            before = content()
            hit = self.killed([*args, "--seed", seed], {}, 1.2 * self.seconds)
            self.require(content() in (before, self.folders[seed]), f"{out} is neither the old folder nor the new one")
            self.require(hit or content() == self.folders[seed], f"{out} is not the new folder")
        run(*args, "--seed", 0, cwd=self.dir)
        self.require(content() == self.folders[0] and not self.hidden(), f"left: {self.hidden()}")
        self.counts["folders compared"] += 1


def main():
    seconds = float(sys.argv[1]) * 3600
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    folder = tempfile.mkdtemp(prefix="scrm-soak-")
    print(f"{PROGRAM}, seed {seed}, in {folder}", flush=True)
    soak = Soak(folder, seed)
    begin = shown = time.monotonic()
    while time.monotonic() - begin < seconds:
        soak.one_sweep()
        soak.one_folder()
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"{(shown - begin) / 60:.0f} min: {dict(soak.counts)}", flush=True)
    print(f"no difference in {(time.monotonic() - begin) / 60:.1f} min: {dict(soak.counts)}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
