"""Pictures of measures, matrices, clusters and models, with matplotlib (extra ``plot``), imported at the first picture.

Displays follow scikit-learn: ``Display.from_...(...)`` computes and draws, ``.plot(ax)`` draws again, ``ax_`` and
``figure_`` are where. Nothing is shown. The functions are short forms of the displays of their files and return axes
or a figure. ``_heatmap`` · ``_gram`` · ``_spectrum`` · ``_dendrogram`` · ``_transport`` · ``_eigenfunctions`` ·
``_pca`` · ``_ternary`` · ``_map`` · ``_contributions``; ``_display``, ``_axes`` and ``_classes`` have
what they share. Imports ``inspection`` and everything below.
"""

from __future__ import annotations

from ._contributions import ContributionsDisplay
from ._dendrogram import DendrogramDisplay, dendrogram
from ._eigenfunctions import EigenfunctionsDisplay, eigenfunctions
from ._gram import GramDisplay, gram
from ._heatmap import HeatmapDisplay, heatmap
from ._map import MapDisplay
from ._pca import WeightedPCADisplay, weighted_pca
from ._spectrum import SpectrumDisplay
from ._ternary import SimplexDisplay
from ._transport import TransportPlanDisplay

__all__ = [
    "ContributionsDisplay",
    "DendrogramDisplay",
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
