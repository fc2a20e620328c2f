"""From distances to conclusions: permutation tests on groups of measures, and on two measures.

``_permanova`` do centres differ, do measures move with a number · ``_dispersion`` does spread differ · ``_k_sample``
does anything differ · ``_pairs`` every pair of groups · ``_two_sample`` two clouds. Behind them: ``_study`` reads and
checks, ``_permutations`` rearranges, ``_model`` computes F and ``_centers`` finds centres of groups, for many
permutations at a time, ``_result`` what was found.
Means: ``_barycenter`` the barycentre of measures under a divergence, with a module for each way to find it: means and
medians of quantiles (``_line``), covariances (``_gaussian``), iterated projections on a common support (``_entropic``),
atoms that move (``_moving``).

Imports ``_estimator``, ``engine`` and what is below. Start reading at ``_permanova``.
"""

from __future__ import annotations

from .._names import public_dir
from ._barycenter import BarycenterInfo, barycenter
from ._dispersion import dispersion
from ._k_sample import k_sample
from ._pairs import holm, pairwise_tests
from ._permanova import permanova, trend
from ._result import PairwiseTests, PermutationTest, Term
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
