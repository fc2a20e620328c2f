"""The eigensolver is right, restores the number of BLAS threads, and lets other threads go on."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from kermes import _linalg


@pytest.mark.parametrize("small", [0, 2048])
def test_eigenpairs(small):
    A = np.random.default_rng(0).normal(size=(15, 15))
    A = A + A.T
    before = [pool["num_threads"] for pool in threadpool_info()]
    values, vectors = _linalg.eigh(A, small)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(15), atol=1e-12)
    np.testing.assert_allclose(_linalg.eigvalsh(A, small), values, atol=1e-12)
    np.testing.assert_allclose((vectors * values) @ vectors.T, A, atol=1e-12)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_leading_eigenvectors_do_not_depend_on_the_solver(monkeypatch):
    A = np.random.default_rng(0).normal(size=(6, 6))
    A = A + A.T
    values, vectors = _linalg.leading_eigh(A)
    assert (np.diff(values) < 0).all()
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(6)] > 0).all()
    ascending, found = _linalg.eigh(A)
    monkeypatch.setattr(_linalg, "eigh", lambda K: (ascending, -found))
    np.testing.assert_array_equal(_linalg.leading_eigh(A)[1], vectors)


def test_not_a_number_is_refused():
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        _linalg.eigh(np.full((3, 3), np.nan))


def test_other_threads_go_on_meanwhile():
    """A thread that looks up each millisecond never waits for half of a decomposition."""
    A = np.random.default_rng(0).normal(size=(1200, 1200))
    turns, solved = [], threading.Event()

    def look_up():
        while not solved.wait(1e-3):
            turns.append(time.perf_counter())

    other = threading.Thread(target=look_up)
    other.start()
    start = time.perf_counter()
    _linalg.eigh(A + A.T)
    end = time.perf_counter()
    solved.set()
    other.join()
    assert np.diff([start, *turns, end]).max() < (end - start) / 2
