"""Symmetric eigenproblems, as fast on a busy machine as on an idle one; and the one switch for the threads of BLAS."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from ._typing import FloatArray

#: Order up to which one BLAS thread is used. The reduction to tridiagonal form is bound by memory, so that a second
#: thread gains little; where others use the cores it costs a factor of 5 and more (orders 800 and 1500).
SMALL = 2048


def eigh(K: FloatArray, small: int = SMALL) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns.

    By NumPy, which leaves the interpreter lock meanwhile: SciPy 1.17 keeps it, so that two threads took twice as long.
    """
    with few_threads(len(K), small):
        values, vectors = np.linalg.eigh(np.asarray_chkfinite(K))
    return values, vectors


def eigvalsh(K: FloatArray, small: int = SMALL) -> FloatArray:
    """Return the eigenvalues of a symmetric matrix in ascending order."""
    with few_threads(len(K), small):
        return np.asarray(np.linalg.eigvalsh(np.asarray_chkfinite(K)), dtype=np.float64)


def leading_eigh(K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues in descending order and eigenvectors that do not depend on the solver.

    The entry of an eigenvector that is largest in size is positive.
    """
    values, vectors = eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return values, np.asarray(vectors * signs)


def few_threads(n: int, small: int = SMALL) -> AbstractContextManager[Any]:
    """Return a context in which BLAS has one thread, if matrices of order n gain nothing from more."""
    return ONE_THREAD if n <= small else nullcontext()


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:
    """Return what sets the threads of BLAS and OpenMP, found anew (5 to 20 ms) only if a module was imported since."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class OneThread:
    """Keep BLAS and OpenMP to the thread that calls them while anyone in this process is inside.

    One level of parallelism, and the same rounding everywhere. The limit belongs to the process, and setting it while
    another thread is at work in BLAS can leave that thread waiting for ever: so there is one switch for all callers,
    the first to enter sets it, the last to leave lifts it. Work for several threads is inside from its first product:
    a thread of BLAS that is done waits for the next one for 0.1 s, busily, on a core that others could use.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = _controller(len(sys.modules)).limit(limits=1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()

    def after_fork(self) -> None:
        """Free the lock in a forked child; where someone was inside, BLAS keeps to one thread there."""
        self._lock = threading.Lock()


ONE_THREAD = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.after_fork)
