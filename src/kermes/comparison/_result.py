"""The leaderboard, and everything that was found on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from .._checks import choice
from .._quantities import counted, duration, shortened
from .._typing import AnyArray, FloatArray, IndexArray
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError, MissingDependencyError
from ..measures import Measures
from ._candidate import Candidate
from ._folds import Fold
from ._model import CandidateModel
from ._search import preprocess, roots

#: Columns of the table after rank and candidate; the longest message where it is printed.
COLUMNS = (
    *("mean", "std", "distance_seconds", "fit_seconds", "expected_seconds"),
    *("definiteness", "status", "message"),
)
WIDTH = 72


class OutOfFold(NamedTuple):
    """Predictions for samples by models that never saw them: row numbers, true and predicted values."""

    rows: IndexArray
    truth: AnyArray
    predicted: AnyArray


@dataclass(frozen=True, eq=False)
class Row:
    """What became of one candidate.

    Parameters
    ----------
    candidate : Candidate
    status : 'ok', 'failed' or 'skipped'
    scores : tuple of float
        Score of each outer fold.
    distance_seconds : float
        Wall time of its matrices; candidates that share a distance share its time.
    fit_seconds : float
        Wall time of all searches, fits and predictions.
    definiteness : str
        Of the kernel at the setting chosen most often (of a Gaussian process, at a length scale that it found):
        'proved', 'positive here' (no negative eigenvalue on these data), 'indefinite' with the share of negative
        eigenvalues; '' where no kernel is used.
    message : str
        Why it failed or was skipped.
    warnings : tuple of str
        Distinct warnings on the way.
    chosen : tuple of dict
        Setting of each outer fold: 'source' (the divergence or kernel), 'length_scale', 'power', parameters of the
        learner.
    predicted : tuple of ndarray
        Predictions for the test rows of each outer fold.
    error : Exception or None
        What it failed with.
    expected_seconds : float or None
        What distances and fits were expected to take, where there was a budget.
    """

    candidate: Candidate
    status: str
    scores: tuple[float, ...] = ()
    distance_seconds: float = 0.0
    fit_seconds: float = 0.0
    definiteness: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()
    chosen: tuple[dict[str, Any], ...] = ()
    predicted: tuple[AnyArray, ...] = ()
    error: Exception | None = None
    expected_seconds: float | None = None

    @property
    def name(self) -> str:
        """Name of the candidate."""
        return self.candidate.name

    @property
    def mean(self) -> float | None:
        """Mean score of the outer folds; None unless all went well."""
        return float(np.mean(self.scores)) if self.status == "ok" else None

    @property
    def std(self) -> float | None:
        """Standard deviation of the scores of the outer folds."""
        return float(np.std(self.scores)) if self.status == "ok" else None

    @property
    def remark(self) -> str:
        """Why it failed or was skipped, or the warnings."""
        return self.message or "; ".join(self.warnings)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of :func:`~kermes.compare`; it prints as a leaderboard.

    Parameters
    ----------
    rows : tuple of Row
        From the best to the worst; then what failed or was skipped.
    X : Measures
    y : ndarray
    task, scoring : str
    folds : tuple of Fold
        Outer folds: rows ``train`` and ``test`` of X, and the ``inner`` splits, of positions within ``train``.
    engine : Engine
        It remembers the distances.
    random_state : int
    inner_cv : int
    groups : ndarray or None
    finished : bool
        False if the run was interrupted.
    """

    rows: tuple[Row, ...]
    X: Measures
    y: AnyArray
    task: str
    scoring: str
    folds: tuple[Fold, ...]
    engine: Engine
    random_state: int = 0
    inner_cv: int = 3
    groups: AnyArray | None = None
    finished: bool = True
    _best: CandidateModel | None = None
    _matrix: Any = None  # squared distances or kernel values of the best candidate, if they are known

    @property
    def table(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows: rank, candidate, mean, std, times, definiteness, status, message."""
        return [
            {"rank": i if row.status == "ok" else None, "candidate": row.name, **{c: getattr(row, c) for c in COLUMNS}}
            for i, row in enumerate(self.rows, 1)
        ]

    @property
    def best_(self) -> CandidateModel:
        """The best candidate, searched and fitted on all samples: ``best_.predict(X_new)``."""
        if self._best is None:
            why = "the run was interrupted; use fit(name)" if not self.finished else "no candidate finished; see table"
            raise NotFittedError(f"there is no best estimator: {why}.")
        return self._best

    @property
    def names(self) -> list[str]:
        """Names of the candidates, from the best to the worst."""
        return [row.name for row in self.rows]

    def __getitem__(self, name: str) -> Row:
        """Return the row of a candidate."""
        return next(row for row in self.rows if row.name == choice(name, "name", self.names))

    def fit(self, name: str) -> CandidateModel:
        """Return a candidate fitted to all samples, as ``best_`` is; distances that are remembered cost nothing."""
        return self._unfitted(name).fit(self.X, self.y, self.groups)

    def _unfitted(self, name: str) -> CandidateModel:
        return CandidateModel(
            self[name].candidate, self.task, self.scoring, self.inner_cv, self.random_state, self.engine
        )

    def out_of_fold(self, name: str) -> OutOfFold:
        """Return (rows, truth, predicted) of a candidate: for the test rows of all outer folds, fold after fold.

        That is not the order of X: ``rows`` says which measures they are. After ``rows, truth, predicted =
        result.out_of_fold(name)``, ``confusion_matrix(truth, predicted)`` is the confusion matrix of a classifier.
        """
        row = self[name]
        if not row.predicted:
            raise InvalidParameterError(f"candidate {name!r} has no predictions ({row.status}: {row.message}).")
        rows = np.concatenate([fold.test for fold in self.folds[: len(row.predicted)]])
        return OutOfFold(rows, self.y[rows], np.concatenate(row.predicted))

    def distances(self, name: str) -> FloatArray:
        """Return the distances (n, n) that a candidate uses; of several divergences, of the one chosen most often.

        After its preprocessing, fitted to all samples. Those of the best candidate are kept; others come from the
        memory of the engine, or are computed again if that was too small for them.
        """
        row = self[name]
        chosen = [setting.get("source") for setting in row.chosen] or row.candidate.divergences
        sources = [source for source in chosen if isinstance(source, Divergence)]
        if not sources:
            raise InvalidParameterError(f"candidate {name!r} has no divergence, and so no distances.")
        divergence = max(sources, key=sources.count)
        kept = self._matrix if row is self.rows[0] and self.best_.source_ == divergence else None
        if kept is not None and (kept >= 0).all():
            return roots(kept)
        _, X = preprocess(row.candidate.preprocessing, self.X, self.y)
        return pairwise(X, divergence=divergence, engine=self.engine)

    def to_frame(self) -> Any:
        """Return the leaderboard as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError(
                "Comparison.to_frame needs the package pandas, which is not installed; `table` holds the same rows."
            ) from None
        return pd.DataFrame(self.table)

    def report(self, path: str | PathLike[str], command: str = "", columns: Sequence[str] | None = None) -> Path:
        """Write the comparison as one HTML file and return its path.

        ``command`` is shown as the way to repeat it; ``columns`` are names of the coordinates.
        """
        from ._report import comparison_report

        return comparison_report(self, command, columns or ()).save(path)

    def __repr__(self) -> str:
        columns = []
        for name, *cells in zip(*self._cells(), strict=True):
            width = max(map(len, [name, *cells]))
            numbers = name in ("rank", self.scoring, "distances", "fits")
            columns.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in [name, *cells]])
        lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        header, *body = self._cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        return f"<div>{escape(self._title())}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"

    def _title(self) -> str:
        kind = f"{len(np.unique(self.y))} classes" if self.task == "classification" else "regression"
        apart = "" if self.groups is None else f" of {len(np.unique(self.groups))} groups"
        ended = "" if self.finished else ", interrupted"
        return f"Comparison: {len(self.X)} measures, {kind}, {len(self.folds)} folds{apart}{ended}"

    def _cells(self) -> list[list[str]]:
        """Return the printed table, its header first; without the status where all is well, so that 80 columns do."""
        found = [["rank", "candidate", self.scoring, "distances", "fits", "kernel", "status"]]
        for i, row in enumerate(self.rows, 1):
            score = "" if row.mean is None else f"{row.mean:.3f} ± {row.std:.3f}"
            message = f"{row.status}: {row.message}" if row.message else row.status
            if row.warnings:
                message += f", {counted(len(row.warnings), 'warning')}"
            times = [duration(s) if s else "" for s in (row.distance_seconds, row.fit_seconds)]
            rank = str(i) if row.status == "ok" else ""
            found.append([rank, row.name, score, *times, row.definiteness, shortened(" ".join(message.split()), WIDTH)])
        return [row[:-1] for row in found] if all(row[-1] == "ok" for row in found[1:]) else found


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; ``comparison`` holds the candidates that were finished."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__("the comparison was interrupted; `comparison` of this exception holds what was finished")
        self.comparison = comparison
