"""A comparison as an HTML page: its leaderboard, and what stands behind the best candidate."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._estimator import default_divergence
from ..._quantities import duration
from ..._typing import FloatArray, IndexArray
from ...divergences import Divergence
from ...engine import pairwise
from .._model import CandidateModel
from .._search import gram_of
from ._report import Report

if TYPE_CHECKING:
    from .._result import Comparison


SCORES = {"r2": "R²"}


def comparison_report(found: Comparison, command: str = "") -> Report:
    """Return the report of a comparison whose best candidate was fitted; ``command`` is how it was called."""
    best, model = found.rows[0], found.best_
    left_out = found.out_of_fold(best.name)
    order = np.argsort(left_out.rows, kind="stable")
    rows = left_out.rows[order]  # with folds of one's own, not every sample need be left out once
    gram, distances, divergence = _matrices(found, rows)
    return Report(
        X=found.X[rows],
        y=left_out.truth[order],
        predicted=left_out.predicted[order],
        distances=distances,
        divergence=divergence,
        entries=found.rows,
        task=found.task,  # type: ignore[arg-type]
        score=SCORES.get(found.scoring, found.scoring),
        model=describe(model),
        code=source_code(model),
        command=command,
        gram=gram,
        groups=None if found.groups is None else np.asarray(found.groups)[rows],
        facts=_facts(found),
    )


def source_code(model: CandidateModel) -> str:
    """Return Python code that fits the chosen setting again, without a search."""
    candidate, grid, parts = model.candidate, dict(model.params_), ""
    if model.source_ is not None:
        kind = "divergence" if isinstance(model.source_, Divergence) else "kernel"
        parts = f"{kind}={expression(model.source_)}, "
        if kind == "divergence" and model.takes_ == "kernel":
            grid = {"length_scale": float(model.kernel_.length_scale), "power": model.kernel_.power, **grid}
    values = {name: [_plain(value)] for name, value in grid.items()}
    first = "" if candidate.preprocessing is None else f"    preprocessing={candidate.preprocessing!r},\n"
    return "\n".join(
        [
            "# X: the measures as they were compared (thinned, if they were)",
            "from kermes import divergences, ground, kernels",
            "from kermes.comparison import Candidate, CandidateModel",
            *sorted(_imports(candidate.learner) | _imports(candidate.preprocessing)),
            "",
            "candidate = Candidate(",
            f"    {candidate.name!r}, {parts}learner={candidate.learner!r},",
            f"    grid={values!r},",
            f"{first})",
            f"model = CandidateModel(candidate, task={model.task_!r}).fit(X, y)",
            "model.predict(X_new)",
        ]
    )


def _imports(thing: Any) -> set[str]:
    """Return the lines that import the classes of an estimator and of what it holds."""
    if isinstance(thing, (list, tuple)):
        return set().union(*map(_imports, thing))
    if not hasattr(thing, "get_params"):
        return set()
    parts = type(thing).__module__.split(".")
    public = parts[:2] if parts[0] == "kermes" else [part for part in parts if not part.startswith("_")]
    own = {f"from {'.'.join(public)} import {type(thing).__name__}"}
    return own.union(*map(_imports, thing.get_params(deep=False).values()))


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


def _matrices(found: Comparison, rows: IndexArray) -> tuple[FloatArray | None, FloatArray, str]:
    """Return the Gram matrix of the best candidate if it has one, distances behind it, and what these are."""
    model, square, gram = found.best_, np.ix_(rows, rows), None
    if model.kernel_ is not None:
        gram = gram_of(model.kernel_, model.source_, found._matrix, model.X_fit_)[square]
    if gram is not None and not isinstance(model.source_, Divergence):
        diagonal = np.diagonal(gram)
        distances = np.sqrt(np.maximum(diagonal[:, None] + diagonal[None] - 2.0 * gram, 0.0))
        np.fill_diagonal(distances, 0.0)
        return gram, distances, f"distances in the feature space of {expression(model.source_)}"
    row = next((row for row in found.rows if row.status == "ok" and row.candidate.divergences), None)
    if row is None:  # estimators on measures: a distance that suits all of them
        divergence = default_divergence()
        return gram, pairwise(model.X_fit_, divergence=divergence, engine=found.engine)[square], expression(divergence)
    chosen = [setting["source"] for setting in row.chosen]
    return gram, found.distances(row.name)[square], expression(max(chosen, key=chosen.count))


def describe(model: CandidateModel) -> str:
    """Return the learner of a model with its settings, and the kernel or distance that it is on."""
    learner = type(model.learner_).__name__
    settings = ", ".join(f"{name}={_plain(value)!r}" for name, value in model.params_.items())
    what = model.kernel_ if model.kernel_ is not None else model.source_
    return f"{learner}({settings})" + ("" if what is None else f" on {what!r}")


def _facts(found: Comparison) -> dict[str, str]:
    n = len(found.X)
    ok = sum(row.status == "ok" for row in found.rows)
    seconds = sum(row.fit_seconds for row in found.rows)
    warned = sorted({warning for row in found.rows for warning in row.warnings})
    return {
        "samples": f"{n}, {n * (n - 1) // 2:,} pairs; each pair of a distance was computed once",
        "validation": f"{len(found.folds)} outer folds; settings searched on {found.inner_cv} inner folds of each",
        "candidates": f"{ok} of {len(found.rows)} finished",
        "time": f"searches and fits {duration(seconds)}; distances: see the leaderboard",
        "convergence": "; ".join(warned) or "no warning",
        "seed": str(found.random_state),
        "versions": ", ".join(
            [f"{name} {version(name)}" for name in ("kermes", "scikit-learn", "numpy")]
            + [f"Python {platform.python_version()}"]
        ),
    }
