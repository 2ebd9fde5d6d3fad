"""The keys of a sweep file: `scrm sweep --help` and the README say the same about all of them."""
# labels: fast cli

import re

from harness import SOURCE_DIR, ProgramTest, main, run

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


if __name__ == "__main__":
    main()
