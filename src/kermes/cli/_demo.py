"""``kermes demo``: one complete path from images to a leaderboard of kernels, and to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ._options import SEED, html_option
from ._output import show

#: Digits of the same kind that nobody has seen, to try the best kernel on.
NEW = 200


@click.command()
@click.option("-n", "--images", default=200, show_default=True, type=click.IntRange(60, 1500), help="Digits to use.")
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of digits, shifts and folds.")
@html_option(default="kermes-demo.html", show_default=True, help="Where the report goes.")
def demo(images: int, seed: int, html: Path) -> None:
    """Compare kernels and distances on handwritten digits, and read new digits with the best.

    Each digit of 8 x 8 pixels is moved by up to one pixel at random. It becomes a measure: an atom at every pixel with
    ink, as heavy as its grey value. Every row of the leaderboard is a distance between two such measures with a
    learner; "weights" is the usual RBF kernel on pixels. The report shows what stands behind the best one.

    Example: kermes demo --images 100
    """
    from .. import Measures, compare

    (known, y), (new, y_new) = _digits(images, seed)
    X, X_new = (Measures.from_images(_moved(pictures, seed)) for pictures in (known, new))
    show(f"{X}\n")
    found = compare(X, y, random_state=seed)
    show(found)
    show("Mean ± standard deviation of the outer folds of a nested cross-validation.\n")
    right = found.best_.score(X_new, y_new)
    show(f"{found.names[0]} reads {right:.1%} of {NEW} new digits right.")
    path = found.report(html, command=f"kermes demo --images {images} --seed {seed}")
    show(f"Report: {path.resolve()}")


def _digits(n: int, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return n digits with their labels, and NEW others; every class in its share."""
    from sklearn.model_selection import train_test_split

    from .. import datasets

    digits = datasets.load_digits()
    known, new, y, y_new = train_test_split(
        digits.images, digits.target, train_size=n, test_size=NEW, stratify=digits.target, random_state=seed
    )
    return (known, y), (new, y_new)


def _moved(pictures: Any, seed: int) -> Any:
    """Return the pictures on a margin of one pixel, each moved by up to one pixel in both directions."""
    rng = np.random.default_rng(seed)
    framed = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    shifts = rng.integers(-1, 2, size=(len(pictures), 2))
    return np.array([np.roll(p, shift, axis=(0, 1)) for p, shift in zip(framed, shifts, strict=True)])
