"""The keys of a sweep file: `scrm sweep --help` and the README say the same about all of them."""
# labels: fast cli

import re

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


if __name__ == "__main__":
    main()
