"""Search for measures on which a power of a divergence is not negative definite; write them for the tests.

Usage: python tools/counterexamples.py tests/divergences/counterexamples.json
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kermes import Engine, Measures, divergences, pairwise

ENGINE = Engine("serial", memo=False, progress=False)
TRIES = 400
#: A smallest eigenvalue of so much of the largest is no rounding.
CLEAR = -1e-3


def smallest(divergence: Any, power: float, samples: list[np.ndarray]) -> float:
    """Return the smallest eigenvalue of the centred -d^h over the largest."""
    D = pairwise(Measures.from_samples(samples), divergence=divergence, engine=ENGINE)
    centre = np.eye(len(D)) - 1.0 / len(D)
    values = np.linalg.eigvalsh(-0.5 * centre @ D**power @ centre)
    return float(values[0] / max(values[-1], 1e-300))


def draw(seed: int, dim: int) -> list[np.ndarray]:
    """Return a few small measures: on a lattice, at random, stretched, ellipses of all shapes, or far apart."""
    rng = np.random.default_rng([seed, dim])
    kind, n = seed % 5, int(rng.integers(4, 9))
    sizes = rng.integers(1, 5, size=n)
    if kind == 0:
        return [rng.integers(-2, 3, size=(m, dim)).astype(float) for m in sizes]
    if kind == 1:
        return [rng.normal(size=(m, dim)).round(2) for m in sizes]
    if kind == 2:
        return [(rng.normal(size=(m + 3, dim)) * 10 ** rng.uniform(-1.5, 1.0, size=dim)).round(3) for m in sizes]
    if kind == 3:
        return [ellipse(rng, dim).round(6) for _ in range(4 * n)]
    far = np.zeros((2, dim))
    far[1, 0] = 10.0 ** (1 + seed // 5 % 6)
    return [far[:1], far[1:], far]


def ellipse(rng: np.random.Generator, dim: int) -> np.ndarray:
    """Return the ends of the axes of an ellipse around 0."""
    axes = np.diag(10 ** rng.uniform(-1.3, 1.3) * np.geomspace(1.0, 10 ** -rng.uniform(0.0, 3.4), dim))
    return np.vstack([axes, -axes]) @ np.linalg.qr(rng.normal(size=(dim, dim)))[0]


def candidates(dim: int) -> Iterator[list[np.ndarray]]:
    """Yield measures, and then measures on a line."""
    for seed in range(TRIES):
        yield draw(seed, dim)
    for seed in range(TRIES if dim > 1 else 0):
        yield [np.pad(sample, ((0, 0), (0, dim - 1))) for sample in draw(seed, 1)]


def find(divergence: Any, dim: int, power: float) -> list[np.ndarray] | None:
    """Return the first clear counterexample, without the measures that it does not need."""
    for samples in candidates(dim):
        try:
            if smallest(divergence, power, samples) > CLEAR:
                continue
        except (ValueError, ArithmeticError):  # measures that the divergence does not take
            continue
        for i in reversed(range(len(samples))):
            fewer = samples[:i] + samples[i + 1 :]
            if len(fewer) > 2 and smallest(divergence, power, fewer) <= CLEAR:
                samples = fewer
        return samples
    return None


def main(path: str) -> int:
    """Search for what the claims call impossible; return 1 if something was not found."""
    warnings.simplefilter("ignore")
    stored, missing = {}, 0
    for row in divergences.claims():
        power = row.claims.fails_at
        if power is None:
            continue
        name = f"{row.divergence!r} dim {row.dim}"
        samples = find(row.divergence, row.dim, power)
        print(name, "power", power, "NOT FOUND" if samples is None else f"{len(samples)} measures", flush=True)
        missing += samples is None
        if samples is not None:
            stored[name] = [sample.tolist() for sample in samples]
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(samples)}" for name, samples in stored.items())
    Path(path).write_text("{\n" + text + "\n}\n")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
