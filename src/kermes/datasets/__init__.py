"""Data to try things on: labelled images, real measures, synthetic measures.

Nothing is downloaded at import. ``_images``: ``load_digits`` works everywhere; the other loaders of images read a
folder given as ``path`` or by the environment variable ``KERMES_DATA`` · ``_geomstats``, ``_aeon``, ``_wells``: data
that ship inside other packages, which the extra ``data`` installs and which are not imported; ``_labelled``: what they
return · ``_study``: a simulated study · ``_synthetic``: measures whose distances are known.
"""

from __future__ import annotations

from .._names import public_dir
from ._aeon import load_appliances, load_vowels
from ._geomstats import load_cells, load_muscles
from ._images import Images, find_folder, load_digits, load_mnist, load_quickdraw, load_usps, read_idx
from ._labelled import LabelledMeasures
from ._study import Study, make_study
from ._synthetic import Synthetic, make_diracs, make_location_scale, make_translates
from ._wells import load_wells

__all__ = [
    "Images",
    "LabelledMeasures",
    "Study",
    "Synthetic",
    "find_folder",
    "load_appliances",
    "load_cells",
    "load_digits",
    "load_mnist",
    "load_muscles",
    "load_quickdraw",
    "load_usps",
    "load_vowels",
    "load_wells",
    "make_diracs",
    "make_location_scale",
    "make_study",
    "make_translates",
    "read_idx",
]
__dir__ = public_dir(__all__)
