"""Labelled measures from and to files: tables, cells, arrays, IDX files, folders of images.

``_data`` what a file gives, ``read`` and ``write`` by the kind of file · ``_tables`` long tables, ``_choice`` which of
their columns are read, ``_text`` those written as text, ``_delimited`` text for Arrow, ``_parquet`` Parquet,
``_batches`` some measures at a time · ``_h5ad`` cells, and back to AnnData, ``_fcs`` cells of cytometry · ``_arrays``
``.npy``, ``.npz``, IDX and folders of images. Imports ``measures`` and ``datasets``. Start reading at ``_data``.
"""

from __future__ import annotations

from .._atomic import whole
from .._names import public_dir
from ._batches import batches
from ._data import Data, is_table, kind, read, write
from ._h5ad import to_anndata

__all__ = ["Data", "batches", "is_table", "kind", "read", "to_anndata", "whole", "write"]
__dir__ = public_dir(__all__)
