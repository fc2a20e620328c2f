"""Rows of exact transport off the line, and of entropic transport where epsilon is so small that it competes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences import Divergence

from .harness import Contest, Row, relative
from .transport import blocks, digits

FRESH = Engine(memo=False, progress=False)


def _against_pot(name: str, X: Measures, p: int, shown: int, floor: float, repeats: int = 3) -> Row:
    """Compare all pairs with those of the first few by POT, which is given the costs, and half its time: two cores."""
    import ot

    cost = ground.Euclidean() if p == 1 else ground.SqEuclidean()
    weights = [mu.weights / mu.mass for mu in X[:shown]]
    pairs = [(i, j) for i in range(shown) for j in range(i)]
    costs = [cost(X[i].points, X[j].points) for i, j in pairs]
    n, divergence = len(X), divergences.Wasserstein(p=p)

    def peer() -> list[float]:
        return [float(ot.emd2(weights[i], weights[j], C)) for (i, j), C in zip(pairs, costs, strict=True)]

    return Contest(
        name, "POT emd2, half of its time", lambda: pairwise(X, divergence=divergence, engine=FRESH, squared=p == 2),
        peer, n * (n - 1) // 2, 2 * len(pairs), floor=floor, tolerance=1e-9,
        compare=lambda D, values: relative([D[i, j] for i, j in pairs], values), repeats=repeats,
    ).run()  # fmt: skip


def _clouds(n: int, atoms: int) -> Measures:
    rng = np.random.default_rng(0)
    return Measures.from_samples(rng.normal(size=(n, atoms, 3)), list(rng.uniform(0.1, 2.0, size=(n, atoms))))


def exact_20() -> Row:
    """Small clouds, for which calls through the interpreter are the larger part."""
    return _against_pot("exact W_2, 100 clouds of 20 atoms in 3-D", _clouds(100, 20), 2, 20, floor=20, repeats=20)


def exact_50() -> Row:
    """More atoms."""
    return _against_pot("exact W_2, 60 clouds of 50 atoms in 3-D", _clouds(60, 50), 2, 15, floor=10, repeats=10)


def exact_500() -> Row:
    """Many atoms, for which the pivots are all that counts."""
    return _against_pot("exact W_2, 10 clouds of 500 atoms in 3-D", _clouds(10, 500), 2, 5, floor=3)


def exact_digits_1() -> Row:
    """The supports of MNIST digits, whose costs have many ties."""
    return _against_pot("exact W_1, 40 MNIST digits", digits()[:40], 1, 12, floor=5)


def exact_digits_2() -> Row:
    """The same with squared costs."""
    return _against_pot("exact W_2, 40 MNIST digits", digits()[:40], 2, 12, floor=5)


def _small_epsilon(atoms: int, weighted: bool, by_pot: bool = False) -> Row:
    """Entropic at 1e-3 of the median cost and an L1 error of 1e-6, against exact transport, ours or POT's."""
    import ot

    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, atoms, 2))
    X = Measures.from_samples(points, list(rng.uniform(0.1, 2.0, size=(6, atoms))) if weighted else None)
    epsilon = 1e-3 * float(np.median(ground.SqEuclidean()(points[0], points[1])))
    pairs = [(i, j) for i in range(6) for j in range(i)]
    problems = blocks(X, pairs, squared=True)

    def by(divergence: Divergence) -> Any:
        D = pairwise(X, divergence=divergence, engine=FRESH, squared=True)
        return [D[i, j] for i, j in pairs]

    def peer() -> Any:
        return [float(ot.emd2(*problem)) for problem in problems] if by_pot else by(divergences.Wasserstein())

    kind = "weighted" if weighted else "equal"
    return Contest(
        f"entropic at 1e-3 of the median cost, {atoms} {kind} atoms",
        "POT emd2, half of its time" if by_pot else "kermes, exact W_2",
        lambda: by(divergences.Sinkhorn(epsilon, tol=1e-6)), peer, 15, 30 if by_pot else 15, floor=1,
        tolerance=0.02, compare=relative, repeats=3,
    ).run()  # fmt: skip


def small_epsilon() -> Row:
    """Equal weights, with which Sinkhorn's iteration crawls."""
    return _small_epsilon(200, False)


def small_epsilon_weighted() -> Row:
    """Random weights, with which it does less."""
    return _small_epsilon(400, True)


def small_epsilon_pot() -> Row:
    """The first against POT."""
    return _small_epsilon(200, False, by_pot=True)


def small_epsilon_weighted_pot() -> Row:
    """The second against POT."""
    return _small_epsilon(400, True, by_pot=True)


SMALL = (small_epsilon, small_epsilon_weighted, small_epsilon_pot, small_epsilon_weighted_pot)
ROWS = {f.__name__: f for f in (exact_20, exact_50, exact_500, exact_digits_1, exact_digits_2, *SMALL)}
