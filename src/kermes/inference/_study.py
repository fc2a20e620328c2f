"""Reading a study: distances or measures, the factors, blocks and units of its rows; every check is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_distances, as_labels, integer
from .._estimator import default_divergence
from .._typing import AnyArray, FloatArray, IndexArray
from ..divergences import Divergence
from ..engine import pairwise
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measures, as_measures
from ._model import basis, indicators
from ._permutations import Permutations, as_generator


@dataclass(frozen=True, eq=False)
class Column:
    """A factor or a number of each row: its design columns, and a code for each row, equal for equal values."""

    name: str
    codes: IndexArray
    columns: FloatArray
    levels: AnyArray | None = None  # None: a number

    def of(self, rows: IndexArray) -> Column:
        """Return the column for some of the rows."""
        return Column(self.name, self.codes[rows], self.columns[rows], self.levels)


@dataclass(frozen=True, eq=False)
class Study:
    """Rows that may be rearranged (measures, or units), with their squared distances, factors and blocks."""

    squared: FloatArray  # in units of the square of ``scale``
    scale: float
    tested: tuple[Column, ...]
    covariates: tuple[Column, ...]
    blocks: IndexArray

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
                "assigned to whole blocks (an arm to each donor), pass these as `units`; otherwise leave them out."
            )
        return found


def read_study(
    X: Any,
    divergence: Any,
    tested: Mapping[str, Column],
    *,
    covariates: Any = None,
    blocks: Any = None,
    units: Any = None,
    engine: Any = None,
    power: float = 2.0,
) -> Study:
    """Return the study with distances to the ``power``, scaled so that they neither overflow nor underflow."""
    D = distances_of(X, divergence, engine)
    n = len(D)
    for column in tested.values():
        if len(column.codes) != n:
            raise InvalidParameterError(
                f"`{column.name}` must hold {n} values, one for each measure; got {len(column.codes)}."
            )
    others = tuple(as_columns(covariates, "covariates", n, numbers=True).values())
    repeated = {column.name for column in others} & set(tested)
    if repeated:
        raise InvalidParameterError(f"`covariates` names {repeated.pop()!r}, which is tested; leave it out of one.")
    codes = np.zeros(n, dtype=np.int64) if blocks is None else as_labels(blocks, "blocks", n)[1]
    scale = float(D.max()) or 1.0
    squared = (D / scale) ** power
    columns = tuple(tested.values())
    if units is not None:
        unit, first = read_units(units, (*columns, *others, Column("blocks", codes, np.zeros((n, 0)))))
        squared = _centroids(squared, unit)
        columns = tuple(column.of(first) for column in columns)
        others, codes = tuple(column.of(first) for column in others), codes[first]
    for column in (*columns, *others):
        _require_sizes(column, "units" if units is not None else "measures")
    return Study(squared, scale, columns, others, codes)


def read_units(units: Any, columns: Sequence[Column]) -> tuple[IndexArray, IndexArray]:
    """Return the unit of each measure and the first measure of each unit; refuse columns that change within one."""
    keys, unit = as_labels(units, "units", len(columns[0].codes))
    first = np.unique(unit, return_index=True)[1]
    for column in columns:
        _require_constant(column, unit, first, keys)
    return unit, first


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
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2 and len(X) > 1 and _looks_like_distances(X):
        raise InvalidParameterError(
            f"`X` looks like distances between {len(X)} measures (symmetric, 0 on the diagonal); pass "
            "divergence='precomputed', or Measures.from_samples(X[:, None]) if its rows are points."
        )
    return np.asarray(pairwise(as_measures(X, "X"), divergence=divergence or default_divergence(), engine=engine))


def _looks_like_distances(X: AnyArray) -> bool:
    """Whether an array that would be read as points is a matrix of distances, by all appearance."""
    square = X.shape[0] == X.shape[1]
    return square and not X.diagonal().any() and bool((X >= 0).all()) and np.array_equal(X, X.T)


def as_columns(values: Any, name: str, n: int | None = None, *, numbers: bool = False) -> dict[str, Column]:
    """Return the columns of a table (mapping of names to columns, or data frame), or one column called ``name``.

    Columns are labels of groups; with ``numbers``, those of a numeric type are numbers.
    """
    if values is None:
        return {}
    if isinstance(values, (Divergence, Measures)):
        raise InvalidParameterError(
            f"`{name}` must hold a label for each measure; got {type(values).__name__}. The order of the arguments is "
            "measures, groups, divergence."
        )
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        names = list(values) if isinstance(values, Mapping) else list(values.columns)
        if not names:
            raise InvalidParameterError(f"`{name}` must have a column; got none.")
        return {str(key): _column(values[key], str(key), n, numbers) for key in names}
    return {name: _column(values, name, n, numbers)}


def _column(values: Any, name: str, n: int | None, numbers: bool) -> Column:
    array = np.asarray(values)
    if numbers and array.dtype.kind in "fiu":
        return as_number(array, name, n)
    levels, codes = as_labels(values, name, n)
    return Column(name, codes, indicators(codes), levels)


def as_number(values: Any, name: str, n: int | None = None) -> Column:
    """Return a column of finite numbers, centred and scaled."""
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        got = type(values).__name__ if np.ndim(values) == 0 else repr(np.asarray(values).ravel()[0])
        raise InvalidParameterError(f"`{name}` must hold a number for each measure; got {got}.") from None
    if x.ndim != 1 or not len(x) or (n is not None and len(x) != n):
        raise InvalidParameterError(f"`{name}` must hold one number per measure; got shape {x.shape}.")
    if not np.isfinite(x).all():
        i = int(np.flatnonzero(~np.isfinite(x))[0])
        raise InvalidParameterError(f"`{name}` must hold finite numbers; that of measure {i} is {x[i]}.")
    if (x == x[0]).all():
        raise UnsuitableDataError(f"`{name}` is {x[0]:g} for every measure: a constant explains nothing.")
    codes = np.unique(x, return_inverse=True)[1].astype(np.int64)
    with np.errstate(over="ignore"):
        low, reach = x.min(), x.max() - x.min()
    scaled = (x - low) / reach if np.isfinite(reach) else x / np.abs(x).max()
    return Column(name, codes, (scaled - scaled.mean())[:, None])


def _require_constant(column: Column, unit: IndexArray, first: IndexArray, keys: AnyArray) -> None:
    """Refuse a column that changes within a unit."""
    differing = np.flatnonzero(column.codes != column.codes[first][unit])
    if len(differing):
        raise UnsuitableDataError(
            f"{column.name} must be the same for all measures of a unit; unit {keys[unit[differing[0]]]!s} has several "
            "values. If it changes within donors (before and after), pass the donors as `blocks`."
        )


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


def unit_means(values: FloatArray, unit: IndexArray) -> FloatArray:
    """Return the mean over the rows of each unit."""
    Z = indicators(unit)
    return np.asarray((Z / Z.sum(axis=0)).T @ values)


def _centroids(squared: FloatArray, unit: IndexArray) -> FloatArray:
    r"""Return squared distances between the centroids of units in principal coordinates.

    .. math:: d^2(c_u, c_v) = \overline{d^2_{uv}} - \frac12 \overline{d^2_{uu}} - \frac12 \overline{d^2_{vv}}

    with means over all pairs of members; negative only if distances are not Euclidean.
    """
    means = unit_means(unit_means(squared, unit).T, unit)
    inner = np.diagonal(means)
    centred = means - 0.5 * (inner[:, None] + inner[None])
    np.fill_diagonal(centred, 0.0)
    return np.asarray(centred)
