"""What the tests of the Python module share: rows, the same rows as shards, and the program to compare with."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

PROGRAM = os.environ["SCRM_PROGRAM"]


def run(*arguments):
    """The standard output of the program."""
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def run_json(*arguments):
    return json.loads(run(*arguments, "--json"))


def without_times(result):
    return {key: value for key, value in result.items() if key not in ("seconds", "threads")}


def write_shard(path, attributes, **arrays):
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": "scrm-log", "format_version": 1, **attributes})
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


def continuous(rows, features=3, seed=0):
    """Contexts, normal actions, losses and densities."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(rows, features))
    action = random.normal(size=rows)
    loss = (action - context[:, 0]) ** 2 - 1
    return context, action, loss, np.exp(-action**2 / 2) / np.sqrt(2 * np.pi)


def categorical(rows, features=3, actions=4, seed=0):
    """Contexts, actions, rewards and probabilities of a softmax policy."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(rows, features))
    scores = context @ random.normal(size=(features, actions))
    probability = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    action = (probability.cumsum(1) < random.random((rows, 1))).sum(1).clip(0, actions - 1)
    reward = (random.random(rows) < 1 / (1 + np.exp(-context[:, 0] * (action - 1)))).astype(float)
    return context, action, reward, np.take_along_axis(probability, action[:, None], 1)[:, 0]


def multilabel(rows, features=3, labels=5, seed=0):
    """Contexts, bits, Hamming losses and the probability of each bit."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(rows, features))
    one = 1 / (1 + np.exp(-context @ random.normal(size=(features, labels))))
    bits = (random.random((rows, labels)) < one).astype(np.uint8)
    right = (context[:, :1] > 0).repeat(labels, 1)
    return context, bits, (bits != right).mean(1), np.where(bits == 1, one, 1 - one)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.path(name)
