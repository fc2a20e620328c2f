r"""A study: its distances, factors, blocks and units as they are read and checked, and linear models of it.

The Gower matrix :math:`G = -\frac12 C D^{(2)} C` (C centres) holds inner products of the centred principal coordinates
of squared distances :math:`D^{(2)}`, whatever these are; an orthonormal basis Q of a subspace of :math:`\mathbb R^n`
explains the sum of squares :math:`\operatorname{tr} Q^T G Q` (McArdle and Anderson 2001). A permutation of the rows of
Q costs one matrix product, and many of them are done at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_distances, as_labels, integer, require_order
from .._estimator import default_divergence
from .._typing import AnyArray, FloatArray, IndexArray
from .._values import as_array, as_values, holds_numbers, is_category, missing_rows
from ..divergences import Divergence
from ..engine import pairwise
from ..exceptions import InvalidParameterError, KermesWarning, UnsuitableDataError
from ..measures import Measures, as_measures
from ._permutations import TOLERANCE, Permutations, as_generator, p_value

#: Part of the sum of squares below which there is none.
ROUNDING = 1e-13
#: Numbers in the permuted bases of a batch: 16 megabytes.
BATCH = 2_000_000
#: Ratio of the scatter of centroids, for their numbers of measures alone, from which groups are not compared silently.
UNEQUAL = 1.5
#: The same of units by their leverage and of all units, from which a trend is not tested silently.
UNEQUAL_LEVERAGE = 1.25


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
                "assigned to whole blocks (an arm to each donor), pass these as `units`; otherwise leave them out."
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
        squared, counts = _centroids(squared, unit), np.bincount(unit)
        columns, others = (tuple(column.of(first) for column in given) for given in (columns, others))
        codes = codes[first]
    for column in (*columns, *others):
        _require_sizes(column, "units" if units is not None else "measures")
    return Study(squared, scale, columns, others, codes, counts)


def read_units(units: Any, columns: Sequence[Column]) -> tuple[IndexArray, IndexArray]:
    """Return the unit of each measure and the first measure of each unit; refuse columns that change within one."""
    keys, unit = as_labels(units, "units", len(columns[0].codes))
    first = np.unique(unit, return_index=True)[1]
    for column in columns:
        differing = np.flatnonzero(column.codes != column.codes[first][unit])
        if len(differing):
            raise UnsuitableDataError(
                f"{column.name} must be the same for all measures of a unit; unit {keys[unit[differing[0]]]!s} has "
                "several values. If it changes within donors (before and after), pass the donors as `blocks`."
            )
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
    points = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2 and len(X) > 1
    if points and not X.diagonal().any() and (X >= 0).all() and np.array_equal(X, X.T):
        raise InvalidParameterError(
            f"`X` looks like distances between {len(X)} measures (symmetric, 0 on the diagonal); pass "
            "divergence='precomputed', or Measures.from_samples(X[:, None]) if its rows are points."
        )
    return np.asarray(pairwise(as_measures(X, "X"), divergence=divergence or default_divergence(), engine=engine))


def as_columns(values: Any, name: str, n: int | None = None, *, numbers: bool = False) -> tuple[Column, ...]:
    """Return the columns of a table (mapping of names to columns, or data frame), or one column called ``name``.

    Columns are labels of groups; with ``numbers``, those that hold numbers and are not declared categories are numbers.
    """
    if values is None:
        return ()
    if isinstance(values, (Divergence, Measures)):
        raise InvalidParameterError(
            f"`{name}` must hold a label for each measure; got {type(values).__name__}. The order of the arguments is "
            "measures, groups, divergence."
        )
    columns = []
    for key, given in table_of(values, name).items():
        if numbers and holds_numbers(given):
            columns.append(as_number(given, key, n))
        else:
            levels, codes = as_labels(given, key, n)
            columns.append(Column(key, codes, indicators(codes), levels))
    return tuple(columns)


def table_of(values: Any, name: str) -> dict[str, Any]:
    """Return the columns of a table by their names, or one column called ``name``; none of None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) and not hasattr(values, "columns"):
        return {name: values}
    table = {str(key): values[key] for key in (values if isinstance(values, Mapping) else values.columns)}
    if not table:
        raise InvalidParameterError(f"`{name}` must have a column; got none.")
    return table


def rows_of(column: Any, rows: IndexArray) -> AnyArray:
    """Return some rows of a column; declared categories as strings, so that they stay labels."""
    values = as_values(column, "covariates")[rows]
    return values.astype(str) if is_category(column) else values


def as_number(values: Any, name: str, n: int | None = None) -> Column:
    """Return a column of finite numbers, centred and scaled; dates, which need no unit for that, are numbers too."""
    found = as_array(values, name)
    gaps: Any = missing_rows(found) if found.ndim == 1 else ()
    if len(gaps):
        raise InvalidParameterError(
            f"`{name}` must hold finite numbers; that of measure {gaps[0]} is {found[gaps[0]]}."
        )
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        got = type(values).__name__ if found.ndim == 0 else repr(found.ravel()[0])
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


def warn_of_unequal_units(test: str, columns: Sequence[Column], counts: IndexArray, stacklevel: int) -> None:
    """Warn once where ``counts`` of measures in units depend on a tested column: centroids of fewer scatter more.

    By as much as the mean of 1 / counts: of donors alike, 8 of one measure and 24 of five, 13 % (PERMANOVA) to 18 %
    (energy) of 500 true null hypotheses were rejected at the level 5 %; of 12 and 12, dispersion rejected 12 % of 600.
    """
    for column in columns:
        found = _unequal_number(column, counts) if column.levels is None else _unequal_groups(column, counts)
        if found:
            warnings.warn(
                f"{test}: {found} Centroids of fewer measures scatter more, so that true null hypotheses are rejected "
                "too often. Take equally many measures of each unit.",
                KermesWarning,
                stacklevel=stacklevel + 1,
            )
            return


def _unequal_groups(factor: Column, counts: IndexArray) -> str:
    """Return in which group units have fewer measures than in another; '' if in none."""
    assert factor.levels is not None
    scatter = np.bincount(factor.codes, 1.0 / counts) / np.bincount(factor.codes)
    few, many = scatter.argmax(), scatter.argmin()
    if scatter[few] <= UNEQUAL * scatter[many]:
        return ""
    return (
        f"units of {factor.levels[few]!s} have {1.0 / scatter[few]:.3g} measures in the harmonic mean, those of "
        f"{factor.levels[many]!s} {1.0 / scatter[many]:.3g}."
    )


def _unequal_number(number: Column, counts: IndexArray) -> str:
    r"""Return whether units of extreme values have fewer measures than all; '' if not.

    A unit counts by its leverage, :math:`(x - \bar x)^2`: under the null hypothesis the sum of squares of a line is the
    mean of the scatter with these weights, of permuted units the mean without. Fewer measures at one end alone, with as
    many more at the other, change nothing.
    """
    leverage = ((number.columns - number.columns.mean(axis=0)) ** 2).sum(axis=1)
    extreme, all_units = float(np.average(1.0 / counts, weights=leverage)), float(np.mean(1.0 / counts))
    if extreme <= UNEQUAL_LEVERAGE * all_units:
        return ""
    return (
        f"units whose {number.name} are far from the mean have {1.0 / extreme:.3g} measures in the harmonic mean (by "
        f"their leverage), all units {1.0 / all_units:.3g}."
    )


@dataclass(frozen=True, eq=False)
class Found:
    """What a permutation test of one subspace found; ``distribution`` are the permuted values of F."""

    F: float
    share: float  # of the total sum of squares
    partial_share: float  # of what the other terms leave
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


def permutation_test(
    G: FloatArray, before: FloatArray, tested: FloatArray, after: FloatArray, permutations: Permutations
) -> Found:
    r"""Test whether ``tested`` explains more than chance, given ``before``.

    The residuals of ``before`` are permuted (Freedman and Lane 1983): with :math:`R = I - Q_0 Q_0^T`,

    .. math:: F_\pi = \frac{\operatorname{tr} Q_\pi^T R G R Q_\pi / q}{SS_{res, \pi} / (n - q_0 - q - q_1)}

    ``before`` (n, q_0), which holds the constant and the blocks, ``tested`` (n, q) and ``after`` (n, q_1) are together
    an orthonormal basis of the whole model.
    """
    n, q = tested.shape
    df = q, n - before.shape[1] - q - after.shape[1]
    total, scale = float(np.trace(G)), float(np.abs(np.diagonal(G)).sum())
    R = np.eye(n) - before @ before.T
    reduced = R @ G @ R
    left = float(np.trace(reduced))
    if left <= ROUNDING * scale:  # all distances are 0, or 0 beside the other terms: nothing is left to explain
        none = np.zeros(permutations.number)
        return Found(0.0, 0.0, 0.0, 0.0, df, 1.0, none, none, True)
    # What every permutation within blocks keeps in its span explains none of the residuals: the constant and blocks.
    others = np.column_stack([_moved(before, permutations), after])
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
