"""Tests of every pair of groups, and Holm's correction for the number of them."""

from __future__ import annotations

import itertools
import warnings
from math import prod
from typing import Any

import numpy as np

from .._checks import as_labels, choice, require_order
from .._typing import ArrayLike, FloatArray
from .._values import refuse_masked
from ..exceptions import DegenerateDataWarning, InvalidParameterError, UnsuitableDataError
from ._columns import as_columns, rows_of, table_of
from ._dispersion import dispersion
from ._permanova import k_sample, permanova
from ._permutations import PairwiseTests, PermutationTest, as_generator
from ._study import distances_of

TESTS = {"permanova": permanova, "dispersion": dispersion, "k_sample": k_sample}


def pairwise_tests(
    X: Any,
    groups: Any,
    divergence: Any = None,
    blocks: Any = None,
    n_permutations: int = 9999,
    random_state: Any = None,
    *,
    test: str = "permanova",
    units: Any = None,
    covariates: Any = None,
    engine: Any = None,
    **options: Any,
) -> PairwiseTests:
    """Test every pair of groups, with p-values adjusted by Holm's method.

    Parameters
    ----------
    X, groups, divergence, blocks, n_permutations, random_state, units, engine
        As in :func:`permanova`, with one factor; distances are computed once for all pairs.
    covariates : array of shape (n,), or table, optional
        As in :func:`permanova`, for that test only. One that is the same for all measures of a pair explains nothing
        there and is left out.
    test : 'permanova', 'dispersion' or 'k_sample'
    **options
        Further parameters of the test, such as ``statistic='mmd'``.

    Returns
    -------
    PairwiseTests

    Notes
    -----
    *Assumptions*: those of the test; Holm's method holds for p-values that depend on each other in any way. A pair that
    never meets in a block cannot be tested: its p-value is 1, with a warning.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, inference
    >>> rng = np.random.default_rng(0)
    >>> arm = np.repeat(["a", "b", "c"], 8)
    >>> X = Measures.from_samples([rng.normal(2 * (a == "c"), 1, size=20) for a in arm])
    >>> print(inference.pairwise_tests(X, arm, divergences.Wasserstein(), random_state=0))
    pairs of groups, p-values adjusted by Holm's method
      a - b: statistic = 1.442, p = 0.213
      a - c: statistic = 124.6, p = 0.0008
      b - c: statistic = 109.6, p = 0.0006
    """
    run: Any = TESTS[choice(test, "test", TESTS)]
    if covariates is not None and run is not permanova:
        raise InvalidParameterError(f"`covariates` has no meaning for test={test!r}; choose test='permanova'.")
    require_order(X, groups=groups, blocks=blocks, units=units, covariates=covariates)
    D = distances_of(X, divergence, engine)
    levels, codes = as_labels(groups, "groups", len(D))
    given = {name: values for name, values in (("blocks", blocks), ("units", units)) if values is not None}
    labels = {name: as_labels(values, name, len(D))[1] for name, values in given.items()}
    table = table_of(covariates, "covariates")
    others = as_columns(covariates, "covariates", len(D), numbers=True)
    if len(levels) < 2:
        raise UnsuitableDataError(f"`groups` must have at least two groups; all measures are in group {levels[0]!s}.")
    options |= {"n_permutations": n_permutations, "random_state": as_generator(random_state)}
    pairs, found = [], []
    for a, b in itertools.combinations(range(len(levels)), 2):
        rows = np.flatnonzero((codes == a) | (codes == b))
        own: dict[str, Any] = {name: values[rows] for name, values in labels.items()}
        pairs.append(tuple(levels[[a, b]].tolist()))
        varying = [column for column in others if len(np.unique(column.codes[rows])) > 1]
        if varying:
            own["covariates"] = {column.name: rows_of(table[column.name], rows) for column in varying}
        cells = set(zip(own["blocks"].tolist(), codes[rows].tolist(), strict=True)) if "blocks" in own else set()
        if cells and len({block for block, _ in cells}) == len(cells):
            warnings.warn(
                f"groups {levels[a]!s} and {levels[b]!s} never meet in a block and cannot be compared: p = 1.",
                DegenerateDataWarning,
                stacklevel=2,
            )
            found.append(PermutationTest(test, 0.0, 1.0, 0, True))
            continue
        found.append(run(D[np.ix_(rows, rows)], levels[codes[rows]], "precomputed", **own, **options))
    adjusted = holm([result.p_value for result in found])
    return PairwiseTests(tuple(pairs), tuple(found), tuple(adjusted.tolist()))


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p-values adjusted for their number k by Holm's method.

    In ascending order they are multiplied by k, k - 1, ..., 1; none is smaller than the one before it, nor larger than
    1.

    Parameters
    ----------
    p_values : array of shape (k,) or (k, m)
        A row of a matrix holds for its m hypotheses together, such as
        :func:`~kermes.inspection.difference` returns them for coordinates. It counts once, for as long as any of its
        p-values is still to come: the order is that of all p-values.

    Returns
    -------
    ndarray of the same shape

    Notes
    -----
    *Claims*: judged at a level, the chance of rejecting any true null hypothesis is at most that. At the first false
    rejection all rows with a true hypothesis, say j, still count, so that one of them has a true hypothesis with a
    p-value of at most level / j.

    *Assumptions*: none about the dependence of the tests.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from kermes import inference
    >>> inference.holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    >>> inference.holm([[0.01, 0.3], [0.02, 0.03]])
    array([[0.02, 0.3 ],
           [0.04, 0.06]])
    """
    refuse_masked(p_values, "p_values")
    try:
        p = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):  # strings, or rows of different lengths
        p = np.array(np.nan)
    if p.ndim not in (1, 2) or not ((p >= 0) & (p <= 1)).all():
        raise InvalidParameterError(
            f"`p_values` must be a list of numbers from 0 to 1, or a matrix of them; got {p_values!r}."
        )
    order = np.argsort(p, axis=None, kind="stable")
    place = np.empty(p.size, dtype=np.int64)
    place[order] = np.arange(p.size)
    last = np.sort(place.reshape(len(p), prod(p.shape[1:])).max(axis=1, initial=-1))  # of each row
    rows_left = len(p) - np.searchsorted(last, np.arange(p.size))
    return np.minimum(np.maximum.accumulate(p.ravel()[order] * rows_left), 1.0)[place].reshape(p.shape)
