r"""Linear models of a study: what a subspace explains of its squared distances, and whether that is chance.

The Gower matrix :math:`G = -\frac12 C D^{(2)} C` (C centres) holds inner products of the centred principal coordinates
of squared distances :math:`D^{(2)}`, whatever these are; an orthonormal basis Q of a subspace of :math:`\mathbb R^n`
explains the sum of squares :math:`\operatorname{tr} Q^T G Q` (McArdle and Anderson 2001). A permutation of the rows of
Q costs one matrix product, and many of them are done at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IndexArray
from ._permutations import TOLERANCE, Permutations, p_value

#: Part of the sum of squares below which there is none.
ROUNDING = 1e-13
#: Numbers in the permuted bases of a batch: 16 megabytes.
BATCH = 2_000_000


@dataclass(frozen=True, eq=False)
class Found:
    """What a permutation test of one subspace found; ``distribution`` are the permuted values of F."""

    F: float
    share: float  # of the total sum of squares
    partial_share: float  # of what the terms before leave
    sum_of_squares: float
    df: tuple[int, int]
    p_value: float
    distribution: FloatArray
    sums: FloatArray  # permuted sums of squares
    alike: bool  # no permutation changes F


def gower(squared: FloatArray) -> FloatArray:
    """Return the doubly centred -squared / 2."""
    G = -0.5 * squared
    G -= G.mean(axis=0)
    G -= G.mean(axis=1, keepdims=True)
    return np.asarray(0.5 * (G + G.T))


def indicators(codes: IndexArray) -> FloatArray:
    """Return a column of 0 and 1 for each value, (n, values)."""
    return np.asarray(codes[:, None] == np.unique(codes), dtype=np.float64)


def basis(columns: FloatArray, given: FloatArray) -> FloatArray:
    """Return an orthonormal basis of what columns (n, k) add to the span of the orthonormal ``given`` (n, r)."""
    rest = columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    for _ in range(2):  # twice is enough (Kahan)
        rest = rest - given @ (given.T @ rest)
    vectors, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-8])


def between(G: FloatArray, Q: FloatArray, rows: IndexArray | None = None) -> FloatArray:
    """Return tr Q[rows_b]' G Q[rows_b] for each permutation b of ``rows`` (B, n); of Q itself by default, (1,)."""
    permuted = Q.T[:, None] if rows is None else Q.T[:, rows]  # (r, B, n)
    flat = permuted.reshape(-1, len(Q))
    return np.asarray(np.einsum("ij,ij->i", flat @ G, flat).reshape(permuted.shape[:2]).sum(axis=0))


def permutation_test(G: FloatArray, before: FloatArray, tested: FloatArray, permutations: Permutations) -> Found:
    r"""Test whether ``tested`` explains more than chance, given ``before``.

    The residuals of ``before`` are permuted (Freedman and Lane 1983): with :math:`R = I - Q_0 Q_0^T`,

    .. math:: F_\pi = \frac{\operatorname{tr} Q_\pi^T R G R Q_\pi / q}{SS_{res, \pi} / (n - q_0 - q)}

    ``before`` (n, q_0), which holds the constant and the blocks, and ``tested`` (n, q) are together an orthonormal
    basis of the whole model.
    """
    n, q = tested.shape
    df = q, n - before.shape[1] - q
    total, scale = float(np.trace(G)), float(np.abs(np.diagonal(G)).sum())
    R = np.eye(n) - before @ before.T
    reduced = R @ G @ R
    left = float(np.trace(reduced))
    if left <= ROUNDING * scale:  # all distances are 0, or 0 beside the other terms: nothing is left to explain
        none = np.zeros(permutations.number)
        return Found(0.0, 0.0, 0.0, 0.0, df, 1.0, none, none, True)
    # What every permutation within blocks keeps in its span explains none of the residuals: the constant and blocks.
    others = _moved(before, permutations)
    size = max(1, BATCH // (n * (q + others.shape[1])))
    explained = between(reduced, tested)[0]
    observed = _share(explained, between(reduced, others)[0], left)
    found = [
        np.stack([between(reduced, tested, rows), between(reduced, others, rows)])
        for rows in permutations.batches(size)
    ]
    sums, rest = np.concatenate(found, axis=1)
    shares = _share(sums, rest, left)
    # The share rises with F and is bounded, so ties are judged on it; rounding is a part of the distances themselves.
    tolerance = TOLERANCE * max(1.0, scale / left)
    alike = bool((np.abs(shares - observed) <= tolerance).all())
    p = p_value(float(observed), shares, tolerance)
    values = ratio(np.append(shares, observed), df)
    F, share = float(values[-1]), float(explained / total)
    return Found(F, share, float(observed), float(explained), df, p, values[:-1], sums, alike)


def _moved(before: FloatArray, permutations: Permutations) -> FloatArray:
    """Return an orthonormal basis of what ``before`` holds beyond the means of blocks."""
    blocks = basis(indicators(permutations.blocks), np.zeros((len(before), 0)))
    return basis(before, blocks) if before.shape[1] > blocks.shape[1] else np.zeros((len(before), 0))


def _share(explained: FloatArray, others: FloatArray, left: float) -> FloatArray:
    """Return SS / (SS + SS_res); distances that are not Euclidean may take it out of [0, 1]."""
    return np.asarray(explained / np.maximum(left - others, ROUNDING * left))


def ratio(share: FloatArray, df: tuple[int, int]) -> FloatArray:
    """Return F = (share / df_1) / ((1 - share) / df_2); inf where no residual is left."""
    rest = np.where(1.0 - share > ROUNDING, 1.0 - share, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(share / df[0] / (rest / df[1]))
