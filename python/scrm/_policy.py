"""Policy: a stochastic decision rule, from a file, from `learn`, or from parameters."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

import numpy as np

from . import _columns, _scrm
from ._errors import UsageError
from ._logs import Logs, PathLike, _action
from ._task import Memory, Progress, finish, task_options


@dataclass
class Sample:
    """Actions that a policy drew, and how likely each was: `action, propensity = policy.sample(x, seed=1)`.

    Labels also have log_propensity, and label_propensity where they are independent of each other.
    """

    action: np.ndarray
    propensity: np.ndarray
    log_propensity: Optional[np.ndarray] = None
    label_propensity: Optional[np.ndarray] = None

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.action, self.propensity))


class Policy:
    """A policy by its parameters, as policy files have them.

    kind: "gaussian", "lognormal" (continuous actions), "softmax" (categorical), "multilabel" or "uniform".
    theta: intercept first; a row for each action of softmax and multilabel; none for uniform.
    scale: standard deviation (of the logarithm for lognormal). epsilon: share of uniform actions of softmax and
    multilabel. inputs, actions: names of the features and the actions, in order.
    features: "linear", "quadratic" or "fourier". Fourier features are made of width, bandwidth and feature_seed, after
    each input was centred and divided by its spread; theta then has 1 + inputs + width numbers a row.

    >>> import numpy as np, scrm
    >>> policy = scrm.Policy("softmax", theta=[[0.0, 1.0], [0.0, -1.0]])
    >>> policy.probabilities(np.array([[0.0], [1.0]])).round(4)
    array([[0.5   , 0.5   ],
           [0.8808, 0.1192]])
    """

    def __init__(self, kind: str, theta: Any = (), *, scale: float = 1.0, epsilon: float = 0.0,
                 features: str = "linear", mixing: str = "joint", inputs: Sequence[str] = (),
                 actions: Sequence[str] = (), name: Optional[str] = None, width: int = 0, bandwidth: float = 1.0,
                 feature_seed: int = 0, centre: Sequence[float] = (), spread: Sequence[float] = ()) -> None:
        fourier = {"width": int(width), "bandwidth": float(bandwidth), "feature_seed": int(feature_seed),
                   "centre": [float(x) for x in centre], "spread": [float(x) for x in spread]}
        if features != "fourier" and (width or len(centre) or len(spread)):
            raise UsageError('width, centre and spread belong to features="fourier"')
        if feature_seed < 0:
            raise UsageError(f"feature_seed is {feature_seed}, but must be 0 or more")
        handle = _scrm.Policy(kind, np.asarray(theta, dtype=float), float(scale), float(epsilon), features, mixing,
                              list(inputs), list(actions), fourier)
        self._begin(handle, name or kind)

    def _begin(self, handle: Any, name: str, comment: str = "") -> None:
        self._handle = handle
        self._comment = comment
        self.name = name  #: what reports call it
        self.report: Optional[Dict[str, Any]] = None  #: of a policy that was learned: the JSON of `scrm learn`
        self.summary = ""  #: of a policy that was learned: what `scrm learn` prints

    @classmethod
    def _of(cls, handle: Any, name: str, comment: str = "") -> "Policy":
        policy = cls.__new__(cls)
        policy._begin(handle, name, comment)
        return policy

    @classmethod
    def load(cls, path: PathLike) -> "Policy":
        """The policy of a file, named by its path."""
        return cls._of(_scrm.read_policy(os.fspath(path)), os.fspath(path))

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Writes the file, whole or not at all. The policy keeps its name; one that is loaded is named by its path."""
        _scrm.save_policy(self._handle, os.fspath(path), self._comment, overwrite)

    @property
    def kind(self) -> str:
        return str(self._handle.kind)

    @property
    def theta(self) -> np.ndarray:
        """A copy of the parameters, intercept first; [actions, 1 + features] for softmax and multilabel."""
        return np.asarray(self._handle.theta)

    @property
    def scale(self) -> float:
        return float(self._handle.scale)

    @property
    def epsilon(self) -> float:
        return float(self._handle.epsilon)

    @property
    def features(self) -> str:
        """"linear", "quadratic" or "fourier"."""
        return str(self._handle.features)

    @property
    def fourier(self) -> Optional[Dict[str, Any]]:
        """What Fourier features are made of: width, bandwidth, feature_seed, centre and spread."""
        return self._handle.fourier  # type: ignore[no-any-return]

    @property
    def mixing(self) -> str:
        """How epsilon is mixed into labels: "joint" or "label"."""
        return str(self._handle.mixing)

    @property
    def inputs(self) -> List[str]:
        return list(self._handle.inputs)

    @property
    def actions(self) -> List[str]:
        return list(self._handle.actions)

    @property
    def training(self) -> Optional[Dict[str, Any]]:
        """Of a policy that was learned: how many rows, and which share of them was held out."""
        return self._handle.training  # type: ignore[no-any-return]

    @property
    def text(self) -> str:
        """The text of its file."""
        return str(self._handle.text(self._comment))

    def probabilities(self, context: Any, *, num_actions: int = 0, action_kind: str = "categorical",
                      threads: Optional[int] = None, memory: Memory = None,
                      progress: Union[Progress, bool, None] = None) -> np.ndarray:
        """[rows, actions]: how likely each action is, or for labels how likely each bit is 1. Continuous policies have
        a `density` instead. num_actions and action_kind are for uniform policies, which do not say them."""
        task = task_options(threads, memory, progress)
        what = {"action_kind": action_kind, "num_actions": num_actions}
        try:
            return np.asarray(_scrm.probabilities(self._handle, self.name, _contexts(context), what, task))
        finally:
            finish(task)

    def density(self, context: Any, action: Any, *, threads: Optional[int] = None, memory: Memory = None,
                progress: Union[Progress, bool, None] = None) -> np.ndarray:
        """[rows]: density or probability of an action for each row, to the bit what `evaluate` divides."""
        task = task_options(threads, memory, progress)
        rows = _contexts(context)
        shard = dict(rows["shards"][0])
        names = self.actions
        count = len(self.theta) if self.theta.ndim == 2 else None
        numbers, kind, actions, labels = _action(action, None, count, names or None)
        one = np.broadcast_to(np.float64(1), (len(numbers) if not isinstance(numbers, list) else len(numbers[0]),))
        shard.update(action_kind=kind, num_actions=actions, action_names=labels,
                     arrays={**shard["arrays"], "action": numbers, "loss": one, "propensity": one})
        try:
            return np.asarray(_scrm.density(self._handle, self.name, {"shards": [shard]}, task))
        finally:
            finish(task)

    def sample(self, context: Any, seed: int, *, rollout: int = 0, num_actions: int = 0,
               action_kind: str = "categorical", threads: Optional[int] = None, memory: Memory = None,
               progress: Union[Progress, bool, None] = None) -> Sample:
        """Draws an action for every row and says how likely it was: the next deployment. The draw of a row depends on
        seed, rollout, the row's place and its context alone, as that of `scrm act`."""
        task = task_options(threads, memory, progress)
        what = {"action_kind": action_kind, "num_actions": num_actions, "seed": seed, "rollout": rollout}
        try:
            acted = _scrm.act(self._handle, self.name, _contexts(context), what, task)
        finally:
            finish(task)
        logarithm = acted.get("log_propensity")
        propensity = acted["propensity"] if logarithm is None else np.exp(logarithm)
        return Sample(acted["action"], propensity, logarithm, acted.get("label_propensity"))

    def __repr__(self) -> str:
        theta = self.theta
        size = f", {theta.shape[0]} actions" if theta.ndim == 2 else ""
        return f"Policy({self.name!r}, {self.kind}{size}, {theta.size:,} parameters)"


def _contexts(context: Any) -> Dict[str, Any]:
    """Rows of contexts alone: a table, or those of logs."""
    if isinstance(context, Logs):
        return context._rows
    arrays: Dict[str, Any] = {}
    names: List[str] = []
    features = 0
    if _columns.is_sparse(context):
        from ._logs import _add_sparse
        features = _add_sparse(context, arrays)
    elif context is None:
        raise UsageError("context is missing; policies without features take an array of the shape (rows, 0)")
    else:
        arrays["context"], names = _columns.table(context, "context")
    return {"shards": [{"action_kind": "continuous", "num_actions": 0, "rollout": 0, "outcome": None,
                        "context_columns": names, "action_names": [], "sparse_features": features,
                        "arrays": arrays}]}
