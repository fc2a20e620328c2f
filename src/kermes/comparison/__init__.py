"""Many kernels and distances on one labelled data set, judged by nested cross-validation: the one search.

The way of one call::

    compare(X, y)
      -> labels, task, folds, score                       _folds     outer folds, each with inner splits of its rows
      -> candidates, given or for these data              _auto, _candidate
      -> trials: sources, learner, values to try          _search
      -> for each trial, the cheapest first on a budget   _run
           views of X: the measures, or a matrix for each source, every pair once; with a preprocessing for each
             outer fold, fitted to its training rows, and again for each inner split of them
           for each outer fold: blocks of the views -> tune on the inner splits -> predict the test rows   _search
           a row: scores, choices, predictions; the matrices of the leader are kept
      -> the best candidate fitted to all samples, with the matrices kept   _model
      -> Comparison: leaderboard, predictions, distances, page              _result, _report

``CandidateModel.fit`` is the inner half of it (views, tune); ``kermes fit`` is a comparison with one candidate.
Imports ``estimators``, ``definiteness`` and everything below; the report also ``inspection``, ``clustering``,
``inference`` and ``plot``. Start reading at ``_compare``.
"""

from __future__ import annotations

from .._names import public_dir
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
__dir__ = public_dir(__all__)
