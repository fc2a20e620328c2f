"""Annotated cells in ``.h5ad`` files, through h5py alone: cells are read in pieces, and only what is used.

Results go back to AnnData, one observation for each measure.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import as_distances, needed, require_order
from .._foreign import decoding, require_file, require_memory, require_room
from .._typing import AnyArray, ArrayLike
from .._values import refuse_rounded
from ..exceptions import InvalidMeasureError, InvalidParameterError
from ..measures import Measures
from ..measures._anndata import gene_index, pack_cells, pick_matrix
from ..measures._columns import empty_cells, require_column
from ..measures._frame import Wanted, groups
from ._data import Data

FILTERS = {None, "gzip", "lzf"}
#: How a collection of strings begins.
HEAP = b"GCOL\x01\x00\x00\x00"


def read(path: Path, wanted: Wanted, use: str) -> Data:
    """Read one measure for each value of the column ``by`` of obs; its coordinates are the columns of a matrix."""
    h5py = needed("h5py", "cells", "Reading .h5ad files")
    require_file(path)
    with decoding(path, "annotated cells"), h5py.File(path, "r") as file:
        _check_heaps(file, path)
        _check(file, path)
        obs = file["obs"]
        names = dict.fromkeys(_column_order(obs))
        if wanted.by is None:
            raise InvalidParameterError(
                f"{path.name!r} holds cells: `by` (--by) must name the column of obs that identifies the measures, one "
                f"of {', '.join(names)}."
            )
        genes, wanted = wanted.columns, wanted._replace(columns=())
        for name in wanted.names:
            require_column(names, name)
        columns = {name: _column(obs, name) for name in dict.fromkeys(wanted.names)}
        keys, codes, constants = groups([columns], wanted)
        mass = None
        if wanted.weights is not None:
            values, gaps = columns[wanted.weights]
            if values.dtype.kind not in "biuf":
                raise InvalidMeasureError(f"the column {wanted.weights!r} of obs must hold numbers to give weights.")
            refuse_rounded(values[~gaps], f"the column {wanted.weights!r}", InvalidMeasureError)
            mass = np.where(gaps, np.nan, values.astype(np.float64))
        layers, obsm = (dict(file[name]) if name in file else {} for name in ("layers", "obsm"))
        item = pick_matrix(use, {"X": file.get("X")}, layers, obsm)
        matrix, reduced = _matrix(item), item is obsm.get(use)
        if matrix.shape[0] != len(codes):
            raise ValueError(f"{item.name!r} has {matrix.shape[0]:,} rows for {len(codes):,} cells in obs")
        coordinates = (
            [f"{use}{i}" for i in range(matrix.shape[1])] if reduced else _genes(file["var"], matrix, item.name)
        )
        index = None
        if genes is not None:
            try:
                index = gene_index(genes, coordinates, reduced)
            except InvalidMeasureError as error:
                raise InvalidMeasureError(f"{path.name}: {error}") from None
            coordinates = [coordinates[i] for i in index]
        packed = pack_cells(matrix, index, codes, keys, mass)
    return Data.of_columns(packed, wanted, constants, coordinates, "cells")


def _check_heaps(file: Any, path: Path) -> None:
    """Refuse collections of strings in which the HDF5 library would turn in circles, deaf to Ctrl-C.

    They begin with ``HEAP`` and their size; each object has its number, its size and its bytes, in steps of 8 bytes.
    Number 0 is free space, whose size counts itself: one of size 0 never ends.
    """
    if file.id.get_create_plist().get_sizes() != (8, 8):
        raise ValueError("its addresses do not have 8 bytes; write it anew")
    with open(path, "rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(HEAP)
        while start >= 0:
            place, end = start + 16, start + int.from_bytes(content[start + 8 : start + 16], "little")
            while place + 16 <= min(end, len(content)):
                number, size = struct.unpack_from("<HxxxxxxQ", content, place)
                if number == 0 and size == 0:
                    raise ValueError(f"the strings at byte {start} are damaged")
                place += size if number == 0 else 16 + -(-size // 8) * 8
            start = content.find(HEAP, start + 1)


def _check(file: Any, path: Path) -> None:
    """Refuse a file that names other files, has filters that are no part of HDF5, or would expand too far."""
    import h5py

    size, seen = 0, set()

    def visit(group: Any) -> None:
        nonlocal size
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{name!r} is a link to somewhere else")
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:  # under another name; groups in groups would multiply
                continue
            seen.add(address)
            if isinstance(item, h5py.Group):
                visit(item)
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise ValueError(f"{name!r} keeps its values in another file")
                if item.compression not in FILTERS:
                    raise ValueError(f"{name!r} is compressed by a method other than gzip and lzf; write it anew")
                if item.dtype.kind == "O" and item.size and item.id.get_offset() is not None:
                    _check_lengths(item, path)
                size += item.size * item.dtype.itemsize if item.size else 0

    visit(file)
    if size > path.stat().st_size:  # compressed, or never written
        require_room(path, size)


def _check_lengths(item: Any, path: Path) -> None:
    """Refuse strings that are longer than their file: the HDF5 library takes the memory before it looks for them."""
    reference = np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")])
    lengths = np.fromfile(path, reference, item.size, offset=item.id.get_offset())["length"]
    if len(lengths) < item.size or lengths.max() > path.stat().st_size:
        raise ValueError(f"a string of {item.name!r} is longer than the file")


def _column_order(obs: Any) -> list[str]:
    if not hasattr(obs, "keys"):
        raise ValueError("its obs is of an old layout; write it anew with a newer version of anndata")
    given = [str(name) for name in obs.attrs.get("column-order", [])]
    return [name for name in given if name in obs] or [name for name in obs if name != obs.attrs.get("_index")]


def _column(obs: Any, name: str) -> tuple[AnyArray, AnyArray]:
    """Return the values of a column of obs, and where there is none."""
    item = obs[name]
    if not hasattr(item, "keys"):
        if "categories" in item.attrs:
            raise ValueError("its obs is of an old layout; write it anew with a newer version of anndata")
        values = _strings(item)
        gaps = np.zeros(len(values), dtype=bool)
    elif "categories" in item:
        codes = np.asarray(item["codes"][:], dtype=np.int64)
        categories = _strings(item["categories"])
        gaps = codes < 0
        if len(codes) and not -1 <= codes.min() <= codes.max() < len(categories):
            raise ValueError(f"the codes of the column {name!r} have no categories")
        values = categories[np.where(gaps, 0, codes)] if len(categories) else np.full(len(codes), None, dtype=object)
    else:  # nullable integers, booleans and strings
        values, gaps = _strings(item["values"]), np.asarray(item["mask"][:], dtype=bool)
    return values, empty_cells(values, gaps)


def _strings(item: Any) -> AnyArray:
    """Return a 1-D dataset; text as an object array of strings. Names may be strings with a mask, that hides none."""
    if hasattr(item, "keys"):
        if np.any(item["mask"][:]):
            raise ValueError(f"{item.name!r} has gaps")
        item = item["values"]
    values = item.asstr()[:] if item.dtype.kind in "OS" else item[:]
    if values.ndim != 1:
        raise ValueError(f"{item.name!r} is not a column")
    return np.asarray(values)


def _genes(var: Any, matrix: Any, name: str) -> list[str]:
    """Return the names of the genes, one for each column of a matrix."""
    genes: list[str] = _strings(var[var.attrs["_index"]]).tolist()
    if matrix.shape[1] != len(genes):
        raise ValueError(f"{name!r} has {matrix.shape[1]:,} columns for {len(genes):,} names in var")
    return genes


def _matrix(item: Any) -> Any:
    """Return something with a shape whose rows can be sliced."""
    if not hasattr(item, "keys"):
        if len(item.shape) != 2:
            raise ValueError(f"{item.name!r} is not a matrix")
        return item
    kind = item.attrs.get("encoding-type", "")
    if kind == "dataframe":
        table = [_column(item, name) for name in _column_order(item)]
        if not table or any(values.dtype.kind not in "biuf" for values, _ in table):
            raise ValueError(f"{item.name!r} is a table of other things than numbers")
        return np.column_stack([np.where(gaps, np.nan, values.astype(np.float64)) for values, gaps in table])
    if kind == "csr_matrix":
        return SparseRows(item)
    if kind == "csc_matrix":
        from scipy import sparse

        require_memory(16 * item["data"].size, "the sparse matrix", "write it by rows: adata.X = adata.X.tocsr()")
        parts = tuple(item[name][:] for name in ("data", "indices", "indptr"))
        matrix = sparse.csc_matrix(parts, shape=tuple(item.attrs["shape"]))
        matrix.check_format()
        return matrix
    raise ValueError(f"{item.name!r} is stored as {kind or 'something unknown'}, not as a matrix")


class SparseRows:
    """A sparse matrix on disk by rows; slices are read a part at a time."""

    def __init__(self, group: Any) -> None:
        self._data, self._indices = group["data"], group["indices"]
        self._starts = np.asarray(group["indptr"][:], dtype=np.int64)
        self.shape = tuple(int(n) for n in group.attrs["shape"])
        n, stored = self.shape[0], self._data.shape
        sound = len(self._starts) == n + 1 and self._starts[0] == 0 and (np.diff(self._starts) >= 0).all()
        if not sound or stored != self._indices.shape or stored != (self._starts[-1],):
            raise ValueError(f"the parts of the sparse matrix {group.name!r} do not fit together")

    def __getitem__(self, rows: slice) -> Any:
        from scipy import sparse

        starts = self._starts[rows.start : rows.stop + 1]
        first, last = int(starts[0]), int(starts[-1])
        parts = self._data[first:last], self._indices[first:last], starts - first
        block = sparse.csr_matrix(parts, shape=(len(starts) - 1, self.shape[1]))
        block.check_format()
        return block


def to_anndata(
    X: Measures | Data,
    *,
    distances: ArrayLike | Mapping[str, ArrayLike] | None = None,
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    columns: Sequence[str] | None = None,
) -> Any:
    """Return an AnnData with a row for each measure (donor, sample, well).

    ``X`` of it has the mean of each coordinate (pseudo-bulk), ``obs`` the number of atoms, the mass, the labels and the
    metadata, ``obsp`` the distances.

    Parameters
    ----------
    X : Measures or Data
    distances : array of shape (n, n), or several by name
        Become ``obsp["distances"]``, or what they are called.
    labels : array of shape (n,), or several by name
        Such as clusters; become ``obs["label"]``, or what they are called. Those of ``Data`` by default.
    columns : list of str, optional
        Names of the coordinates; those of ``Data``, or x0, x1, ... by default.

    Examples
    --------
    >>> from kermes import files, pairwise, divergences
    >>> data = files.read("cells.h5ad", by="donor", use="X_pca", label="arm")  # doctest: +SKIP
    >>> D = pairwise(data.measures, divergence=divergences.SlicedWasserstein())  # doctest: +SKIP
    >>> files.to_anndata(data, distances=D).write("donors.h5ad")  # doctest: +SKIP
    """
    data = X if isinstance(X, Data) else Data(X)
    require_order(data.measures, labels=labels)
    anndata, pd = (needed(name, "anndata", "Making an AnnData", "anndata") for name in ("anndata", "pandas"))
    measures = data.measures
    n = len(measures)
    obs: dict[str, Any] = {"n_atoms": measures.sizes, "mass": measures.masses, **data.metadata}
    given = data.labels if labels is None else labels
    if given is not None:
        obs |= given if isinstance(given, Mapping) else {"label": given}
    for name, values in obs.items():
        if np.shape(values) != (n,):
            raise InvalidParameterError(
                f"`{name}` has shape {np.shape(values)}; give one value for each of {n} measures."
            )
    tables = {} if distances is None else distances if isinstance(distances, Mapping) else {"distances": distances}
    obsp = {name: as_distances(table, name) for name, table in tables.items()}
    for name, table in obsp.items():
        if len(table) != n:
            raise InvalidParameterError(f"`{name}` has shape {table.shape} for {n} measures.")
    names = list(columns or data.columns or (f"x{i}" for i in range(measures.dim)))
    return anndata.AnnData(
        measures.expectation(measures.points),
        obs=pd.DataFrame(obs, index=pd.Index(map(str, data.keys), name=data.by)),
        var=pd.DataFrame(index=names),
        obsp=obsp,
    )
