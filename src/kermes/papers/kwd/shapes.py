"""Slices whose mean and variance tell nothing: 25 numbers of equal moments, of one hump or of two.

Not a model of CT slices. It asks whether the contrast of the paper, methods with a point kernel against methods
without, appears where it must if anywhere. Made before the four methods were run on it, and not changed since.
"""

from __future__ import annotations

import numpy as np

from .._paper import FloatArray, Numbers
from .methods import Textures

#: Features of a slice.
COUNT = 25
#: Mean and standard deviation of the means of slices, and range of their standard deviations, in both classes.
MEANS, SPREADS = (0.5, 0.05), (0.12, 0.2)
#: Standard deviation about each of the two humps at -1 and 1, before numbers are standardised.
HUMP = 0.2


def of_equal_moments(sizes: Numbers, seed: int) -> Textures:
    """Return slices whose 25 numbers have a mean and a standard deviation drawn alike for both classes.

    Standardised, those of a clean slice are normal, those of a noisy one lie about -1 and 1.
    """
    rng = np.random.default_rng(seed)
    n, n_noisy = sizes["n_slices"], sizes["n_noisy"]
    noisy = np.zeros(n, dtype=bool)
    noisy[rng.choice(n, n_noisy, replace=False)] = True
    one_hump = _standardised(rng.normal(size=(n, COUNT)))
    two_humps = _standardised(rng.choice([-1.0, 1.0], size=(n, COUNT)) + HUMP * rng.normal(size=(n, COUNT)))
    means, spreads = rng.normal(*MEANS, size=(n, 1)), rng.uniform(*SPREADS, size=(n, 1))
    features = means + spreads * np.where(noisy[:, np.newaxis], two_humps, one_hump)
    return Textures(features, noisy, np.arange(n) % sizes["n_scans"])


def _standardised(values: FloatArray) -> FloatArray:
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(centred / centred.std(axis=1, keepdims=True))
