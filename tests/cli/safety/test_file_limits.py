"""Few files may be open at a time: folders of many shards are read all the same, or the message says what to do."""
# labels: slow cli io

import json
import os
import resource
import subprocess

import harness
from harness import ProgramTest, gaussian_log, run

POLICY = 'kind = "gaussian"\nscale = 0.8\ntheta = [0.1, 0.2, 0.0, -0.1]\n'


def with_files(soft, hard, *args, cwd):
    """Runs the program where at most so many files may be open."""

    def apply():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return subprocess.run([harness.PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=cwd,
                          preexec_fn=apply)


class FileLimits(ProgramTest):
    def setUp(self):
        super().setUp()
        if os.environ.get("SCRM_SANITIZE"):
            self.skipTest("sanitizers open files of their own")
        (self.dir / "p.toml").write_text(POLICY)

    def same_with_few_files(self, data, limit, hard=None):
        act = ("act", "p.toml", "--contexts", data, "--seed", 1, "--csv", "-")
        for command in (("inspect", data, "--json"), ("evaluate", data, "--policy", "p.toml"),
                        ("learn", data, "--lambda", 0.1, "--max-iter", 3, "--out", "out.toml", "--overwrite"), act):
            with self.subTest(data=data, command=command[0]):
                done = with_files(limit, hard or limit, *command, cwd=self.dir)
                self.assertEqual(done.returncode, 0, done.stderr)
                expected = run(*command, cwd=self.dir)
                if command[0] == "inspect":
                    found, expected = json.loads(done.stdout), json.loads(expected.stdout)
                    self.assertEqual({**found, "seconds": 0}, {**expected, "seconds": 0})
                elif command[0] == "act":
                    self.assertEqual(done.stdout, expected.stdout)

    def test_two_thousand_shards(self):
        for name, options in ("plain", ()), ("packed", ("--compress", "gzip")):
            run("simulate", "gaussian", "--rows", 20_000, "--shards", 2_000, "--out", name, *options, cwd=self.dir)
        (self.dir / "p.toml").write_text(self.first_policy())
        self.same_with_few_files("plain", 20)
        self.same_with_few_files("packed", 20)

    def first_policy(self):
        run("simulate", "gaussian", "--rows", 1, "--out", "one", "--policy-out", "first.toml", cwd=self.dir)
        return (self.dir / "first.toml").read_text()

    def test_shards_of_others(self):
        (self.dir / "logs").mkdir()
        for i in range(60):
            gaussian_log(self.dir / "logs" / f"{i:02}.h5", rows=10, seed=i, gzip=i % 2 == 1)
        self.same_with_few_files("logs", 20)

    def test_the_limit_is_raised_where_it_may_be(self):
        gaussian_log(self.dir / "log.h5", rows=10)
        self.same_with_few_files("log.h5", 7, 1024)

    def test_too_few_files_are_an_error_that_says_so(self):
        gaussian_log(self.dir / "log.h5", rows=10)
        run("simulate", "gaussian", "--rows", 10, "--out", "logs", cwd=self.dir)
        # A shard of ours needs one descriptor, since its seal tells what HDF5 would be asked; others a second one.
        for data, name, with_four in (("log.h5", "log.h5", 1), ("logs", "part-00000.h5", 0)):
            for limit in (4, 5, 6, 7):
                done = with_files(limit, limit, "inspect", data, cwd=self.dir)
                if done.returncode != 0:
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr, f"scrm: error: .*{name}.*Too many open files.*ulimit -n")
            self.assertEqual(with_files(4, 4, "inspect", data, cwd=self.dir).returncode, with_four)


if __name__ == "__main__":
    harness.main()
