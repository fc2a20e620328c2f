"""A comparison as an HTML page: its leaderboard, and what stands behind the best candidate."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._typing import FloatArray
from .._model import CandidateModel
from ._report import Report

if TYPE_CHECKING:
    from .._result import Comparison

__all__ = ["comparison_report", "expression", "source_code"]

SCORES = {"r2": "R²"}


def comparison_report(found: Comparison, command: str = "") -> Report:
    """Return the report of a comparison whose best candidate was fitted; ``command`` is how it was called."""
    best, model = found.rows[0], found.best_
    left_out = found.out_of_fold(best.name)
    order = np.argsort(left_out.rows, kind="stable")
    rows = left_out.rows[order]  # with folds of one's own, not every sample need be left out once
    X = found.X[rows]
    gram = None if model.kernel_ is None else np.asarray(model.kernel_(X))
    distances, divergence = _distances(found, model, rows, gram)
    return Report(
        X=X,
        y=left_out.truth[order],
        predicted=left_out.predicted[order],
        distances=distances,
        divergence=divergence,
        entries=found.rows,
        task=found.task,  # type: ignore[arg-type]
        score=SCORES.get(found.scoring, found.scoring),
        model=_model(model),
        code=source_code(model),
        command=command,
        gram=gram,
        facts=_facts(found),
    )


def source_code(model: CandidateModel) -> str:
    """Return Python code that fits the chosen setting again, without a search."""
    if model.source_ is None:
        parts, grid = "", dict(model.params_)
    else:
        kind = "divergence" if hasattr(model.source_, "claims") else "kernel"
        parts, grid = f"{kind}={expression(model.source_)}, ", dict(model.params_)
        if kind == "divergence" and model.kernel_ is not None:
            grid = {"length_scale": float(model.kernel_.length_scale), **grid}
    values = {name: [_plain(value)] for name, value in grid.items()}
    learner = model.candidate.learner
    lines = [
        "# X: the measures as they were compared (standardised or thinned, if they were)",
        "from kermes import divergences, ground, kernels",
        "from kermes.comparison import Candidate, CandidateModel",
        "",
        "candidate = Candidate(",
        f"    {model.candidate.name!r}, {parts}learner={learner!r},",
        f"    grid={values!r},",
        ")",
        f"model = CandidateModel(candidate, task={model.task!r}).fit(X, y)",
        "model.predict(X_new)",
    ]
    return "\n".join(lines)


def expression(value: Any) -> str:
    """Return the code of a divergence, point kernel, cost or kernel: its class and what differs from the defaults."""
    parts = type(value).__module__.split(".")
    if parts[0] != "kermes":
        return repr(_plain(value))
    given = [
        f"{name}={expression(getattr(value, name))}"
        for name, parameter in inspect.signature(type(value)).parameters.items()
        if name != "engine" and not _same(getattr(value, name, parameter.default), parameter.default)
    ]
    return f"{parts[1]}.{type(value).__name__}({', '.join(given)})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _distances(found: Comparison, model: CandidateModel, rows: Any, gram: FloatArray | None) -> tuple[FloatArray, str]:
    """Return the distances behind the best candidate, or of the best one that has any; of a kernel, its own."""
    if gram is not None and not hasattr(model.source_, "claims"):
        diagonal = np.diagonal(gram)
        squares = diagonal[:, None] + diagonal[None] - 2.0 * gram
        distances = np.sqrt(np.maximum(squares, 0.0))
        np.fill_diagonal(distances, 0.0)
        return distances, f"distances in the feature space of {expression(model.source_)}"
    row = next(row for row in found.rows if row.status == "ok" and row.candidate.divergences)
    chosen = [setting["source"] for setting in row.chosen]
    return found.distances(row.name)[np.ix_(rows, rows)], expression(max(chosen, key=chosen.count))


def _model(model: CandidateModel) -> str:
    learner = type(model.learner_).__name__
    settings = ", ".join(f"{name}={_plain(value)!r}" for name, value in model.params_.items())
    what = model.kernel_ if model.kernel_ is not None else model.source_
    return f"{learner}({settings})" + ("" if what is None else f" on {expression(what)}")


def _facts(found: Comparison) -> dict[str, str]:
    n = len(found.X)
    ok = sum(row.status == "ok" for row in found.rows)
    seconds = sum(row.fit_seconds for row in found.rows)
    warned = sorted({text for row in found.rows for text in row.warnings})
    return {
        "samples": f"{n}, {n * (n - 1) // 2:,} pairs; each pair of a distance was computed once",
        "validation": f"{len(found.folds)} outer folds; settings searched on {found.inner_cv} inner folds of each",
        "candidates": f"{ok} of {len(found.rows)} finished",
        "time": f"searches and fits {seconds:.1f} s; distances: see the leaderboard",
        "convergence": "; ".join(warned) or "no warning",
        "seed": str(found.random_state),
        "versions": ", ".join(
            [f"{name} {version(name)}" for name in ("kermes", "scikit-learn", "numpy")]
            + [f"Python {platform.python_version()}"]
        ),
    }
