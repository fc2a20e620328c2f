"""Are two clouds drawn from one distribution?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._checks import guess, integer
from .._scales import median_distance, unit_of
from .._typing import FloatArray, IndexArray
from ..divergences import MMD, Divergence, SlicedWasserstein
from ..divergences._features import MOST_MONOMIALS, exact_features
from ..exceptions import InvalidMeasureError, InvalidParameterError, UnsuitableDataError
from ..ground import Gaussian
from ..measures import Measure, Measures
from ._linear_model import BATCH, between, gower
from ._permutations import TOLERANCE, Permutations, PermutationTest, as_generator, p_value, warn_alike

#: Atoms of the two clouds together, up to which the matrix of their distances or kernel values is made: 800 megabytes.
MOST_ATOMS = 10_000
NAMES = ("energy", "mmd")

#: From permutations of the pooled atoms (B, N) to the powers of the distance between the first n and the others.
Powers = Callable[[IndexArray], FloatArray]


def two_sample(
    mu: Any,
    nu: Any,
    divergence: Any = "energy",
    n_permutations: int = 9999,
    random_state: Any = None,
    *,
    counts: bool = False,
    keep_distribution: bool = False,
) -> PermutationTest:
    r"""Test whether the atoms of two measures are draws from one distribution.

    The atoms of both clouds are pooled and dealt out again; the statistic is the distance between the two clouds.

    Parameters
    ----------
    mu, nu : Measure, Measures with one member, or array of shape (n, d) or (n,)
        The two clouds, of at least two atoms each.
    divergence : 'energy', 'mmd', MMD or SlicedWasserstein
        'energy' is :math:`(2 \overline{|x - y|} - \overline{|x - x'|} - \overline{|y - y'|})^{1/2}`. 'mmd' is the MMD
        of a Gaussian kernel whose width is the median of the positive distances between pooled atoms. On the line,
        SlicedWasserstein is the Wasserstein distance.
    counts : bool
        Whether weights are numbers of equal draws. Otherwise the atoms of a cloud must weigh the same: a draw has no
        weight, and grey values or shares do not say how many there were.
    n_permutations, random_state, keep_distribution
        As in :func:`permanova`.

    Returns
    -------
    PermutationTest
        ``statistic`` is the distance, as :func:`~kermes.pairwise` returns it.

    Notes
    -----
    *Null hypothesis*: all atoms are exchangeable. *Assumptions*: atoms are independent draws. Cells of two donors are
    not draws from "a sick" and "a healthy" distribution: such a test compares these two donors, no groups
    (pseudo-replication; :func:`permanova` compares groups). With many atoms the smallest difference is significant.
    Energy, and MMD with a characteristic kernel, find any difference in the long run.
    *Cost*: :math:`O(m N^2)` for N atoms and m permutations; :math:`O(m L N)` for L slices.

    References
    ----------
    Székely, G. J. and Rizzo, M. L. (2004), and Gretton, A. et al. (2012), as in :func:`k_sample`.
    Ramdas, A., García Trillos, N. and Cuturi, M. (2017). On Wasserstein two-sample testing and related families of
    nonparametric tests. Entropy 19.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import inference
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(30, 2)), rng.normal(size=(40, 2)) + [0.0, 1.0]
    >>> inference.two_sample(x, y, random_state=0)
    energy test of two clouds: statistic = 0.6331, p = 0.0025 (9999 random permutations)
    """
    x, y = _atoms(mu, "mu", counts), _atoms(nu, "nu", counts)
    if x.shape[1] != y.shape[1]:
        raise UnsuitableDataError(
            f"`mu` has points of dimension {x.shape[1]} and `nu` of dimension {y.shape[1]}; pass clouds in one space."
        )
    pool, n = np.concatenate([x, y]), len(x)
    codes = (np.arange(len(pool)) >= n).astype(np.int64)
    wanted = integer(n_permutations, "n_permutations", low=1)
    permutations = Permutations(codes, np.zeros_like(codes), wanted, as_generator(random_state))
    name, powers, power, width, scale, length = _statistic(divergence, pool, n)
    observed = float(powers(np.arange(len(pool))[None])[0])
    found = np.concatenate([powers(rows) for rows in permutations.batches(max(1, BATCH // width))])
    tolerance = TOLERANCE * max(observed, scale)
    if (np.abs(found - observed) <= tolerance).all():
        warn_alike("two_sample", "Are all atoms equal?", stacklevel=3)
    return PermutationTest(
        f"{name} test of two clouds",
        length * float(max(observed, 0.0) ** (1 / power)),
        p_value(observed, found, tolerance),
        permutations.number,
        permutations.exhaustive,
        distribution=length * np.maximum(found, 0.0) ** (1 / power) if keep_distribution else None,
    )


def _atoms(cloud: Any, name: str, counts: bool) -> FloatArray:
    """Return the draws (n, d) of a cloud; refuse weights that say nothing about draws."""
    if isinstance(cloud, Divergence):
        raise InvalidParameterError(
            f"`{name}` must be a cloud; got {type(cloud).__name__}. Write two_sample(mu, nu, divergence)."
        )
    if isinstance(cloud, Measures):
        if len(cloud) != 1:
            raise InvalidParameterError(
                f"`{name}` must be one measure; got {len(cloud)}. Groups of measures are compared by permanova."
            )
        cloud = cloud[0]
    if not isinstance(cloud, Measure):
        cloud = Measures.from_samples([cloud])[0]
    points, weights = cloud.points, cloud.weights
    if counts:
        if (weights != np.rint(weights)).any():
            i = int(np.flatnonzero(weights != np.rint(weights))[0])
            raise InvalidMeasureError(
                f"`{name}` must have whole weights if they are counts; atom {i} has {weights[i]}."
            )
        if weights.sum() > MOST_ATOMS**2:
            raise UnsuitableDataError(f"`{name}` has {weights.sum():g} draws, too many to permute; draw from them.")
        points = np.repeat(points, weights.astype(np.int64), axis=0)
    elif weights.max() > weights.min() * (1 + 1e-9):
        raise InvalidMeasureError(
            f"`{name}` has atoms of unequal weights, {weights.min():g} to {weights.max():g}, which are not draws from "
            "one distribution. If weights count equal draws, pass counts=True."
        )
    if len(points) < 2:
        raise UnsuitableDataError(f"`{name}` must have at least two atoms; got {len(points)}.")
    return np.asarray(points)


def _statistic(divergence: Any, pool: FloatArray, n: int) -> tuple[str, Powers, float, int, float, float]:
    """Return name, function of permutations, power of the distance it returns, memory of a row, size of rounding, unit.

    The function returns powers of the distance in units of the last number, such that they stay in range.
    """
    if isinstance(divergence, SlicedWasserstein):
        return _sliced(divergence, pool, n)
    if not isinstance(divergence, MMD) and divergence not in NAMES:
        what = "Of other divergences the pairs of all permutations cost too much." if isinstance(
            divergence, Divergence) else guess(divergence, NAMES).strip()  # fmt: skip
        raise InvalidParameterError(
            "`divergence` must be 'energy', 'mmd', a divergences.MMD or a divergences.SlicedWasserstein; got "
            f"{divergence!r}. {what}".rstrip()
        )
    if len(pool) > MOST_ATOMS:
        raise UnsuitableDataError(
            f"the clouds have {len(pool)} atoms together; the test takes at most {MOST_ATOMS}. Draw from them "
            "(Measures.subsample), or choose divergences.SlicedWasserstein()."
        )
    name, length = "MMD", 1.0
    exact = exact_features(divergence.ground, pool.shape[1], MOST_MONOMIALS) if isinstance(divergence, MMD) else None
    if exact is not None:  # kernel values lose digits far from the origin
        with np.errstate(over="ignore"):  # checked next
            features = exact(pool)
        features, length = _in_units(features)
        features -= features.mean(axis=0)
        G = features @ features.T
    elif isinstance(divergence, MMD):
        G = gower(-2.0 * divergence.ground.table(pool))  # of squared distances in its feature space, up to their means
    else:
        pool, unit = _in_units(pool)
        table = cdist(pool, pool)
        if divergence == "mmd":
            table = -2.0 * Gaussian(sigma=median_distance(table)).table(pool)
        else:  # the energy distance is the squared distance of means in the Gower matrix of |x - y|, twice
            name, table, length = "energy", 2.0 * table, math.sqrt(unit)
        G = gower(table)
    if not np.isfinite(G).all():
        raise UnsuitableDataError("the values of the point kernel overflow. Scale the points.")
    contrast = np.full((len(pool), 1), -1.0 / (len(pool) - n))
    contrast[:n] = 1.0 / n
    scale = float(np.abs(np.diagonal(G)).mean()) / n
    return name, lambda rows: between(G, contrast, rows), 2.0, len(pool), scale, length


def _in_units(pool: FloatArray) -> tuple[FloatArray, float]:
    """Return the points relative to the first one in units of the largest difference, and that unit."""
    with np.errstate(over="ignore"):
        apart = pool - pool[0]
    unit = unit_of(apart) if np.isfinite(apart).all() else math.inf
    if unit > 1e300:
        raise UnsuitableDataError("the atoms of `mu` and `nu` are more than 1e300 apart. Scale the points.")
    return np.asarray(apart / unit), unit


def _sliced(divergence: SlicedWasserstein, pool: FloatArray, n: int) -> tuple[str, Powers, float, int, float, float]:
    from ..core.sliced import relabelled

    pool, unit = _in_units(pool)
    projections = np.ascontiguousarray(pool @ divergence.directions(pool.shape[1]).T)  # (N, L)
    projections -= projections.mean(axis=0)
    order = np.ascontiguousarray(np.argsort(projections, axis=0, kind="stable").T)
    power = 2.0 if divergence.p == 2 else 1.0

    def powers(rows: IndexArray) -> FloatArray:
        out = np.empty(len(rows))
        relabelled(projections, order, rows < n, float(divergence.p), out)
        return out

    return "sliced Wasserstein", powers, power, 20 * len(pool), 1e-6, unit
