"""Bayesian optimisation over the probability simplex: functions of the weights of a measure, in few evaluations.

``optimizer`` questions and answers · ``surrogate`` Gaussian processes and their gradients · ``acquisition`` what an
evaluation is worth · ``regret`` how fast methods find a known minimum. Behind them: ``_simplex`` projection and ascent
on the simplex, ``_squares`` squared distances with their gradients. Imports ``estimators`` and everything below. Start
reading at ``optimizer``.
"""

from __future__ import annotations

from ._simplex import project
from .acquisition import Acquisition, ExpectedImprovement, LowerConfidenceBound
from .optimizer import SearchInterrupted, SimplexOptimizer, SimplexResult, minimize_on_simplex
from .regret import METHODS, RegretCurves, regret_curves
from .surrogate import EquivalentSurrogate, EuclideanSurrogate, Posterior, Surrogate, WassersteinSurrogate

__all__ = [
    "METHODS",
    "Acquisition",
    "EquivalentSurrogate",
    "EuclideanSurrogate",
    "ExpectedImprovement",
    "LowerConfidenceBound",
    "Posterior",
    "RegretCurves",
    "SearchInterrupted",
    "SimplexOptimizer",
    "SimplexResult",
    "Surrogate",
    "WassersteinSurrogate",
    "minimize_on_simplex",
    "project",
    "regret_curves",
]
