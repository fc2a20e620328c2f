"""Maps from measures to vectors, whose inner products or distances stand for kernels or distances of measures.

``_kernel`` Wasserstein features of any kernel, semigroup mixtures, random Fourier features of MMD · ``_transport`` W_2
on the line, sliced, and by plans from a reference · ``_summaries`` histograms over atoms that all measures share, and
the baselines: moments, shares of clusters. ``_base`` has what maps that are linear in the number of measures share:
fits on streams, maps in batches. Imports ``_estimator``, ``kernels`` and everything below. Start reading at
``_transport``.
"""

from __future__ import annotations

from .._names import public_dir
from ._kernel import KernelFeatures, MixtureFeatures, RandomFourierFeatures
from ._summaries import ClusterShares, Codebook, MomentFeatures
from ._transport import LinearTransportFeatures, QuantileFeatures, SlicedFeatures

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
