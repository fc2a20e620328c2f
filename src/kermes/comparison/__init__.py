"""Many kernels and distances on one labelled data set, judged by nested cross-validation.

::

    compare -> candidates (_auto, or given) -> matrices, each pair once (_views)
                                                   |
            Comparison <- scores <- folds (_folds) x search on submatrices (_search)

``_compare`` the run · ``_candidate`` what is compared · ``_auto`` the candidates for the data at hand · ``_learners``
the learners on matrices · ``_budget`` time limits · ``_model`` a candidate as an estimator on measures · ``_result``
the leaderboard. Imports ``estimators``, ``definiteness`` and everything below. Start reading at ``_compare``.
"""

from __future__ import annotations

from ._auto import auto_candidates
from ._candidate import Candidate
from ._compare import compare
from ._model import CandidateModel
from ._report import Report
from ._result import Comparison, ComparisonInterrupted, OutOfFold, Row

__all__ = [
    "Candidate",
    "CandidateModel",
    "Comparison",
    "ComparisonInterrupted",
    "OutOfFold",
    "Report",
    "Row",
    "auto_candidates",
    "compare",
]
