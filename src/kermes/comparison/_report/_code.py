"""A model as Python code that fits it again, and in words."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from ...divergences import Divergence
from .._auto import MEASURES, WithCovariates
from .._model import CandidateModel


def source_code(model: CandidateModel) -> str:
    """Return Python code that fits the chosen setting again, without a search."""
    candidate, grid, parts = model.candidate, dict(model.params_), ""
    if isinstance(candidate.learner, WithCovariates):
        return _code_with_covariates(clone(candidate.learner).set_params(**grid))
    if model.source_ is not None:
        kind = "divergence" if isinstance(model.source_, Divergence) else "kernel"
        parts = f"{kind}={expression(model.source_)}, "
        if kind == "divergence" and model.takes_ == "kernel":
            grid = {"length_scale": float(model.kernel_.length_scale), "power": model.kernel_.power, **grid}
    values = {name: [_plain(value)] for name, value in grid.items()}
    first = "" if candidate.preprocessing is None else f"    preprocessing={_code(candidate.preprocessing)},\n"
    imports = "".join(f"{line}\n" for line in sorted(_imports(candidate.learner) | _imports(candidate.preprocessing)))
    return f"""# X: the measures as they were compared (thinned, if they were)
from kermes import divergences, ground, kernels
from kermes.comparison import Candidate, CandidateModel
{imports}
candidate = Candidate(
    {candidate.name!r}, {parts}learner={_code(candidate.learner)},
    grid={values!r},
{first})
model = CandidateModel(candidate, task={model.task_!r}).fit(X, y)
model.predict(X_new)"""


def _code_with_covariates(learner: WithCovariates) -> str:
    """Return code that fits the estimator on a table of measures and covariates again."""
    imports = "".join(f"{line}\n" for line in sorted(_imports(learner.estimator)))
    return f"""# X: the measures as they were compared (thinned, if they were)
# covariates: a pandas data frame with a row for each of them, and the columns {", ".join(learner.covariates)}
{imports}
table = covariates.assign({MEASURES}=X.to_series(index=covariates.index))
model = {_code(learner.estimator)}
model.fit(table, y)
model.predict(table_new)"""


def _code(thing: Any) -> str:
    """Return the code of an estimator: all of it, and arrays as lists, in which no digit is lost."""
    if not isinstance(thing, BaseEstimator):
        return repr(thing)
    copy = clone(thing)
    arrays = {name: value for name, value in copy.get_params().items() if isinstance(value, np.ndarray)}
    copy.set_params(**{name: value.tolist() for name, value in arrays.items()})
    return str(copy.__repr__(N_CHAR_MAX=float("inf")))


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
    given = []
    parameters = [p for p in inspect.signature(type(value)).parameters.values() if p.name != "engine"]
    for name, default in ((p.name, p.default) for p in parameters):
        own = getattr(value, name, default)
        same = own is default or (type(own) is type(default) and bool(own == default))
        if not same:
            given.append(f"{name}={expression(own)}")
    return f"{parts[1]}.{type(value).__name__}({', '.join(given)})"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def describe(model: CandidateModel) -> str:
    """Return the learner of a model with its settings, and the kernel or distance that it is on."""
    learner = type(model.learner_).__name__
    settings = ", ".join(f"{name}={_plain(value)!r}" for name, value in model.params_.items())
    what = model.kernel_ if model.kernel_ is not None else model.source_
    return f"{learner}({settings})" + ("" if what is None else f" on {what!r}")
