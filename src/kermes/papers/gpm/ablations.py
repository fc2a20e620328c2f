"""What the failures come from: other matrices, other targets, other costs in the procedure of the authors."""

from __future__ import annotations

import numpy as np

from .._paper import FloatArray
from . import authors, exponents
from .data import authors_inputs, bird_inputs
from .problems import simplex_problem
from .r_random import RRandom

#: How the kernel matrix is filled, and whether the samples are sorted by their first weight.
VARIANTS = {
    "mirrored": (exponents.mirrored, False),
    "mirrored, sorted": (exponents.mirrored, True),
    "directional": (exponents.directional, False),
    "symmetrised": (exponents.symmetrised, False),
}
#: The cost matrix of the authors for every problem, also for the one with three weights.
AUTHORS_COST = exponents.COST * (1.0 - np.eye(2))


def failures_of_variant(problem: str, variant: str, run: int, samples: list[int]) -> list[bool | None]:
    """Return whether the fit stops, for each number of samples on its own; None where there are not as many."""
    exponent, is_sorted = VARIANTS[variant]
    A, random = _distinct(run)
    y = simplex_problem(problem)(A)
    failed: list[bool | None] = []
    for n in samples:
        if n > len(A) or not authors.has_bounds(y[:n]):
            failed.append(None)
            continue
        order = np.argsort(A[:n, 0]) if is_sorted else np.arange(n)
        X, z = A[:n][order], y[:n][order]
        failed.append(authors.fit(exponent(X, X), z, random, symmetric=variant != "directional") is None)
    return failed


def bird_as_run(samples: list[int]) -> list[bool]:
    """Return whether the fit stops with the cost matrix of the authors, which their transport solver refuses."""
    m = simplex_problem("bird").n_weights
    return [AUTHORS_COST.shape != (m, m)] * len(samples)


def bird_with_costs(run: int, samples: list[int]) -> list[bool]:
    """Return whether the fit stops with costs of the right size, inputs drawn uniformly; once stopped, always."""
    A, random = bird_inputs(run), RRandom(run)
    y = simplex_problem("bird")(A)
    failed: list[bool] = []
    for n in samples:
        stopped = bool(failed and failed[-1])
        failed.append(stopped or authors.fit(exponents.mirrored(A[:n], A[:n]), y[:n], random) is None)
    return failed


def _distinct(run: int) -> tuple[FloatArray, RRandom]:
    """Return the inputs of a run without those that moving the ends made equal: any matrix of them is singular."""
    A, random = authors_inputs(run)
    first = np.sort(np.unique(A[:, 0], return_index=True)[1])
    return A[first], random
