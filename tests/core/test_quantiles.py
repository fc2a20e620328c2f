"""Means of quantile functions over cells, against sums over many levels."""

import numpy as np
import pytest

from kermes import Measures
from kermes.core.transport.quantiles import cell_means
from kermes.divergences._wasserstein_routes import Line


def by_levels(values, weights, levels, steps):
    """Means and loss at the midpoints of equal parts of (0, 1): exact if all jumps and levels are ends of parts."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order]) / weights.sum()
    t = (np.arange(steps) + 0.5) / steps
    Q = values[order][np.searchsorted(cumulative, t)]
    cell = np.searchsorted(levels, t)
    means = np.array([Q[cell == c].mean() for c in range(len(levels))])
    return means, ((Q - means[cell]) ** 2).mean()


@pytest.mark.parametrize("levels", [[1.0], [0.25, 0.5, 0.75, 1.0], [0.05, 0.1, 1.0]])
def test_means_and_loss(levels):
    rng = np.random.default_rng(0)
    sizes = [1, 4, 7, 2]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x = rng.normal(size=(3, offsets[-1])).round(1)
    cuts = [np.sort(rng.choice(np.arange(1, 40), n - 1, replace=False)) for n in sizes]
    weights = np.concatenate([np.diff(c, prepend=0, append=40) for c in cuts])  # fortieths: so are all jumps
    levels = np.array(levels)
    out, rest = np.empty((4, 3, len(levels))), np.empty(4)
    cell_means(x, weights.astype(np.float64), offsets, levels, out, rest)
    widths = np.diff(levels, prepend=0.0)
    for i in range(4):
        atoms, loss = slice(offsets[i], offsets[i + 1]), 0.0
        for row in range(3):
            means, lost = by_levels(x[row, atoms], weights[atoms], levels, 40)
            np.testing.assert_allclose(out[i, row], np.sqrt(widths) * means, atol=1e-13)
            loss += lost
        np.testing.assert_allclose(rest[i], loss, atol=1e-13)


def test_levels_of_many_atoms_do_not_drift():
    """A sum of 2^14 rounded weights is the exact one to its last bits: plain sums of 0.1 are 1e-13 off."""
    n = 2**14
    points = np.arange(float(n))
    X = Measures.from_samples([points, points], [np.full(n, 0.1), np.ones(n)])
    route = Line(1.0)
    A, rows = route.prepare(X), np.arange(2)
    assert route.tile(A, A, rows, rows, False).values[0, 1] == 0.0
