"""Which measures are equal as probabilities, however they are written."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ._packed import Packed

#: Probabilities that agree up to this fraction are equal: weights with another total, or the parts of a split atom, are
#: rounded in other ways (about 1e-16 times the root of the number of atoms), and no data are known to 12 digits.
ROUNDING = 1e-12


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

    Equal means the same points, exactly, and probabilities within ``ROUNDING``. Candidates are found by a digest of
    their points and a projection of their probabilities: equal measures are neighbours in that order.
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
    return np.split(numbers, np.cumsum([len(packed) for packed in collections])[:-1])
