r"""What the kernels of the paper have in their exponents: F in :math:`k = s \exp(-\frac12 \sum_k F_k / \theta_k^2)`.

Each function takes weights of shape (n, m) and (n', m) and returns squared differences of shape (n, n', q), one for
each of q length scales. Costs are uniform, c (1 - I), where row costs have the closed form
:math:`S_i = c (a_i - b_i)_+`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...kernels import inverse_squared_rho
from .._paper import FloatArray

Exponent = Callable[[FloatArray, FloatArray], FloatArray]
#: The cost c of the experiments, already squared.
COST = 4.0


def se(A: FloatArray, B: FloatArray) -> FloatArray:
    """SE kernel of weights, a length scale for each."""
    return np.asarray((A[:, np.newaxis] - B) ** 2)


def se_isotropic(A: FloatArray, B: FloatArray) -> FloatArray:
    """SE kernel of weights, one length scale."""
    return np.asarray(se(A, B).sum(axis=2, keepdims=True))


def isotropic(A: FloatArray, B: FloatArray) -> FloatArray:
    """WSE kernel: W_2^2 = c |a - b|_1 / 2."""
    return np.asarray(symmetrised(A, B).sum(axis=2, keepdims=True))


def symmetrised(A: FloatArray, B: FloatArray) -> FloatArray:
    """Anisotropic WSE kernel, the mean of the exponents of both directions; see ``kernels.AnisotropicWasserstein``."""
    return np.asarray(0.5 * COST * np.abs(A[:, np.newaxis] - B))


def directional(A: FloatArray, B: FloatArray) -> FloatArray:
    """Equation 16: what leaves each point on the way from a to b. Not symmetric."""
    return np.asarray(COST * np.maximum(A[:, np.newaxis] - B, 0.0))


def mirrored(A: FloatArray, B: FloatArray) -> FloatArray:
    """Equation 16 as the authors fill a square matrix: i to j above the diagonal, and the same below it.

    Between two different sets (new inputs) it is the directional one.
    """
    F = directional(A, B)
    if np.array_equal(A, B):
        below = np.tril_indices(len(A), -1)
        F[below] = F.transpose(1, 0, 2)[below]
    return F


def theorem4(A: FloatArray, B: FloatArray, length_scales: FloatArray) -> FloatArray:
    """Return sum_i S_i / rho_i^2 with the rho of Theorem 4, pair by pair; shape (n, n')."""
    S = directional(A, B)
    return np.array(
        [
            [S[i, j] @ inverse_squared_rho(a, b, S[i, j], length_scales) for j, b in enumerate(B)]
            for i, a in enumerate(A)
        ]
    )
