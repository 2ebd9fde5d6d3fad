"""learn: a policy fitted to logged rows by counterfactual risk minimization."""

from __future__ import annotations

import json
from typing import Any, List, Optional, Sequence, Tuple, Union

from . import _scrm
from ._errors import UsageError
from ._evaluate import _loaded
from ._logs import Logs
from ._policy import Policy
from ._task import Memory, Progress, finish, task_options, warn


def learn(logs: Logs, kind: Optional[str] = None, *, lam: Union[str, float, Sequence[float]] = "auto",
          lam_grid: Sequence[float] = (), features: str = "linear", scale: Optional[float] = None,
          epsilon: Optional[float] = None, mixing: Optional[str] = None, start: Union[Policy, str, None] = None, estimator: str = "ips-ix",
          penalty: str = "se", l2: Union[str, float] = 0.0, alpha: Optional[float] = None, clip: Optional[float] = None,
          bound: Optional[Tuple[float, float]] = None, holdout: float = 0.2, restarts: int = 1, max_iter: int = 500,
          tolerance: float = 1e-8, seed: int = 0, logging_policies: Sequence[Union[Policy, str]] = (),
          skip_bad_rows: bool = False, threads: Optional[int] = None, memory: Memory = None,
          progress: Union[Progress, bool, None] = None, width: int = 256, bandwidth: Optional[float] = None,
          feature_seed: int = 0, l2_grid: Sequence[float] = ()) -> Any:
    """The policy that minimizes estimated risk plus `lam` times its standard error; with a list of `lam` a list of
    policies.

    kind: "gaussian", "lognormal", "softmax" or "multilabel"; None takes what suits the actions.
    lam: a number, a list, "theory", or "auto" (by three random splits, among lam_grid).
    l2: ridge on everything but intercepts: a number, or "auto" (by the same splits, after lam, among l2_grid).
    holdout: share of the rows kept back for an honest estimate, which is in `policy.report["held_out"]`;
        `evaluate(logs, holdout_of=policy)` judges on the same rows.
    scale: standard deviation of gaussian actions, or of the logarithm of lognormal ones; None is 0.5, or half of the
        logged actions' spread where that is below 0.8 or above 4 (around their regression on the features, where that
        explains most of their variance).
    epsilon: share of uniform actions mixed into softmax and multilabel policies; None is 0.1.
    mixing: how it is mixed into multilabel ones: "joint" (None) or "label".
    start: a policy to start from, which then fixes kind, features, scale and epsilon; None starts from the mean of the
        logged actions, or from that regression.
    features: "linear", "quadratic" or "fourier": linear and `width` random features of a gaussian kernel of that
        `bandwidth` (in standard deviations; None is the root of the number of features), drawn from `feature_seed`.

    The other arguments are the options of `scrm learn`. The rows are held in memory, in blocks, where `memory` allows.

    >>> import numpy as np, scrm
    >>> rng = np.random.default_rng(0)
    >>> x, action = rng.normal(size=(4000, 2)), rng.integers(0, 2, 4000)
    >>> logs = scrm.Logs(context=x, action=action, reward=(action == (x[:, 0] > 0)) * 1.0, propensity=0.5)
    >>> policy = scrm.learn(logs, lam=0.1)
    >>> policy.kind, bool(policy.report["converged"]), policy.probabilities([[3.0, 0.0]]).argmax()
    ('softmax', True, 1)
    """
    task = task_options(threads, memory, progress)
    rule, values = _lambdas(lam, lam_grid)
    begin = [] if start is None else [_loaded(start)]
    given = {"kind": kind or "", "features": features, "mixing": mixing, "scale": scale, "epsilon": epsilon,
             "start": [(policy.name, policy._handle) for policy in begin], "estimator": estimator, "holdout": holdout,
             "logging_policies": [(policy.name, policy._handle) for policy in map(_loaded, logging_policies)],
             "penalty": penalty, "l2": _ridge(l2, l2_grid), "l2_grid": [float(one) for one in l2_grid], "alpha": alpha, "clip": clip, "bound": bound, "max_iter": max_iter,
             "tolerance": tolerance, "restarts": restarts, "seed": seed, "skip_bad_rows": skip_bad_rows,
             "lambda_rule": rule, "lambdas": values, "width": width, "bandwidth": bandwidth,
             "feature_seed": feature_seed}
    _require_ranges(scale, epsilon, restarts, max_iter, tolerance)
    _require_features(width, bandwidth, feature_seed)
    try:
        found = _scrm.learn(logs._rows, given, logs._named, task)
    finally:
        finish(task)
    report = json.loads(found["json"])
    learned: List[Policy] = []
    for index, one in enumerate(found["policies"]):
        policy = Policy._of(one["policy"], one["name"], one["provenance"])
        policy.report = report if index == 0 else report["policies"][index]
        policy.summary = found["text"]
        learned.append(policy)
        warn([f"{policy.name}: {text}" for text in one["warnings"]])
    warn(found["warnings"])
    several = not isinstance(lam, (str, int, float)) and rule == "given"
    return learned if several else learned[0]


def _lambdas(lam: Any, grid: Sequence[float]) -> Tuple[str, List[float]]:
    if isinstance(lam, str):
        if lam not in ("auto", "theory"):
            raise UsageError(f"lam is '{lam}', but must be \"auto\", \"theory\", a number or a list of numbers")
        return lam, [float(value) for value in grid] if lam == "auto" else []
    values = [float(value) for value in (lam if hasattr(lam, "__iter__") else [lam])]
    if not values:
        raise UsageError("lam is an empty list")
    return "given", values


def _ridge(l2: Union[str, float], grid: Sequence[float]) -> Optional[float]:
    """None stands for the choice by held-out rows."""
    if l2 == "auto":
        return None
    if isinstance(l2, str):
        raise UsageError(f"l2 is '{l2}', but must be \"auto\" or a number")
    if len(grid) > 0:
        raise UsageError("l2_grid is what l2=\"auto\" chooses from; it needs l2=\"auto\"")
    return float(l2)


def _require_ranges(scale: Optional[float], epsilon: Optional[float], restarts: int, max_iter: int, tolerance: float) -> None:
    for name, value, holds, range_ in (("scale", scale, scale is None or scale > 0, "above 0"),
                                       ("epsilon", epsilon, epsilon is None or 0 <= epsilon <= 1, "between 0 and 1"),
                                       ("restarts", restarts, restarts >= 1, "1 or more"),
                                       ("max_iter", max_iter, max_iter >= 1, "1 or more"),
                                       ("tolerance", tolerance, tolerance >= 0, "0 or more")):
        if not holds:
            raise UsageError(f"{name} is {value}, but must be {range_}")


def _require_features(width: int, bandwidth: Optional[float], feature_seed: int) -> None:
    if not 1 <= width <= 1_000_000:
        raise UsageError(f"width is {width}, but must be 1 to 1,000,000")
    if bandwidth is not None and not 0 < bandwidth < float("inf"):
        raise UsageError(f"bandwidth is {bandwidth}, but must be above 0")
    if feature_seed < 0:
        raise UsageError(f"feature_seed is {feature_seed}, but must be 0 or more")
