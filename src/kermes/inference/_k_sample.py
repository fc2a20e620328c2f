"""Are groups of measures drawn from one distribution? Energy and MMD tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import choice, positive, real, require_order
from .._scales import median_distance
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ._permanova import analysed
from ._result import PermutationTest
from ._study import as_columns, distances_of, read_study


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
    X : Measures, or anything ``as_measures`` takes; ndarray of shape (n, n) if ``divergence`` is 'precomputed'
    groups : array of shape (n,)
        The group of each measure.
    divergence, blocks, n_permutations, random_state, units, keep_distribution, engine
        As in :func:`permanova`.
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
    is characteristic. For any distance its p-values are exact. *Assumptions*: independent measures (or units).
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
    real(exponent, "exponent", low=0.0, high=2.0, open_low=True)
    require_order(X, groups=groups, blocks=blocks, units=units)
    columns = as_columns(groups, "groups")
    if len(columns) != 1:
        raise InvalidParameterError(f"`groups` must be one factor; got {', '.join(columns)}. Test one after the other.")
    D = distances_of(X, divergence, engine)
    power = exponent
    if statistic == "mmd":
        scale = median_distance(D) if length_scale is None else positive(length_scale, "length_scale")
        with np.errstate(over="ignore"):  # exp(-inf) = 0
            D, power = -np.expm1(-0.5 * (D / scale) ** 2), 1.0
    elif length_scale is not None:
        raise InvalidParameterError("`length_scale` has no meaning for the energy statistic; choose statistic='mmd'.")
    study = read_study(D, "precomputed", columns, blocks=blocks, units=units, power=power)
    name = f"{'energy' if statistic == 'energy' else 'MMD'} test"
    with np.errstate(over="ignore", under="ignore"):
        unit = float(np.float64(study.scale) ** power)
    if not np.finfo(np.float64).tiny <= unit <= 1e300:
        raise UnsuitableDataError(
            f"distances of {study.scale:.3g} to the power {power:g} are no numbers. Divide all distances by one."
        )
    # With delta in place of squared distances, T is twice the sum of squares between groups.
    return analysed(name, study, n_permutations, random_state, "marginal", keep_distribution, 2.0 * unit)
