"""Built-in estimators, kinds of policy, environments and methods: one file and one line each, as README says."""
# labels: fast cli

import re
import unittest

from harness import SOURCE_DIR

# The list, the folder of the files, what each file defines, and what declares it: the list's own reader alone.
LISTS = {
    "estimator": ("engine/include/scrm/engine/estimate/estimators.inc", "engine/src/estimate/estimators",
                  r"const Estimator k(\w+)Estimator = ", r"extern const Estimator\b"),
    "kind of policy": ("engine/src/policy/kinds/policy_kinds.inc", "engine/src/policy/kinds",
                       r"PolicyKindDefinition (\w+)_kind\(\) {", r"PolicyKindDefinition \w+_kind\(\);"),
    "environment": ("experiments/src/environments/environments.inc", "experiments/src/environments",
                    r"EnvironmentEntry (\w+)_environment\(\) {", r"EnvironmentEntry \w+_environment\(\);"),
    "method": ("experiments/src/methods/methods.inc", "experiments/src/methods",
               r"MethodEntry (\w+)_method\(\) {", r"MethodEntry \w+_method\(\);"),
}
SHARED_FILES = {"labelled_sets"}


def file_name(name):
    """IpsIx is in ips_ix.cpp, all_zeros in all_zeros.cpp."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Lists(unittest.TestCase):
    def test_every_line_has_its_file_and_every_file_its_line(self):
        for thing, (listed_in, folder, definition, _) in LISTS.items():
            with self.subTest(thing):
                names = re.findall(r"^SCRM_\w+\(k?(\w+?)(?:Estimator)?\)$", (SOURCE_DIR / listed_in).read_text(), re.M)
                self.assertEqual(len(names), len(set(names)))
                defined = {}
                for file in (SOURCE_DIR / folder).glob("*.cpp"):
                    for name in re.findall(definition, file.read_text()):
                        defined[name] = file.stem
                self.assertEqual(set(names), set(defined))
                for name, stem in defined.items():
                    self.assertIn(stem, {file_name(name), *SHARED_FILES})

    def test_nothing_else_declares_them(self):
        sources = [f for d in ("engine", "experiments", "io") for f in (SOURCE_DIR / d).rglob("*.?pp")]
        for thing, (_, _, _, declaration) in LISTS.items():
            for file in sources:
                for line in file.read_text().splitlines():
                    if not line.startswith("#define"):
                        self.assertNotRegex(line, declaration, f"{thing}: {file} declares what the list declares")

    def test_readme_names_the_lists(self):
        text = (SOURCE_DIR / "README.md").read_text()
        for listed_in, folder, _, _ in LISTS.values():
            self.assertIn(f"`{listed_in}`", text)
            self.assertIn(f"`{folder}/NAME.cpp`", text)


if __name__ == "__main__":
    unittest.main()
