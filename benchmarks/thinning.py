"""What fewer atoms cost in accuracy, at the same number of them: ``python -m benchmarks.thinning`` prints a table.

Simulated patients of 4,000 cells: six populations in shares of their own, and a small shift of everything. Errors are
the median over pairs of |d' - d| / d, with d the sliced distance of all cells.
"""

from __future__ import annotations

import numpy as np

from kermes import Engine, Measures, divergences, pairwise
from kermes.features import Codebook

WAYS = {
    "random": lambda X, n: X.subsample(n),
    "spread": lambda X, n: X.subsample(n, how="spread"),
    "quantize": lambda X, n: X.quantize(n),
    "codebook": lambda X, n: Codebook(n, random_state=0).fit_transform(X),
}
SLICED = divergences.SlicedWasserstein()


def patients(dim: int, n: int = 8, cells: int = 4000, seed: int = 0) -> Measures:
    """Return simulated patients."""
    random = np.random.default_rng(seed)
    centres = 3.0 * random.normal(size=(6, dim))
    clouds = []
    for _ in range(n):
        population = random.choice(6, cells, p=random.dirichlet(np.full(6, 3.0)))
        clouds.append(centres[population] + random.normal(size=(cells, dim)) + 0.2 * random.normal(size=dim))
    return Measures.from_samples(clouds)


def main() -> None:
    """Print the table."""
    engine = Engine(memo=False, progress=False)
    print("| dimension | atoms | " + " | ".join(WAYS) + " |\n|" + "---:|" * (2 + len(WAYS)))
    for dim in (2, 8):
        X = patients(dim)
        above = np.triu_indices(len(X), 1)
        d = pairwise(X, divergence=SLICED, engine=engine)[above]
        for n in (50, 200, 500):
            thinned = (pairwise(way(X, n), divergence=SLICED, engine=engine)[above] for way in WAYS.values())
            errors = (f"{100 * np.median(np.abs(other - d) / d):.1f} %" for other in thinned)
            print(f"| {dim} | {n} | " + " | ".join(errors) + " |", flush=True)


if __name__ == "__main__":
    main()
