"""Permutation tests as plain loops over the formulas of the papers."""

import itertools

import numpy as np


def pseudo_f(D, labels):
    """F and R^2 of Anderson (2001): sums of squared distances within groups and in all."""
    n, groups = len(D), sorted(set(labels))
    total = sum(D[i, j] ** 2 for i in range(n) for j in range(i)) / n
    within = 0.0
    for group in groups:
        members = [i for i in range(n) if labels[i] == group]
        within += sum(D[i, j] ** 2 for i, j in itertools.combinations(members, 2)) / len(members)
    between = total - within
    return between / (len(groups) - 1) / (within / (n - len(groups))), between / total


def distinct_labelings(labels, blocks):
    """Every distinct way to deal the labels out again within blocks."""
    n = len(labels)
    rows = {b: [i for i in range(n) if blocks[i] == b] for b in set(blocks)}
    choices = [sorted(set(itertools.permutations([labels[i] for i in members]))) for members in rows.values()]
    for dealt in itertools.product(*choices):
        new = list(labels)
        for members, values in zip(rows.values(), dealt, strict=True):
            for i, value in zip(members, values, strict=True):
                new[i] = value
        yield tuple(new)


def exhaustive_p(statistic, labels, blocks):
    """The share of labelings whose statistic is at least the observed one, ties to nine digits."""
    observed = statistic(labels)
    values = [statistic(new) for new in distinct_labelings(labels, blocks)]
    return sum(value >= observed - 1e-9 * max(1.0, abs(observed)) for value in values) / len(values)


def energy(D, x, y):
    """Szekely and Rizzo's nm / (n + m) (2 mean d_xy - mean d_xx - mean d_yy)."""

    def mean(a, b):
        return sum(D[i, j] for i in a for j in b) / (len(a) * len(b))

    return len(x) * len(y) / (len(x) + len(y)) * (2 * mean(x, y) - mean(x, x) - mean(y, y))


def regression_f(Y, tested, others):
    """F of multivariate regression of rows of Y on columns: residual sums of squares with and without ``tested``."""
    n = len(Y)

    def residual(columns):
        return ((Y - columns @ np.linalg.lstsq(columns, Y, rcond=None)[0]) ** 2).sum()

    small = np.column_stack([np.ones(n), *others])
    large = np.column_stack([small, tested])
    df = np.linalg.matrix_rank(large) - np.linalg.matrix_rank(small)
    rest = n - np.linalg.matrix_rank(large)
    return (residual(small) - residual(large)) / df / (residual(large) / rest)
