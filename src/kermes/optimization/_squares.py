"""Squared distances between weight vectors on one support, with their gradients in the first one.

``squares(A, B)`` are the distances of the rows of A (n, m) and B (k, m), an array (n, k);
``squares.with_gradients(A, B)`` are they and their gradients, (n, k, m). Transport costs are convex in the weights,
with kinks; there a gradient is one of their subgradients. Gradients are defined up to a constant, since weights add up
to 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import FloatArray
from ..divergences import Wasserstein
from ..divergences._plans import transport
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError
from ..ground import Matrix, as_cost
from ..measures import Measures


class Squares(ABC):
    """Base of the squared distances."""

    @abstractmethod
    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return the squared distances (n, k)."""

    @abstractmethod
    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return them and their gradients in the rows of A, (n, k, m)."""


@dataclass(frozen=True)
class EuclideanSquares(Squares):
    """``sum_i scale_i (a_i - b_i)^2``."""

    scale: FloatArray

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        root = np.sqrt(self.scale)
        return np.asarray(cdist(A * root, B * root, "sqeuclidean"))

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient is ``2 scale (a - b)``."""
        return self(A, B), 2.0 * self.scale * (A[:, None] - B[None])


@dataclass(frozen=True)
class UniformSquares(Squares):
    """W_2^2 under the cost matrix c (1 - I): ``c/2 sum_i |a_i - b_i|``."""

    c: float

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return np.asarray(0.5 * self.c * cdist(A, B, "cityblock"))

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient is ``c/2 sign(a - b)``, 0 where the weights are equal."""
        return self(A, B), 0.5 * self.c * np.sign(A[:, None] - B[None])


@dataclass(frozen=True)
class LineSquares(Squares):
    """W_2^2 on points z of the line."""

    z: FloatArray

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return _transport(Wasserstein(p=2), A, B, self.z)

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient is that of the integral of (Q_a - Q_b)^2 over (0, 1), through the cumulative weights.

        Q_a is z_i between the cumulative weights F_{i-1} and F_i of a, so that F_i moves the integral by
        (z_i - q)^2 - (z_{i+1} - q)^2, with q = Q_b(F_i); a weight moves all cumulative ones from its own on.
        """
        order = np.argsort(self.z)
        z = self.z[order]
        F = np.cumsum(A[:, order], axis=1)[:, :-1]
        G = np.cumsum(B[:, order], axis=1)[:, :-1]
        out = np.zeros((len(A), len(B), len(z)))
        for j, levels in enumerate(G):
            q = z[np.searchsorted(levels, F)]
            moved = (z[:-1] - q) ** 2 - (z[1:] - q) ** 2
            out[:, j, order[:-1]] = np.cumsum(moved[:, ::-1], axis=1)[:, ::-1]
        return self(A, B), out


@dataclass(frozen=True)
class MatrixSquares(Squares):
    """W_2^2 under any table C of squared ground distances, by the network simplex."""

    C: FloatArray

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return _transport(Wasserstein(p=2, cost=Matrix.from_costs(self.C, 2)), A, B, np.arange(float(len(self.C))))

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both from one linear program for each pair.

        The value is the maximum of u a + v b over u_i + v_j <= C_ij: a maximiser u is a subgradient. The solver leaves
        u open where a has no mass; u_i = min_j C_ij - v_j over the atoms of b is feasible everywhere and no less.
        """
        values, gradients = np.empty((len(A), len(B))), np.empty((len(A), len(B), len(self.C)))
        atoms = [(b[b > 0], np.ascontiguousarray(self.C[:, b > 0])) for b in B]
        for i, a in enumerate(A):
            rows = np.flatnonzero(a)
            for j, (b, costs) in enumerate(atoms):
                v = transport(a[rows], b, costs[rows]).v
                gradients[i, j] = (costs - v).min(axis=1)
                values[i, j] = gradients[i, j] @ a + v @ b
        return np.maximum(values, 0.0), gradients


def transport_squares(cost: Any, points: FloatArray | None, m: int) -> Squares:
    """Return W_2^2 between weights on m points under a ground distance, in closed form where there is one."""
    cost = as_cost(cost)
    if cost.size not in (None, m):
        raise InvalidParameterError(
            f"`cost` must be a table of {m} x {m} distances, one row for each weight; got {(cost.size, cost.size)}."
        )
    if cost.uniform is not None:
        return UniformSquares(cost.uniform**2)
    if points is None and cost.size is None:
        raise InvalidParameterError(
            f"`cost` {cost!r} needs to know where the points are; pass them as `support`, not their number."
        )
    support = np.empty((m, 0)) if points is None else points  # a matrix needs no points
    if cost.absolute and support.shape[1] == 1:
        return LineSquares(support[:, 0])
    Wasserstein(p=2, cost=cost)  # refuses costs that are not distances
    return MatrixSquares(cost.table(support) ** 2)


def _transport(divergence: Wasserstein, A: FloatArray, B: FloatArray, support: FloatArray) -> FloatArray:
    """Return W_2^2 without a memo: batches of candidates are small, and met once."""
    X, Y = (Measures.from_histograms(weights, support) for weights in (A, B))
    return pairwise(X, Y, divergence=divergence, engine=Engine("serial", memo=False, progress=False), squared=True)
