"""Is a Gram matrix positive semidefinite, at which length scales, and what to do if it is not.

``_spectrum``: ``spectrum`` looks, ``repair`` and :class:`SpectrumRepair` act · ``_length_scale``: ``psd_length_scale``
and ``psd_curve`` search. Nothing in kermes repairs a matrix unless it is asked to. Imports ``core`` and ``_linalg``.
Start reading at ``_spectrum``.
"""

from __future__ import annotations

from .._names import public_dir
from ._length_scale import Curve, psd_curve, psd_length_scale
from ._spectrum import Spectrum, SpectrumRepair, repair, spectrum

__all__ = ["Curve", "Spectrum", "SpectrumRepair", "psd_curve", "psd_length_scale", "repair", "spectrum"]
__dir__ = public_dir(__all__)
