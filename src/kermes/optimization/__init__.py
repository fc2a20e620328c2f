"""Bayesian optimisation over the probability simplex: functions of the weights of a measure, in few evaluations.

``_optimizer`` questions and answers · ``_surrogate`` Gaussian processes, squared distances, and their gradients ·
``_acquisition`` what an evaluation is worth · ``_ascent`` projection onto the simplex and ascent on it. Imports
``estimators`` and everything below. Start reading at ``_optimizer``.
"""

from __future__ import annotations

from .._names import public_dir
from ._acquisition import Acquisition, ExpectedImprovement, LowerConfidenceBound
from ._ascent import project
from ._optimizer import SearchInterrupted, SimplexOptimizer, SimplexResult, minimize_on_simplex
from ._surrogate import EuclideanSurrogate, Posterior, Surrogate, WassersteinSurrogate

__all__ = [
    "Acquisition",
    "EuclideanSurrogate",
    "ExpectedImprovement",
    "LowerConfidenceBound",
    "Posterior",
    "SearchInterrupted",
    "SimplexOptimizer",
    "SimplexResult",
    "Surrogate",
    "WassersteinSurrogate",
    "minimize_on_simplex",
    "project",
]
__dir__ = public_dir(__all__)
