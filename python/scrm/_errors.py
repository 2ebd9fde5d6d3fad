"""Error: the one family of exceptions, with the place that each is about."""

from __future__ import annotations

import re
from typing import Optional

__all__ = ["Error", "UsageError", "DataError", "FileError", "MemoryBudgetError", "RunError", "ScrmWarning"]


class Error(Exception):
    """What scrm raises. `file`, `dataset` and `row` say where, as far as that applies; None otherwise.

    >>> import scrm
    >>> try:
    ...     scrm.Logs(context=[[1.0]], action=[0], loss=[0.5], propensity=[0.5, 0.5], num_actions=2)
    ... except scrm.Error as error:
    ...     print(error.dataset, "|", error)
    propensity | propensity: has 2 rows, but loss has 1
    """

    def __init__(self, message: str, *, file: Optional[str] = None, dataset: Optional[str] = None,
                 row: Optional[int] = None) -> None:
        super().__init__(message)
        self.file = file
        self.dataset = dataset
        self.row = row


class UsageError(Error, ValueError):
    """Something was asked for that makes no sense."""


class DataError(Error, ValueError):
    """The data, or what a file holds, is wrong."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""

    def __str__(self) -> str:
        return str(self.args[0])


class MemoryBudgetError(Error, MemoryError):
    """The memory budget does not allow it."""


class RunError(Error, RuntimeError):
    """The computation failed."""


class ScrmWarning(UserWarning):
    """What one has to know before a number is trusted or a policy deployed."""


_KINDS = {"usage": UsageError, "data": DataError, "file": FileError, "memory": MemoryBudgetError, "run": RunError}

# Options of the command line whose names here are others than theirs with underscores.
_OPTIONS = {"lambda": "lam", "lambda-grid": "lam_grid", "policy": "policies", "target": "targets",
            "estimator": "estimators", "logging-policy": "logging_policies", "skip-bad-rows": "skip_bad_rows=True"}


def in_python_words(message: str) -> str:
    """A message of the engine with its options as Python's arguments: --outcome-range becomes outcome_range."""
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)",
                  lambda match: _OPTIONS.get(match[1], match[1].replace("-", "_")), message)


def make_error(kind: str, message: str, file: Optional[str], dataset: Optional[str], row: Optional[int]) -> Error:
    return _KINDS[kind](in_python_words(message), file=file, dataset=dataset, row=row)
