"""Data to try things on: labelled images, synthetic measures, simulated CT slices, functions on the simplex.

Nothing is downloaded at import. ``load_digits`` works everywhere; the other loaders read a folder given
as ``path`` or by the environment variable ``KERMES_DATA``.
"""

from __future__ import annotations

from ._dental import Slices, make_dental_ct
from ._images import Images, load_digits, load_mnist, load_quickdraw, load_usps, read_idx
from ._simplex import SIMPLEX_PROBLEMS, SimplexProblem, simplex_problem
from ._synthetic import Synthetic, make_diracs, make_location_scale, make_translates
from ._texture import TEXTURE_FEATURES, glcm_features, texture_features

__all__ = [
    "SIMPLEX_PROBLEMS",
    "TEXTURE_FEATURES",
    "Images",
    "SimplexProblem",
    "Slices",
    "Synthetic",
    "glcm_features",
    "load_digits",
    "load_mnist",
    "load_quickdraw",
    "load_usps",
    "make_dental_ct",
    "make_diracs",
    "make_location_scale",
    "make_translates",
    "read_idx",
    "simplex_problem",
    "texture_features",
]
