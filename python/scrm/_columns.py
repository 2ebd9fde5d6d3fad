"""Columns and tables of numbers from NumPy, pandas, Polars, SciPy, or anything that NumPy understands."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple, Union

import numpy as np

from ._errors import DataError

Columns = Union[np.ndarray, List[np.ndarray]]

_NUMBERS = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")


def is_frame(value: Any) -> bool:
    """Whether it is a data frame of pandas' or Polars' kind."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and not isinstance(value, np.ndarray)


def is_sparse(value: Any) -> bool:
    """Whether it is a sparse matrix of SciPy's kind."""
    return hasattr(value, "tocsr")


def as_array(value: Any, name: str) -> np.ndarray:
    """As NumPy sees it, without a copy where NumPy needs none."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise DataError(f"{name}: has masked values; leave these rows out, or fill them", dataset=name)
    if not isinstance(value, np.ndarray) and hasattr(value, "to_numpy"):
        value = value.to_numpy()
    array = np.asarray(value)
    if any(stride < 0 for stride in array.strides):  # the only layout that is read from a copy
        array = np.ascontiguousarray(array)
    return array


def numbers(value: Any, name: str) -> np.ndarray:
    """An array of numbers that are read where they lie."""
    array = as_array(value, name)
    if array.dtype.str[1:] in _NUMBERS and array.dtype.isnative:
        return array
    if array.size == 0 and array.dtype == object:
        return array.astype(float)
    raise DataError(f"{name}: has the type {array.dtype}, which is no column of numbers; convert it first, for "
                    f"instance with .astype(float)", dataset=name)


def column(value: Any, name: str, rows: Optional[int] = None) -> np.ndarray:
    """One number a row; a single number stands for all rows."""
    array = numbers(value, name)
    if array.ndim == 0 and rows is not None:
        return np.broadcast_to(array, (rows,))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name}: has the shape {array.shape}, but must have one number a row", dataset=name)
    return array


def table(value: Any, name: str) -> Tuple[Columns, List[str]]:
    """Several numbers a row, and the names of the columns where a frame has them. A frame is read column by column."""
    if is_frame(value):
        names = [str(column_name) for column_name in value.columns]
        if len(set(names)) < len(names):
            raise DataError(f"{name}: has two columns of one name", dataset=name)
        if not names:
            return np.empty((len(value), 0)), []
        return [column(value[key], f"{name}[{str(key)!r}]") for key in value.columns], names
    array = numbers(value, name)
    if array.ndim != 2:
        raise DataError(f"{name}: has the shape {array.shape}, but must have two dimensions, rows and columns",
                        dataset=name)
    return array, []


def texts(value: Any) -> bool:
    """Whether these are names rather than numbers."""
    return value.dtype.kind in "OUS"
