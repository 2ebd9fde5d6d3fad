"""scrm: what another decision policy would have done on logged rows, and which one should run next.

    import scrm
    logs = scrm.Logs(context=x, action=a, loss=y, propensity=p)
    print(scrm.evaluate(logs, scrm.Policy.load("new.toml")))
    policy = scrm.learn(logs)
    action, propensity = policy.sample(x, seed=1)
"""

from typing import Any, Dict

from . import _scrm
from ._errors import DataError, Error, FileError, MemoryBudgetError, RunError, ScrmWarning, UsageError
from ._evaluate import estimators, evaluate, intervals
from ._evaluation import Estimate, Evaluation, PolicyEvaluation
from ._learn import learn
from ._logs import Logs, open  # noqa: A004 - scrm.open, beside the built-in one
from ._policy import Policy, Sample
from ._sweep import Sweep, sweep
from ._task import ProgressBar

__version__: str = _scrm.version

__all__ = ["DataError", "Error", "Estimate", "Evaluation", "FileError", "Logs", "MemoryBudgetError", "Policy",
           "PolicyEvaluation", "ProgressBar", "RunError", "Sample", "ScrmWarning", "Sweep", "UsageError", "about",
           "estimators", "evaluate", "intervals", "learn", "open", "sweep"]


def about() -> Dict[str, Any]:
    """Version, instruction set and libraries in use.

    `openblas_private` says whether the module has an OpenBLAS of its own, whose kernels it could choose;
    `openblas_better_core` names kernels that suit the processor better than those in use (None where there are none):
    set OPENBLAS_CORETYPE to it before Python starts.
    """
    return dict(_scrm.about())
