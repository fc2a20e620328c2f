"""REGULARIZED(mu, mu) of each measure, by the symmetric iteration; the cost is symmetric with zero diagonal."""

from __future__ import annotations

import math

import numpy as np

from ..jit import strict_core
from ..status import OK, UNCONVERGED
from .block import atom_costs
from .stabilised import log_rows


@strict_core
def self_value(C, a, options):
    """(REGULARIZED value of (a, a), status).

    The potentials are equal, so f <- (f + T(f)) / 2, T the log-domain row update, which contracts by about 1/2 or
    better per step at every epsilon. Row sums are a_i exp((f_i - T_i) / eps), so the L1 error costs nothing.
    """
    n, eps = a.size, options.epsilon
    f, g, loga, status = np.empty(n), np.empty(n), np.empty(n), UNCONVERGED
    for i in range(n):
        loga[i] = math.log(a[i])
        f[i] = 0.5 * eps * loga[i]
    for _ in range(options.max_iter):
        log_rows(C, loga, g, f, eps)
        error = 0.0
        for i in range(n):
            error += a[i] * abs(math.exp(min((f[i] - g[i]) / eps, 700.0)) - 1.0)
            f[i] = 0.5 * (f[i] + g[i])
        if error <= options.tol:
            status = OK
            break
    log_rows(C, loga, g, f, eps)
    value = 0.0
    for i in range(n):
        value += a[i] * (f[i] + g[i] - 2.0 * eps * loga[i])
    return value, status


@strict_core
def self_values(ground, A, rows, options, out):
    """out[i] = REGULARIZED(mu_i, mu_i) for i in rows."""
    for i in rows:
        a = A.weights[A.offsets[i] : A.offsets[i + 1]]
        C = np.empty((a.size, a.size))
        atom_costs(ground, A, i, A, i, C)
        out.values[i], out.status[i] = self_value(C, a, options)
