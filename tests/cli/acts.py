"""What the tests of scrm act share: contexts, policies of every kind, and a run of the command."""

import h5py
import numpy as np

from harness import ProgramTest, run_json

ROWS = 6001
FEATURES = 3
THETA = "[0.3, 0.5, -0.4, 0.2]"
SCORES = "[[0.1, 0.5, -0.4, 0.2], [0.0, -0.3, 0.6, 0.1], [-0.2, 0.2, 0.2, -0.7]]"
POLICIES = {
    "gaussian": f'kind = "gaussian"\nscale = 0.7\ntheta = {THETA}\n',
    "quadratic": 'kind = "gaussian"\nfeatures = "quadratic"\nscale = 0.7\n'
                 'theta = [0.3, 0.5, -0.4, 0.2, 0.1, 0.2, -0.1, 0.3, 0.05, -0.2]\n',
    "lognormal": f'kind = "lognormal"\nscale = 0.4\ntheta = {THETA}\n',
    "softmax": f'kind = "softmax"\ntheta = {SCORES}\n',
    "softmax-epsilon": f'kind = "softmax"\nepsilon = 0.2\ntheta = {SCORES}\n',
    "label": f'kind = "multilabel"\nepsilon = 0.1\nmixing = "label"\ntheta = {SCORES}\n',
    "joint": f'kind = "multilabel"\nepsilon = 0.1\nmixing = "joint"\ntheta = {SCORES}\n',
    "independent": f'kind = "multilabel"\ntheta = {SCORES}\n',
    "uniform": 'kind = "uniform"\n',
    "uniform-bits": 'kind = "uniform"\n',
}
OPTIONS = {"uniform": ("--action-kind", "categorical", "--num-actions", 49),
           "uniform-bits": ("--action-kind", "multilabel", "--num-actions", 5)}


def read(folder):
    """Every dataset of the folder's shards, concatenated; offsets of sparse rows become lengths."""
    columns = {}

    def visit(name, node):
        if isinstance(node, h5py.Dataset):
            columns.setdefault(name, []).append(np.diff(node[()]) if name == "context/indptr" else node[()])

    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path) as file:
            file.visititems(visit)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def write_contexts(path, context):
    """Contexts and nothing else, as anyone would write them."""
    with h5py.File(path, "w") as file:
        file.attrs.update(format="scrm-log", format_version=1)
        if isinstance(context, tuple):
            file["context/indptr"], file["context/indices"], file["context/values"] = context
            file["context"].attrs["num_features"] = FEATURES
        else:
            file["context"] = context
    return path


def record_losses(folder):
    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path, "a") as file:
            rows = len(file["action"])
            file["loss"] = np.linspace(-1, 1, rows)


class ActTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.context = np.random.default_rng(1).normal(size=(ROWS, FEATURES))
        self.contexts = write_contexts(self.dir / "contexts.h5", self.context)

    def policy(self, name):
        path = self.dir / f"{name}.toml"
        path.write_text(POLICIES[name])
        return path

    def act(self, name, out, *options, contexts=None, **run_options):
        folder = self.dir / out
        result = run_json("act", self.policy(name), "--contexts", contexts or self.contexts, "--seed", 7, "--out", folder,
                          *OPTIONS.get(name, ()), *options, **run_options)
        return result, folder

    def assert_weights_of_one(self, name, folder, rows=ROWS):
        record_losses(folder)
        found = run_json("evaluate", folder, "--policy", self.dir / f"{name}.toml")["policies"][0]["diagnostics"]
        self.assertEqual((found["mean_weight"], found["max_weight"], found["ess"]), (1.0, 1.0, rows))

    def assert_same(self, left, right):
        self.assertEqual(sorted(left), sorted(right))
        for name in left:
            self.assertEqual((left[name].dtype, left[name].tobytes()), (right[name].dtype, right[name].tobytes()), name)
