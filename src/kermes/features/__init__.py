"""Maps from measures to vectors, whose inner products or distances stand for kernels or distances of measures.

``_kernel`` Wasserstein features of any kernel · ``_mixture`` semigroup mixtures · ``_quantile`` W_2 on the line and
sliced · ``_fourier`` MMD · ``_linear_transport`` W_2 by plans from a reference; the last three are linear in the
number of measures, and ``_base`` has what they share: fits on streams, maps in batches · ``_codebook`` histograms over
atoms that all measures share · ``_summaries`` the baselines: moments, shares of clusters. Imports ``_estimator``,
``kernels`` and everything below. Start reading at ``_quantile``.
"""

from __future__ import annotations

from .._names import public_dir
from ._codebook import Codebook
from ._fourier import RandomFourierFeatures
from ._kernel import KernelFeatures
from ._linear_transport import LinearTransportFeatures
from ._mixture import MixtureFeatures
from ._quantile import QuantileFeatures, SlicedFeatures
from ._summaries import ClusterShares, MomentFeatures

__all__ = [
    "ClusterShares",
    "Codebook",
    "KernelFeatures",
    "LinearTransportFeatures",
    "MixtureFeatures",
    "MomentFeatures",
    "QuantileFeatures",
    "RandomFourierFeatures",
    "SlicedFeatures",
]
__dir__ = public_dir(__all__)
