"""Pictures of measures, matrices, clusters and models, with matplotlib (extra ``plot``), imported at the first picture.

Displays follow scikit-learn: ``Display.from_...(...)`` computes and draws, ``.plot(ax)`` draws again, on given axes or
by default on a new figure, ``ax_`` and ``figure_`` are where. Nothing is shown. The functions are short forms of the
displays of their files and return axes or a figure. ``_matrices`` · ``_dendrogram`` and maps of data sets · ``_panels``
of measures, and transport plans · ``_models`` · ``_difference``; ``_display`` has what they share. Imports
``inspection`` and everything below. Start reading at ``_display``.
"""

from __future__ import annotations

from .._names import public_dir
from ._dendrogram import DendrogramDisplay, MapDisplay, dendrogram
from ._difference import DifferenceDisplay
from ._matrices import GramDisplay, HeatmapDisplay, SpectrumDisplay, gram, heatmap
from ._models import ContributionsDisplay, SimplexDisplay
from ._panels import EigenfunctionsDisplay, TransportPlanDisplay, WeightedPCADisplay, eigenfunctions, weighted_pca

__all__ = [
    "ContributionsDisplay",
    "DendrogramDisplay",
    "DifferenceDisplay",
    "EigenfunctionsDisplay",
    "GramDisplay",
    "HeatmapDisplay",
    "MapDisplay",
    "SimplexDisplay",
    "SpectrumDisplay",
    "TransportPlanDisplay",
    "WeightedPCADisplay",
    "dendrogram",
    "eigenfunctions",
    "gram",
    "heatmap",
    "weighted_pca",
]
__dir__ = public_dir(__all__)
