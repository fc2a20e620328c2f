"""The splits of the paper: training, validation and test images, as measures and as vectors of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import Measures, datasets
from .._paper import AnyArray


@dataclass(frozen=True)
class Part:
    """Some images: as measures (ink in [0, 1] at pixels), as points of R^784, and their labels."""

    measures: Measures
    pixels: Measures
    labels: AnyArray

    def __getitem__(self, key: Any) -> Part:
        return Part(self.measures[key], self.pixels[key], self.labels[key])


@dataclass(frozen=True)
class Split:
    """One repetition."""

    train: Part
    validation: Part
    test: Part


def draw(name: str, sizes: dict[str, int], repetition: int) -> Split:
    """Draw training and validation images at random from the pool; the test images are the first ones.

    The pool of MNIST is the first 10,000 training images, that of USPS the training set, that of Quick, Draw! the
    first 1500 of the 3000 drawings of each class; the others are its test images.
    """
    rng = np.random.default_rng(repetition)
    pool, test = _POOLS[name]()
    chosen = rng.permutation(len(pool))[: sizes["train"] + sizes["validation"]]
    white = float(pool.images.max())
    return Split(
        _part(pool[chosen[: sizes["train"]]], white),
        _part(pool[chosen[sizes["train"] :]], white),
        _part(test[: sizes["test"]], white),
    )


def _mnist() -> tuple[datasets.Images, datasets.Images]:
    return datasets.load_mnist()[:10_000], datasets.load_mnist(split="test")


def _usps() -> tuple[datasets.Images, datasets.Images]:
    return datasets.load_usps(), datasets.load_usps(split="test")


def _quickdraw() -> tuple[datasets.Images, datasets.Images]:
    drawings = datasets.load_quickdraw()
    order = np.random.default_rng(0).permutation(len(drawings))
    return drawings[order[:12_000]], drawings[order[12_000:]]


_POOLS = {"mnist": _mnist, "usps": _usps, "quickdraw": _quickdraw}


def _part(images: datasets.Images, white: float) -> Part:
    grey = images.images / white
    flat = grey.reshape(len(grey), 1, -1)
    return Part(Measures.from_images(grey), Measures.from_samples(flat), images.target)
