"""Logs: the logged rows that everything else is about."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _columns, _scrm
from ._errors import DataError, UsageError

PathLike = Union[str, "os.PathLike[str]"]


class Logs:
    """Logged rows in arrays of yours, which are read where they lie.

    context: [rows, features], NumPy, a frame of pandas or Polars (whose columns are names), or a sparse matrix of
        SciPy; None where there is none.
    action: one a row: real numbers (continuous), integers, booleans or names (categorical), or [rows, labels] of 0
        and 1 (multilabel).
    loss, or reward: what happened. Results are in the same sign.
    propensity: probability or density of the action under the policy that ran; a single number holds for all rows.
        Or log_propensity; labels may have label_propensity, [rows, labels].
    cluster: integers; rows of one number (a user, a session) are not independent of each other.
    num_actions, action_names: how many categorical actions there are, and what they are called.
    rollout: the deployment these rows come from, where there are several; see `Logs.concat`.

    Arrays of any numbers but complex ones and halves, in any order and stride, are read without a copy; only what
    runs backwards (`x[::-1]`) and names are copied. They must not change while scrm reads them.

    >>> import numpy as np, scrm
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> scrm.Logs(context=x, action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=0.5)
    Logs(4 rows, 1 feature, categorical actions (2), reward)
    """

    def __init__(self, context: Any = None, action: Any = None, loss: Any = None, propensity: Any = None, *,
                 reward: Any = None, log_propensity: Any = None, label_propensity: Any = None, cluster: Any = None,
                 num_actions: Optional[int] = None, action_names: Optional[Sequence[str]] = None,
                 action_kind: Optional[str] = None, context_columns: Optional[Sequence[str]] = None,
                 rollout: int = 0) -> None:
        if (loss is None) == (reward is None):
            raise UsageError("give one of loss and reward")
        if action is None:
            raise UsageError("action is missing")
        outcome = _columns.column(reward if loss is None else loss, "loss" if reward is None else "reward")
        rows = len(outcome)
        arrays: Dict[str, Any] = {"loss": outcome}
        names: List[str] = list(map(str, context_columns or []))
        features = 0
        if _columns.is_sparse(context):
            features = _add_sparse(context, arrays)
        elif context is not None:
            arrays["context"], found = _columns.table(context, "context")
            names = names or found
        arrays["action"], kind, actions, labels = _action(action, action_kind, num_actions, action_names)
        for name, value in (("propensity", propensity), ("log_propensity", log_propensity), ("cluster", cluster)):
            if value is not None:
                arrays[name] = _columns.column(value, name, rows)
        if label_propensity is not None:
            arrays["label_propensity"] = _columns.table(label_propensity, "label_propensity")[0]
        self._position: Optional[np.ndarray] = None
        self._set({"shards": [{"action_kind": kind, "num_actions": actions, "rollout": int(rollout),
                               "outcome": "reward" if loss is None else "loss", "context_columns": names,
                               "action_names": labels, "sparse_features": features, "arrays": arrays}]})

    def _set(self, rows: Dict[str, Any]) -> None:
        self._rows = rows
        self._facts = _scrm.describe(rows)

    @classmethod
    def _of(cls, rows: Dict[str, Any]) -> "Logs":
        logs = cls.__new__(cls)
        logs._position = None
        logs._set(rows)
        return logs

    @classmethod
    def from_frame(cls, frame: Any, *, context: Sequence[str], action: Union[str, Sequence[str]],
                   loss: Optional[str] = None, reward: Optional[str] = None, propensity: Optional[str] = None,
                   log_propensity: Optional[str] = None, cluster: Optional[str] = None, **others: Any) -> "Logs":
        """Logs from the columns of one frame, by their names; others are as for `Logs`.

        >>> import pandas, scrm
        >>> frame = pandas.DataFrame({"age": [30, 40], "shown": ["a", "b"], "paid": [0.0, 2.5], "p": [0.5, 0.5]})
        >>> scrm.Logs.from_frame(frame, context=["age"], action="shown", reward="paid", propensity="p").action_names
        ['a', 'b']
        """
        def pick(name: Optional[str]) -> Any:
            return None if name is None else frame[name]
        return cls(context=frame[list(context)] if context else None,
                   action=frame[action] if isinstance(action, str) else frame[list(action)], loss=pick(loss),
                   reward=pick(reward), propensity=pick(propensity), log_propensity=pick(log_propensity),
                   cluster=pick(cluster), **others)

    @classmethod
    def from_obp(cls, feedback: Mapping[str, Any]) -> "Logs":
        """Logs from the dictionary that Open Bandit Pipeline calls bandit_feedback. Outcomes are rewards.

        >>> import numpy as np, scrm
        >>> feedback = {"n_rounds": 2, "n_actions": 3, "context": np.zeros((2, 1)), "action": np.array([0, 2]),
        ...             "position": None, "reward": np.array([1, 0]), "pscore": np.array([0.3, 0.3])}
        >>> scrm.Logs.from_obp(feedback)
        Logs(2 rows, 1 feature, categorical actions (3), reward)
        """
        for key in ("action", "reward", "pscore"):
            if feedback.get(key) is None:
                raise DataError(f"{key}: is missing from the bandit feedback", dataset=key)
        logs = cls(context=feedback.get("context"), action=feedback["action"], reward=feedback["reward"],
                   propensity=feedback["pscore"], num_actions=feedback.get("n_actions"))
        if feedback.get("position") is not None:
            logs._position = _columns.column(feedback["position"], "position")
        return logs

    @classmethod
    def concat(cls, parts: Sequence["Logs"]) -> "Logs":
        """Several logs one behind the other, as deployments (`rollout`) come. Arrays are still read where they lie."""
        if not parts or any("shards" not in part._rows for part in parts):
            raise UsageError("concat takes logs of arrays; several files are opened together by scrm.open")
        return cls._of({"shards": [shard for part in parts for shard in part._rows["shards"]]})

    def __len__(self) -> int:
        return int(self._facts["rows"])

    @property
    def rows(self) -> int:
        """How many there are, before the audit."""
        return len(self)

    @property
    def features(self) -> int:
        return int(self._facts["features"])

    @property
    def action_kind(self) -> str:
        """"continuous", "categorical" or "multilabel"."""
        return str(self._facts["action_kind"])

    @property
    def num_actions(self) -> int:
        """Categories, or labels; 0 where actions are continuous."""
        return int(self._facts["num_actions"])

    @property
    def outcome(self) -> str:
        """"loss" or "reward"."""
        return str(self._facts["outcome"])

    @property
    def context_columns(self) -> List[str]:
        return list(self._facts["context_columns"])

    @property
    def action_names(self) -> List[str]:
        return list(self._facts["action_names"])

    @property
    def targets(self) -> List[str]:
        """Outside policies whose probabilities are in the shards."""
        return list(self._facts["targets"])

    @property
    def rollouts(self) -> List[int]:
        return list(self._facts["rollouts"])

    @property
    def _in_files(self) -> bool:
        return "paths" in self._rows

    @property
    def _named(self) -> str:
        """What policy files call these rows."""
        return " ".join(self._rows["paths"]) if self._in_files else "arrays"

    def _logged_actions(self) -> np.ndarray:
        shards = self._rows["shards"]
        found = [shard["arrays"]["action"] for shard in shards]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _with(self, more: Mapping[str, np.ndarray]) -> Dict[str, Any]:
        """These rows and more columns."""
        if not more:
            return self._rows
        if self._in_files:
            return {**self._rows, "beside": dict(more)}
        shards, first = [], 0
        for shard in self._rows["shards"]:
            last = first + len(shard["arrays"]["loss"])
            whole = first == 0 and last == len(self)
            slices = {name: value if whole else value[first:last] for name, value in more.items()}
            shards.append({**shard, "arrays": {**shard["arrays"], **slices}})
            first = last
        return {"shards": shards}

    def __repr__(self) -> str:
        count = f" ({self.num_actions})" if self.num_actions else ""
        features = f"{self.features:,} feature{'' if self.features == 1 else 's'}"
        return (f"Logs({len(self):,} row{'' if len(self) == 1 else 's'}, {features}, {self.action_kind} actions{count}, "
                f"{self.outcome})")


def open(*paths: PathLike, reward: bool = False) -> Logs:  # noqa: A001 - the name that files have
    """Logs in shards: `.h5` files, or folders of them. With `reward` the dataset `loss` holds rewards, where the files
    do not say it."""
    return Logs._of({"paths": [os.fspath(path) for path in paths], "reward": bool(reward)})


def _add_sparse(context: Any, arrays: Dict[str, Any]) -> int:
    rows = context.tocsr()
    if not rows.has_canonical_format:
        raise DataError("context: has entries that come twice; call sum_duplicates() first", dataset="context")
    arrays["context/indptr"] = np.asarray(rows.indptr)
    arrays["context/indices"] = np.asarray(rows.indices)
    arrays["context/values"] = _columns.numbers(rows.data, "context")
    return int(rows.shape[1])


def _action(value: Any, kind: Optional[str], num_actions: Optional[int], names: Optional[Sequence[str]]) -> Any:
    """The actions' numbers, their kind, how many there are and what they are called."""
    labels = [str(name) for name in names] if names is not None else []
    if _columns.is_frame(value):
        columns, found = _columns.table(value, "action")
        return columns, kind or "multilabel", len(found), labels or found
    array = _columns.as_array(value, "action")
    if _columns.texts(array) and array.size > 0:
        array, labels = _codes(array, labels)
    array = _columns.numbers(array, "action")
    if array.ndim == 2 and array.shape[1] == 1 and kind != "multilabel":
        array = array[:, 0]
    if kind is None:
        whole = array.dtype.kind in "iub"
        kind = "multilabel" if array.ndim == 2 else "categorical" if whole else "continuous"
        if kind == "continuous" and (num_actions is not None or labels):
            raise DataError("action: holds real numbers, categorical actions are integers: convert them with "
                            ".astype(int)", dataset="action")
    if kind == "multilabel":
        return array, kind, array.shape[1] if array.ndim == 2 else 0, labels
    if kind == "continuous":
        return array, kind, 0, []
    if num_actions is None:
        num_actions = len(labels) or (int(array.max()) + 1 if array.size else 1)
    return array, kind, int(num_actions), labels


def _codes(array: np.ndarray, names: List[str]) -> Any:
    """Names as numbers: in sorted order, or in that of `names`."""
    if array.ndim != 1:
        raise DataError("action: names must be one a row", dataset="action")
    try:
        found, codes = np.unique(array, return_inverse=True)
    except TypeError:  # None among texts
        raise DataError("action: has values that are no names", dataset="action") from None
    if not all(isinstance(name, str) for name in found.tolist()):
        raise DataError("action: holds neither numbers nor names", dataset="action")
    if not names:
        return codes, [str(name) for name in found]
    place = {name: index for index, name in enumerate(names)}
    for name in found:
        if str(name) not in place:
            row = int(np.flatnonzero(array == name)[0])
            raise DataError(f"action, row {row}: '{name}' is none of action_names", dataset="action", row=row)
    return np.array([place[str(name)] for name in found])[codes], names
