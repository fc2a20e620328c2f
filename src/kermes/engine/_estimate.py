"""What pairs will take, before they are computed: measured on a few of them, with fewer atoms where they are huge."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._linalg import ONE_THREAD
from .._quantities import duration, size
from .._typing import IndexArray
from ..divergences import Divergence
from ..divergences._base import Route
from ..exceptions import InvalidParameterError, KermesError
from ..measures import Measures
from ..measures._thinning import thinned
from ._job import Job
from ._memory import available_memory
from ._tiling import Batch, Block

#: Elementary operations of a second, by which :meth:`Route.work` says how long a pair takes, roughly.
RATE = 1.5e9
#: Operations of a pair beyond which measures are tried with fewer atoms; these are then as many as this allows.
TRIED = 1e8
#: Atoms that are tried, at least.
FEWEST = 512
#: Atoms of all measures up to which the route of the whole is found, which may not be that of a sample.
WHOLE = 300_000
#: Seconds of a sample that say enough, and measures in it that do.
ENOUGH, MOST = 0.2, 512
#: Seconds that are announced before.
LONG = 60.0
#: Memory of a pair below which it is not asked whether there is enough.
SMALL = 1 << 28


@dataclass(frozen=True)
class Estimate:
    """What a call will take.

    Parameters
    ----------
    pairs : int
        Pairs to evaluate, none known before.
    seconds : float
        On cores that nobody else uses, without compilation.
    bytes : float
        Memory beyond that of the measures: results, what is prepared, and pairs at work.
    """

    pairs: int
    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"{self.pairs:,} pair{'s' * (self.pairs != 1)}, about {duration(self.seconds)} and {size(self.bytes)}"


class _Trial(NamedTuple):
    """A sample of the measures: its route and atoms, the seconds to prepare it, what all its pairs take."""

    route: Route
    atoms: float
    once: float
    seconds: float
    work: float


def estimate(divergence: Divergence, X: Measures, Y: Measures, n_pairs: int, threads: int) -> Estimate:
    """Return what ``n_pairs`` pairs of X and Y take on some threads, from samples of growing size.

    Time and memory of the preparation are a + b * atoms (tables of a shared support are made once), time of the pairs
    is a + b * operations, which the route counts. Samples take the route of the whole, which is found once:
    few measures may not be worth the features that make many cheap.
    """
    random, same = np.random.default_rng(0), Y is X
    orders = [random.permutation(len(Z)) for Z in ((X,) if same else (X, Y))]
    atoms = _atoms_to_try(divergence, X, Y, orders)
    n_atoms = float(X.sizes.sum() + (0 if same else Y.sizes.sum()))
    small = n_atoms <= WHOLE and max(X.sizes.max(), Y.sizes.max()) <= atoms
    route, choice, tables = _whole_route(divergence, X, Y) if small else (None, 0.0, 0.0)

    def sample(k: int) -> tuple[Measures, Measures]:
        sides = [_thinned(Z[np.sort(order[:k])], atoms) for Z, order in zip((X, Y), orders, strict=False)]
        return sides[0], sides[-1]

    def trial(k: int) -> _Trial:
        sides = sample(k)
        found = _try(divergence, *sides, route)
        if found.once + found.seconds < ENOUGH:
            return found
        again = _try(divergence, *sides, route)  # something else may have been compiled
        return min(found, again, key=lambda found: found.once + found.seconds)

    def traced(k: int) -> float:
        sides = sample(k)
        return _peak(lambda: Job.prepare(divergence, *sides, route=route))

    trial(2)  # compiles
    first = last = trial(2)
    k = 2
    while last.once + last.seconds < ENOUGH and k < min(MOST, max(map(len, orders))):
        k = min(2 * k, max(map(len, orders)))
        last = trial(k)
    passes = 1 if type(divergence).passes is Divergence.passes else len(divergence.passes(X, Y))
    seconds = choice + _extrapolated(first.atoms, first.once, last.atoms, last.once, n_atoms)
    prepared = tables + _extrapolated(first.atoms, traced(2), last.atoms, traced(k), n_atoms) / passes
    at_work = divergence.pair_bytes(X, Y) * min(threads, max(1, n_pairs))
    results = 2 * (17 if divergence.estimates_error else 9) * len(X) * len(Y)
    work = last.route.work(X, Y) * n_pairs
    pairs = _extrapolated(first.work, first.seconds, max(last.work, 1.0), last.seconds, work)
    seconds += pairs / min(threads, max(1, n_pairs))
    return Estimate(n_pairs, seconds, prepared + at_work + results)


def refuse_heavy_pairs(
    divergence: Divergence, X: Measures, Y: Measures, n_pairs: int, threads: int, limit: float
) -> None:
    """Refuse, before anything is prepared, pairs that need more memory than there is."""
    need = divergence.pair_bytes(X, Y)
    if need <= SMALL:
        return
    free = min(available_memory(), limit)
    if need * min(threads, n_pairs) <= free:
        return
    try:
        took = f", and all {n_pairs:,} about {duration(estimate(divergence, X, Y, n_pairs, threads).seconds)}"
    except KermesError:
        took = ""
    raise InvalidParameterError(
        f"{type(divergence).__name__} between measures of up to {X.sizes.max():,} and {Y.sizes.max():,} atoms takes "
        f"{size(need)} of memory for a pair on each of {min(threads, n_pairs)} threads{took}; {size(free)} are free. "
        "Give the measures fewer atoms, features.Codebook(n_atoms=512) or X.quantize(512), or take a distance that "
        "is linear in the atoms, SlicedWasserstein or GaussianWasserstein."
    )


def announce(found: Estimate, name: str, time_limit: float, memory_limit: float) -> None:
    """Refuse what exceeds a limit; say on stderr what takes over a minute."""
    exceeded = [f"time_limit of {duration(time_limit)}"] if found.seconds > time_limit else []
    exceeded += [f"memory_limit of {size(memory_limit)}"] if found.bytes > memory_limit else []
    if exceeded:
        raise InvalidParameterError(
            f"{name} would take {found}; the engine has a {' and a '.join(exceeded)}. Raise it, take fewer measures "
            "or atoms (features.Codebook, X.quantize), or keep distances on disk and go on another time: "
            "Engine(store='d.zarr')."
        )
    if found.seconds > LONG:
        print(f"{name}: {found}", file=sys.stderr, flush=True)


def may_be_long(divergence: Divergence, X: Measures, Y: Measures, n_pairs: int, threads: int) -> bool:
    """Whether pairs may take a minute, by the operations that the route of a few counts, within a factor of ten."""
    if n_pairs * float(max(X.sizes.mean(), Y.sizes.mean())) ** 3 < LONG / 10 * RATE:
        return False
    sides = _thinned(X[:2], FEWEST), _thinned(Y[:2], FEWEST)
    try:
        work = divergence.route(*sides).work(X, Y)
    except KermesError:  # which the run itself will meet
        return False
    return work * n_pairs / RATE / threads > LONG / 10


def _whole_route(divergence: Divergence, X: Measures, Y: Measures) -> tuple[Route, float, float]:
    """Return the route of all pairs, and the seconds and bytes that it takes to find it."""
    traced = _peak(lambda: divergence.route(X, Y))  # compiles
    started = time.thread_time()
    route = divergence.route(X, Y)
    return route, time.thread_time() - started, traced


def _peak(work: Callable[[], object]) -> float:
    """Return the bytes that some work takes at most."""
    tracemalloc.start()
    try:
        work()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _try(divergence: Divergence, A: Measures, B: Measures, route: Route | None) -> _Trial:
    """Prepare a sample and evaluate its pairs, in this thread, whose time is counted."""
    n_atoms = float(A.sizes.sum() + (0 if B is A else B.sizes.sum()))
    started = time.thread_time()
    job = Job.prepare(divergence, A, B, route=route)
    prepared = time.thread_time()
    block = Block(np.arange(len(A)), np.arange(len(B)), B is A)
    with ONE_THREAD:
        job.evaluate(Batch(block, job.tile_shape(len(A), len(B), None)))
    seconds = time.thread_time() - prepared
    return _Trial(job.route, n_atoms, prepared - started, seconds, job.work * max(1, block.n_pairs))


def _atoms_to_try(divergence: Divergence, X: Measures, Y: Measures, orders: list[IndexArray]) -> int:
    """Return how many atoms of a measure are tried, at most."""
    atoms, largest = FEWEST, int(max(X.sizes.max(), Y.sizes.max()))
    while atoms < largest:
        sides = [_thinned(Z[order[:1]], 4 * atoms) for Z, order in zip((X, Y), (orders[0], orders[-1]), strict=True)]
        if divergence.route(*sides).work(*sides) > TRIED:
            break
        atoms *= 4
    return atoms


def _thinned(X: Measures, atoms: int) -> Measures:
    """Return the measures with at most so many atoms each."""
    return X if X.sizes.max() <= atoms else Measures(thinned(X._packed, X.rows, atoms, 0))


def _extrapolated(x: float, y: float, x2: float, y2: float, at: float) -> float:
    """Return the value at ``at`` of the line through two points, or of the line through 0 if they are one."""
    if x2 <= x:
        return y2 * at / x2
    slope = max(0.0, (y2 - y) / (x2 - x))
    return max(0.0, y - slope * x) + slope * at
