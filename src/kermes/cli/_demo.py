"""``kermes demo``: one complete path from images to a cross-validated classifier."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

if TYPE_CHECKING:
    from .. import Measures
    from ..divergences import Divergence

#: Length scales tried, as fractions of the median distance.
FRACTIONS = (0.25, 0.35, 0.5, 0.7, 1.0)


class Score(NamedTuple):
    """Cross-validated error of one kernel on one collection, with the seconds it took."""

    error: float
    deviation: float
    distances: float
    search: float

    def __str__(self) -> str:
        return f"{100 * self.error:.1f} ± {100 * self.deviation:.1f} %"


@click.command()
@click.option("-n", "--images", default=300, show_default=True, type=click.IntRange(100, 1700), help="Digits to use.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of digits, shifts and folds.")
def demo(images: int, seed: int) -> None:
    """Classify handwritten digits as measures, against an RBF kernel on their pixels.

    Each digit of 8 x 8 pixels, on a margin of one pixel, becomes a measure: an atom at every pixel with ink, as
    heavy as its grey value. All rows use the same support vector machine and the same search; only the distance
    between two digits differs. The last column moves every digit by up to one pixel, at random.

    Example: kermes demo --images 200
    """
    from rich.console import Console

    from .. import Measures, divergences, ground

    pictures, y = _digits(images, seed)
    still = Measures.from_images(_moved(pictures, 0, seed))
    moved = Measures.from_images(_moved(pictures, 1, seed))
    contestants = {
        "entropic Wasserstein": divergences.Sinkhorn(0.5, value="debiased"),
        "sliced Wasserstein": divergences.SlicedWasserstein(),
        "MMD, 1 pixel": divergences.MMD(ground.Gaussian(sigma=1.0)),
        "pixels (plain RBF)": divergences.Euclidean(),
    }
    console = Console()
    console.print(f"{still}\n", highlight=False)
    scores = {name: [_score(d, X, y, seed) for X in (still, moved)] for name, d in contestants.items()}
    console.print(_table(scores))
    console.print("Error: 5-fold cross-validation, mean ± standard deviation over folds.", style="dim")


def _digits(n: int, seed: int) -> tuple[Any, Any]:
    """Return n digits, every class in its share."""
    from sklearn.model_selection import train_test_split

    from .. import datasets

    digits = datasets.load_digits()
    pictures, _, y, _ = train_test_split(
        digits.images, digits.target, train_size=n, stratify=digits.target, random_state=seed
    )
    return pictures, y


def _moved(pictures: Any, reach: int, seed: int) -> Any:
    """Return the pictures on a margin of one pixel, each moved by up to ``reach`` in both directions."""
    rng = np.random.default_rng(seed)
    framed = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    shifts = rng.integers(-reach, reach + 1, size=(len(pictures), 2))
    return np.array([np.roll(p, shift, axis=(0, 1)) for p, shift in zip(framed, shifts, strict=True)])


def _score(divergence: Divergence, X: Measures, y: Any, seed: int) -> Score:
    """Search the length scale by cross-validation; the distances are computed once and remembered."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC

    from .. import Engine, kernels, pairwise

    engine = Engine()
    started = time.perf_counter()
    distances = pairwise(X, divergence=divergence, engine=engine)
    computed = time.perf_counter()
    median = float(np.median(distances[np.triu_indices(len(X), 1)]))
    search = GridSearchCV(
        SVC(kernel=kernels.Exponential(divergence, engine=engine), C=10.0),
        {"kernel__length_scale": [fraction * median for fraction in FRACTIONS]},
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
    ).fit(X, y)
    best = search.best_index_
    return Score(
        1.0 - search.best_score_,
        search.cv_results_["std_test_score"][best],
        computed - started,
        time.perf_counter() - computed,
    )


def _table(scores: dict[str, list[Score]]) -> Any:
    from rich.table import Table

    table = Table(title="Handwritten digits: error of an SVM with the kernel exp(-d²/2l²)")
    table.add_column("distance d")
    for name in ("as given", "moved by ≤ 1 pixel", "distances", "search"):
        table.add_column(name, justify="right")
    best = [min(score[k].error for score in scores.values()) for k in (0, 1)]
    for name, pair in sorted(scores.items(), key=lambda item: item[1][1].error):
        errors = [f"[bold]{s}[/bold]" if s.error == b else str(s) for s, b in zip(pair, best, strict=True)]
        seconds = [f"{sum(s.distances for s in pair):.2f} s", f"{sum(s.search for s in pair):.2f} s"]
        table.add_row(name, *errors, *seconds)
    return table
