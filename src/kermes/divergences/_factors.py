"""Cholesky factors of the regularised kernel matrices of measures, prepared once for all pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..ground import PointKernel
from ..measures import Measures
from ._base import batches
from ._support import sparse_rows

#: Bytes of the factors kept for all measures; beyond that each is computed again where it is needed.
FACTOR_BYTES = 1 << 28


class Table(NamedTuple):
    """Kernel values between the atoms of a shared support that occur, sorted."""

    used: IndexArray
    values: FloatArray


class Factors(NamedTuple):
    """Atoms, their scales s = sqrt(w / eta), and factors of I + T / 2 with T = diag(s) K diag(s).

    ``code`` and ``params`` are those of the point kernel, or TABLE and the table. ``places[i]`` is where the vectors
    of length p_i (a multiple of 4) and the matrix p_i x p_i of measure i start. ``halves`` holds log det(I + T / 2) and
    |z|^2 for z = L^-1 s / sqrt 2, ``values`` log det(I + Sigma / eta) / 2 with the centred covariance Sigma.
    """

    code: int
    params: FloatArray
    coordinates: FloatArray
    ids: IndexArray
    scales: FloatArray
    offsets: IndexArray
    keep: bool
    places: IndexArray
    factors: FloatArray
    inverses: FloatArray
    solved: FloatArray
    halves: FloatArray
    values: FloatArray

    def own(self, row: int) -> tuple[FloatArray, FloatArray, IndexArray, FloatArray]:
        """Return factor, z, atoms and halved scales of one measure, if factors are kept."""
        start, stop = self.offsets[row], self.offsets[row + 1]
        size, side = stop - start, -(-(stop - start) // 4) * 4
        first, corner = self.places[row]
        L = self.factors[corner : corner + side**2].reshape(side, side)[:size, :size]
        return L, self.solved[first : first + size], self.ids[start:stop], self.scales[start:stop] * np.sqrt(0.5)


def factorise(
    ground: PointKernel,
    X: Measures,
    eta: float,
    centre: FloatArray | None = None,
    table: Table | None = None,
    keep: bool = False,
) -> Factors:
    """Factorise each measure. Points are moved to ``centre``, which the linear ground allows.

    With ``keep`` the factors are stored even if they are many.
    """
    from ..core import variance

    if table is None:
        points = X.points if centre is None else X.points - centre
        coordinates, ids = np.array(points.T, order="C"), np.zeros(len(points), dtype=np.int64)
        weights, offsets = X.probabilities, np.array(X.offsets)
        code, params = ground.code, ground.params[None]
    else:
        assert X.support is not None
        ids, weights, offsets = sparse_rows(X, X.support.points, True)
        ids = np.searchsorted(table.used, ids)
        coordinates, code, params = np.zeros((0, len(ids))), variance.TABLE, table.values
    sides = -(-np.diff(offsets) // 4) * 4
    keep = keep or bool(8 * (sides**2).sum() <= FACTOR_BYTES)
    kept = np.flatnonzero(sides >= 0) if keep else np.empty(0, dtype=np.int64)
    factors = np.zeros((sides[kept] ** 2).sum())
    inverses, solved = np.empty(sides[kept].sum()), np.empty(sides[kept].sum())
    places = np.stack([np.cumsum(sides) - sides, np.cumsum(sides**2) - sides**2], axis=1)
    halves, values = np.empty((len(X), 2)), np.empty(len(X))
    scales = np.sqrt(weights / eta)
    for rows in batches(2 / 3 * sides.astype(np.float64) ** 3):
        variance.prepare(
            code, params, coordinates, ids, scales, offsets, rows, eta,
            keep, places, factors, inverses, solved, halves, values,
        )  # fmt: skip
    return Factors(
        code, params, coordinates, ids, scales, offsets, keep, places, factors, inverses, solved, halves, values
    )
