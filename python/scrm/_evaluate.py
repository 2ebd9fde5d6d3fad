"""evaluate: what other policies would have done, from logged rows."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _columns, _scrm
from ._errors import DataError, UsageError
from ._evaluation import Evaluation
from ._logs import Logs
from ._outside import model_columns, target_columns
from ._policy import Policy
from ._task import Memory, Progress, finish, task_options, warn

#: A policy, the path of its file, the name of a target, or a function of a block of contexts
AnyPolicy = Union[Policy, str, "os.PathLike[str]", Any]


def evaluate(logs: Logs, policies: Union[AnyPolicy, Sequence[AnyPolicy], Mapping[str, AnyPolicy], None] = None,
             targets: Optional[Mapping[str, Any]] = None, *, estimators: Union[str, Sequence[str], None] = None,
             clip: Optional[float] = None, alpha: Optional[float] = None, model: Any = "auto", tuning: str = "mse",
             interval: str = "auto", level: float = 0.95, outcome_range: Optional[Tuple[float, float]] = None,
             max_weight: Optional[float] = None, simultaneous: bool = False, at_least: Optional[float] = None,
             seed: int = 0, replicates: int = 1000, baseline: str = "logged",
             logging_policies: Sequence[Union[Policy, str]] = (), holdout_of: Union[Policy, str, None] = None,
             weight_histogram: bool = False, skip_bad_rows: bool = False, threads: Optional[int] = None,
             memory: Memory = None, progress: Union[Progress, bool, None] = None) -> Evaluation:
    """Every estimator, its interval and what it is worth, for all policies in one pass over the rows.

    policies: one or a list, or a dictionary by name: `Policy` objects, paths of policy files, names of targets, or
        functions. A function is called with the contexts of a block of rows, [rows, features], and returns the
        probabilities of all actions, [rows, actions] (for labels: of each bit being 1); for continuous actions it is
        called with the logged actions too and returns their densities. scikit-learn's `predict_proba` is one.
    targets: outside policies by name, as arrays: probability or density of the logged action, [rows], or of all
        actions, [rows, actions]. All of them are evaluated unless `policies` names some.
    model: what outcomes an outside model expects, for dm, dr, sndr, switch-dr and dros: "ridge" (fitted here, on rows
        other than the one it predicts), "fourier" (the same, with random features too), None, the name of a model of
        the shards, a pair (q_logged, q_target) of arrays (q_target may be a dictionary by target), or q of all
        actions, [rows, actions], with targets that have all probabilities too.
    progress: True for a bar, or a function of (done, total, label); what it raises ends the call.

    The other arguments are the options of `scrm evaluate`. `memory` ("512M", "4G" or bytes) is what the call may take
    beside the arrays; Ctrl-C ends it.

    >>> import numpy as np, scrm
    >>> rng = np.random.default_rng(0)
    >>> x, action = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
    >>> logs = scrm.Logs(context=x, action=action, reward=(action == (x[:, 0] > 0)) * 1.0, propensity=0.5)
    >>> better = scrm.Policy("softmax", theta=[[0, -2, 0], [0, 2, 0]], name="better")
    >>> result = scrm.evaluate(logs, better)
    >>> round(result["better"]["snips"].value, 2), round(result["better"].difference["snips"].value, 2)
    (0.88, 0.38)
    """
    task = task_options(threads, memory, progress)
    arrays, matrices = target_columns(logs, targets or {})
    chosen = _Chosen(logs, list(arrays) if targets else [])
    chosen.add(policies)
    if policies is None:
        chosen.targets = [(name, name) for name in arrays]
    held_out = [] if holdout_of is None else [_loaded(holdout_of)]
    for policy in held_out:
        if all(policy.name != name for name, _ in chosen.policies):
            chosen.policies.insert(0, (policy.name, policy._handle))
    chosen.require_some()
    names = [name for name, _ in chosen.targets]
    used = [target for _, target in chosen.targets]
    columns = {f"target/{target}": arrays[target] for target in used if target in arrays}
    model_name, predictions = model_columns(logs, model, used, matrices)
    what = {"policies": chosen.policies, "functions": chosen.functions, "targets": used, "target_names": names,
            "logging_policies": [(policy.name, policy._handle) for policy in map(_loaded, logging_policies)],
            "holdout_of": [(policy.name, policy._handle) for policy in held_out], "model": model_name,
            "weight_histogram": bool(weight_histogram)}
    wanted = [estimators] if isinstance(estimators, str) else list(estimators or [])
    options = {"estimators": wanted, "clip": clip, "alpha": alpha, "tuning": tuning, "interval": interval,
               "level": level, "outcome_range": outcome_range, "max_weight": max_weight, "seed": seed,
               "replicates": replicates, "skip_bad_rows": skip_bad_rows, "baseline": baseline,
               "simultaneous": simultaneous, "at_least": at_least}
    try:
        found = _scrm.evaluate(logs._with({**columns, **predictions}), what, options, task)
    finally:
        finish(task)
    result = Evaluation(found["text"], found["json"])
    warn(found["warnings"] + result.warnings)
    return result


def _loaded(policy: Union[Policy, str, "os.PathLike[str]"]) -> Policy:
    return policy if isinstance(policy, Policy) else Policy.load(policy)


class _Chosen:
    """What is to be evaluated, by what it is."""

    def __init__(self, logs: Logs, given: List[str]) -> None:
        self._known = given + logs.targets
        self.policies: List[Tuple[str, Any]] = []
        self.functions: List[Tuple[str, Any]] = []
        self.targets: List[Tuple[str, str]] = []  # what it is called, and its column

    def add(self, policies: Any) -> None:
        if policies is None:
            return
        if isinstance(policies, Mapping):
            for name, policy in policies.items():
                self._add_one(policy, str(name))
        else:
            for policy in policies if isinstance(policies, (list, tuple)) else [policies]:
                self._add_one(policy, None)

    def _add_one(self, policy: Any, name: Optional[str]) -> None:
        if isinstance(policy, Policy):
            self.policies.append((name or policy.name, policy._handle))
        elif isinstance(policy, str) and policy in self._known:
            self.targets.append((name or policy, policy))
        elif isinstance(policy, (str, os.PathLike)):
            if not os.fspath(policy).endswith(".toml") and not os.path.exists(policy):
                known = f"; targets are {', '.join(self._known)}" if self._known else ""
                raise UsageError(f"policies: '{policy}' is neither a policy file nor one of the targets{known}")
            self.policies.append((name or os.fspath(policy), Policy.load(policy)._handle))
        elif callable(policy):
            self.functions.append((name or str(getattr(policy, "__name__", "policy")), policy))
        else:
            raise UsageError(f"policies: {type(policy).__name__} is neither a Policy, a path, a target's name nor a "
                             f"function; probabilities in arrays go to `targets`")

    def require_some(self) -> None:
        names = [name for name, _ in self.policies + self.functions + self.targets]
        if not names:
            raise UsageError("there is no policy to evaluate: give policies or targets")
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two policies are called '{name}'; give them names: policies={{name: policy}}")


def estimators() -> Dict[str, str]:
    """The estimators, and what each one computes (w weight, y loss, q a model).

    >>> import scrm
    >>> scrm.estimators()["snips"]
    'sum(w y) / sum(w)'
    """
    return {one["name"]: one["formula"] for one in _scrm.estimators()}


def intervals() -> Dict[str, str]:
    """The kinds of interval, and when each one holds."""
    return dict(_scrm.intervals())
