"""The stored form of a collection: three packed arrays, its support, its name across processes, equal measures."""

from __future__ import annotations

import hashlib
import itertools
import math
import multiprocessing
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import InvalidMeasureError

_own_process: str | None = None
#: Probabilities that agree up to this fraction are equal: weights with another total, or the parts of a split atom, are
#: rounded in other ways (about 1e-16 times the root of the number of atoms), and no data are known to 12 digits.
ROUNDING = 1e-12
#: Shadows of equal measures agree up to this fraction: ``ROUNDING`` and that of sums of a million atoms.
NEARBY = 1e-9
#: Atoms whose shadows are computed at a time.
SHADOWED = 1 << 18


@dataclass(frozen=True, eq=False)
class Origin:
    """Which ``rows`` of which ``root`` collection of ``size`` measures, of which ``process``, measures are.

    Names only, which identify measures wherever they are sent: what processes share by them is the engine's business.
    """

    process: str
    root: str
    size: int
    rows: IndexArray


def objects(values: Iterable[Any]) -> AnyArray:
    """Return an array of these objects: the form in which scikit-learn carries measures."""
    listed = list(values)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def own_process() -> str | None:
    """Return the name of this process, which starts with its number.

    None in a process that another one started: it may end without the chance to remove anything, so that nothing is
    kept under its name.
    """
    global _own_process
    if multiprocessing.parent_process() is not None:
        return None
    if _own_process is None:
        _own_process = f"{os.getpid()}-{uuid.uuid4().hex}"
    return _own_process


@dataclass(frozen=True, eq=False, repr=False)
class Support:
    """A finite set of points that all measures of a collection share.

    Parameters
    ----------
    points : ndarray of shape (m, d)
        Distinct points.
    shape : tuple of int or None
        ``(h, w)`` when the points are the pixels of a grid in row-major order.
    spacing : float
        Distance between neighbouring pixels of that grid.
    """

    points: FloatArray
    shape: tuple[int, int] | None = None
    spacing: float = 1.0

    def __repr__(self) -> str:
        grid = "" if self.shape is None else ", {} x {} pixels".format(*self.shape)
        return f"Support({len(self.points)} points in dimension {self.points.shape[1]}{grid})"

    def is_sound(self, dim: int) -> bool:
        """Whether these are finite points of dimension ``dim``, and those of the grid if there is one."""
        points, shape, spacing = self.points, self.shape, self.spacing
        sound = points.dtype == np.float64 and points.ndim == 2 and points.shape[1] == dim
        if not sound or shape is None:
            return sound and bool(np.isfinite(points).all())
        fits = 0 < spacing < math.inf and len(points) == math.prod(shape)
        return fits and self.equals(Support.grid(shape, float(spacing)))

    @classmethod
    def grid(cls, shape: tuple[int, int], spacing: float) -> Support:
        """Return the pixels of a grid, ``spacing`` apart."""
        return cls(np.ascontiguousarray(np.indices(shape).reshape(2, -1).T * spacing), shape, spacing)

    def equals(self, other: Support) -> bool:
        """Whether both list the same points in the same order."""
        return self is other or np.array_equal(self.points, other.points)


@dataclass(frozen=True, eq=False)
class Packed:
    """Measure i owns the atoms ``offsets[i]:offsets[i + 1]`` of ``points`` and ``weights``.

    ``atoms`` holds the index of each atom in ``support`` when the collection has a shared one.
    ``keys`` names the measures (the groups of a table). All arrays are read-only.
    """

    points: FloatArray
    weights: FloatArray
    offsets: IndexArray
    support: Support | None = None
    atoms: IndexArray | None = None
    keys: AnyArray | None = field(default=None)
    #: What other processes know these measures as, once they were sent to one or came from one.
    origin: Origin | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for array in (self.points, self.weights, self.offsets, self.atoms, self.keys):
            if array is not None:
                array.flags.writeable = False
        if self.support is not None:
            self.support.points.flags.writeable = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, Any]:
        """Return what a model file keeps: the arrays, and nothing of this process."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle for another process, which is sent the names of the measures too."""
        return object.__new__, (Packed,), self.__getstate__() | {"origin": self.identify()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what a file or another process holds; arrays that do not fit would be read out of bounds."""
        Packed.__init__(self, **{name: value for name, value in state.items() if name != "origin"})
        object.__setattr__(self, "origin", state.get("origin"))
        try:  # an origin names a folder; it comes from another process only, and no file holds one
            sound = self.is_sound() and isinstance(self.origin, Origin | None)
        except (AttributeError, TypeError, ValueError):  # no arrays at all, no shape of a grid
            sound = False
        if not sound:
            raise InvalidMeasureError("stored measures are damaged: their arrays do not fit together.")

    def identify(self) -> Origin | None:
        """Return what other processes know these measures as, from now on; None in a process that has no name.

        A process that was started by another one keeps the names it was sent; any other one gives names of its own to
        measures of which it does not have the root.
        """
        own = own_process()
        if own is not None and (self.origin is None or self.origin.process != own):
            object.__setattr__(self, "origin", Origin(own, uuid.uuid4().hex, len(self), np.arange(len(self))))
        return self.origin

    def named(self, origin: Origin | None, rows: IndexArray) -> Packed:
        """Return the same measures under the names of ``rows`` of an origin."""
        renamed = replace(self)
        object.__setattr__(renamed, "origin", None if origin is None else replace(origin, rows=origin.rows[rows]))
        return renamed

    def is_sound(self) -> bool:
        """Whether the arrays are what compiled code relies on: types, shapes, offsets, the support, the names."""
        points, weights, offsets, atoms, support = self.points, self.weights, self.offsets, self.atoms, self.support
        keys = np.empty(len(self)) if self.keys is None else self.keys
        sound = (
            points.dtype == weights.dtype == np.float64 and offsets.dtype == np.int64
            and points.ndim == 2 and weights.shape == (len(points),)
            and offsets.ndim == 1 and len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(points)
            and bool((np.diff(offsets) >= 0).all())
            and keys.shape == (len(self),) and keys.dtype.kind in "biufUSMm"
        )  # fmt: skip
        if not sound or (atoms is None and support is None):
            return sound
        if atoms is None or support is None or not support.is_sound(points.shape[1]):
            return False
        inside = atoms.dtype == np.int64 and atoms.shape == weights.shape
        inside = inside and atoms.min() >= 0 and atoms.max() < len(support.points)
        return bool(inside) and np.array_equal(support.points[atoms], points)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all that a distance may depend on; equal data give equal fingerprints in every process."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(str(self.points.shape).encode())
        arrays: list[AnyArray | None] = [self.points, self.weights, self.offsets]
        if self.support is not None:
            arrays += [self.support.points, self.atoms]
        for array in arrays:
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
        if self.support is not None:  # two grids of other shapes may have equal points
            grid = None if self.support.shape is None else tuple(map(int, self.support.shape))
            digest.update(f"{len(self.support.points)} {grid} {float(self.support.spacing)}".encode())
        return digest.hexdigest()

    @cached_property
    def first_twins(self) -> IndexArray:
        """For each measure the first row that is the same probability measure, (n,)."""
        _, first, which = np.unique(twin_numbers(self)[0], return_index=True, return_inverse=True)
        return first[which]

    def take(self, rows: IndexArray) -> Packed:
        """Return the measures ``rows`` as packed arrays of their own; rows in a row share memory with these."""
        index: AnyArray | slice
        if len(rows) and (np.diff(rows) == 1).all():
            start, stop = self.offsets[rows[0]], self.offsets[rows[-1] + 1]
            index, offsets = slice(start, stop), self.offsets[rows[0] : rows[-1] + 2] - start
        else:
            index, offsets = ragged.gather_index(self.offsets, rows)
        return replace(self.part(index, offsets), keys=None if self.keys is None else self.keys[rows])

    def part(self, index: AnyArray | slice, offsets: IndexArray) -> Packed:
        """Return the atoms ``index`` (a mask, numbers, or a slice), which ``offsets`` give to as many measures."""
        atoms = None if self.atoms is None else self.atoms[index]
        return replace(self, points=self.points[index], weights=self.weights[index], offsets=offsets, atoms=atoms)


def canonical(packed: Packed) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Return points, probabilities and offsets: atoms in lexicographic order, repeated ones added up, no -0.0."""
    points, weights, owner = packed.points + 0.0, packed.weights, ragged.owners(packed.offsets)
    if not _in_order(points, owner):
        order = np.lexsort((*points.T[::-1], owner))
        points, weights = points[order], weights[order]
    new = np.ones(len(points), dtype=bool)
    new[1:] = (points[1:] != points[:-1]).any(axis=1) | (owner[1:] != owner[:-1])
    sums = np.add.reduceat(weights, np.flatnonzero(new))
    offsets = ragged.compress(new, packed.offsets)
    return points[new], sums / np.repeat(ragged.segment_sums(sums, offsets), np.diff(offsets)), offsets


def _in_order(points: FloatArray, owner: IndexArray) -> bool:
    """Whether the atoms of each measure are in lexicographic order, as bins and pixels are."""
    rising, tied = owner[1:] > owner[:-1], owner[1:] == owner[:-1]
    for x in points.T:
        rising |= tied & (x[1:] > x[:-1])
        tied &= x[1:] == x[:-1]
    return bool((rising | tied).all())


def twin_numbers(*collections: Packed) -> list[IndexArray]:
    """Return numbers for the measures of all collections, equal where the probability measures are.

    Equal means the same points, exactly, and probabilities within ``ROUNDING``. Canonical forms, which cost more than
    the distances of some divergences, are compared for those measures only whose shadow another one has.
    """
    ends = np.cumsum([len(packed) for packed in collections])[:-1]
    near = _have_neighbours(np.concatenate([_shadows(packed) for packed in collections]))
    numbers = np.arange(len(near))
    if near.any():
        parts = [
            packed.take(np.flatnonzero(mark)) for packed, mark in zip(collections, np.split(near, ends), strict=True)
        ]
        numbers[near] = len(near) + _canonical_numbers(parts)
    return np.split(numbers, ends)


def _shadows(packed: Packed) -> FloatArray:
    """Return a number for each measure that is the same for equal ones: the mean of sum_k r_k |x_k|, r_k > 0 random.

    No term is negative, so that it has its digits whatever the order of the atoms. A few coordinates k do: reading 300
    of them took a seventh of the time of linear MMD.
    """
    direction = np.random.default_rng(0).uniform(0.5, 1.5, min(packed.points.shape[1], 8))
    shadows = np.empty(len(packed))
    step = max(1, SHADOWED * len(packed) // max(1, len(packed.points)))
    for first in range(0, len(packed), step):
        offsets = packed.offsets[first : first + step + 1]
        atoms = slice(offsets[0], offsets[-1])
        weights = packed.weights[atoms]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = weights * (np.abs(packed.points[atoms, : len(direction)]) @ direction)
            sums = (ragged.segment_sums(part, offsets - offsets[0]) for part in (values, weights))
            shadows[first : first + step] = np.divide(*sums)
    return shadows


def _have_neighbours(values: FloatArray) -> AnyArray:
    """Return which values another one equals up to ``NEARBY``; those that are not finite count."""
    order = np.argsort(values)
    with np.errstate(invalid="ignore"):
        close = ~(np.diff(values[order]) > NEARBY * values[order][1:])
    near = np.zeros(len(values), dtype=bool)
    near[order[1:]] |= close
    near[order[:-1]] |= close
    return near


def _canonical_numbers(collections: list[Packed]) -> IndexArray:
    """Return the numbers of all their measures, one collection after the other.

    Candidates are found by a digest of their points and a projection of their probabilities: equal measures are
    neighbours in that order.
    """
    points, weights, sizes = (
        np.concatenate(part)
        for part in zip(*((p, w, np.diff(o)) for p, w, o in map(canonical, collections)), strict=True)
    )
    offsets = ragged.offsets_of(sizes)
    names: dict[bytes, int] = {}
    places = (hashlib.blake2b(points[i:j].tobytes(), digest_size=16).digest() for i, j in itertools.pairwise(offsets))
    place = np.array([names.setdefault(name, len(names)) for name in places])
    direction = np.random.default_rng(0).random(int(sizes.max()))
    shadow = ragged.segment_sums(weights * direction[np.arange(len(weights)) - np.repeat(offsets[:-1], sizes)], offsets)
    order = np.lexsort((shadow, place))
    near = (np.diff(place[order]) == 0) & (np.diff(shadow[order]) <= ROUNDING)
    for k in np.flatnonzero(near):
        p, q = (weights[offsets[i] : offsets[i + 1]] for i in order[k : k + 2])
        near[k] = (np.abs(p - q) <= ROUNDING * np.maximum(p, q)).all()
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(~near)])
    return numbers
