"""Clusterings by trying everything."""

from itertools import combinations

import numpy as np


def best_medoids(D, k):
    """Return the least sum of distances to k medoids, over all sets of k measures."""
    return min(D[list(medoids)].min(axis=0).sum() for medoids in combinations(range(len(D)), k))


def best_exchange(D, medoids):
    """Return the least sum of distances after replacing one medoid by any measure."""
    sums = []
    for i in range(len(medoids)):
        for c in range(len(D)):
            changed = [*medoids[:i], c, *medoids[i + 1 :]]
            sums.append(D[changed].min(axis=0).sum())
    return min(sums)


def agglomerate(D, linkage):
    """Return the heights of all merges and the partitions after each, merging the nearest two clusters every time.

    ``linkage`` maps the block of distances between two clusters to a number.
    """
    clusters = [[i] for i in range(len(D))]
    heights, partitions = [], []
    while len(clusters) > 1:
        pairs = list(combinations(range(len(clusters)), 2))
        values = [linkage(D[np.ix_(clusters[a], clusters[b])]) for a, b in pairs]
        a, b = pairs[int(np.argmin(values))]
        heights.append(min(values))
        clusters = [c for i, c in enumerate(clusters) if i not in (a, b)] + [sorted(clusters[a] + clusters[b])]
        partitions.append({tuple(c) for c in clusters})
    return heights, partitions
