"""labels: python fast
What the documentation shows is run: docstrings, docs/python.md, the notebook, and the stubs' names."""

import ast
import doctest
import importlib
import json
import os
import pkgutil
import re
import unittest
import warnings
from pathlib import Path

import scrm
from support import Case

SOURCE = Path(os.environ["SCRM_SOURCE_DIR"])


class DocumentsTest(Case):
    def setUp(self):
        super().setUp()
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)

    def test_examples_in_docstrings(self):
        tried = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in pkgutil.iter_modules(scrm.__path__):
                result = doctest.testmod(importlib.import_module(f"scrm.{module.name}"))
                self.assertEqual(result.failed, 0, module.name)
                tried += result.attempted
        self.assertGreater(tried, 20)

    def test_everything_public_has_a_docstring(self):
        for name in scrm.__all__:
            self.assertTrue(getattr(scrm, name).__doc__, name)

    def test_the_page(self):
        """Blocks of one page follow each other, as a reader would type them."""
        text = (SOURCE / "docs" / "python.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreater(len(blocks), 5)
        names = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for block in blocks:
                exec(compile(block, "docs/python.md", "exec"), names)

    def test_the_notebook(self):
        notebook = json.loads((SOURCE / "examples" / "notebook.ipynb").read_text())
        names = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), "notebook", "exec"), names)
        self.assertGreater(names["after"], names["before"])

    def test_the_stub_of_the_compiled_part_names_what_is_there(self):
        stub = ast.parse((Path(scrm.__file__).parent / "_scrm.pyi").read_text())
        named = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        there = {name for name in dir(scrm._scrm) if not name.startswith("_")} - {"version"}
        self.assertEqual(named, there)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
