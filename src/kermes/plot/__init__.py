"""Pictures of measures and Gram matrices, with matplotlib (extra ``plot``), which is imported at the first picture.

Every function draws on the axes it is given, or makes a figure; none shows it. ``_eigenfunctions`` · ``_pca`` ·
``_gram``; ``_axes`` has what they share. Imports ``diagnostics`` and everything below.
"""

from __future__ import annotations

from ._eigenfunctions import eigenfunctions
from ._gram import gram
from ._pca import weighted_pca

__all__ = ["eigenfunctions", "gram", "weighted_pca"]
