"""The same two measures have the same distance on every way through the engine.

Bits are compared where the pairs are computed in the same order and beside the same measures; elsewhere the last digits
may differ, of entropic transport those beyond its tolerance (1e-10 in these cases).
"""

import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cases import DIVERGENCES, each_dim

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.definiteness import psd_length_scale
from kermes.divergences import Sinkhorn
from kermes.engine import StoredDistances

N = 9
ROWS = np.array([5, 2, 2, 8, 0, 5])
ALONE = Engine("serial", memo=False)


def clouds(dim, n=N, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=n)
    samples = [rng.normal(size=(size, dim)).round(1) for size in sizes]
    return Measures.from_samples(samples, [rng.uniform(0.1, 2.0, size=size) for size in sizes])


def copied(X):
    """Return measures of equal content that are another collection."""
    parts = np.split(X.points, X.offsets[1:-1]), np.split(X.weights, X.offsets[1:-1])
    return Measures.from_samples(*parts)


def distances(divergence, X, Y=None, engine=ALONE):
    """Return d**power: no root can hide a last digit."""
    return engine.evaluate(divergence, X, X if Y is None else Y)[0]


COLLECTIONS = {dim: clouds(dim) for dim in (1, 2, 5)}
OTHERS = {dim: clouds(dim, 5, seed=1) for dim in (1, 2, 5)}
CASES = [(case, dim) for case in DIVERGENCES for dim in case.dims]
PARAMETERS = each_dim(DIVERGENCES)


def close(case):
    """Return the comparison for pairs that are computed the other way round, or beside other measures."""

    def compare(actual, expected):
        assert_allclose(actual, expected, rtol=1e-9, atol=case.atol)

    return compare


@pytest.fixture(scope="module")
def reference():
    """Return d**power of a case, by one thread and without memory; each is computed once."""
    known = {}

    def find(case, dim):
        if (case.name, dim) not in known:
            known[case.name, dim] = distances(case.divergence, COLLECTIONS[dim])
        return known[case.name, dim]

    return find


@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_views_roots_pickles_and_memos(case, dim, reference):
    X, D, engine = COLLECTIONS[dim], reference(case, dim), Engine("serial")
    order = np.random.default_rng(2).permutation(N)
    assert_array_equal(distances(case.divergence, X[order]), D[np.ix_(order, order)])
    repeated = np.concatenate([order, ROWS])
    assert_array_equal(distances(case.divergence, X[repeated]), D[np.ix_(repeated, repeated)])
    assert_array_equal(distances(case.divergence, copied(X)), D)
    assert_array_equal(distances(case.divergence, X, copied(X)), D)
    assert_array_equal(distances(pickle.loads(pickle.dumps(case.divergence)), pickle.loads(pickle.dumps(X))), D)
    for _ in range(2):
        assert_array_equal(distances(case.divergence, X, engine=engine), D)
    assert_array_equal(distances(case.divergence, copied(X)[ROWS], engine=engine), D[np.ix_(ROWS, ROWS)])
    assert_array_equal(distances(case.divergence, X[ROWS], X[::-1], engine=engine), D[ROWS, ::-1])


@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_parts_and_sides(case, dim, reference):
    """A pair alone, in the other order, between two collections, and in tables that grew."""
    X, Y, D, same = COLLECTIONS[dim], OTHERS[dim], reference(case, dim), close(case)
    same(distances(case.divergence, X[ROWS]), D[np.ix_(ROWS, ROWS)])
    same(distances(case.divergence, X, X[ROWS]), D[:, ROWS])
    same(distances(case.divergence, X[[3, 7]]), D[np.ix_([3, 7], [3, 7])])
    same(distances(case.divergence, X[[7]], X[[3]]), D[7:8, 3:4])
    E = distances(case.divergence, X, Y)
    same(distances(case.divergence, Y, X), E.T)
    same(distances(case.divergence, X[ROWS], Y[::-1]), E[ROWS, ::-1])
    engine = Engine("serial")
    for rows in (np.arange(4), ROWS, np.arange(N)):
        same(distances(case.divergence, X[rows], engine=engine), D[np.ix_(rows, rows)])
        same(distances(case.divergence, X[rows], Y, engine=engine), E[rows])


@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_tiles_and_executors(case, dim, reference):
    X, D, same = COLLECTIONS[dim], reference(case, dim), close(case)
    assert_array_equal(distances(case.divergence, X, engine=Engine("threads", workers=2, memo=False)), D)
    for tile in (1, 2, 4, 64):
        alone = distances(case.divergence, X, engine=Engine("serial", memo=False, tile=tile))
        assert_array_equal(
            distances(case.divergence, X, engine=Engine("threads", workers=3, memo=False, tile=tile)), alone
        )
        same(alone, D)


@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_eight_threads_on_one_engine(case, dim, reference):
    X, D, engine = COLLECTIONS[dim], reference(case, dim), Engine("serial")
    barrier, found, same = threading.Barrier(8), [None] * 8, close(case)

    def compute(i):
        rows = np.roll(np.arange(N), i)[: N - i % 3]
        barrier.wait()
        found[i] = rows, distances(case.divergence, X[rows], engine=engine)

    threads = [threading.Thread(target=compute, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows, values in found:
        same(values, D[np.ix_(rows, rows)])


def written(dim):
    """Return the same measures as a cloud each, on common bins, and in the plane as images."""
    rng = np.random.default_rng(3)
    mass = rng.integers(0, 4, size=(7, 12)) * rng.integers(0, 2, size=(7, 12)) + 0.5 * np.eye(7, 12)
    bins = np.indices((3, 4)).reshape(2, -1).T.astype(float) if dim == 2 else rng.normal(size=(12, dim))
    forms = [
        Measures.from_samples([bins[row > 0] for row in mass], [row[row > 0] for row in mass]),
        Measures.from_histograms(mass, bins),
    ]
    return [*forms, Measures.from_images(mass.reshape(7, 3, 4))] if dim == 2 else forms


@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_clouds_histograms_and_images(case, dim):
    """Other routes, the same distances: within the accuracy that each is held to against its oracle."""
    cloud, *others = written(dim)
    expected = pairwise(cloud, divergence=case.divergence, engine=ALONE)
    for X in others:
        assert_allclose(pairwise(X, divergence=case.divergence, engine=ALONE), expected, rtol=1e-7, atol=case.atol)
        mixed = pairwise(cloud, X, divergence=case.divergence, engine=ALONE)
        assert_allclose(mixed, expected, rtol=1e-7, atol=case.atol)


# -- other processes --------------------------------------------------------------------------------


def rewritten(X):
    """Return the measures with each atom in three parts, in another order, with another mass."""
    points, weights = np.split(X.points, X.offsets[1:-1]), np.split(X.weights, X.offsets[1:-1])
    parts = np.array([0.2, 0.5, 0.3])
    return Measures.from_samples(
        [np.repeat(x, 3, axis=0)[::-1] for x in points], [7.0 * np.outer(w, parts).ravel()[::-1] for w in weights]
    )


@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_equal_measures_are_at_0_however_they_are_written(case, dim):
    """As two collections, and within one, where a rounding of 1e-16 would be a distance of 1e-8."""
    X = clouds(dim)
    Y = rewritten(X)
    for D in (distances(case.divergence, X, Y), distances(case.divergence, Measures.concatenate([X, Y]))[:N, N:]):
        assert (np.diagonal(D) <= (0.0 if case.divergence.biased else 1e-15)).all()


class Spread(divergences.Functional):
    """The sum of the variances, in a way that rounds."""

    def value(self, points, weights):
        return float(weights @ (points**2).sum(axis=1) - ((weights @ points) ** 2).sum())


class Means(divergences.Divergence):
    """The distance between the means."""

    def claims(self, dim):
        return divergences.Claims(False, 2.0, "a Hilbert space norm")

    def prepare(self, X):
        return X.expectation(X.points)

    def tile(self, A, B, rows, cols, triangle):
        return divergences.Tile(((A[rows][:, None] - B[cols][None]) ** 2).sum(axis=-1))


ROUNDED = [
    *(divergences.Wasserstein(p, cost) for p in (1, 2, 10, 40) for cost in ("binary", 3.0 - 3.0 * np.eye(9))),
    *(divergences.Bhattacharyya(kernel, 1e-6) for kernel in (ground.Linear(), ground.Gaussian(sigma=1.0))),
    divergences.GaussianKL(ground.Laplacian(1.0), reg=1e-6),
    divergences.GaussianKL(ground.Polynomial(3)),
    *(divergences.ExponentialFamily(f, 1e6) for f in ("gaussian", "gaussian-diagonal", "multinomial-exact")),
    divergences.ExponentialFamily(divergences.Family(1, -9.0, 9.0, intervals=32), 1e3),
    divergences.JensenDifference(Spread()),
    Means(),
]


@pytest.mark.parametrize("divergence", ROUNDED, ids=lambda divergence: type(divergence).__name__)
def test_equal_histograms_are_at_0_where_values_are_rounded(divergence):
    """A rounding of 1e-16 is 1e-8 for its root, and 0.025 for the tenth: a difference between equal groups."""
    rng = np.random.default_rng(0)
    H, support = rng.uniform(1, 2, (40, 9)), rng.normal(size=(9, 2))
    X = Measures.from_histograms(H, support)
    Y = Measures.from_histograms(H * rng.uniform(0.1, 9, (40, 1)), support)
    assert not np.diagonal(pairwise(X, Y, divergence=divergence, engine=ALONE)).any()


@pytest.mark.parametrize("value", ["transport", "debiased"])
def test_equal_measures_have_the_same_distances_to_others(value):
    """Solved one by one they would differ within the tolerance: no kernel of them is definite."""
    X = clouds(2)
    both, S = Measures.concatenate([X, rewritten(X)[[3, 0]]]), Sinkhorn(0.5, value=value)
    D = pairwise(both, divergence=S, engine=ALONE)
    assert_array_equal(D[[N, N + 1]], D[[3, 0]])
    assert_array_equal(D[:, [N, N + 1]], D[:, [3, 0]])
    assert psd_length_scale(D) == pytest.approx(psd_length_scale(D[:N, :N]), rel=1e-3)
    part = pairwise(both[[1, 2, N, 3]], both[[3, N, 5]], divergence=S, engine=ALONE)
    assert_array_equal(part[2:], part[[3, 2]])
    assert_array_equal(part[:, 0], part[:, 1])
    others = pairwise(both, clouds(2, 5, seed=1), divergence=S, engine=ALONE)
    assert_array_equal(others[[N, N + 1]], others[[3, 0]])


def test_equal_measures_have_the_same_distances_to_others_in_a_store(tmp_path):
    X, S = clouds(2), Sinkhorn(0.5)
    Y, n = Measures.concatenate([X, rewritten(X)[[3, 0]]]), len(X)
    D = pairwise(Y, divergence=S, engine=Engine("serial", store=tmp_path / "d.zarr", tile=3))
    assert_array_equal(D[[n, n + 1]], D[[3, 0]])
    assert_array_equal(D[:, [n, n + 1]], D[:, [3, 0]])
    assert_array_equal(StoredDistances(tmp_path / "d.zarr")[n], D[3])
    assert_array_equal(D.status[n], D.status[3])
    others = pairwise(Y, X[2:], divergence=S, engine=Engine("serial", store=tmp_path / "e.zarr"))
    assert_array_equal(others[[n, n + 1]], others[[3, 0]])
    assert D.manifest["twins"] == [{str(n): 3, str(n + 1): 0}] * 2


def all_distances(collections):
    """Return d**power of all cases, with the memory of an engine."""
    return {(case.name, dim): distances(case.divergence, collections[dim], engine=Engine()) for case, dim in CASES}


@pytest.fixture(scope="module")
def forked():
    """Return d**power of all cases from a forked process; pickled through a pipe."""
    if not hasattr(os, "fork"):
        pytest.skip("no forks on this system")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open(writing, "wb") as pipe:
                pickle.dump(all_distances(COLLECTIONS), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        found = pickle.load(pipe)
    os.waitpid(child, 0)
    return found


@pytest.fixture(scope="module")
def spawned():
    """Return d**power of all cases from a new process, which is sent the measures."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(all_distances, (COLLECTIONS,))


@pytest.mark.parametrize("process", ["forked", "spawned"])
@pytest.mark.parametrize(("case", "dim"), **PARAMETERS)
def test_other_processes(case, dim, process, reference, request):
    assert_array_equal(request.getfixturevalue(process)[case.name, dim], reference(case, dim))
