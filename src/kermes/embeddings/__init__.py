"""Feature maps of measures, linear in their number: Euclidean distances of features stand for distances of measures.

``quantile`` W_2 on the line and sliced · ``fourier`` MMD · ``linear_transport`` W_2 by plans from a reference ·
``_base`` what they share: fits on streams, maps in portions. Imports ``divergences``, ``estimators._base`` and
everything below. Kernels have their own maps: ``KernelFeatures`` and ``MixtureFeatures`` in ``estimators``. Start
reading at ``quantile``.
"""

from __future__ import annotations

from .fourier import RandomFourierFeatures
from .linear_transport import LinearTransportFeatures
from .quantile import QuantileFeatures, SlicedFeatures

__all__ = ["LinearTransportFeatures", "QuantileFeatures", "RandomFourierFeatures", "SlicedFeatures"]
