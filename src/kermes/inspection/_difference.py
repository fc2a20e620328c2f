"""Where two groups of measures differ, with permutation bands."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from .._checks import as_labels, integer, real, require_order
from .._scales import median_distance, unit_of
from .._typing import AnyArray, FloatArray, IndexArray
from ..divergences._base import batches
from ..divergences._quantiles import even_levels, quantile_means
from ..divergences._support import dense_rows
from ..exceptions import DegenerateDataWarning, UnsuitableDataError
from ..ground import Gaussian, PointKernel, as_point_kernel
from ..inference._columns import Column
from ..inference._permutations import TOLERANCE, Permutations, as_generator
from ..inference._units import read_units, unit_means, warn_of_unequal_units
from ..measures import Measures, as_measures

#: Points between which the median distance is taken.
MEDIAN_POINTS = 1000
#: Cells of (0, 1) over which the quantile functions of coordinates are compared.
N_QUANTILES = 20


@dataclass(frozen=True, eq=False)
class CoordinateDifference:
    """How far two groups differ in each coordinate.

    Parameters
    ----------
    scores : ndarray of shape (d,)
        W_2 between the barycentres of both groups, projected on the coordinate; in its units.
    shifts : ndarray of shape (d,)
        Difference of the means, that of the second group minus that of the first.
    bands : ndarray of shape (d,)
        What the largest score stays below by chance.
    p_values : ndarray of shape (d,)
        Corrected for the number of coordinates by the largest statistic.
    """

    scores: FloatArray
    shifts: FloatArray
    bands: FloatArray
    p_values: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """Where two groups of measures differ.

    Parameters
    ----------
    groups : tuple of two
        Their labels, in order; scores are the second minus the first.
    points : ndarray of shape (m, d)
        Where scores are: pixels, bins, or points of the measures.
    scores : ndarray of shape (m,)
        Mean mass at a pixel or bin (witness function at a point) of the second group minus that of the first.
    bands : ndarray of shape (m,)
        Half width of the band in which all scores stay with probability ``level`` if labels say nothing.
    p_values : ndarray of shape (m,)
        Corrected for the number of points by the largest statistic.
    coordinates : CoordinateDifference
    shape : tuple of int or None
        Height and width if the points are pixels.
    ground : PointKernel or None
        Kernel of the witness function; None for plain masses.
    n_permutations : int
    level : float
    """

    groups: tuple[Any, Any]
    points: FloatArray
    scores: FloatArray
    bands: FloatArray
    p_values: FloatArray
    coordinates: CoordinateDifference
    shape: tuple[int, int] | None
    ground: PointKernel | None
    n_permutations: int
    level: float

    @property
    def p_value(self) -> float:
        """Of the hypothesis that the groups differ at no point; ``coordinates.p_values`` ask along each alone."""
        return float(self.p_values.min())

    @property
    def significant(self) -> AnyArray:
        """Where the score leaves its band, (m,)."""
        return np.asarray(np.abs(self.scores) > self.bands)

    def scaled(self, factors: FloatArray) -> Difference:
        """Return the same in other units: points, distances, shifts and bands along coordinates times ``factors``."""
        along = {name: getattr(self.coordinates, name) * factors for name in ("scores", "shifts", "bands")}
        return replace(self, points=self.points * factors, coordinates=replace(self.coordinates, **along))

    def __repr__(self) -> str:
        return (
            f"Difference({self.groups[1]!s} minus {self.groups[0]!s}: {np.count_nonzero(self.significant)} of "
            f"{len(self.scores)} points outside the {self.level:.0%} band, p = {self.p_value:.3g})"
        )


def difference(
    X: Any,
    y: Any,
    *,
    ground: Any = None,
    n_points: int = 1000,
    n_permutations: int = 999,
    level: float = 0.95,
    blocks: Any = None,
    random_state: Any = None,
    units: Any = None,
) -> Difference:
    r"""Return where two groups of measures differ, and by how much they would differ by chance.

    .. math:: s(z) = \frac{1}{n_1} \sum_{y_i = 1} f_i(z) - \frac{1}{n_0} \sum_{y_i = 0} f_i(z)

    with :math:`f_i(z)` the mass of measure i at the pixel or bin z if all share a support, and
    :math:`f_i(z) = \int k(x, z) \, d\mu_i(x)` for clouds: s is then the witness function of the MMD between the
    mixtures of both groups [1]_, large where the second group has more mass than the first.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
        Images, histograms or clouds; all have mass 1.
    y : array of shape (n,)
        Labels of two groups, each of two measures or more.
    ground : PointKernel, optional
        The kernel k; for clouds a Gaussian at the median of the positive distances between points by default. Images
        and histograms are taken as they are, or smoothed by k if it is given.
    n_points : int
        Points of clouds at which s is evaluated, drawn with equal chances for all measures; all if there are no more.
    n_permutations, random_state
        As in :func:`kermes.inference.permanova`; the seed is also that of the points.
    level : float
        Probability that no score at all leaves its band if labels are exchangeable.
    blocks : array of shape (n,), optional
        Labels are permuted within blocks only (donors, sites), and differences between blocks are removed: s is then
        the mean of the differences within blocks, each with the weight :math:`n_{b0} n_{b1} / (n_{b0} + n_{b1})`. A
        block of one group says nothing, and has weight 0.
    units : array of shape (n,), optional
        Where several measures are of one unit (donor, slide) and the *units* were assigned to the groups: each unit
        counts once, by the mean of its :math:`f_i`, and units are permuted. Labels and blocks are those of units.

    Notes
    -----
    *Bands*: at every point s is divided by its standard deviation under permutation of the labels; the largest of these
    ratios over all points gives bands and p-values that hold for all points together [2]_, (b + 1) / (m + 1) for b of
    m permutations with as large a maximum. Points where all measures agree have score 0 and p-value 1.
    *Blocks*: these weights are those of least squares with an effect for each block; the formula above is the same if
    all blocks have the same share of both groups.
    *Coordinates*: for each, :math:`W_2` between the barycentres of both groups along it (mean quantile functions over
    20 equal cells; with blocks the norm of their weighted difference), with bands and p-values over all coordinates in
    the same way.
    *Assumptions*: measures (or units) are exchangeable within blocks if the labels mean nothing; cells, pixels or
    points of one measure need not be independent, and never count as replicates. A difference of masses at a point says
    that the groups differ there, not why: a shifted group has too little on one side and too much on the other.
    Units of different groups should have equally many measures: means of fewer scatter more, and where they have not, a
    warning says so.
    *Cost*: :math:`O(N m)` kernel values for N atoms and m points, and :math:`O(n m)` for each permutation.

    References
    ----------
    .. [1] Gretton, Borgwardt, Rasch, Schölkopf and Smola, A kernel two-sample test, JMLR 13 (2012).
    .. [2] Westfall and Young, Resampling-based multiple testing, Wiley 1993.

    See Also
    --------
    kermes.plot.DifferenceDisplay : the picture.
    kermes.inference.permanova : do they differ at all?

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, inspection
    >>> rng = np.random.default_rng(0)
    >>> H = rng.poisson(20, size=(30, 4))
    >>> H[15:, 2] += 10
    >>> X = Measures.from_histograms(H, support=np.arange(4.0))
    >>> found = inspection.difference(X, np.arange(30) >= 15, random_state=0)
    >>> int(found.scores.argmax()), bool(found.significant[2])
    (2, True)
    """
    measures = as_measures(X, "X")
    require_order(X, y=y, blocks=blocks, units=units)
    groups, codes = as_labels(y, "y", len(measures))
    strata = np.zeros(len(measures), dtype=np.int64) if blocks is None else as_labels(blocks, "blocks", len(codes))[1]
    unit = None
    if units is not None:
        none = np.zeros((len(codes), 0))
        unit, first = read_units(units, (Column("`y`", codes, none), Column("`blocks`", strata, none)))
        codes, strata = codes[first], strata[first]
    _check_groups(groups, codes, "measures" if units is None else "units")
    if unit is not None:
        factor = Column("`y`", codes, none[first], groups)
        warn_of_unequal_units("difference", (factor,), np.bincount(unit), stacklevel=2)
    n_points = integer(n_points, "n_points", low=1)
    level = real(level, "level", low=0.5, high=0.9999)
    rng = as_generator(random_state)
    permutations = Permutations(codes, strata, integer(n_permutations, "n_permutations", low=1), rng)
    if permutations.distinct == 1:
        raise UnsuitableDataError(
            "the blocks leave no permutation: every block holds one group only. Leave them out, or take blocks that "
            "hold both groups."
        )
    kernel = None if ground is None else as_point_kernel(ground)
    points, values, kernel = _values(measures, kernel, n_points, rng)
    quantiles, means = _quantiles(measures), measures.expectation(measures.points)
    if unit is not None:
        d, K = quantiles.shape[1:]
        values, means = unit_means(values, unit), unit_means(means, unit)
        quantiles = unit_means(quantiles.reshape(len(unit), d * K), unit).reshape(-1, d, K)
    scores, bands, p_values, coordinates = _judge(values, quantiles, means, codes, permutations, level)
    if not bands.any():
        message = "all measures are equal: nothing differs, and all p-values are 1."
        if coordinates.bands.any():
            message = (
                f"{kernel!r} sees no difference between any measures, so that no point has a p-value below 1; the "
                "coordinates differ. Choose a ground of the scale of the points."
            )
        warnings.warn(message, DegenerateDataWarning, stacklevel=2)
    return Difference(
        (groups[0], groups[1]), points, scores, bands, p_values, coordinates,
        None if measures.support is None else measures.support.shape, kernel, permutations.number, level,
    )  # fmt: skip


def _check_groups(groups: AnyArray, codes: IndexArray, what: str) -> None:
    if len(groups) != 2:
        raise UnsuitableDataError(
            f"`y` must hold the labels of two groups; got {len(groups)}. Select two groups, or compare one with the "
            "rest: y == name."
        )
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise UnsuitableDataError(
            f"each group needs two {what} or more; group {groups[sizes.argmin()]!s} has one. Nothing can be said of "
            "chance otherwise."
        )


def _values(
    X: Measures, kernel: PointKernel | None, n_points: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, PointKernel | None]:
    """Return the points, the values (n, m) of every measure at them, and the kernel in use."""
    if X.support is not None:
        masses = dense_rows(X, X.support.points, True)
        return X.support.points, masses if kernel is None else masses @ kernel.table(X.support.points), kernel
    chances = X.probabilities / len(X)
    n = len(chances)
    kept = np.arange(n) if n <= n_points else np.sort(rng.choice(n, n_points, replace=False, p=chances / chances.sum()))
    points = X.points[kept]
    if kernel is None:
        some = points if len(points) <= MEDIAN_POINTS else points[rng.choice(len(points), MEDIAN_POINTS, replace=False)]
        kernel = Gaussian(sigma=_median_gap(some))
    values = np.empty((len(X), len(points)))
    for rows in batches(X.sizes.astype(np.float64) * len(points), 4e6):
        part = X[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            values[rows] = part.expectation(kernel(part.points, points))
    if not np.isfinite(values).all():
        raise UnsuitableDataError(f"the kernel {kernel!r} is not finite at some points. Scale the points.")
    if np.abs(values).max() < np.finfo(np.float64).tiny and np.ptp(points, axis=0).any():
        raise UnsuitableDataError(f"all values of the kernel {kernel!r} are below 1e-307. Scale the points.")
    return points, values, kernel


def _median_gap(points: FloatArray) -> float:
    """Return the median distance between points, if its square is a number."""
    apart = points - np.quantile(points, 0.5, axis=0, method="lower")  # one of the values: equal ones are 0
    unit = unit_of(apart)
    gaps = pdist(apart / unit)
    found = unit * median_distance(gaps) if gaps.any() else 1.0
    if not 1e-150 <= found <= 1e150:
        raise UnsuitableDataError(
            f"the median distance between points of `X` is {found:.3g}, and its square overflows or underflows. Scale "
            "the points, or give the kernel `ground`."
        )
    return found


def _quantiles(X: Measures) -> FloatArray:
    """Return the quantile functions of all coordinates, (n, d, K), such that distances are W_2 along each."""
    out = np.empty((len(X), X.dim, N_QUANTILES))
    for rows in batches(np.full(len(X), float(X.dim * N_QUANTILES)), 4e6):
        out[rows] = quantile_means(X[rows], np.eye(X.dim), even_levels(N_QUANTILES))[0]
    return out


def _judge(
    values: FloatArray,
    quantiles: FloatArray,
    means: FloatArray,
    codes: IndexArray,
    permutations: Permutations,
    level: float,
) -> tuple[FloatArray, FloatArray, FloatArray, CoordinateDifference]:
    """Return scores, bands and p-values of points, and those of coordinates, from the same permutations."""
    blocks = permutations.members
    contrast = _contrast(codes, blocks)
    n, d, K = quantiles.shape
    centred, units = zip(*(_centred(part, blocks) for part in (values[:, :, None], quantiles)), strict=True)
    centred = (centred[0].reshape(values.shape), centred[1].reshape(n, d * K))
    spread = np.sqrt(_variances(contrast, centred[0], blocks))
    spread[spread * units[0] <= 1e-12 * np.abs(values).max(axis=0)] = 0.0
    reach = np.sqrt(_variances(contrast, centred[1], blocks).reshape(d, K).sum(axis=1))

    def ratios(contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
        at_points = _ratio(np.abs(contrasts @ centred[0]), spread)
        along = np.sqrt(((contrasts @ centred[1]) ** 2).reshape(len(contrasts), d, K).sum(axis=2))
        return at_points, _ratio(along, reach)

    largest: list[list[FloatArray]] = [[], []]
    for rows in permutations.batches(max(1, int(4e6) // values.shape[1])):
        for kept, found in zip(largest, ratios(contrast[rows]), strict=True):
            kept.append(found.max(axis=1))
    observed = [found[0] for found in ratios(contrast[None])]
    critical, p_values = zip(
        *(_chance(seen, np.concatenate(kept), level) for seen, kept in zip(observed, largest, strict=True)),
        strict=True,
    )
    along = np.sqrt(((contrast @ centred[1]) ** 2).reshape(d, K).sum(axis=1))
    coordinates = CoordinateDifference(
        along * units[1], contrast @ means, critical[1] * (reach * units[1]), p_values[1]
    )
    scores = np.where(spread > 0, contrast @ centred[0], 0.0) * units[0]
    return scores, critical[0] * (spread * units[0]), p_values[0], coordinates


def _contrast(codes: IndexArray, blocks: list[IndexArray]) -> FloatArray:
    """Return c such that c @ f is the difference of the groups in f, by least squares with an effect for each block."""
    contrast = np.where(codes == 1, 1.0 / np.count_nonzero(codes == 1), -1.0 / np.count_nonzero(codes == 0))
    if len(blocks) > 1:
        for rows in blocks:
            contrast[rows] -= contrast[rows].mean()
        contrast /= contrast[codes == 1].sum()
    return contrast


def _variances(contrast: FloatArray, centred: FloatArray, blocks: list[IndexArray]) -> FloatArray:
    """Return the variances of contrast @ centred under permutations within blocks; its mean is 0.

    Those of a block of n are |contrast|^2 / (n - 1) times the sum of squares, both centred there.
    """
    shares = [(contrast[rows] @ contrast[rows]) / max(len(rows) - 1, 1) for rows in blocks]
    return np.asarray(sum(w * (centred[rows] ** 2).sum(axis=0) for w, rows in zip(shares, blocks, strict=True)))


def _centred(values: FloatArray, blocks: list[IndexArray]) -> tuple[FloatArray, FloatArray]:
    """Return deviations from the mean of the block, (n, m, K), in units of the largest of each column m.

    So squares stay in range.
    """
    deviations = np.empty_like(values)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in blocks:
            deviations[rows] = values[rows] - values[rows].mean(axis=0)
    if not np.isfinite(deviations).all():
        raise UnsuitableDataError("values of the measures differ by more than 1e308. Scale the points.")
    units = np.abs(deviations).max(axis=(0, 2))
    units[units == 0.0] = 1.0
    return deviations / units[:, None], units


def _ratio(values: FloatArray, scales: FloatArray) -> FloatArray:
    return np.asarray(np.where(scales > 0, values / np.where(scales > 0, scales, 1.0), 0.0))


def _chance(observed: FloatArray, largest: FloatArray, level: float) -> tuple[float, FloatArray]:
    """Return the ratio that is not exceeded at the level, and the corrected p-values."""
    everything = np.sort(np.append(largest, observed.max()))  # the observed order is one of the equally likely ones
    rank = int(np.ceil(level * len(everything))) - 1
    tolerance = TOLERANCE * max(float(everything[-1]), 1e-300)
    above = len(largest) - np.searchsorted(np.sort(largest), observed - tolerance)
    p_values = np.where(observed > 0, (above + 1.0) / (len(largest) + 1.0), 1.0)
    return float(everything[rank]), np.asarray(p_values)
