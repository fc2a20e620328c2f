"""Ragged collections packed as (points, weights, offsets): measure i owns atoms offsets[i]:offsets[i + 1]."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray


class Rows(NamedTuple):
    """Measures as sparse vectors: sorted distinct atom numbers and their probabilities."""

    ids: IndexArray
    weights: FloatArray
    offsets: IndexArray


def gather_index(offsets: IndexArray, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the atoms of the measures ``rows``, in that order, and their new offsets."""
    starts = offsets[rows]
    sizes = offsets[rows + 1] - starts
    new_offsets = offsets_of(sizes)
    # Position inside its own measure, plus where that measure starts in the source.
    atoms = np.arange(new_offsets[-1]) + np.repeat(starts - new_offsets[:-1], sizes)
    return atoms, new_offsets


def offsets_of(sizes: IndexArray) -> IndexArray:
    """Return the offsets (n + 1,) of consecutive segments of these sizes."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def owners(offsets: IndexArray) -> IndexArray:
    """Return for every atom the number of the measure that owns it."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def segment_sums(values: FloatArray, offsets: IndexArray) -> FloatArray:
    """Return the sum of ``values`` over each segment; empty segments give 0."""
    sizes = np.diff(offsets)
    sums = np.zeros(len(sizes))
    filled = sizes > 0
    if filled.any():
        # reduceat over non-empty starts only: it would repeat a value for an empty segment.
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return sums


def compress(keep: np.ndarray, offsets: IndexArray) -> IndexArray:
    """Return the offsets after the atoms where ``keep`` is False are dropped."""
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    return kept_before[offsets].astype(np.int64)
