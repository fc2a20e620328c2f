"""Pictures of measures, Gram matrices and clusters, with matplotlib (extra ``plot``), imported at the first picture.

Every function draws on the axes it is given, or makes a figure; none shows it. ``_eigenfunctions`` · ``_pca`` ·
``_gram`` · ``_dendrogram`` · ``_heatmap`` · ``_regret``; ``_axes`` and ``_classes`` have what they share. Imports
``diagnostics`` and everything below.
"""

from __future__ import annotations

from ._dendrogram import dendrogram
from ._eigenfunctions import eigenfunctions
from ._gram import gram
from ._heatmap import heatmap
from ._pca import weighted_pca
from ._regret import regret

__all__ = ["dendrogram", "eigenfunctions", "gram", "heatmap", "regret", "weighted_pca"]
