"""A study: its distances, factors, blocks and units as they are read and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_distances, as_labels, integer, require_order
from .._estimator import default_divergence
from .._typing import FloatArray, IndexArray
from ..divergences import Divergence
from ..engine._pairwise import true_distances
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measures, as_measures
from ._columns import Column, as_columns, as_number
from ._linear_model import basis, indicators
from ._permutations import Permutations, as_generator
from ._units import centroids, read_units


@dataclass(frozen=True, eq=False)
class Study:
    """Rows that may be rearranged (measures, or units), with their squared distances, factors and blocks."""

    squared: FloatArray  # in units of the square of ``scale``
    scale: float
    tested: tuple[Column, ...]
    covariates: tuple[Column, ...]
    blocks: IndexArray
    counts: IndexArray  # of measures in each row

    @property
    def fixed(self) -> FloatArray:
        """An orthonormal basis of the means of the blocks, which is the constant if there is one block."""
        return basis(indicators(self.blocks), np.zeros((len(self.blocks), 0)))

    def permutations(self, wanted: int, random_state: Any) -> Permutations:
        """Return the permutations within blocks; refuse blocks that leave none."""
        wanted = integer(wanted, "n_permutations", low=1)
        rows = np.column_stack([column.codes for column in (*self.tested, *self.covariates)])
        codes = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        found = Permutations(codes, self.blocks, wanted, as_generator(random_state))
        if found.distinct == 1:
            raise UnsuitableDataError(
                f"the blocks leave no permutation: {self.tested[0].name} is constant within every block. If it was "
                "assigned to whole blocks (an arm to each donor), pass these as `units` (--units); otherwise leave "
                "them out."
            )
        return found


def read_study(
    X: Any,
    divergence: Any,
    name: str,
    tested: Any,
    *,
    covariates: Any = None,
    blocks: Any = None,
    units: Any = None,
    engine: Any = None,
    numeric: bool = False,
    single: bool = False,
    profile: Callable[[FloatArray], FloatArray] | None = None,
    power: float = 2.0,
) -> Study:
    """Return the study of what is ``tested``: factors, a ``single`` one at most, or a ``numeric`` column.

    Its distances, or the ``profile`` of them, are scaled so that their ``power`` neither overflows nor underflows.
    """
    require_order(X, **{name: tested}, covariates=covariates, blocks=blocks, units=units)
    columns = (as_number(tested, name),) if numeric else as_columns(tested, name)
    if single and len(columns) != 1:
        names = ", ".join(column.name for column in columns)
        raise InvalidParameterError(f"`{name}` must be one factor; got {names}. Test one after the other.")
    D = distances_of(X, divergence, engine)
    D, n = D if profile is None else profile(D), len(D)
    for column in columns:
        if len(column.codes) != n:
            raise InvalidParameterError(
                f"`{column.name}` must hold {n} values, one for each measure; got {len(column.codes)}."
            )
    others = as_columns(covariates, "covariates", n, numbers=True)
    repeated = {column.name for column in others} & {column.name for column in columns}
    if repeated:
        raise InvalidParameterError(f"`covariates` names {repeated.pop()!r}, which is tested; leave it out of one.")
    codes = np.zeros(n, dtype=np.int64) if blocks is None else as_labels(blocks, "blocks", n)[1]
    scale = float(D.max()) or 1.0
    squared, counts = (D / scale) ** power, np.ones(n, dtype=np.int64)
    if units is not None:
        unit, first = read_units(units, (*columns, *others, Column("blocks", codes, np.zeros((n, 0)))))
        squared, counts = centroids(squared, unit), np.bincount(unit)
        columns, others = (tuple(column.of(first) for column in given) for given in (columns, others))
        codes = codes[first]
    for column in (*columns, *others):
        _require_sizes(column, "units" if units is not None else "measures")
    return Study(squared, scale, columns, others, codes, counts)


def distances_of(X: Any, divergence: Any, engine: Any = None) -> FloatArray:
    """Return the distances between measures, or X itself if ``divergence`` is 'precomputed'."""
    if isinstance(divergence, str) and divergence == "precomputed":
        if isinstance(X, Measures):
            raise InvalidParameterError("`X` must be distances if `divergence` is 'precomputed'; got Measures.")
        return as_distances(X, "X")
    if divergence is not None and not isinstance(divergence, Divergence):
        raise InvalidParameterError(
            "`divergence` must be a divergence such as divergences.Wasserstein(p=2), None (sliced Wasserstein) or "
            f"'precomputed'; got {divergence!r}."
        )
    points = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2 and len(X) > 1
    if points and not X.diagonal().any() and (X >= 0).all() and np.array_equal(X, X.T):
        raise InvalidParameterError(
            f"`X` looks like distances between {len(X)} measures (symmetric, 0 on the diagonal); pass "
            "divergence='precomputed', or Measures.from_samples(X[:, None]) if its rows are points."
        )
    return true_distances(as_measures(X, "X"), divergence=divergence or default_divergence(), engine=engine)


def _require_sizes(column: Column, what: str) -> None:
    """Refuse a factor with one group, or a group with one member."""
    if column.levels is None:
        return
    if len(column.levels) < 2:
        raise UnsuitableDataError(
            f"{column.name} must have at least two groups; all {what} are in group {column.levels[0]!s}."
        )
    counts = np.bincount(column.codes, minlength=len(column.levels))
    if counts.min() < 2:
        raise UnsuitableDataError(
            f"every group must have at least two {what}; group {column.levels[counts.argmin()]!s} of {column.name} has "
            f"{counts.min()}. Leave it out, or join it with another group."
        )
