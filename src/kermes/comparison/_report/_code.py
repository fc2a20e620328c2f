"""A model as Python code that fits it again, and in words."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._frozen import FrozenArray
from ...divergences import Divergence
from .._auto import MEASURES, WithCovariates
from .._model import CandidateModel

#: Modules by whose names parts are called: kernels.Exponential, not Exponential.
PREFIXES = ("divergences", "ground", "kernels")
#: Entries of an array of costs that is written out; a larger one is called by its shape, for the reader to fill in.
LARGEST = 400


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
    values = ", ".join(f"{name!r}: [{expression(value)}]" for name, value in grid.items())
    first = "" if candidate.preprocessing is None else f"    preprocessing={expression(candidate.preprocessing)},\n"
    named = [candidate.learner, candidate.preprocessing, model.source_, *grid.values()]
    return f"""# X: the measures as they were compared (thinned, if they were)
{_import_lines(_imports(named) | {("kermes.comparison", name) for name in ("Candidate", "CandidateModel")})}
candidate = Candidate(
    {candidate.name!r}, {parts}learner={expression(candidate.learner)},
    grid={{{values}}},
{first})
model = CandidateModel(candidate, task={model.task_!r}).fit(X, y)
model.predict(X_new)"""


def _code_with_covariates(learner: WithCovariates) -> str:
    """Return code that fits the estimator on a table of measures and covariates again."""
    return f"""# X: the measures as they were compared (thinned, if they were)
# covariates: a pandas data frame with a row for each of them, and the columns {", ".join(learner.covariates)}
{_import_lines(_imports(learner.estimator))}
table = covariates.assign({MEASURES}=X.to_series(index=covariates.index))
model = {expression(learner.estimator)}
model.fit(table, y)
model.predict(table_new)"""


def _import_lines(names: set[tuple[str, str]]) -> str:
    """Return the lines that import names from modules, a line for each module."""
    modules = sorted({module for module, _ in names})
    listed = {module: ", ".join(sorted(name for other, name in names if other == module)) for module in modules}
    return "".join(f"from {module} import {names}\n" for module, names in listed.items())


def _imports(thing: Any) -> set[tuple[str, str]]:
    """Return the modules and names that the expression of a thing needs."""
    if isinstance(thing, (list, tuple)):
        return set().union(*map(_imports, thing))
    if not _has_parameters(thing):
        return set()
    parts = type(thing).__module__.split(".")
    if parts[0] == "kermes":
        own = ("kermes", parts[1]) if parts[1] in PREFIXES else (f"kermes.{parts[1]}", type(thing).__name__)
    else:
        own = (".".join(part for part in parts if not part.startswith("_")), type(thing).__name__)
    return {own}.union(*map(_imports, _parameters(thing).values()))


def expression(value: Any) -> str:
    """Return code of a value: of an object its class and what differs from the defaults, all digits of numbers."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(expression, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, FrozenArray):
        shape = "_by_".join(map(str, value.values.shape))
        return expression(value.values) if value.values.size <= LARGEST else f"array_of_{shape}"
    if isinstance(value, (np.ndarray, np.generic)):
        return repr(value.tolist())
    if not _has_parameters(value):
        return repr(value)
    given = ", ".join(f"{name}={expression(own)}" for name, own in _parameters(value).items())
    parts = type(value).__module__.split(".")
    prefix = f"{parts[1]}." if parts[0] == "kermes" and parts[1] in PREFIXES else ""
    return f"{prefix}{type(value).__name__}({given})"


def _has_parameters(value: Any) -> bool:
    """Whether a value is built from parameters: an estimator, a divergence, a kernel of kermes or of scikit-learn."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def _parameters(value: Any) -> dict[str, Any]:
    """Return the parameters that are not the defaults."""
    given = {}
    for name, parameter in inspect.signature(type(value)).parameters.items():
        own = getattr(value, name, parameter.default)
        same = own is parameter.default or (type(own) is type(parameter.default) and bool(own == parameter.default))
        if name != "engine" and not same:
            given[name] = own
    return given


def describe(model: CandidateModel) -> str:
    """Return the learner of a model with its settings, and the kernel or distance that it is on."""
    learner = type(model.learner_).__name__
    settings = ", ".join(f"{name}={expression(value)}" for name, value in model.params_.items())
    what = model.kernel_ if model.kernel_ is not None else model.source_
    return f"{learner}({settings})" + ("" if what is None else f" on {what!r}")
