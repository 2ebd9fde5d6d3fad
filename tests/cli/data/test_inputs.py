"""Inputs that would count rows twice, or name them wrongly, are refused with words that say which."""
# labels: fast cli

import os

import numpy as np

import harness
from harness import ProgramTest, gaussian_log, run, run_json, write_log


class Twice(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.dir / "logs").mkdir()
        self.shard = gaussian_log(self.dir / "logs" / "a.h5", rows=50)
        gaussian_log(self.dir / "logs" / "b.h5", rows=60, seed=1)
        self.policy = self.dir / "p.toml"
        self.policy.write_text('kind = "gaussian"\nscale = 1.0\ntheta = [0.1, 0.0, 0.0, 0.0]\n')

    def assert_refused(self, *args, names, cwd=None):
        said = run(*args, check=2, cwd=cwd).stderr
        self.assertIn("twice", said)
        for name in names:
            self.assertIn(str(name), said)

    def test_by_the_same_name_a_folder_a_relative_path_and_links(self):
        (self.dir / "soft.h5").symlink_to(self.shard)
        os.link(self.shard, self.dir / "hard.h5")
        (self.dir / "again").symlink_to(self.dir / "logs")
        logs = self.dir / "logs"
        self.assert_refused("inspect", self.shard, self.shard, names=[self.shard])
        for other in ("soft.h5", "hard.h5"):
            self.assert_refused("inspect", self.shard, self.dir / other, names=[self.shard, self.dir / other])
            self.assert_refused("inspect", logs, self.dir / other, names=[self.shard, self.dir / other])
        self.assert_refused("inspect", logs, self.shard, names=[self.shard])
        self.assert_refused("inspect", logs, self.dir / "again", names=[self.shard, self.dir / "again" / "a.h5"])
        self.assert_refused("inspect", self.shard, "logs/a.h5", names=[self.shard, " logs/a.h5"], cwd=self.dir)
        os.link(self.shard, logs / "c.h5")
        self.assert_refused("inspect", logs, names=[self.shard, logs / "c.h5"])

    def test_by_every_command_that_reads_rows(self):
        twice = (self.shard, self.dir / "logs" / ".." / "logs" / "a.h5")
        self.assert_refused("evaluate", *twice, "--policy", self.policy, names=twice)
        self.assert_refused("learn", *twice, "--kind", "gaussian", "--out", self.dir / "new.toml", names=twice)
        self.assert_refused("act", self.policy, "--seed", 1, "--contexts", twice[0], "--contexts", twice[1],
                            "--out", self.dir / "acted", names=twice)
        self.assertFalse((self.dir / "new.toml").exists())
        self.assertFalse((self.dir / "acted").exists())
        table = self.dir / "x.csv"
        table.write_text("x0,x1,x2\n1,2,3\n")
        self.assert_refused("act", self.policy, "--seed", 1, "--contexts", table, "--contexts", table, "--context", "x*",
                            "--out", self.dir / "acted", names=[table])
        labelled = self.dir / "d.libsvm"
        labelled.write_text("0 1:1\n1 2:1\n")
        self.assert_refused("import", labelled, labelled, "--format", "libsvm", "--out", self.dir / "d.h5",
                            names=[labelled])

    def test_copies_and_many_shards_are_read(self):
        (self.dir / "copy.h5").write_bytes(self.shard.read_bytes())
        self.assertEqual(run_json("inspect", self.dir / "logs", self.dir / "copy.h5")["rows"], 160)


class LoggingPolicies(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.files = []
        for rollout, (mean, scale) in enumerate([(0.0, 1.0), (0.5, 0.7)]):
            action = mean + scale * random.normal(size=5000)
            density = np.exp(-0.5 * ((action - mean) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))
            write_log(self.dir / f"{rollout}.h5", rollout=rollout, context=np.zeros((5000, 1)), action=action,
                      loss=action, propensity=np.round(density, 4) + 1e-5)
            self.files.append(self.policy(f"old{rollout}.toml", mean, scale))
        self.data = [self.dir / "0.h5", self.dir / "1.h5"]
        self.new = self.policy("new.toml", 0.2, 0.9)

    def policy(self, name, mean, scale):
        (self.dir / name).write_text(f'kind = "gaussian"\nscale = {scale}\ntheta = [{mean}, 0.0]\n')
        return self.dir / name

    def run_with(self, first, second, **options):
        logging = ("--logging-policy", first, "--logging-policy", second)
        return (run("evaluate", *self.data, "--policy", self.new, *logging, **options),
                run("learn", *self.data, "--kind", "gaussian", "--lambda", 0.1, "--max-iter", 2, "--out",
                    self.dir / "x.toml", "--overwrite", *logging, **options))

    def test_in_the_right_order_nothing_is_said(self):
        for done in self.run_with(*self.files):
            self.assertNotIn("propensities", done.stderr)

    def test_in_the_wrong_order_are_refused(self):
        for done in self.run_with(*reversed(self.files), check=2):
            self.assertIn("order of the rollouts", done.stderr)
            for file in self.files:
                self.assertIn(str(file), done.stderr)
        self.assertFalse((self.dir / "x.toml").exists())

    def test_a_policy_that_logged_nothing_is_named(self):
        for done in self.run_with(self.files[0], self.new):
            self.assertIn(f"rollout 2 of 2 are not those of {self.new}", done.stderr)


if __name__ == "__main__":
    harness.main()
