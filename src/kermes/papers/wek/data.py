"""The splits of the paper: training, validation and test images, as measures and as vectors of pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import Measures, datasets
from .._paper import AnyArray


@dataclass(frozen=True)
class Part:
    """Some images: as measures (ink in [0, 1] at pixels), as points of R^784, their labels, and where they are from.

    ``rows`` are their numbers in the ``origin``, the 'pool' or the 'test' images.
    """

    measures: Measures
    pixels: Measures
    labels: AnyArray
    rows: AnyArray
    origin: str

    def __getitem__(self, key: Any) -> Part:
        return Part(self.measures[key], self.pixels[key], self.labels[key], self.rows[key], self.origin)


@dataclass(frozen=True)
class Split:
    """One repetition."""

    train: Part
    validation: Part
    test: Part
    pool_size: int


def draw(name: str, sizes: dict[str, int], repetition: int) -> Split:
    """Draw training and validation images at random from the pool; the test images are the first ones.

    The pool of MNIST is the first 10,000 training images, that of USPS the training set, that of Quick, Draw! a random
    half of the drawings of each class; the others are its test images. "The classes are balanced in each of the
    datasets" (section 3.3): so are the training images, every subset of them that Figure 3 uses, and the validation
    images as far as the pool has enough of a class.
    """
    pool, test = _POOLS[name]()
    chosen = in_turn(pool.target, np.random.default_rng(repetition))[: sizes["train"] + sizes["validation"]]
    white = float(pool.images.max())
    return Split(
        _part(pool, chosen[: sizes["train"]], "pool", white),
        _part(pool, chosen[sizes["train"] :], "pool", white),
        _part(test, np.arange(min(sizes["test"], len(test.target))), "test", white),
        len(pool.target),
    )


def in_turn(labels: AnyArray, rng: np.random.Generator) -> AnyArray:
    """Return a random order in which the classes take turns: the counts in a prefix differ by at most one.

    When a class is exhausted, the others go on.
    """
    shuffled = rng.permutation(len(labels))
    turns = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        own = labels[shuffled] == label
        turns[own] = np.arange(own.sum())
    return shuffled[np.argsort(turns, kind="stable")]


def _quickdraw() -> tuple[datasets.Images, datasets.Images]:
    drawings = datasets.load_quickdraw()
    order = in_turn(drawings.target, np.random.default_rng(0))
    return drawings[order[:12_000]], drawings[order[12_000:]]


#: Images to train and validate on, and to test on.
_POOLS: dict[str, Callable[[], tuple[datasets.Images, datasets.Images]]] = {
    "mnist": lambda: (datasets.load_mnist()[:10_000], datasets.load_mnist(split="test")),
    "usps": lambda: (datasets.load_usps(), datasets.load_usps(split="test")),
    "quickdraw": _quickdraw,
}


def _part(images: datasets.Images, rows: AnyArray, origin: str, white: float) -> Part:
    chosen = images[rows]
    grey = chosen.images / white
    flat = grey.reshape(len(grey), 1, -1)
    return Part(Measures.from_images(grey), Measures.from_samples(flat), chosen.target, rows, origin)
