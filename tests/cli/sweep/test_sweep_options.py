"""The keys of a sweep file: `scrm sweep --help` and the README say the same about all of them."""
# labels: fast cli

import re

import numpy as np

from harness import SOURCE_DIR, ProgramTest, main, run
from sweeps import SweepTest, archive

ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (.*) \|$", re.MULTILINE)


def keys_of_help():
    """(key, what it is, values) of every line under "Keys of FILE.toml", which may go on below."""
    text = re.sub(r"\n {4,}", " ", run("sweep", "--help").stdout)
    lines = text[text.index("Keys of FILE.toml"):text.index("[method.NAME] makes")].splitlines()[1:]
    return [re.fullmatch(r"  (\w+) +(.*) \((.*?)\)", line).groups() for line in lines]


class SweepOptions(ProgramTest):
    def test_the_readme_has_a_row_for_every_key_of_the_help_and_for_no_other(self):
        text = (SOURCE_DIR / "README.md").read_text()
        section = text[text.index("### The sweep file"):text.index("### The archive")]
        table = section[section.index("| key |"):].split("\n\n")[0]
        self.assertEqual(ROW.findall(table), keys_of_help())

    def test_the_help_has_every_key_that_the_file_may_have(self):
        path = self.dir / "sweep.toml"
        path.write_text('environments = ["pricing"]\nmethods = ["crm"]\nqwertyuiop = 1\n')
        message = run("sweep", path, "--out", self.dir / "out.h5", check=2).stderr
        listed = re.search(r"there is no such key; there are (.*)", message)[1].split(", ")
        self.assertEqual(listed, [key for key, _, _ in keys_of_help()] + ["environment", "method"])


class Starts(SweepTest):
    def test_scale_and_start_change_the_policy_that_is_learned_and_the_identity_of_the_run(self):
        keys = dict(environments=["gaussian"], methods=["baseline", "scrm", "near"], rollouts=2)
        near = '\n[method.near]\nlike = "baseline"\nstart = 1.5\nscale = 0.1\n'
        changed = archive(self.sweep(self.write(tables=near, **keys))[0])
        # -1 + 0.2 ((theta - 1)^2 + scale^2 + 0.3^2)
        self.assertAlmostEqual(changed["final_loss"][2], -1 + 0.2 * (0.25 + 0.01 + 0.09), places=12)
        self.assertAlmostEqual(changed["final_loss"][0], -1 + 0.2 * (2.25 + 0.09 + 0.09), places=12)
        self.assertAlmostEqual(changed["optimum"][2], -1 + 0.2 * (0.01 + 0.09), places=12)
        plain = archive(self.sweep(self.write("plain.toml", **{**keys, "methods": ["baseline", "scrm"]}), out="plain.h5")[0])
        self.assertEqual(plain["identity"], changed["identity"][:2])
        self.assertNotEqual(changed["identity"][0], changed["identity"][2])

    def test_only_the_spread_that_is_learned_changes_where_the_first_logs_come_from_elsewhere(self):
        keys = dict(environments=["pricing"], methods=["scrm", "narrow"], rollouts=1, lambdas=0.01)
        runs = archive(self.sweep(self.write(tables='\n[method.narrow]\nlike = "scrm"\nscale = 0.1\n', **keys))[0])
        self.assertNotEqual(runs["final_loss"][0], runs["final_loss"][1])

    def test_a_learned_scale_is_deployed_recorded_and_never_below_its_least(self):
        keys = dict(environments=["pricing"], methods=["scrm", "learned"], rollouts=5, lambdas=["auto"], seeds=2)
        table = '\n[method.learned]\nlike = "scrm"\nscale = "learned"\nmin_scale = {}\ncentre_losses = true\npast = "all-balance"\n'
        free = archive(self.sweep(self.write(tables=table.format(0.01), **keys))[0])
        held = archive(self.sweep(self.write("held.toml", tables=table.format(0.45), **keys), out="held.h5")[0])
        scales = free["scale"]
        self.assertTrue(np.isnan(scales[:2]).all())  # fixed ones are not noted
        rows = 100 * (2.0 ** np.arange(1, 6) - 1)
        self.assertTrue((scales[2:] >= 0.5 * (100 / rows) ** 0.25 - 1e-12).all())
        self.assertTrue((scales[2:, -1] < 0.4).all())
        self.assertTrue((held["scale"][2:] >= 0.45).all())
        self.assertTrue((held["scale"][2:, -1] < 0.46).all())
        self.assertNotEqual(free["identity"][2], held["identity"][2])

    def test_a_scale_that_is_neither_a_number_nor_learned_is_refused_with_file_line_and_key(self):
        for value in ('"lerned"', "0", "[0.1]"):
            text = f'environments = ["pricing"]\nmethods = ["scrm"]\nscale = {value}\n'
            path = self.dir / "wrong.toml"
            path.write_text(text)
            message = run("sweep", path, "--out", self.dir / "wrong.h5", check=2).stderr
            self.assertRegex(message, r"wrong\.toml.*line 3.*scale")


if __name__ == "__main__":
    main()
