"""Data to try things on: labelled images, real measures, synthetic measures.

Nothing is downloaded at import. ``_images``: ``load_digits`` works everywhere; the other loaders of images read a
folder given as ``path`` or by the environment variable ``KERMES_DATA`` · ``_packaged``: data that ship inside other
packages · ``_synthetic``: measures whose distances are known, and a simulated study.
Start reading at ``_images``.
"""

from __future__ import annotations

from .._names import public_dir
from ._images import Images, find_folder, load_digits, load_mnist, load_quickdraw, load_usps, read_idx
from ._packaged import LabelledMeasures, load_appliances, load_cells, load_muscles, load_vowels, load_wells
from ._synthetic import Study, Synthetic, make_diracs, make_location_scale, make_study, make_translates

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
