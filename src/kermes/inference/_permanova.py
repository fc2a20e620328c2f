"""Which share of the distances do factors (PERMANOVA) or a number (trend) explain, or groups of other distances?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import choice, positive, real
from .._scales import median_distance
from .._typing import FloatArray
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ._columns import Column
from ._linear_model import basis, gower, permutation_test
from ._permutations import DISTANCES, PermutationTest, Term, warn_alike
from ._study import Study, read_study
from ._units import warn_of_unequal_units


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
        Numbers (age) or labels (sex) that are fitted before the groups. Columns that are declared categories are
        labels, also of numbers; numbers of type object are numbers; dates, which may be either, are refused.
    sums : 'marginal' or 'sequential'
        Several factors: each beside all others, or each after those before it in the table, whatever comes later.
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
    groups spread more, so look at :func:`dispersion` beside. Centroids of few measures scatter more than those of many:
    units of different groups should have equally many, and where the harmonic means of their numbers differ by half, a
    warning says so. The permutation test is exact without covariates and for
    one factor; otherwise residuals of the other terms are permuted, which is exact for many measures.
    Any symmetric distance will do; it need not be Euclidean. F is infinite where :math:`SS_W` is 0 or, for distances
    that are not Euclidean, negative; permutations are compared by their :math:`SS_A`, beside
    covariates and other factors by that over itself and the residual sum of squares. Under the null hypothesis
    :math:`R^2` is about :math:`(a - 1) / (n - 1)`, not 0.
    The F of sequential terms is over the residuals of the model up to and with each. Over those of the whole model, as
    elsewhere, it is no permutation test of the earlier terms: permutations destroy what later factors explain, the
    observed labels do not, and 27 % of true null hypotheses were rejected at 5 % beside a later factor that matters.
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
    options = {"covariates": covariates, "blocks": blocks, "units": units, "engine": engine}
    study = read_study(X, divergence, "groups", groups, **options)
    return _analysed("PERMANOVA", study, n_permutations, random_state, keep_distribution, sums)


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
    values : array of shape (n,)
        The number of each measure. Dates and durations are numbers, whose unit does not matter.
    X, divergence, blocks, n_permutations, random_state, units, covariates, keep_distribution, engine
        As in :func:`permanova`.

    Returns
    -------
    PermutationTest
        ``effect_size`` is the share of the sum of squared distances that a straight line explains.

    Notes
    -----
    *Null hypothesis*: the numbers are exchangeable between the measures of a block. *Assumptions*: independent
    measures (or units; where those with values far from the mean have fewer measures, their centroids scatter more and
    trends are found too often: a warning says so if the mean of 1 / number of measures, with the squared distances of
    the values from their mean as weights, is a quarter above that of all units).
    It looks for a line in the space of principal coordinates: a number whose two ends are alike and differ from its
    middle is not found; pass classes of it to :func:`permanova` then. The partial Mantel test, for the same question,
    rejects true null hypotheses too often (Guillot and Rousset 2013) and is not offered.
    *Cost*: :math:`O(m n^2)` for m permutations.

    References
    ----------
    McArdle, B. H. and Anderson, M. J. (2001), as in :func:`permanova`.
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
    options = {"covariates": covariates, "blocks": blocks, "units": units, "engine": engine}
    study = read_study(X, divergence, "values", values, numeric=True, **options)
    return _analysed("trend", study, n_permutations, random_state, keep_distribution)


def k_sample(
    X: Any,
    groups: Any,
    divergence: Any = None,
    blocks: Any = None,
    n_permutations: int = 9999,
    random_state: Any = None,
    *,
    statistic: str = "energy",
    exponent: float = 1.0,
    length_scale: float | None = None,
    units: Any = None,
    keep_distribution: bool = False,
    engine: Any = None,
) -> PermutationTest:
    r"""Test whether groups of measures come from one distribution over measures, by energy distances or MMD.

    .. math:: T = \sum_{g < h} \frac{n_g n_h}{n} \mathcal E_{gh}, \qquad
              \mathcal E_{gh} = 2 \overline{\delta_{gh}} - \overline{\delta_{gg}} - \overline{\delta_{hh}}

    with means over all pairs of :math:`\delta = d^\alpha` ('energy'), or of :math:`\delta = 1 - \exp(-d^2 / 2 l^2)`
    ('mmd': then :math:`\mathcal E_{gh}` is the squared maximum mean discrepancy of the groups).

    Parameters
    ----------
    X, groups, divergence, blocks, n_permutations, random_state, units, keep_distribution, engine
        As in :func:`permanova`, with one factor; which centroids stand for units is in the notes.
    statistic : 'energy' or 'mmd'
    exponent : float
        The exponent alpha in (0, 2] of the energy distance. With 2, the test is :func:`permanova`.
    length_scale : float, optional
        The length l of 'mmd': the median of the positive distances by default.

    Returns
    -------
    PermutationTest
        ``statistic`` is T with the blocks removed; ``effect_size`` is its share of the total dispersion.

    Notes
    -----
    *Null hypothesis*: the measures of a block are exchangeable between the groups. Unlike PERMANOVA, which compares
    centres, it finds differences of any kind in the long run, if :math:`d^\alpha` is of strictly negative type
    (alpha < 2 for distances that embed in a Hilbert space, such as sliced Wasserstein and MMD), or the kernel of 'mmd'
    is characteristic. For any distance its p-values are exact. *Assumptions*: independent measures (or units, of
    equally many measures in all groups as in :func:`permanova`). *Units* are replaced by their centroids in the space
    where :math:`\delta` is the squared distance, so that :math:`\delta(u, v) = \overline{\delta_{uv}} - \frac12
    \overline{\delta_{uu}} - \frac12 \overline{\delta_{vv}}` with means over all pairs of their measures; for
    :math:`\alpha = 2` these are the centroids of :func:`permanova`.
    For two groups T is :math:`\frac{nm}{n + m}` times the energy distance; for more it is twice the between-sample
    component of DISCO. *Cost*: as :func:`permanova`.

    References
    ----------
    Székely, G. J. and Rizzo, M. L. (2004). Testing for equal distributions in high dimension. InterStat 5.
    Rizzo, M. L. and Székely, G. J. (2010). DISCO analysis: a nonparametric extension of analysis of variance. Annals
    of Applied Statistics 4.
    Gretton, A., Borgwardt, K. M., Rasch, M. J., Schölkopf, B. and Smola, A. (2012). A kernel two-sample test. Journal
    of Machine Learning Research 13.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, inference
    >>> rng = np.random.default_rng(0)
    >>> arm = np.repeat(["a", "b"], 10)
    >>> X = Measures.from_samples([rng.normal(rng.choice([-2, 2]) * (a == "b"), 1, size=20) for a in arm])
    >>> inference.k_sample(X, arm, divergences.Wasserstein(), random_state=0).p_value < 0.01
    True
    """
    choice(statistic, "statistic", ["energy", "mmd"])
    power = real(exponent, "exponent", low=0.0, high=2.0, open_low=True)
    power = power if statistic == "energy" else 1.0
    if statistic == "energy" and length_scale is not None:
        raise InvalidParameterError("`length_scale` has no meaning for the energy statistic; choose statistic='mmd'.")

    def one_minus_kernel(D: FloatArray) -> FloatArray:
        scale = median_distance(D) if length_scale is None else positive(length_scale, "length_scale")
        with np.errstate(over="ignore"):  # exp(-inf) = 0
            return np.asarray(-np.expm1(-0.5 * (D / scale) ** 2))

    options = {"blocks": blocks, "units": units, "engine": engine, "single": True, "power": power}
    profile = one_minus_kernel if statistic == "mmd" else None
    study = read_study(X, divergence, "groups", groups, profile=profile, **options)
    with np.errstate(over="ignore", under="ignore"):
        unit = float(np.float64(study.scale) ** power)
    if not np.finfo(np.float64).tiny <= unit <= 1e300:
        raise UnsuitableDataError(
            f"distances of {study.scale:.3g} to the power {power:g} overflow or underflow. Rescale all distances."
        )
    name = f"{'energy' if statistic == 'energy' else 'MMD'} test"
    # With delta in place of squared distances, T is twice the sum of squares between groups.
    return _analysed(name, study, n_permutations, random_state, keep_distribution, unit=2.0 * unit)


def _analysed(
    name: str,
    study: Study,
    n_permutations: int,
    random_state: Any,
    keep: bool,
    sums: str = "marginal",
    unit: float | None = None,
) -> PermutationTest:
    """Return the test of all factors together, and of each if there are several.

    The statistic is F, or with ``unit`` the sum of squares in this unit.
    """
    warn_of_unequal_units(name, study.tested, study.counts, stacklevel=3)
    G = gower(study.squared)
    permutations = study.permutations(n_permutations, random_state)
    fixed, tested = _joined(study.fixed, study.covariates), study.tested
    whole = permutation_test(G, fixed, _added(fixed, tested), permutations)
    if whole.alike:
        warn_alike(name, DISTANCES, stacklevel=4)
    terms = []
    for i, column in enumerate(tested if len(tested) > 1 else ()):
        before = _joined(fixed, tested[:i] + (tested[i + 1 :] if sums == "marginal" else ()))
        found = permutation_test(G, before, _added(before, (column,)), permutations)
        terms.append(Term(column.name, found.df[0], found.F, found.p_value, found.share, found.partial_share))
    statistic, distribution = whole.F, whole.distribution
    if unit is not None:
        statistic, distribution = unit * whole.sum_of_squares, unit * whole.sums
    used, kept = (permutations.number, permutations.exhaustive), distribution if keep else None
    return PermutationTest(
        name, statistic, whole.p_value, *used, whole.share, whole.df, tuple(terms), distribution=kept
    )


def _basis_of(given: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    return basis(np.column_stack([np.zeros((len(given), 0)), *(column.columns for column in columns)]), given)


def _joined(given: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    return np.column_stack([given, _basis_of(given, columns)])


def _added(given: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    """Return a basis of what the columns add; refuse columns that add nothing, or leave no residual."""
    own = _basis_of(given, columns)
    names = " and ".join(column.name for column in columns)
    if not own.shape[1]:
        raise UnsuitableDataError(
            f"{names} is determined by the other factors, covariates or blocks, and cannot be told apart from them; "
            "leave one of them out. A factor that is constant within blocks needs `units` instead of `blocks`."
        )
    if len(given) - given.shape[1] - own.shape[1] < 1:
        raise UnsuitableDataError(
            f"the model with {names} has as many parameters as there are measures (or units); leave terms out."
        )
    return own
