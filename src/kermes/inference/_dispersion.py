"""Do groups spread differently around their centres?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError
from ._model import basis, gower, indicators, permutation_test
from ._permanova import warn_if_alike
from ._result import PermutationTest
from ._study import as_columns, read_study


def dispersion(
    X: Any,
    groups: Any,
    divergence: Any = None,
    blocks: Any = None,
    n_permutations: int = 9999,
    random_state: Any = None,
    *,
    units: Any = None,
    keep_distribution: bool = False,
    engine: Any = None,
) -> PermutationTest:
    r"""Test whether groups of measures spread equally around their centroids (PERMDISP).

    .. math:: z_i^2 = \frac{n_g}{n_g - 1} \Big( \frac1{n_g} \sum_{j \in g} d_{ij}^2
              - \frac1{2 n_g^2} \sum_{j, k \in g} d_{jk}^2 \Big)

    is the squared distance of measure i of group g to the centroid of its group in principal coordinates; the
    statistic is the F of an analysis of variance of the :math:`z_i`.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes; ndarray of shape (n, n) if ``divergence`` is 'precomputed'
    groups : array of shape (n,)
        The group of each measure.
    divergence, blocks, n_permutations, random_state, units, keep_distribution, engine
        As in :func:`permanova`. Blocks restrict the permutations and are removed from the :math:`z_i`, not from the
        distances.

    Returns
    -------
    PermutationTest
        ``groups`` has the mean distance to the centroid of each group.

    Notes
    -----
    *Null hypothesis*: the distances to the centroids are exchangeable between groups. *Assumptions*: independent
    measures (or units). The factor n_g / (n_g - 1) makes small groups comparable with large ones: their centroids lie
    nearer to their own members. As centroids are estimated, the test is approximate for groups of a few members.
    Negative squared distances, which distances that are not Euclidean may have, count as 0.
    *Cost*: :math:`O(n^2 + m n^2)` for m permutations.

    References
    ----------
    Anderson, M. J. (2006). Distance-based tests for homogeneity of multivariate dispersions. Biometrics 62.
    Stier, A. C., Geange, S. W., Hanson, K. M. and Bolker, B. M. (2013). Predator density and timing of arrival affect
    reef fish community assembly. Ecology 94: the factor for small groups.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, inference
    >>> rng = np.random.default_rng(0)
    >>> arm = np.repeat(["calm", "wild"], 10)
    >>> X = Measures.from_samples([rng.normal(rng.normal(0, 1 + 4 * (a == "wild")), 1, size=20) for a in arm])
    >>> inference.dispersion(X, arm, divergences.Wasserstein(), random_state=0)
    dispersion: statistic(1, 18) = 5.897, R^2 = 0.247, p = 0.0216 (9999 random permutations)
      calm: 0.8306
      wild: 2.506
    """
    columns = as_columns(groups, "groups")
    if len(columns) != 1:
        raise InvalidParameterError(f"`groups` must be one factor; got {', '.join(columns)}. Test one after the other.")
    study = read_study(X, divergence, columns, blocks=blocks, units=units, engine=engine)
    (factor,) = study.tested
    z = to_centroids(gower(study.squared), factor.codes)
    centred = z - z.mean()
    if np.abs(centred).max() <= 1e-12 * z.max():  # equal up to rounding
        centred[:] = 0.0
    permutations = study.permutations(n_permutations, random_state)
    fixed = study.fixed
    own = basis(indicators(factor.codes), fixed)
    found = permutation_test(np.outer(centred, centred), fixed, own, np.zeros((len(z), 0)), permutations)
    warn_if_alike("dispersion", found)
    assert factor.levels is not None
    means = {level: float(study.scale * z[factor.codes == k].mean()) for k, level in enumerate(factor.levels.tolist())}
    return PermutationTest(
        "dispersion",
        found.F,
        found.p_value,
        permutations.number,
        permutations.exhaustive,
        found.share,
        found.df,
        groups=means,
        distribution=found.distribution if keep_distribution else None,
    )


def to_centroids(G: FloatArray, codes: IndexArray) -> FloatArray:
    """Return the distance of each row to the centroid of its group, adjusted for the size of the group."""
    Z = indicators(codes)
    counts = Z.sum(axis=0)
    inner = G @ Z / counts  # <x_i, c_g>
    norms = np.einsum("ig,ig->g", Z, inner) / counts  # <c_g, c_g>
    squared = np.diagonal(G) - 2.0 * inner[np.arange(len(G)), codes] + norms[codes]
    squared[squared < 1e-14 * np.abs(np.diagonal(G)).max()] = 0.0  # rounding, or not Euclidean
    return np.asarray(np.sqrt(squared * (counts / (counts - 1))[codes]))
