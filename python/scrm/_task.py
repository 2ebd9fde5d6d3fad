"""What every long call takes: threads, memory and progress."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Dict, List, Optional, Union

from . import _scrm
from ._errors import ScrmWarning, UsageError, in_python_words

Progress = Callable[[int, int, str], Any]
Memory = Union[int, str, None]


class ProgressBar:
    """A progress callback that draws a bar: tqdm's where that is installed, else a line of text on stderr.

    `progress=True` makes one for a call.
    """

    def __init__(self) -> None:
        self._label: Optional[str] = None
        self._bar: Any = None

    def __call__(self, done: int, total: int, label: str) -> None:
        if label != self._label:
            self.close()
            self._label = label
            self._bar = self._open(total, label)
        if self._bar is None:
            print(f"\r{label}: {done:,} of {total:,}", end="", file=sys.stderr, flush=True)
            return
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    @staticmethod
    def _open(total: int, label: str) -> Any:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        with warnings.catch_warnings():  # tqdm has its own about notebooks without widgets
            warnings.simplefilter("ignore")
            return tqdm(total=total, desc=label, unit_scale=True, leave=False)

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()
        elif self._label is not None:
            print(file=sys.stderr)
        self._label = self._bar = None


def task_options(threads: Optional[int], memory: Memory, progress: Union[Progress, bool, None]) -> Dict[str, Any]:
    if threads is not None and not 1 <= threads <= 4096:
        raise UsageError(f"threads is {threads}, but must lie between 1 and 4096")
    if memory is None:
        size = _scrm.machine_memory() // 2
    elif isinstance(memory, str):
        size = _scrm.parse_size(memory)
    else:
        size = int(memory)
    if size < 1:
        raise UsageError(f"memory is {memory}, but must be above 0")
    if progress is True:
        progress = ProgressBar()
    if progress is False:
        progress = None
    if progress is not None and not callable(progress):
        raise UsageError("progress must be True or a function of (done, total, label)")
    return {"threads": threads or 0, "memory": size, "progress": progress}


def finish(task: Dict[str, Any]) -> None:
    """Ends a bar that was made for the call."""
    if isinstance(task["progress"], ProgressBar):
        task["progress"].close()


def warn(texts: List[str]) -> None:
    for text in texts:
        warnings.warn(in_python_words(text), ScrmWarning, stacklevel=4)
