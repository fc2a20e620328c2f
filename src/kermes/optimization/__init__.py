"""Bayesian optimisation over the probability simplex: functions of the weights of a measure, in few evaluations.

``optimizer`` questions and answers · ``surrogate`` Gaussian processes and their gradients · ``acquisition`` what an
evaluation is worth. Behind them: ``_ascent`` projection onto the simplex and ascent on it, ``_squares`` squared
distances with their gradients. Imports ``estimators`` and everything below. Start reading at ``optimizer``.
"""

from __future__ import annotations

from ._ascent import project
from .acquisition import Acquisition, ExpectedImprovement, LowerConfidenceBound
from .optimizer import SearchInterrupted, SimplexOptimizer, SimplexResult, minimize_on_simplex
from .surrogate import EuclideanSurrogate, Posterior, Surrogate, WassersteinSurrogate

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
