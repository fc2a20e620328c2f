"""Collections of measures, and the one edge where input is checked.

``_packed`` the stored form, names across processes, equal measures · ``_build`` raw input to packed arrays, with every
rule; of long tables ``_frame`` (rows in any order by ``_gather``, their ``_columns`` as arrays), of columns of lists
``_lists``, of annotated cells ``_anndata`` · ``_collection``, with its ``_constructors``, and ``_measure`` what users
hold · ``_convert`` ``as_measures`` · ``_pandas`` columns of data frames, ``_mixed`` measures beside numbers ·
``_chunks`` streams in chunks · ``_quantize`` and ``_thinning`` fewer atoms · ``_mean`` the mean of two · ``_io`` files
· ``_html`` notebooks.
Imports ``core`` and small modules beside it only. Start reading at ``_collection``.
"""

from __future__ import annotations

from .._names import public_dir
from ._chunks import chunks
from ._collection import Measures
from ._convert import as_measures
from ._mean import mean_measure
from ._measure import Measure
from ._packed import Support

__all__ = ["Measure", "Measures", "Support", "as_measures", "chunks", "mean_measure"]
__dir__ = public_dir(__all__)
