"""The iteration of plain scaling: when it stops, and how its relaxation follows the observed rate."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inline_core

# Relaxation exponent - 1. No error falls faster than by this factor an iteration: THETA is for problems that are easy
# (8 or 9 iterations in 10-D at 5 % of the median cost, 16 with STRONG), STRONG for the others (25 on MNIST at eps 0.4,
# 115 plain, 28 with 0.75): taken if two iterations, of each four before FIRST, leave more than EASY^2 of the error.
THETA, STRONG, EASY = 0.35, 0.7, 0.55
CAP = 0.97  # largest relaxation of plain scaling
FIRST, WINDOW = 20, 10  # first look at the rate, then every WINDOW iterations
PLAIN = 300  # iterations of plain scaling before the stabilised route takes over
DIVERGED = 1e30  # marginal error from which (or from nan) an iteration is lost

f4 = np.float32


@inline_core
def adapt(theta, cap, before, now):
    """(theta, cap, error to compare with) for the next WINDOW, from the errors before and after the last one.

    before = inf: no change. Error grew (or nan): back to plain scaling, and a lower cap for later. Otherwise, if the
    observed rate mu exceeds theta, the slow mode is real and Young's relation (mu + theta)^2 = (1 + theta)^2 eta mu
    gives the plain rate eta, whose best relaxation is 2 / (1 + sqrt(1 - eta)). After a change the next window settles.
    """
    new = theta
    if not now < before:
        new, cap = 0.0, 0.9 * cap
    else:
        mu = (now / before) ** (1.0 / WINDOW)
        if mu > theta + 0.01:
            eta = (mu + theta) ** 2 / ((1.0 + theta) ** 2 * mu)
            if eta < 1.0:
                new = max(theta, min(cap, 2.0 / (1.0 + math.sqrt(1.0 - eta)) - 1.0))
    return new, cap, now if new == theta else np.inf


@inline_core
def iterate(step, relax_columns, state, tol, max_iter):
    """Over-relaxed scaling from the column scalings in ``state``; returns (error, column error, iterations).

    ``step(state, theta)`` updates the rows and returns the errors of the row marginal before and of the column marginal
    after it; ``relax_columns(state, theta)`` updates the columns. On return the rows are exact, unless the error is
    not below DIVERGED; at most PLAIN iterations are made.
    """
    theta, cap, mark, error, recent = THETA, CAP, np.inf, np.inf, np.inf
    it, last = 0, min(max_iter, PLAIN)
    while True:
        it += 1
        exact = it == 1 or it == last or not error > 4.0 * tol
        rows, columns = step(state, f4(0) if exact else f4(theta))
        error = rows + columns
        if (exact and columns <= tol) or it == last or (it > 1 and not error < DIVERGED):
            return error, columns, it
        relax_columns(state, f4(theta))
        if it < FIRST and it % 4 == 0 and not error < EASY**2 * recent:
            theta = STRONG
        recent = error if it % 4 == 2 else recent
        if it >= FIRST and it % WINDOW == 0:
            theta, cap, mark = adapt(theta, cap, mark, error)
