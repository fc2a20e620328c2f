"""Data to try things on: labelled images and synthetic measures.

Nothing is downloaded at import. ``load_digits`` works everywhere; the other loaders read a folder given
as ``path`` or by the environment variable ``KERMES_DATA``.
"""

from __future__ import annotations

from ._images import Images, find_folder, load_digits, load_mnist, load_quickdraw, load_usps, read_idx
from ._study import Study, make_study
from ._synthetic import Synthetic, make_diracs, make_location_scale, make_translates

__all__ = [
    "Images",
    "Study",
    "Synthetic",
    "find_folder",
    "load_digits",
    "load_mnist",
    "load_quickdraw",
    "load_usps",
    "make_diracs",
    "make_location_scale",
    "make_study",
    "make_translates",
    "read_idx",
]
