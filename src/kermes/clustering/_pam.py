"""Partitioning around medoids; a matrix of distances in, row numbers out.

The loss of medoids M is the sum over all o of d1(o), the distance to the nearest medoid; d2(o) is the distance to the
second. Replacing medoid i by c changes the loss by

    sum_o min(D[c, o] - d1(o), 0)  +  sum_{o of i} max(min(D[c, o], d2(o)) - d1(o), 0):

all may come nearer, and those of i must go to c or to their second medoid at the worst. The first sum does not depend
on i, so the changes of all pairs (c, i) cost O(n) per candidate c (the idea of FastPAM).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray

#: Entries of a block of candidates. Larger blocks make fewer exchanges per pass, smaller ones more calls of NumPy.
BLOCK = 1 << 17
#: A smaller relative change of the loss is rounding.
ROUNDING = 1e-12


class Partition(NamedTuple):
    """The nearest medoid of each measure, and the distances to the nearest and the second."""

    labels: IndexArray
    first: FloatArray
    second: FloatArray

    @property
    def loss(self) -> float:
        """Sum of the distances to the nearest medoids."""
        return float(self.first.sum())


def partition(D: FloatArray, medoids: IndexArray) -> Partition:
    """Assign all measures; a medoid belongs to itself, so that no cluster is empty if two medoids coincide."""
    near = D[medoids]
    columns = np.arange(len(D))
    labels = near.argmin(axis=0)
    labels[medoids] = np.arange(len(medoids))
    first = near[labels, columns]
    near[labels, columns] = np.inf
    return Partition(labels, first, near.min(axis=0))


def swap(D: FloatArray, medoids: IndexArray, max_iter: int, block: int = BLOCK) -> tuple[IndexArray, int, bool]:
    """Exchange medoids until no exchange lowers the loss; return them, the passes, and whether that was reached.

    A pass looks at all candidates in blocks and makes the best exchange of each block at once, if it has any, rather
    than the best of all: as good a minimum in fewer passes (as in FasterPAM). One block is PAM itself.
    """
    medoids = medoids.copy()
    current = partition(D, medoids)
    for done in range(1, max_iter + 1):
        swapped = False
        for rows in _blocks(len(D), block):
            changes = _changes(D[rows], current)
            c, i = np.unravel_index(changes.argmin(), changes.shape)
            if changes[c, i] < -ROUNDING * current.loss:
                medoids[i] = rows.start + c
                current = partition(D, medoids)
                swapped = True
        if not swapped:
            return medoids, done, True
    return medoids, max_iter, False


def build(D: FloatArray, k: int) -> IndexArray:
    """Return medoids chosen one by one, each of which lowers the loss most (the start of PAM)."""
    medoids = [int(D.sum(axis=1).argmin())]
    first = D[medoids[0]].copy()
    while len(medoids) < k:
        blocks = [np.maximum(first - D[rows], 0.0).sum(axis=1) for rows in _blocks(len(D), BLOCK)]
        gains = np.concatenate(blocks)
        gains[medoids] = -1.0  # never twice
        medoids.append(int(gains.argmax()))
        np.minimum(first, D[medoids[-1]], out=first)
    return np.array(medoids)


def plus_plus(D: FloatArray, k: int, rng: np.random.RandomState) -> IndexArray:
    """Return medoids drawn one by one, with probabilities in proportion to the distance to the nearest so far."""
    medoids = [int(rng.randint(len(D)))]
    first = D[medoids[0]].copy()
    while len(medoids) < k:
        weights = first.copy()
        if not weights.any():  # all others coincide with medoids: any will do
            weights[:] = 1.0
        weights[medoids] = 0.0
        medoids.append(int(rng.choice(len(D), p=weights / weights.sum())))
        np.minimum(first, D[medoids[-1]], out=first)
    return np.array(medoids)


def _changes(rows: FloatArray, current: Partition) -> FloatArray:
    """Return the change of the loss for each candidate and each medoid it may replace."""
    order = np.argsort(current.labels, kind="stable")
    starts = np.flatnonzero(np.diff(current.labels[order], prepend=-1))
    first, second = current.first[order], current.second[order]
    moved = np.minimum(rows[:, order], second) - first
    gained = np.minimum(moved, 0.0).sum(axis=1)
    return np.asarray(gained[:, np.newaxis] + np.add.reduceat(np.maximum(moved, 0.0), starts, axis=1))


def _blocks(n: int, entries: int) -> Iterator[slice]:
    step = max(1, entries // n)
    return (slice(start, start + step) for start in range(0, n, step))
