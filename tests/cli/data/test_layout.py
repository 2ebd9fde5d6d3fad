"""The source tree keeps its shape: libraries stay in their folder, folders depend one way, labels are those we know."""
# labels: fast cli

import re
import unittest

import harness

FOLDERS = ["kernels", "io", "engine", "experiments", "python"]
SOURCES = [path for folder in FOLDERS for path in (harness.SOURCE_DIR / folder).rglob("*.[ch]pp")]
LABELS = {"fast", "slow", "io", "threads", "isa", "statistical", "cli", "mpi", "python"}


def includes(path):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.M)


def folder_of(path):
    return path.relative_to(harness.SOURCE_DIR).parts[0]


class Layout(unittest.TestCase):
    def test_there_is_something_to_check(self):
        self.assertGreater(len(SOURCES), 20)

    def test_each_library_is_seen_by_one_folder_only(self):
        owners = {r"(hdf5|H5\w*)\.h$": "io", r"(oneapi/)?tbb/": "engine", r"(cblas|openblas_config|lapacke)\.h$": "engine",
                  r"hwy/": "kernels", r"Random123/": "kernels", r"CLI/": "experiments"}
        for path in SOURCES:
            for name in includes(path):
                for pattern, owner in owners.items():
                    if re.match(pattern, name):
                        self.assertEqual(folder_of(path), owner, f"{path} includes {name}")

    def test_folders_depend_one_way(self):
        for path in SOURCES:
            for name in includes(path):
                match = re.match(r"scrm/(\w+)/", name)
                if match:
                    self.assertLessEqual(FOLDERS.index(match[1]), FOLDERS.index(folder_of(path)), f"{path} includes {name}")

    def test_every_header_begins_with_a_sentence_and_is_guarded(self):
        for path in SOURCES:
            if path.suffix == ".hpp" and not path.stem.endswith("-inl"):
                self.assertRegex(path.read_text(), r"^/// .+(\n///.*)*\n#pragma once\n", path)

    def test_every_test_has_labels_that_exist(self):
        tests = harness.SOURCE_DIR / "tests"
        for path in [*tests.rglob("*_test.cpp"), *tests.rglob("test_*.py")]:
            head = "\n".join(path.read_text().splitlines()[:3])
            match = re.search(r"labels: ([a-z ]+)", head)
            self.assertIsNotNone(match, f"{path} has no labels in its first lines")
            self.assertLessEqual(set(match[1].split()), LABELS, path)


if __name__ == "__main__":
    harness.main()
