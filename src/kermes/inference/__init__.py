"""From distances to conclusions: permutation tests on groups of measures, and on two measures.

``_permanova`` do centres differ, do measures move with a number, does anything differ · ``_dispersion`` does spread
differ · ``_pairs`` every pair of groups · ``_two_sample`` two clouds. Behind them: ``_study`` reads and
checks, with ``_columns`` (factors and numbers) and ``_units`` (donors of several measures), ``_linear_model`` has the F
of many permutations at a time, ``_permutations`` rearranges and says what was found.
Means: ``_barycenter`` the barycentre of measures under a divergence, by iterated projections on a common support
(``_barycenter_entropic``), or free of one (``_barycenter_free``): quantile functions, atoms that move, covariances.

Imports ``_estimator``, ``engine`` and what is below. Start reading at ``_permanova``.
"""

from __future__ import annotations

from .._names import public_dir
from ._barycenter import barycenter
from ._barycenter_free import BarycenterInfo
from ._dispersion import dispersion
from ._pairs import holm, pairwise_tests
from ._permanova import k_sample, permanova, trend
from ._permutations import PairwiseTests, PermutationTest, Term
from ._two_sample import two_sample

__all__ = [
    "BarycenterInfo",
    "PairwiseTests",
    "PermutationTest",
    "Term",
    "barycenter",
    "dispersion",
    "holm",
    "k_sample",
    "pairwise_tests",
    "permanova",
    "trend",
    "two_sample",
]
__dir__ = public_dir(__all__)
