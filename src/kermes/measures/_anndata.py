"""Annotated cells (AnnData, in memory or backed) to packed arrays; nothing of the package anndata is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import guess
from .._foreign import require_memory
from .._typing import AnyArray, IndexArray
from .._values import refuse_rounded
from ..exceptions import InvalidMeasureError, InvalidParameterError
from ._build import pack
from ._columns import cells, numbers, require_column, require_numbers
from ._frame import Wanted, groups
from ._gather import gather
from ._packed import Packed

#: Bytes of coordinates that are expanded at a time.
BLOCK = 1 << 25


def from_anndata(adata: Any, by: str, use: str, genes: Sequence[str] | None, weights: str | None) -> Packed:
    """Pack the cells of each group of ``by``."""
    for name in ("obs", "X", "layers", "obsm", "var_names"):
        if not hasattr(adata, name):
            raise InvalidMeasureError(
                f"`adata` must be an AnnData; got {type(adata).__name__}. For a file: kermes.files.read(path, by=...)."
            )
    obs, wanted = nw.from_native(adata.obs, eager_only=True), Wanted(by, weights=weights)
    for name in wanted.names:
        require_column(obs.schema, name)
    mass = None
    if weights is not None:
        require_numbers(obs.schema, weights)
        mass = numbers(obs[weights])
    keys, codes, _ = groups([{by: cells(obs[by])}], wanted)
    matrix = pick_matrix(use, {"X": adata.X}, adata.layers, adata.obsm)
    index = None if genes is None else gene_index(genes, list(adata.var_names), use in adata.obsm)
    return pack_cells(matrix, index, codes, keys, mass)


def pick_matrix(use: str, *places: Mapping[str, Any]) -> Any:
    """Return the matrix of this name; two of one name are refused, unless one is X itself."""
    found = [place[use] for place in places if use in place and place[use] is not None]
    if len(found) > 1 and use != "X":
        raise InvalidParameterError(
            f"`use` is ambiguous: {use!r} is the name of a layer and of a key of obsm. Rename one."
        )
    if found:
        return found[0]
    known = [name for place in places for name in place if place[name] is not None]
    raise InvalidParameterError(f"`use` must be one of {', '.join(known) or 'none'}; got {use!r}.{guess(use, known)}")


def gene_index(genes: Sequence[str], known: Sequence[str], of_cells: bool) -> IndexArray:
    """Return the columns of the genes."""
    names = [genes] if isinstance(genes, str) else list(genes)
    if of_cells or not names:
        raise InvalidParameterError("`genes` (--columns) names columns of X or of a layer, at least one of them.")
    place = {name: i for i, name in enumerate(known)}
    for name in names:
        if name not in place:
            raise InvalidMeasureError(
                f"there is no gene {name!r} among the {len(known)} variables.{guess(name, known)}"
            )
        if (first := known.index(name)) < place[name]:
            raise InvalidMeasureError(
                f"two variables have the name {name!r}, numbers {first} and {place[name]} (counting from 0); rename "
                "one of them, or all with adata.var_names_make_unique()."
            )
    return np.array([place[name] for name in names], dtype=np.int64)


def pack_cells(
    matrix: Any, index: IndexArray | None, codes: IndexArray, keys: AnyArray, mass: AnyArray | None
) -> Packed:
    """Pack the rows of a matrix, dense, sparse or on disk, of which some columns are wanted."""
    n, width = matrix.shape
    if n != len(codes):
        raise InvalidMeasureError(f"the matrix has {n} rows for {len(codes)} cells.")
    dim = width if index is None else len(index)
    require_memory(
        8 * n * dim, f"{n:,} cells in {dim:,} dimensions", "name some genes, or use a reduction such as 'X_pca'"
    )
    if getattr(matrix, "format", None) == "csc" and hasattr(matrix, "tocsr"):  # rows of it would be slow to get
        matrix, index = (matrix if index is None else matrix[:, index]).tocsr(), None
    return pack(*gather(codes, len(keys), _blocks(matrix, index, mass), dim), keys=keys, copy=False)


def _blocks(matrix: Any, index: IndexArray | None, mass: AnyArray | None) -> Iterator[tuple[AnyArray, AnyArray | None]]:
    n, width = matrix.shape
    step = max(1, BLOCK // (8 * max(width, 1)))
    rows = matrix.iloc if hasattr(matrix, "iloc") else matrix
    for start in range(0, n, step):
        block = rows[start : start + step]
        if index is not None:
            block = block[:, index]
        block = np.asarray(block.toarray() if hasattr(block, "toarray") else block)
        if block.dtype.kind not in "biuf":
            raise InvalidMeasureError(f"the matrix must hold real numbers; got {block.dtype}.")
        refuse_rounded(block, "the matrix", InvalidMeasureError)
        yield block, None if mass is None else mass[start : start + step]
