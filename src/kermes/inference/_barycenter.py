"""``barycenter``: the mean of measures under a divergence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from sklearn.utils import check_random_state

from .._checks import integer, positive, require_order
from .._typing import ArrayLike, FloatArray
from .._values import refuse_masked
from ..divergences import MMD, Divergence, Euclidean, GaussianWasserstein, Sinkhorn, SlicedWasserstein, Wasserstein
from ..divergences._support import common_support, dense_rows
from ..exceptions import ConvergenceWarning, InvalidParameterError, UnsuitableDataError
from ..ground import Euclidean as EuclideanCost
from ..ground import Linear
from ..measures import Measures, Support, as_measures
from ._barycenter_entropic import entropic
from ._barycenter_free import (
    EXACT,
    BarycenterInfo,
    Problem,
    free_support,
    of_gaussians,
    on_support,
    on_the_line,
    sliced,
)


@overload
def barycenter(
    X: Any, weights: ArrayLike | None = ..., divergence: Divergence | None = ..., *, n_atoms: int | None = ...,
    support: ArrayLike | None = ..., init: Any = ..., random_state: Any = ..., max_iter: int | None = ...,
    tol: float | None = ..., return_info: Literal[False] = ...,
) -> Measures: ...  # fmt: skip
@overload
def barycenter(
    X: Any, weights: ArrayLike | None = ..., divergence: Divergence | None = ..., *, n_atoms: int | None = ...,
    support: ArrayLike | None = ..., init: Any = ..., random_state: Any = ..., max_iter: int | None = ...,
    tol: float | None = ..., return_info: Literal[True],
) -> tuple[Measures, BarycenterInfo]: ...  # fmt: skip
def barycenter(
    X: Any,
    weights: ArrayLike | None = None,
    divergence: Divergence | None = None,
    *,
    n_atoms: int | None = None,
    support: ArrayLike | None = None,
    init: Any = None,
    random_state: Any = None,
    max_iter: int | None = None,
    tol: float | None = None,
    return_info: bool = False,
) -> Measures | tuple[Measures, BarycenterInfo]:
    r"""Return the mean of measures: the measure that is nearest to all of them.

    .. math:: \bar\mu \in \arg\min_\nu \sum_i w_i \, d(\mu_i, \nu)^q

    with q = 2, but for the order p of ``Wasserstein(p)`` and ``SlicedWasserstein(p)`` on the line, and q = 1 for
    ``Sinkhorn`` with another cost than the squared Euclidean one, whose distance is the value itself. The divergence
    decides how it is found:

    - ``Wasserstein`` on the line: exact. The quantile function of the barycentre is the mean of the quantile functions
      for p = 2, their weighted median for p = 1, and the number nearest to them in the p-th power otherwise [1]_.
      Levels within 1e-14 of each other are one: atoms lighter than that part of the mass may be left out.
    - ``Wasserstein(p=2)`` in other dimensions: atoms of fixed weights that move to the mean of the mass which the
      optimal plans to all measures take from them, until none moves [2]_. A local minimum, but where several plans are
      optimal: then it may be lower nearby.
    - ``SlicedWasserstein(p=2)``: atoms that move to the least squares of the mean quantiles along all directions of the
      divergence [3]_. A local minimum; exact on the line.
    - ``GaussianWasserstein(ground.Linear())``: the mean of the means and the fixed point of the covariances [4]_,
      returned as 2 r equally heavy points with these moments, two on each principal axis of the covariance of
      rank r. The divergence sees no more of a measure than its moments.
    - ``Sinkhorn``: the minimum over measures on a fixed support, by iterated projections [5]_; blurred by epsilon. What
      is least is the mean of the values with their entropy, ``value='regularized'``, for ``value='transport'`` too:
      the cost of the plans alone would be less at single points.
      With ``value='debiased'`` the blur is removed [6]_: take this one for pictures; it goes on to sharpen, slowly, as
      ``tol`` falls. On pixels with squared Euclidean cost an iteration is four matrix products for all measures.
    - ``Euclidean`` and ``MMD``: the mixture, the mean of the weights, which is the minimum in closed form.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    weights : array of shape (n,), optional
        Non-negative weights of the measures, normalised to sum 1; equal by default. All measures have mass 1.
    divergence : Divergence, optional
        The distance d; sliced Wasserstein by default.
    n_atoms : int, optional
        Number of atoms of a barycentre whose atoms move: the median number of the measures, at most 256, by default.
        On the line with p = 2: that many equally heavy atoms instead of the exact quantile function; equal ones are
        merged.
    support : array of shape (m, d), optional
        Where the barycentre of ``Sinkhorn`` may have mass: by default the shared support of the measures, or all their
        atoms if there are at most 2048 different ones.
    init : Measures of one member, optional
        Atoms to start from if they move, with the weights that they keep; drawn from all atoms by default.
    random_state : int, RandomState or None
        Seed of that draw.
    max_iter : int, optional
        Iterations at most; then a warning. By default 100 with exact plans, 1000 for sliced and Gaussian ones, and
        that of ``Sinkhorn``.
    tol : float, optional
        When to stop: atoms move by at most this part of the half width of the data (1e-6), a covariance changes by at
        most this part (1e-9), the marginals are at most this far from the barycentre in the L1 norm (``Sinkhorn.tol``).
    return_info : bool
        Also return a :class:`BarycenterInfo`: iterations, the last error, whether it is within ``tol``.

    Returns
    -------
    Measures
        One member, of mass 1. With ``return_info``, a tuple of it and the info.

    Notes
    -----
    *Assumptions*: all measures live in one space and count with their weights, not with their masses. Barycentres of
    order 2 exist, and are unique on the line, and where one of the Gaussians has full rank; moving atoms find a local
    minimum that depends on the start. *Cost*: on the line :math:`O(n K)` for K levels at which a quantile function
    jumps; one exact plan per measure and iteration; :math:`O(n h w (h + w))` per iteration for n images. Where
    scalings leave the range of double precision (epsilon below some 1/500 of the largest cost), iterations go on with
    logarithms, about a hundred times slower.

    References
    ----------
    .. [1] Agueh and Carlier, Barycenters in the Wasserstein space, SIAM J. Math. Anal. 43 (2011).
    .. [2] Cuturi and Doucet, Fast computation of Wasserstein barycenters, ICML 2014.
    .. [3] Bonneel, Rabin, Peyré and Pfister, Sliced and Radon Wasserstein barycenters of measures, JMIV 51 (2015).
    .. [4] Álvarez-Esteban, del Barrio, Cuesta-Albertos and Matrán, A fixed-point approach to barycenters in Wasserstein
       space, J. Math. Anal. Appl. 441 (2016).
    .. [5] Benamou, Carlier, Cuturi, Nenna and Peyré, Iterative Bregman projections for regularized transportation
       problems, SIAM J. Sci. Comput. 37 (2015).
    .. [6] Janati, Cuturi and Gramfort, Debiased Sinkhorn barycenters, ICML 2020.

    See Also
    --------
    kermes.clustering.KMeans : clusters around barycentres.
    kermes.clustering.KMedoids : the most central member, for any divergence.

    Examples
    --------
    >>> from kermes import Measures, divergences
    >>> from kermes.inference import barycenter
    >>> X = Measures.from_samples([[0.0, 2.0], [4.0, 10.0]])
    >>> mean = barycenter(X, divergence=divergences.Wasserstein(p=2))
    >>> mean.points.ravel()
    array([2., 6.])
    >>> barycenter(X, weights=[3, 1], divergence=divergences.Wasserstein(p=2)).points.ravel()
    array([1., 4.])
    """
    measures = as_measures(X, "X")
    divergence = SlicedWasserstein() if divergence is None else divergence
    way = _way(divergence, measures.dim)
    divergence.check(measures)
    options = {"n_atoms": n_atoms, "support": support, "init": init, "max_iter": max_iter, "tol": tol}
    given = {name for name, value in options.items() if value is not None}
    for name in sorted(given - way.options):
        takes = ", ".join(f"`{option}`" for option in sorted(way.options)) or "none"
        raise InvalidParameterError(
            f"`{name}` must be None for the barycentre of {divergence!r} in dimension {measures.dim}; options it "
            f"takes: {takes}."
        )
    if {"n_atoms", "init"} <= given:
        raise InvalidParameterError("`n_atoms` must be None if `init` is given, which has a number of atoms.")
    if isinstance(weights, Divergence):
        raise InvalidParameterError(f"`weights` must be numbers; got {weights!r}. Write barycenter(X, divergence=...).")
    require_order(X, weights=weights)
    w = _weights(weights, len(measures))
    problem = Problem(
        measures[w > 0] if (w == 0).any() else measures,
        w[w > 0],
        None if n_atoms is None else integer(n_atoms, "n_atoms", low=1),
        None if support is None else _places(support, measures.dim),
        None if init is None else _one(init, measures.dim),
        check_random_state(random_state),
        None if max_iter is None else integer(max_iter, "max_iter", low=1),
        None if tol is None else positive(tol, "tol"),
    )
    mean, info = way.solve(problem)
    if not info.converged:
        warnings.warn(
            f"the barycentre did not reach its tolerance in {info.n_iter} iterations: the error is {info.error:.1e}. "
            "Increase `max_iter` or `tol`.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return (mean, info) if return_info else mean


def objective_power(divergence: Any, dim: int) -> float:
    """Return the power q of distances whose sum the barycentre minimises; refuse a divergence that has none."""
    return _way(divergence, dim).power


class _Way(NamedTuple):
    """How to find a barycentre: the power q of distances, the solver, and the options that mean something to it."""

    power: float
    solve: Callable[[Problem], tuple[Measures, BarycenterInfo]]
    options: set[str]


def _way(divergence: Any, dim: int) -> _Way:
    """Choose the way by the divergence and the dimension; refuse a divergence that has none."""
    iterated = {"max_iter", "tol"}
    if isinstance(divergence, Sinkhorn):
        return _Way(float(divergence.power), partial(entropic, divergence=divergence), {"support"} | iterated)
    if isinstance(divergence, (Euclidean, MMD)):
        return _Way(2.0, _mixture, set())
    if isinstance(divergence, GaussianWasserstein):
        if isinstance(divergence.ground, Linear):
            return _Way(2.0, of_gaussians, iterated)
        raise InvalidParameterError(
            "a barycentre of GaussianWasserstein needs `ground` = ground.Linear(): in the feature space of "
            f"{divergence.ground!r} it is not a measure on the points."
        )
    along = isinstance(divergence, SlicedWasserstein)
    if not along and not (isinstance(divergence, Wasserstein) and isinstance(divergence.cost, EuclideanCost)):
        raise InvalidParameterError(
            "`divergence` must be Wasserstein with Euclidean cost, Sinkhorn, SlicedWasserstein, GaussianWasserstein, "
            f"Euclidean or MMD, which have barycentres here; got {divergence!r}. Sinkhorn takes other costs; "
            "clustering.KMedoids finds the most central member for any divergence."
        )
    p = float(divergence.p)
    if dim == 1:
        return _Way(p, partial(on_the_line, order=p), {"n_atoms"} | iterated)
    if p != 2:
        raise InvalidParameterError(
            f"a barycentre of moving atoms in dimension {dim} needs squared distances, p = 2; got {divergence!r}. "
            "On the line every p works."
        )
    solve = partial(sliced, divergence=divergence) if along else free_support
    return _Way(p, solve, {"n_atoms", "init"} | iterated)


def _mixture(problem: Problem) -> tuple[Measures, BarycenterInfo]:
    """Return the mean of the weights: the minimum in closed form."""
    X = problem.X
    common = common_support(X, X)
    if common.given and X.support is not None:
        return on_support(X.support, problem.weights @ dense_rows(X, *common)), EXACT
    points, inverse = np.unique(X.points, axis=0, return_inverse=True)
    pooled = np.bincount(inverse.ravel(), weights=X.probabilities * np.repeat(problem.weights, X.sizes))
    return Measures.from_samples([points], [pooled]), EXACT


def _weights(weights: ArrayLike | None, n: int) -> FloatArray:
    if weights is None:
        return np.full(n, 1.0 / n)
    refuse_masked(weights, "weights")
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise InvalidParameterError(
            f"`weights` must hold {n} finite numbers of at least 0, one per measure, not all 0; got {weights!r}."
        )
    w = w / w.max()
    return np.asarray(w / w.sum())


def _places(support: ArrayLike, dim: int) -> FloatArray:
    points = np.asarray(support.points if isinstance(support, Support) else support, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    sound = points.ndim == 2 and points.shape[1] == dim and len(points) and np.isfinite(points).all()
    if not sound or len(np.unique(points, axis=0)) < len(points):
        raise InvalidParameterError(
            f"`support` must hold distinct finite points of dimension {dim}, (m, {dim}); got shape {points.shape}."
        )
    return np.ascontiguousarray(points)


def _one(init: Any, dim: int) -> Measures:
    measures = as_measures(init if isinstance(init, Measures) else [init], "init")
    if len(measures) != 1 or measures.dim != dim:
        raise UnsuitableDataError(
            f"`init` must be one measure in dimension {dim}; got {len(measures)} in dimension {measures.dim}."
        )
    return measures
