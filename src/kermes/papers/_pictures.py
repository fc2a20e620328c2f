"""The measures that both semigroup papers draw: a digit, another digit, and their mean."""

from __future__ import annotations

import numpy as np

from .. import Measures, inspection
from ..measures import Measure, mean_measure
from ._digits import first_of_each

__all__ = ["of_digits", "pair_and_mean", "titles"]

#: Images of each digit among which the drawn ones are chosen.
AMONG = 100


def of_digits(digit: int, count: int, threshold: float) -> Measures:
    """Return the black pixels, all of them, of the first images of a digit, on [0, 1]^2."""
    images = first_of_each(count)
    return images[images.target == digit].measures(threshold=threshold, binary=True, spacing="unit")


def pair_and_mean(digits: tuple[int, int], variances: dict[str, list[float]], threshold: float) -> dict[str, Measure]:
    """Return an image of each digit and the mean of both, by name.

    The papers do not say which images they show. Where they print the two principal variances of a digit, the image
    with the closest ones (largest ratio) of the first hundred is taken; otherwise the first image.
    """
    first, second = (_closest(of_digits(digit, AMONG, threshold), variances.get(str(digit))) for digit in digits)
    return {str(digits[0]): first, str(digits[1]): second, "mean": mean_measure(first, second)}


def titles(shown: dict[str, Measure]) -> list[str]:
    """Return titles of the panels of a pair and its mean."""
    return ["their mean" if name == "mean" else f"digit {name}" for name in shown]


def _closest(X: Measures, wanted: list[float] | None) -> Measure:
    if wanted is None:
        return X[0]
    ratios = [np.log(inspection.weighted_pca(measure).variances / np.array(wanted)) for measure in X]
    return X[int(np.argmin(np.abs(ratios).max(axis=1)))]
