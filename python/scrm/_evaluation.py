"""Evaluation: what `evaluate` found, as numbers, as a table, and as what people look at."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional

from ._errors import in_python_words


@dataclass(frozen=True)
class Estimate:
    """One estimator's answer. What is not defined (no variance from one row) is None, and a warning says why."""

    estimator: str
    value: Optional[float]
    stderr: Optional[float]
    low: Optional[float]
    high: Optional[float]
    parameter: Optional[float] = None  #: M, alpha, tau or lambda, where the estimator takes one
    confidence: Optional[float] = None  #: with `at_least`: how sure one may be


class _Estimates(Mapping):  # type: ignore[type-arg]
    """Estimates by the name of the estimator."""

    def __init__(self, estimates: List[Dict[str, Any]]) -> None:
        fields = Estimate.__dataclass_fields__
        self._estimates = {one["estimator"]: Estimate(**{key: one[key] for key in fields if key in one})
                           for one in estimates}

    def __getitem__(self, estimator: str) -> Estimate:
        if estimator not in self._estimates:
            raise KeyError(f"there is no estimate by '{estimator}'; there are {', '.join(self._estimates)}")
        return self._estimates[estimator]

    def __iter__(self) -> Iterator[str]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {one.value!r}' for name, one in self._estimates.items())}}}"


class PolicyEvaluation(_Estimates):
    """One policy's estimates, by the name of the estimator; what they are worth; and how the policy compares."""

    def __init__(self, report: Dict[str, Any]) -> None:
        super().__init__(report["estimates"])
        self.name: str = report["name"]
        self.diagnostics: Dict[str, Any] = report["diagnostics"]
        self.warnings: List[str] = [in_python_words(text) for text in self.diagnostics["warnings"]]
        difference = report.get("difference")
        #: the policy minus the baseline, paired row by row; None for the baseline itself
        self.difference: Optional[_Estimates] = _Estimates(difference["estimates"]) if difference else None
        self.baseline: Optional[str] = difference["baseline"] if difference else None


class Evaluation(Mapping):  # type: ignore[type-arg]
    """Policies by name: `result["p.toml"]["ips"].value`. Shown, it is the tables that `scrm evaluate` prints."""

    def __init__(self, text: str, report: str) -> None:
        self._json = report
        self._text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        parsed = json.loads(report)
        self.rows: int = parsed["rows"]
        self.skipped_rows: int = parsed["skipped_rows"]
        self.outcome: str = parsed["outcome"]
        self._policies = {one["name"]: PolicyEvaluation(one) for one in parsed["policies"]}

    def __getitem__(self, policy: str) -> PolicyEvaluation:
        if policy not in self._policies:
            raise KeyError(f"there is no policy '{policy}'; there are {', '.join(self._policies)}")
        return self._policies[policy]

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)

    @property
    def warnings(self) -> List[str]:
        """Of all policies."""
        return [f"{name}: {text}" for name, policy in self._policies.items() for text in policy.warnings]

    def to_dict(self) -> Dict[str, Any]:
        """What `scrm evaluate --json` prints."""
        return json.loads(self._json)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The same as text: `scrm report` makes a page of it."""
        return self._json

    def to_frame(self) -> Any:
        """A pandas frame, a row for each policy and estimator, with the difference to the baseline beside it."""
        import pandas
        rows = []
        for name, policy in self._policies.items():
            for estimator, one in policy.items():
                row = {"policy": name, **{key: getattr(one, key) for key in Estimate.__dataclass_fields__}}
                other = policy.difference.get(estimator) if policy.difference else None
                for key in ("value", "stderr", "low", "high"):
                    row[f"difference_{key}"] = getattr(other, key) if other else None
                rows.append({**row, "ess": policy.diagnostics["ess"]})
        frame = pandas.DataFrame(rows)
        return frame.astype({key: float for key in frame.columns if key not in ("policy", "estimator")})

    def __repr__(self) -> str:
        return self._text + "".join(f"warning: {text}\n" for text in self.warnings)

    def _repr_html_(self) -> str:
        def cell(value: Optional[float]) -> str:
            return "–" if value is None else f"{value:.5g}"
        head = ("policy", "estimator", self.outcome, "std. error", "interval", "minus baseline", "std. error", "ESS")
        lines = ["<table><thead><tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr></thead><tbody>"]
        for name, policy in self._policies.items():
            for index, (estimator, one) in enumerate(policy.items()):
                other = policy.difference.get(estimator) if policy.difference else None
                cells = ["" if index else html.escape(name), estimator, cell(one.value), cell(one.stderr),
                         f"[{cell(one.low)}, {cell(one.high)}]", cell(other.value) if other else "–",
                         cell(other.stderr) if other else "–", "" if index else cell(policy.diagnostics["ess"])]
                lines.append("<tr>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>")
        lines.append(f"</tbody></table><p>{self.rows:,} rows</p>")
        lines += [f"<p>⚠ {html.escape(text)}</p>" for text in self.warnings]
        return "\n".join(lines)
