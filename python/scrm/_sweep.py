"""sweep: methods × environments × hyper-parameters × seeds, into one archive."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, List, Optional, Union

from . import _scrm
from ._logs import PathLike
from ._task import Memory, Progress, finish, task_options, warn


class Sweep:
    """What a sweep came to. Shown, it is the table that `scrm sweep` prints."""

    def __init__(self, found: Dict[str, Any]) -> None:
        self._json: str = found["json"]
        self._text = re.sub(r"\x1b\[[0-9;]*m", "", found["text"])
        self.runs: Dict[str, List[Any]] = found["runs"]  #: columns, an entry a run, as the archive has them
        self.archive: str = self.to_dict()["archive"]

    @property
    def failed(self) -> int:
        """Runs that failed; why is in their `message`."""
        return int(self.to_dict()["failed"])

    def to_dict(self) -> Dict[str, Any]:
        """What `scrm sweep --json` prints."""
        return json.loads(self._json)  # type: ignore[no-any-return]

    def to_frame(self) -> Any:
        """A pandas frame, a row for each run; loss, rows and regret are lists, an entry for each rollout."""
        import pandas
        return pandas.DataFrame(self.runs)

    def __len__(self) -> int:
        return len(self.runs["seed"])

    def __repr__(self) -> str:
        return self._text


def sweep(file: PathLike, out: PathLike, *, resume: bool = False, overwrite: bool = False, part: Optional[str] = None,
          threads: Optional[int] = None, memory: Memory = None,
          progress: Union[Progress, bool, None] = None) -> Sweep:
    """Runs the sweep of a TOML file and writes the archive. Stopped by Ctrl-C it keeps finished runs, and the same
    call with `resume=True` goes on. `part` ("3/64") runs one of several processes' shares."""
    task = task_options(threads, memory, progress)
    given = {"out": os.fspath(out), "resume": resume, "overwrite": overwrite, "part": part}
    try:
        found = _scrm.sweep(os.fspath(file), given, task)
    finally:
        finish(task)
    result = Sweep(found)
    warnings = list(found["warnings"])
    if result.failed:
        first = result.runs["status"].index("failed")
        warnings.append(f"{result.failed} of {len(result)} runs failed, the first of them "
                        f"{result.runs['environment'][first]} / {result.runs['method'][first]}: "
                        f"{result.runs['message'][first]}; resume=True tries them again")
    warn(warnings)
    return result
