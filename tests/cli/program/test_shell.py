"""What is made from the program's own commands and options for shells: completion and the manual page."""
# labels: fast cli

import os
import re
import shutil
import subprocess

import harness
from harness import ProgramTest, run


def options(command):
    """Long options in a command's own help."""
    return sorted(set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", run(command, "--help").stdout)))


class Bash(ProgramTest):
    def setUp(self):
        super().setUp()
        self.script = self.dir / "completion.bash"
        self.script.write_text(run("completion", "bash").stdout)

    def complete(self, line):
        """What bash offers for the last word of a line, by the script's own function."""
        words = line.split(" ")
        for at in [i for i, word in enumerate(words) if re.match(r"--[\w-]+=", word)]:  # as readline splits them
            name, value = words[at].split("=", 1)
            words[at:at + 1] = [name, "=", value] if value else [name, "="]
        array = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(
            ["bash", "--norc", "-c", f"source {self.script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _scrm; "
             "printf '%s\\n' \"${COMPREPLY[@]}\""], cwd=self.dir, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split("\n")[:-1]) if done.stdout != "\n" else []

    def test_completes_commands(self):
        offered = self.complete("scrm ")
        for name in (*harness.commands(), "help", "completion", "man", "--help", "--version"):
            self.assertIn(name, offered)
        self.assertEqual(self.complete("scrm ev"), ["evaluate"])
        self.assertEqual(self.complete("scrm help ev"), ["evaluate"])

    def test_completes_the_options_of_every_command(self):
        for name in harness.commands():
            with self.subTest(command=name):
                offered = [word for word in self.complete(f"scrm {name} --") if word.startswith("--")]
                self.assertEqual(sorted(offered), options(name))

    def test_completes_the_words_that_an_option_takes(self):
        self.assertEqual(self.complete("scrm evaluate logs --interval b"), ["bernstein", "bootstrap"])
        self.assertEqual(self.complete("scrm evaluate logs --interval=b"), ["bernstein", "bootstrap"])
        self.assertEqual(self.complete("scrm evaluate logs --interval="), self.complete("scrm evaluate --interval "))
        self.assertEqual(self.complete("scrm evaluate logs --estimator ips,cl"), ["ips,clipped"])
        self.assertEqual(self.complete("scrm evaluate logs --clip "), ["auto"])
        self.assertEqual(self.complete("scrm learn logs --features q"), ["quadratic"])
        self.assertEqual(self.complete("scrm simulate pri"), ["pricing"])
        self.assertEqual(self.complete("scrm simulate pricing --compress "), ["gzip", "none"])
        self.assertEqual(self.complete("scrm completion "), ["bash", "zsh"])
        self.assertEqual(self.complete("scrm evaluate logs --level "), [])

    def test_completes_files_with_spaces(self):
        (self.dir / "my logs.h5").touch()
        (self.dir / "my policy.toml").touch()
        for line in ("scrm evaluate my", "scrm evaluate --policy my", "scrm evaluate logs --policy=my"):
            self.assertEqual(self.complete(line), ["my logs.h5", "my policy.toml"])


class Zsh(ProgramTest):
    def test_names_every_command_and_option(self):
        script = run("completion", "zsh").stdout
        self.assertTrue(script.startswith("#compdef scrm\n"))
        for name in harness.commands():
            case = re.search(rf"(?ms)^    {name}\)\n(.*?) ;;$", script).group(1)
            for option in options(name):
                self.assertIn(f"'*{option}", case)
        self.assertIn(":KIND:(auto bernstein bootstrap clopper-pearson cressie-read normal sequence student)", script)

    def test_is_a_script(self):
        zsh = os.environ.get("SCRM_ZSH") or shutil.which("zsh")
        if zsh is None:
            self.skipTest("no zsh here")
        script = self.dir / "_scrm"
        script.write_text(run("completion", "zsh").stdout)
        subprocess.run([zsh, "-n", script], check=True)


class Manual(ProgramTest):
    def test_has_every_command_and_option(self):
        page = run("man").stdout
        self.assertTrue(page.startswith(".TH SCRM 1 "))
        plain = page.replace("\\-", "-")
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS"):
            self.assertIn(f"\n.SH {heading}\n", plain)
        common = plain[plain.index(".SS Of every"):plain.index(".SH COMMANDS")]
        for name in harness.commands():
            section = re.search(rf"(?s)\n\.SS {name}\n(.*?)(?=\n\.S[SH] |\Z)", plain).group(1)
            for option in options(name):
                self.assertIn(option, section + common, name)
            self.assertIn(f"scrm {name} ", section)  # its example

    def test_is_roff_without_warnings(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff here")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=run("man").stdout, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stderr, "")
        text = re.sub(".\b", "", done.stdout)  # bold and underlined letters are struck twice
        self.assertIn("       --interval KIND\n", text)
        self.assertIn("         scrm evaluate logs --policy new.toml --policy old.toml", text)


class Usage(ProgramTest):
    def test_a_misspelt_shell_is_answered_with_the_shells(self):
        said = run("completion", "fish", check=2).stderr
        self.assertIn("bash, zsh", said)
        self.assertIn("completion", run("completion", check=2).stderr)

    def test_both_have_help_within_a_hundred_columns(self):
        for name in ("completion", "man"):
            out = run(name, "--help").stdout
            self.assertRegex(out, r"Example:\n  .*scrm " + name)
            self.assertLessEqual(max(map(len, out.splitlines())), 100)
            self.assertIn(f"\n  {name} ", run().stdout)


if __name__ == "__main__":
    harness.main()
