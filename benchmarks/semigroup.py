"""Rows of the semigroup kernels: Jensen-Shannon divergences and their memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from kermes import Engine, Measures, divergences, pairwise

from .harness import Contest, Row, relative

FRESH = Engine(memo=False, progress=False)


def jensen_shannon() -> Row:
    """Jensen-Shannon distances of 2000 histograms of 256 bins, against SciPy's in a loop."""
    from scipy.spatial.distance import jensenshannon

    H = np.random.default_rng(0).random((2000, 256))
    X = Measures.from_histograms(H, np.arange(256))
    pairs = [(i, j) for i in range(64) for j in range(i + 1, 64)]

    def peer() -> list[float]:
        return [float(jensenshannon(H[i], H[j])) for i, j in pairs]

    return Contest(
        "Jensen-Shannon, 2000 histograms of 256 bins", "scipy jensenshannon, per pair",
        lambda: pairwise(X, divergence=divergences.JensenShannon(), engine=FRESH), peer,
        2000 * 1999 // 2, len(pairs), floor=10, tolerance=1e-12,
        compare=lambda D, values: relative([D[i, j] for i, j in pairs], values), repeats=3,
    ).run()  # fmt: skip


MEMORY = """
import resource
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
X = Measures.from_histograms(np.random.default_rng(0).random((2000, 256)), np.arange(256))
pairwise(X, divergence=divergences.JensenShannon(), engine=Engine(progress=False))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def jensen_shannon_memory() -> Row:
    """Peak memory of a process that does that work."""
    out = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    peak = float(out.stdout)
    return Row("peak memory of the same", "", f"{peak:.2f} GiB", "", f"{peak:.2f} GiB", "<= 1 GB", "", peak <= 0.93)


ROWS = {f.__name__: f for f in (jensen_shannon, jensen_shannon_memory)}
