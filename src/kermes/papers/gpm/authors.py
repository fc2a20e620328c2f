"""The procedure of the authors, step by step: what it computes and where it stops.

Zero mean, length scales in [0.1, 1], variance in [1e-5, var y], ten restarts of L-BFGS-B with numerical gradients, a
general inverse and the logarithm of a determinant. Where these are undefined, a nugget is looked for; where its
likelihood too is undefined, the whole fit stops. ``failures_of_variant`` and ``bird_with_costs`` show what
that comes from: other matrices and other costs in the same procedure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from .._paper import FloatArray
from . import exponents
from .data import RRandom, authors_inputs, bird_inputs, simplex_problem, test_inputs

RESTARTS = 10
SCALES = (0.1, 1.0)
LEAST_VARIANCE = 1e-5
#: Step of the central differences, and tolerance of the search for a nugget: the defaults of R.
STEP = 1e-3
TOLERANCE = float(np.finfo(np.float64).eps) ** 0.25
#: Of L-BFGS-B, R's defaults: five corrections, 100 iterations, 1e7 times the machine precision.
OPTIONS = {"maxcor": 5, "maxiter": 100, "gtol": 0.0, "ftol": 1e7 * float(np.finfo(np.float64).eps)}
#: Samples at which a run starts; one is added until all are used.
FIRST = 3
#: How the kernel matrix is filled, and whether the samples are sorted by their first weight.
VARIANTS = {
    "mirrored": (exponents.mirrored, False),
    "mirrored, sorted": (exponents.mirrored, True),
    "directional": (exponents.directional, False),
    "symmetrised": (exponents.symmetrised, False),
}


class Fit(NamedTuple):
    """Length scales and variance with the highest likelihood, and the nugget that was last seen on the way there."""

    parameters: FloatArray
    nugget: float
    value: float


class _Undefined(Exception):
    """A likelihood without a value, which stops the script."""


def has_bounds(y: FloatArray) -> bool:
    """Whether targets vary enough for the bounds of the variance to be in order; otherwise the script has no result."""
    return bool(y.var(ddof=1) > LEAST_VARIANCE)


def fit(F: FloatArray, y: FloatArray, random: RRandom, symmetric: bool = True) -> Fit | None:
    """Return the fitted process, or None where the script of the authors stops; F (n, n, q) as in ``exponents``.

    Starts are drawn from ``random``: q length scales and a variance for each of ten. No nugget is looked for unless F
    is ``symmetric``.
    """
    from . import unguarded_gp

    q, most = F.shape[2], float(y.var(ddof=1))
    lower, upper = np.append(np.full(q, SCALES[0]), LEAST_VARIANCE), np.append(np.full(q, SCALES[1]), most)
    nugget, gradient = np.zeros(1), np.zeros(q + 1)

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        value = unguarded_gp.differences(F, y, x, lower, upper, STEP, TOLERANCE, symmetric, nugget, gradient)
        if np.isnan(value):
            raise _Undefined
        return value, gradient.copy()

    best = None
    bounds = optimize.Bounds(lower, upper)
    for _ in range(RESTARTS):
        start = np.append(random.uniform(q, *SCALES), random.uniform(1, LEAST_VARIANCE, most))
        nugget[0] = 0.0
        try:
            found: Any = optimize.minimize(
                objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options=OPTIONS
            )
        except _Undefined:
            return None
        if best is None or found.fun < best.value:
            best = Fit(found.x, float(nugget[0]), float(found.fun))
    return best


def predict(F: FloatArray, cross: FloatArray, y: FloatArray, model: Fit) -> FloatArray:
    """Return the mean at new inputs; ``cross`` (n_new, n, q) is between new and known ones."""
    q = F.shape[2]
    rates, variance = 0.5 / model.parameters[:q] ** 2, model.parameters[q]
    K, k = variance * np.exp(-F @ rates), variance * np.exp(-cross @ rates)
    return np.asarray(k @ np.linalg.solve(K + model.nugget * np.eye(len(y)), y))


def first_failure(problem: str, run: int, last: int = 20, centred: bool = False) -> int | None:
    """Return the number of samples at which the fit of the WSE kernel stops, None if never.

    The authors fit the SE kernel before, at each number of samples: its starts are drawn, and passed over.
    """
    A, random = authors_inputs(run)
    y = simplex_problem(problem)(A)
    for n in range(FIRST, last + 1):
        X, z = A[:n], y[:n] - y[:n].mean() if centred else y[:n]
        if not has_bounds(z):
            continue
        random.uniform(RESTARTS * 3)
        if fit(exponents.mirrored(X, X), z, random) is None:
            return n
    return None


def rmse_of_run(problem: str, run: int, sizes: list[int]) -> dict[str, list[float | None]]:
    """Return the errors on the test grid of both kernels; None where a fit stops, and ever after.

    The WSE process predicts with the parameters and the nugget of the SE process, as in the script of the authors.
    """
    A, random = authors_inputs(run)
    f, new = simplex_problem(problem), test_inputs(problem)
    y, truth = f(A), f(new)
    errors: dict[str, list[float | None]] = {"SE": [], "WSE": []}
    stopped = False
    for n in range(FIRST, max(sizes) + 1):
        X, z = A[:n], y[:n]
        model = None
        if has_bounds(z):
            if n in sizes:
                model = fit(exponents.se(X, X), z, random)
            else:
                random.uniform(RESTARTS * 3)
            stopped = stopped or fit(exponents.mirrored(X, X), z, random) is None
        for name, exponent in (("SE", exponents.se), ("WSE", exponents.mirrored)) if n in sizes else ():
            if model is None or (name == "WSE" and stopped):
                errors[name].append(None)
            else:
                gaps = predict(exponent(X, X), exponent(new, X), z, model) - truth
                errors[name].append(float(np.sqrt(np.mean(gaps**2))))
    return errors


def arranged(variant: str, A: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return F and the targets in the order of a variant."""
    exponent, is_sorted = VARIANTS[variant]
    order = np.argsort(A[:, 0]) if is_sorted else np.arange(len(A))
    return exponent(A[order], A[order]), y[order]


def failures_of_variant(problem: str, variant: str, run: int, samples: list[int]) -> list[bool | None]:
    """Return whether the fit stops, for each number of samples on its own; None where there are not as many."""
    A, random = authors_inputs(run)
    A = A[np.sort(np.unique(A[:, 0], return_index=True)[1])]  # moving the ends made some equal: matrices were singular
    y = simplex_problem(problem)(A)
    failed: list[bool | None] = []
    for n in samples:
        if n > len(A) or not has_bounds(y[:n]):
            failed.append(None)
        else:
            failed.append(fit(*arranged(variant, A[:n], y[:n]), random, symmetric=variant != "directional") is None)
    return failed


def bird_with_costs(run: int, samples: list[int]) -> list[bool]:
    """Return whether the fit stops with costs of the right size, inputs drawn uniformly; once stopped, always."""
    A, random = bird_inputs(run), RRandom(run)
    y = simplex_problem("bird")(A)
    failed: list[bool] = []
    for n in samples:
        stopped = bool(failed and failed[-1])
        failed.append(stopped or fit(exponents.mirrored(A[:n], A[:n]), y[:n], random) is None)
    return failed


def log_likelihoods(F: FloatArray, y: FloatArray, grid: FloatArray, nugget: float) -> FloatArray:
    """Return log-likelihoods over a grid of two length scales, variance 1; nan where they are undefined."""
    from . import small_gp, unguarded_gp

    K, values = np.empty(F.shape[:2]), np.empty((len(grid), len(grid)))
    for place in np.ndindex(values.shape):
        small_gp.gram(F, grid[list(place)], 1.0, K)
        values[place] = -unguarded_gp.value(K, y, nugget)
    return values
