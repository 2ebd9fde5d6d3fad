"""Outside policies and models: what others predict for logged rows, as columns."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from . import _columns
from ._errors import DataError, UsageError
from ._logs import Logs

# Rows that are looked up at once, so that no table is copied.
_BLOCK = 1 << 16

#: What outside models given as arrays are called
MODEL_NAME = "outside"


def target_columns(logs: Logs, targets: Mapping[str, Any]) -> Tuple[Dict[str, np.ndarray], Dict[str, np.ndarray]]:
    """The probability of each logged action, and, by the same name, all probabilities where they were given."""
    columns: Dict[str, np.ndarray] = {}
    tables: Dict[str, np.ndarray] = {}
    for name, value in targets.items():
        place = f"target/{name}"
        if "/" in str(name) or not str(name):
            raise UsageError(f"targets: '{name}' is no name: it is empty or has a slash")
        if str(name) in logs.targets:
            raise UsageError(f"targets: the shards have a target '{name}' of their own; give the array another name")
        array = _columns.numbers(value, place)
        if array.ndim >= 2 and not (array.ndim == 2 and array.shape[1] == 1):
            tables[str(name)] = _actions_table(logs, array, place)
            columns[str(name)] = _of_logged(logs, tables[str(name)])
        else:
            columns[str(name)] = _columns.column(array, place, len(logs))
        _require_rows(logs, columns[str(name)], place)
    return columns, tables


def model_columns(logs: Logs, model: Any, targets: List[str],
                  tables: Mapping[str, np.ndarray]) -> Tuple[str, Dict[str, np.ndarray]]:
    """The model's name, and its predictions as columns where it was given as arrays."""
    if model is None:
        return "none", {}
    if isinstance(model, str):
        if not model:
            raise UsageError("model is empty: give \"ridge\", None or the name of a model of the shards")
        return model, {}
    if isinstance(model, tuple):
        if len(model) != 2:
            raise UsageError("model: a model of arrays is a pair (q_logged, q_target)")
        logged, expected = model
        if not isinstance(expected, Mapping):
            if len(targets) != 1:
                raise UsageError(f"model: there are {len(targets)} targets; give q_target as a dictionary by target")
            expected = {targets[0]: expected}
    else:
        logged, expected = _from_table(logs, model, targets, tables)
    columns = {f"model/{MODEL_NAME}/logged": _prediction(logs, logged, "model: q_logged")}
    for name, value in expected.items():
        if name not in targets:
            raise UsageError(f"model: '{name}' is none of the targets that are evaluated")
        columns[f"model/{MODEL_NAME}/target/{name}"] = _prediction(logs, value, f"model: q_target of {name}")
    return MODEL_NAME, columns


def _from_table(logs: Logs, model: Any, targets: List[str],
                tables: Mapping[str, np.ndarray]) -> Tuple[np.ndarray, Dict[str, np.ndarray]]:
    """What q of all actions says of the logged ones, and over the actions of each target."""
    array = _columns.numbers(model, "model")
    if array.ndim < 2:
        raise UsageError("model: give a pair (q_logged, q_target), or q of all actions, [rows, actions]")
    predicted = _actions_table(logs, array, "model")
    expected = {}
    for name in targets:
        if name not in tables:
            raise UsageError(f"model: q of all actions needs the probabilities of all of them, [rows, actions], as "
                             f"target '{name}'; or give (q_logged, q_target)")
        out = expected[name] = np.empty(len(logs))
        for first in range(0, len(logs), _BLOCK):
            rows = slice(first, first + _BLOCK)
            np.einsum("ij,ij->i", tables[name][rows], predicted[rows], out=out[rows])
    return _of_logged(logs, predicted), expected


def _prediction(logs: Logs, value: Any, place: str) -> np.ndarray:
    column = _columns.column(value, place, len(logs))
    _require_rows(logs, column, place)
    return column


def _require_rows(logs: Logs, column: np.ndarray, place: str) -> None:
    if len(column) != len(logs):
        raise DataError(f"{place}: has {len(column)} rows, but the logs have {len(logs)}", dataset=place)


def _actions_table(logs: Logs, array: np.ndarray, place: str) -> np.ndarray:
    """[rows, actions], of each row's own position where there are several, as in Open Bandit Pipeline."""
    if logs.action_kind != "categorical":
        raise DataError(f"{place}: has the shape {array.shape}; only categorical actions have a probability each",
                        dataset=place)
    if logs._in_files:
        raise DataError(f"{place}: has the shape {array.shape}; beside shards, whose actions are not in memory, it takes "
                        f"one number a row, that of the logged action", dataset=place)
    _require_rows(logs, array, place)
    if array.shape[1] != logs.num_actions or array.ndim > 3:
        raise DataError(f"{place}: has the shape {array.shape}, but there are {logs.num_actions} actions",
                        dataset=place)
    if array.ndim == 2:
        return array
    if array.shape[2] == 1:
        return array[:, :, 0]
    if logs._position is None:
        raise DataError(f"{place}: has {array.shape[2]} positions, but the logs do not say which one a row is of",
                        dataset=place)
    return np.take_along_axis(array, logs._position[:, None, None], axis=2)[:, :, 0]


def _of_logged(logs: Logs, table: np.ndarray) -> np.ndarray:
    """The entry of each row's logged action."""
    action = logs._logged_actions()
    out = np.empty(len(logs))
    for first in range(0, len(logs), _BLOCK):
        rows = slice(first, first + _BLOCK)
        chosen = np.clip(action[rows].astype(np.int64), 0, logs.num_actions - 1)  # the audit names what is outside
        out[rows] = np.take_along_axis(table[rows], chosen[:, None], axis=1)[:, 0]
    return out
