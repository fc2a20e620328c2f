"""Labelled measures from and to files: tables, arrays, IDX files, folders of images.

``_data`` what a file gives, ``read`` and ``write`` by the kind of file · ``_tables`` CSV and Parquet · ``_arrays``
``.npy``, ``.npz``, IDX and folders of images. Imports ``measures`` and ``datasets``.
"""

from __future__ import annotations

from .._atomic import whole
from ._data import Data, is_table, read, write

__all__ = ["Data", "is_table", "read", "whole", "write"]
