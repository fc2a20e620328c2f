"""Keeps pairs on disk: which they are (manifest), which are finished (marks), and the values themselves.

A store is one Zarr group, a folder::

    zarr.json      attributes["kermes"]: the manifest
    values         d**power, in square chunks; of a symmetric matrix only those on and above the diagonal
    status         a code per pair, in the same chunks
    error          the estimated error of each value, in the same chunks, if the divergence has one
    marks          one line per batch: finished, checksum, entries without convergence

The manifest has a checksum, and holds those of the descriptions of the arrays.

A batch (a chunk, or a row of chunks) is written first and marked afterwards, each file under another name that is
then renamed. Killed at any moment, a store holds whole batches, and at worst one that is not marked, which is
computed again. Checksums show what a disk or a crash of the machine did.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._checks import choice, needed
from .._typing import AnyArray, IndexArray
from ..core import status as codes
from ..divergences import Divergence, Tile
from ..exceptions import InvalidParameterError, NumericalError, StoreError, StoreWarning
from ..measures import Measures
from . import _manifest, _tiling
from ._job import Scale
from ._memory import kept


@dataclass(frozen=True)
class Store:
    """Where an engine keeps distances on disk, and how precisely.

    Parameters
    ----------
    path : str or path
        Folder of the Zarr group, such as "d.zarr"; made if there is none, and an empty one is used. Workers of a
        cluster must see the same one.
    dtype : 'float64' or 'float32'
        Of the stored values (d**power). Single precision halves the space and keeps 7 digits; values beyond its range
        (1e38) are refused, those below 1e-45 become 0.

    Examples
    --------
    >>> from kermes import Engine
    >>> from kermes.engine import Store
    >>> Engine(store=Store("d.zarr", dtype="float32")).store.dtype
    'float32'
    """

    path: str | PathLike[str]
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, PathLike)) or not os.fspath(self.path):
            raise InvalidParameterError(f"`store` must be the path of a folder such as 'd.zarr'; got {self.path!r}.")
        if "://" in os.fspath(self.path):
            raise InvalidParameterError(
                f"`store` must be a folder; got the address {self.path!r}. Mount it, or copy the folder afterwards."
            )
        choice(self.dtype, "dtype", ["float64", "float32"])


def as_store(store: Any) -> Store:
    """Return a path as a store."""
    return store if isinstance(store, Store) else Store(store)


class Mark(NamedTuple):
    """What is known of a batch: whether it is finished, the digest of its bytes, its entries without convergence."""

    finished: int
    checksum: int
    n_unconverged: int


class StoreKeeper:
    """An open store: takes finished batches from any thread and process, and reads chunks.

    Pickles as its path. Two runs may share a store: both write the same numbers.
    """

    def __init__(self, path: str | PathLike[str], writable: bool) -> None:
        self.path = Path(path)
        self.writable = writable
        if self.path.is_file():
            raise StoreError(f"`store` must be a folder; {path} is a file. Use another path.")
        self.manifest = _manifest.read(self.path)
        self.shape: tuple[int, int] = tuple(self.manifest["shape"])
        self.symmetric: bool = self.manifest["symmetric"]  # then only the upper triangle is stored
        self.has_error: bool = self.manifest["error"]
        self.side: int = self.manifest["chunk"]
        self.scale = Scale(*self.manifest["scale"])
        #: Position of the measure whose distances each one has, of X and of Y: the first that equals it.
        self.places = [
            _moved(np.arange(size), twins)
            for size, twins in zip(self.shape, self.manifest.get("twins", ({}, {})), strict=True)
        ]
        self._verified: set[int] = set()  # batches whose checksum was compared when they were first read
        self._final: list[Mark] | None = None  # the marks, once all batches are there
        try:
            group = _zarr().open_group(_local(self.path), mode="r+" if writable else "r")
            self._arrays = {name: group[name] for name in kept(self.has_error)}
            self._marks = group["marks"]
        except (ValueError, LookupError, TypeError, FileNotFoundError) as error:
            raise _manifest.damaged(self.path / _manifest.FILE) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return StoreKeeper, (self.path, self.writable)

    @cached_property
    def batches(self) -> list[_tiling.Batch]:
        """All batches, in the order of their marks."""
        return _batches(self.manifest)

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {batch.block.corner: number for number, batch in enumerate(self.batches)}

    # -- writing --------------------------------------------------------------------------------

    def put(self, block: _tiling.Block, tile: Tile) -> None:
        """Write a batch, then mark it."""
        written = {name: _converted(getattr(tile, name), array.dtype) for name, array in self._arrays.items()}
        unconverged = written["status"] == codes.UNCONVERGED
        # Beside the square on the diagonal an entry stands for two.
        beside = unconverged[:, len(block.rows) if block.triangle else 0 :] if self.symmetric else unconverged[:0]
        n_unconverged = int(np.count_nonzero(unconverged) + np.count_nonzero(beside))
        mark = Mark(1, _checksum(written, n_unconverged), n_unconverged)
        with _reported(self.path):
            for name, array in self._arrays.items():
                array[block.place] = written[name]  # chunks of `status` without incident are not written
            self._marks[self._numbers[block.corner]] = mark

    def done(self, block: _tiling.Block) -> bool:
        """Whether a batch is marked as finished."""
        return bool(self._marks[self._numbers[block.corner]][0])

    # -- what there is --------------------------------------------------------------------------

    def marks(self) -> list[Mark]:
        """Return the marks of all batches."""
        if self._final is not None:
            return self._final
        try:
            lines = self._marks[:]
        except Exception:  # a file cut short by a crash of the machine: that batch is not marked
            lines = [self._mark(number) for number in range(len(self.batches))]
        marks = [Mark(*map(int, line)) for line in lines]
        if all(mark.finished for mark in marks):
            self._final = marks
        return marks

    def _mark(self, number: int) -> AnyArray:
        try:
            return np.asarray(self._marks[number])
        except Exception:
            return np.zeros(3, dtype=np.uint64)

    def unfinished(self) -> list[_tiling.Batch]:
        """Return the batches to compute, after comparing all others with their checksums; warn of other versions."""
        left, damaged = [], []
        for batch, mark in zip(self.batches, self.marks(), strict=True):
            if mark.finished and self._intact(batch.block, mark):
                continue
            left.append(batch)
            if mark.finished:
                with _reported(self.path):
                    self._marks[self._numbers[batch.block.corner]] = Mark(0, 0, 0)
                self._final = None
                damaged.append(batch.block.corner)
        if damaged:
            warnings.warn(
                f"{len(damaged)} of {len(self.batches)} batches of `{self.path}` do not have the checksum they were "
                f"written with, the first from entry {damaged[0]} on; they are computed anew. Is the disk all right?",
                StoreWarning,
                stacklevel=2,
            )
        for name, here in _manifest.versions().items() if left else ():
            if self.manifest[name] != here:
                warnings.warn(
                    f"`{self.path}` was begun with {name} {self.manifest[name]} and goes on with {here}; values may "
                    "differ in their last digits.",
                    StoreWarning,
                    stacklevel=2,
                )
        return left

    def n_unconverged(self) -> int:
        """Return the number of entries of the matrix whose tolerance was not reached."""
        return sum(mark.n_unconverged for mark in self.marks())

    def chunk(self, i: int, j: int, name: str) -> AnyArray:
        """Return a chunk of one of the arrays; below the diagonal, the transpose of the one above.

        Of a finished store. Batches are compared with their checksums once; a chunk that is lost later reads as NaN.
        """
        if self.symmetric and i > j:
            return self.chunk(j, i, name).T
        rows, cols = (slice(k * self.side, (k + 1) * self.side) for k in (i, j))
        number = self._numbers.get((rows.start, cols.start), i)  # where tiles are strips, batch i is row i of chunks
        if number not in self._verified and not self._intact(self.batches[number].block, self.marks()[number]):
            raise self._damaged(number)
        self._verified.add(number)
        try:
            chunk = np.asarray(self._arrays[name][rows, cols])
        except Exception as error:  # as in _intact
            raise self._damaged(number) from error
        if not np.isfinite(chunk).all():
            raise self._damaged(number)
        return chunk

    def _damaged(self, number: int) -> StoreError:
        return StoreError(
            f"the batch from entry {self.batches[number].block.corner} on of `{self.path}` is missing or damaged. "
            "pairwise(..., engine=Engine(store=...)) with the same data and divergence computes it anew."
        )

    def _intact(self, block: _tiling.Block, mark: Mark) -> bool:
        place = block.place
        try:
            there = {name: array[place] for name, array in self._arrays.items()}
            return _checksum(there, mark.n_unconverged) == mark.checksum
        except Exception:  # a file cut short: whatever Zarr makes of it
            return False

    # -- making and checking --------------------------------------------------------------------

    @classmethod
    def find(cls, store: Store, resume: bool, divergence: Divergence, X: Measures, Y: Measures) -> StoreKeeper | None:
        """Return the store of these distances; None if there is none; refuse one of something else."""
        path = Path(store.path)
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return None
        if not resume:
            raise StoreError(f"`store` {path} exists. Use resume=True to continue it, or delete it to start anew.")
        keeper = cls(path, writable=True)
        _manifest.refuse_other(keeper.manifest, _manifest.contents(store.dtype, divergence, X, Y), path)
        return keeper

    @classmethod
    def create(
        cls, store: Store, divergence: Divergence, X: Measures, Y: Measures, tile: tuple[int, int]
    ) -> StoreKeeper:
        """Return a new store, or the one that another process has made of these distances in the meantime."""
        layout = {"tile": list(tile), "chunk": _tiling.chunk_side(tile, len(X), len(Y))}
        manifest = _manifest.contents(store.dtype, divergence, X, Y) | layout
        with _reported(Path(store.path)):
            _create(Path(store.path), manifest)
        keeper = cls.find(store, True, divergence, X, Y)
        assert keeper is not None
        return keeper


def _moved(places: IndexArray, twins: dict[str, int]) -> IndexArray:
    """Return the places, with those of the keys of ``twins`` replaced by its values."""
    places[[int(k) for k in twins]] = list(twins.values())
    return places


def _batches(manifest: dict[str, Any]) -> list[_tiling.Batch]:
    """Return the batches of the whole matrix."""
    (n, m), (height, width) = manifest["shape"], manifest["tile"]
    block = _tiling.Block(np.arange(n), np.arange(m), manifest["symmetric"])
    return list(_tiling.batches(block, (height, width), manifest["chunk"]))


def _create(path: Path, manifest: dict[str, Any]) -> None:
    """Make an empty store under another name, then rename it: a folder of this name is a whole store."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        group = _zarr().create_group(_local(draft))
        # Values hardly compress, and reading is faster without. Chunks that equal `fill_value` are not written.
        layout = {"shape": tuple(manifest["shape"]), "chunks": (manifest["chunk"],) * 2, "compressors": None}
        attributes = {"content": "d**power", "power": manifest["scale"][0], "upper_triangle": manifest["symmetric"]}
        group.create_array("values", dtype=manifest["dtype"], fill_value=np.nan, attributes=attributes, **layout)
        group.create_array("status", dtype="uint8", fill_value=0, **layout)
        if manifest["error"]:
            group.create_array("error", dtype=manifest["dtype"], fill_value=np.nan, **layout)
        group.create_array(
            "marks", shape=(len(_batches(manifest)), 3), chunks=(1, 3), dtype="uint64", fill_value=0, compressors=None,
            chunk_key_encoding={"name": "v2", "separator": "."},  # one folder for all marks
        )  # fmt: skip
        group.attrs["kermes"] = _manifest.sealed(manifest, draft)
        with contextlib.suppress(OSError):
            path.rmdir()  # an empty folder
        try:
            os.rename(draft, path)
        except OSError:
            if not (path / _manifest.FILE).exists():  # another process was first
                raise
    finally:
        _remove(draft)


def _remove(draft: Path) -> None:
    """Remove a draft; again if a thread of Zarr that had begun before an error wrote to it meanwhile."""
    for pause in (0.0, 0.05, 0.2, 1.0):
        time.sleep(pause)
        shutil.rmtree(draft, ignore_errors=True)
        if not draft.exists():
            return


def _converted(values: AnyArray, dtype: Any) -> AnyArray:
    with np.errstate(over="ignore"):
        converted = values.astype(dtype)
    if not np.isfinite(converted).all():
        raise NumericalError(
            f"a value of {np.abs(values).max():.3g} (d**power) does not fit the store's float32. Use float64."
        )
    return converted


def _checksum(arrays: dict[str, AnyArray], n_unconverged: int) -> int:
    digest = hashlib.blake2b(str(n_unconverged).encode(), digest_size=8)
    for name in ("values", "status", "error"):
        if name in arrays:
            digest.update(np.ascontiguousarray(arrays[name]).data)
    return int.from_bytes(digest.digest(), "little")


@contextlib.contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into an error that says how to go on."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"`store` {path} cannot be written: {error.strerror or error}. What was finished is kept: free space or "
            "grant write permission there, then continue with the same data and divergence (--resume)."
        ) from error


def _local(path: Path) -> Any:
    """Return a folder as Zarr takes it; of a string it would read '::' as a chain of stores."""
    return _zarr().storage.LocalStore(path)


def _zarr() -> Any:
    return needed("zarr", "distributed", "A store of distances")
