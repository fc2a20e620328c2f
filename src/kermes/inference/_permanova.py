"""PERMANOVA, and the trend test: which share of the distances do factors or a number explain?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._checks import choice, require_order
from .._typing import FloatArray
from ..exceptions import DegenerateDataWarning, UnsuitableDataError
from ._model import basis, gower, permutation_test
from ._permutations import Permutations
from ._result import PermutationTest, Term
from ._study import Column, Study, as_columns, as_number, read_study


def permanova(
    X: Any,
    groups: Any,
    divergence: Any = None,
    blocks: Any = None,
    n_permutations: int = 9999,
    random_state: Any = None,
    *,
    units: Any = None,
    covariates: Any = None,
    sums: str = "marginal",
    keep_distribution: bool = False,
    engine: Any = None,
) -> PermutationTest:
    r"""Test whether groups of measures have different centres: permutational multivariate analysis of variance.

    .. math:: F = \frac{SS_A / (a - 1)}{SS_W / (n - a)}, \qquad
              SS_W = \sum_g \frac1{n_g} \sum_{i < j \in g} d_{ij}^2, \qquad SS_A = SS_T - SS_W

    for a groups; :math:`SS_T = \frac1n \sum_{i < j} d_{ij}^2`.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes; ndarray of shape (n, n) if ``divergence`` is 'precomputed'
        The measures, or the distances between them.
    groups : array of shape (n,), or table of such columns
        The group of each measure. A table (mapping or data frame) has a column for each factor. An interaction is a
        column of combined labels.
    divergence : Divergence, 'precomputed' or None
        The distance; sliced Wasserstein by default.
    blocks : array of shape (n,), optional
        Measures are exchanged within blocks only (site, batch, donor seen before and after), and differences between
        blocks are removed before groups are compared.
    n_permutations : int
        Random permutations. If there are no more distinct ones, all are used.
    random_state : int, Generator or None
        Seed of the permutations.
    units : array of shape (n,), optional
        Where several measures are of one unit (donor, cage, slide) and the *units* were assigned to the groups:
        each unit is replaced by the centroid of its measures, and units are permuted.
    covariates : array of shape (n,), or table, optional
        Numbers (age) or labels (sex) that are fitted before the groups.
    sums : 'marginal' or 'sequential'
        Several factors: each beside all others, or each after those before it in the table.
    keep_distribution : bool
        Keep the permuted statistics.
    engine : Engine, optional
        How distances are computed.

    Returns
    -------
    PermutationTest
        ``statistic`` is F, ``effect_size`` is :math:`R^2 = SS_A / SS_T`. Of several factors these are of all together,
        and ``terms`` has each.

    Notes
    -----
    *Null hypothesis*: the measures of a block (all of them by default) are exchangeable between the groups.
    *Assumptions*: independent measures (or units); a difference of spread is also found, above all if the smaller
    groups spread more, so look at :func:`dispersion` beside. The permutation test is exact without covariates and for
    one factor; otherwise residuals of the other terms are permuted, which is exact for many measures.
    Any symmetric distance will do; it need not be Euclidean. Under the null hypothesis :math:`R^2` is about
    :math:`(a - 1) / (n - 1)`, not 0.
    *Cost*: :math:`O(m n^2 (a - 1))` for m permutations, as matrix products.

    References
    ----------
    Anderson, M. J. (2001). A new method for non-parametric multivariate analysis of variance. Austral Ecology 26.
    McArdle, B. H. and Anderson, M. J. (2001). Fitting multivariate models to community data: a comment on
    distance-based redundancy analysis. Ecology 82.
    Freedman, D. and Lane, D. (1983). A nonstochastic interpretation of reported significance levels. Journal of
    Business & Economic Statistics 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, inference
    >>> rng = np.random.default_rng(0)
    >>> arm = ["drug"] * 8 + ["placebo"] * 8
    >>> X = Measures.from_samples([rng.normal(1.5 * (a == "drug"), 1, size=20) for a in arm])
    >>> inference.permanova(X, arm, divergences.Wasserstein(), random_state=0)
    PERMANOVA: statistic(1, 14) = 77.26, R^2 = 0.847, p = 0.0002 (9999 random permutations)
    """
    choice(sums, "sums", ["marginal", "sequential"])
    require_order(X, groups=groups, covariates=covariates, blocks=blocks, units=units)
    study = read_study(
        X, divergence, as_columns(groups, "groups"), covariates=covariates, blocks=blocks, units=units, engine=engine
    )
    return analysed("PERMANOVA", study, n_permutations, random_state, sums, keep_distribution)


def trend(
    X: Any,
    values: Any,
    divergence: Any = None,
    blocks: Any = None,
    n_permutations: int = 9999,
    random_state: Any = None,
    *,
    units: Any = None,
    covariates: Any = None,
    keep_distribution: bool = False,
    engine: Any = None,
) -> PermutationTest:
    r"""Test whether measures move with a number (age, dose, time): distance-based regression.

    .. math:: F = \frac{q^T G q}{(\operatorname{tr} G - q^T G q) / (n - 2)}

    with the Gower matrix G of the squared distances and the standardised number q.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes; ndarray of shape (n, n) if ``divergence`` is 'precomputed'
    values : array of shape (n,)
        The number of each measure.
    divergence, blocks, n_permutations, random_state, units, covariates, keep_distribution, engine
        As in :func:`permanova`.

    Returns
    -------
    PermutationTest
        ``effect_size`` is the share of the sum of squared distances that a straight line explains.

    Notes
    -----
    *Null hypothesis*: the numbers are exchangeable between the measures of a block. *Assumptions*: independent
    measures (or units). It looks for a line in the space of principal coordinates: a number whose two ends are alike
    and differ from its middle is not found; pass classes of it to :func:`permanova` then. The partial Mantel test, for
    the same question, rejects true null hypotheses too often (Guillot and Rousset 2013) and is not offered.
    *Cost*: :math:`O(m n^2)` for m permutations.

    References
    ----------
    McArdle, B. H. and Anderson, M. J. (2001). Fitting multivariate models to community data: a comment on
    distance-based redundancy analysis. Ecology 82.
    Guillot, G. and Rousset, F. (2013). Dismantling the Mantel tests. Methods in Ecology and Evolution 4.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, inference
    >>> rng = np.random.default_rng(0)
    >>> dose = np.arange(12)
    >>> X = Measures.from_samples([rng.normal(0.1 * d, 1, size=30) for d in dose])
    >>> inference.trend(X, dose, divergences.Wasserstein(), random_state=0).p_value < 0.01
    True
    """
    require_order(X, values=values, covariates=covariates, blocks=blocks, units=units)
    study = read_study(
        X,
        divergence,
        {"values": as_number(values, "values")},
        covariates=covariates,
        blocks=blocks,
        units=units,
        engine=engine,
    )
    return analysed("trend", study, n_permutations, random_state, "marginal", keep_distribution)


def analysed(
    name: str,
    study: Study,
    n_permutations: int,
    random_state: Any,
    sums: str,
    keep: bool,
    unit: float | None = None,
) -> PermutationTest:
    """Return the test of all factors together, and of each if there are several.

    The statistic is F, or with ``unit`` the sum of squares in this unit.
    """
    G = gower(study.squared)
    permutations = study.permutations(n_permutations, random_state)
    fixed = _extend(study.fixed, study.covariates)
    whole = permutation_test(G, fixed, _added(fixed, study.tested, len(G)), np.zeros((len(G), 0)), permutations)
    warn_if_alike(name, whole.alike)
    several = len(study.tested) > 1
    terms = tuple(_term(G, fixed, study.tested, i, permutations, sums) for i in range(len(study.tested) * several))
    statistic, distribution = whole.F, whole.distribution
    if unit is not None:
        statistic, distribution = unit * whole.sum_of_squares, unit * whole.sums
    return PermutationTest(
        name,
        statistic,
        whole.p_value,
        permutations.number,
        permutations.exhaustive,
        whole.share,
        whole.df,
        terms,
        distribution=distribution if keep else None,
    )


def warn_if_alike(name: str, alike: bool) -> None:
    """Warn if no permutation changes the statistic: the data say nothing."""
    if alike:
        warnings.warn(
            f"{name}: every permutation gives the same statistic, so that p = 1. Are all distances equal, or equal "
            "within blocks?",
            DegenerateDataWarning,
            stacklevel=4,
        )


def _term(
    G: FloatArray, fixed: FloatArray, columns: tuple[Column, ...], i: int, permutations: Permutations, sums: str
) -> Term:
    """Test one factor beside the others, or after those before it."""
    others = columns[:i] + (columns[i + 1 :] if sums == "marginal" else ())
    before = _extend(fixed, others)
    own = _added(before, columns[i : i + 1], len(G))
    after = np.zeros((len(G), 0)) if sums == "marginal" else _basis_of(np.column_stack([before, own]), columns[i + 1 :])
    found = permutation_test(G, before, own, after, permutations)
    return Term(columns[i].name, found.df[0], found.F, found.p_value, found.share, found.partial_share)


def _basis_of(given: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    return basis(np.column_stack([np.zeros((len(given), 0)), *(column.columns for column in columns)]), given)


def _extend(given: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    """Return the orthonormal basis of ``given`` and the columns."""
    return np.column_stack([given, _basis_of(given, columns)])


def _added(given: FloatArray, columns: tuple[Column, ...], n: int) -> FloatArray:
    """Return a basis of what the columns add; refuse columns that add nothing, or leave no residual."""
    own = _basis_of(given, columns)
    names = " and ".join(column.name for column in columns)
    if not own.shape[1]:
        raise UnsuitableDataError(
            f"{names} is determined by the other factors, covariates or blocks, and cannot be told apart from them; "
            "leave one of them out. A factor that is constant within blocks needs `units` instead of `blocks`."
        )
    if n - given.shape[1] - own.shape[1] < 1:
        raise UnsuitableDataError(
            f"the model with {names} has as many parameters as there are measures (or units); leave terms out."
        )
    return own
