"""``kermes warmup``: compile ahead, for containers, clusters and talks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from ._options import Name, as_json, command
from ._output import print_json, print_table, say


@command("kermes warmup", "kermes warmup sinkhorn:epsilon=0.4 mmd:sigma=2")
@click.argument("names", nargs=-1, type=Name("divergence"), metavar="[DIVERGENCE]...")
@as_json
def warmup(names: tuple[str, ...], as_json: bool) -> None:
    """Compile distances ahead, so that first calls are fast.

    Code is compiled at its first use, which takes some seconds, and kept on disk. This compiles the divergences named
    (all of them by default) for numbers, points in the plane, histograms and images: in the making of a container, or
    once for the workers of a cluster that share a folder (NUMBA_CACHE_DIR).
    """
    from . import _naming as naming

    chosen = names or tuple(entry.example for entry in naming.DIVERGENCES.values())
    data, seconds = dict(_data()), {}
    for name in chosen:
        say(f"Compiling {name} ...")
        seconds[name] = {kind: _first_call(X, naming.divergence(name)) for kind, X in data.items()}
    if as_json:
        print_json(seconds)
        return
    rows = [(name, *("" if s is None else f"{s:.1f} s" for s in found.values())) for name, found in seconds.items()]
    print_table("First calls", ("divergence", *data), rows, right=1)


def _data() -> Iterator[tuple[str, Any]]:
    """Yield a few measures of each kind that has compiled code of its own."""
    from .. import Measures

    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.0, size=(4, 8))
    yield "numbers", Measures.from_samples(rng.normal(size=(4, 8)), weights)
    yield "points", Measures.from_samples(rng.normal(size=(4, 8, 2)), weights)
    yield "equal weights", Measures.from_samples(rng.normal(size=(4, 8, 2)))
    yield "histograms", Measures.from_histograms(weights, np.arange(8.0))
    yield "images", Measures.from_images(rng.uniform(0.1, 1.0, size=(4, 5, 5)))


def _first_call(X: Any, divergence: Any) -> float | None:
    """Return the seconds of a call within a collection and one between two; None where X does not suit."""
    import warnings

    from .. import Engine, pairwise
    from ..exceptions import UnsuitableDataError

    engine = Engine(memo=False, progress=False)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about numbers that nobody will see
        try:
            pairwise(X, divergence=divergence, engine=engine)
            pairwise(X[:2], X, divergence=divergence, engine=engine)
        except UnsuitableDataError:
            return None
    return time.perf_counter() - started
