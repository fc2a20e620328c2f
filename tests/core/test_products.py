"""Products and relaxed updates of a block, compiled to vectors or interpreted, against NumPy in double precision."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes.core.jit import uncached_core
from kermes.core.sinkhorn.products import GROUP, axpy8, dots8, relax


@uncached_core
def multiply(K, ids, v, s, u, t, r):
    dots8(K, ids, v, s, r)
    axpy8(K, ids, u, t, r)


@uncached_core
def update(a, u, s, lo, hi, theta):
    return relax(a, u, s, lo, hi, theta)


def close(found, truth, dtype):
    assert found.dtype == dtype
    assert_allclose(found, truth, rtol=200 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [8, 16, 24, 40, 152])
def test_products_of_eight_rows(dtype, width):
    rng = np.random.default_rng(width)
    K = rng.uniform(size=(30, 160)).astype(dtype)  # a table wider than the block
    ids, r = rng.integers(30, size=24), GROUP
    v, u, t = (rng.uniform(size=n).astype(dtype) for n in (width, 24, width))
    s, before = np.full(24, -1.0, dtype), t.astype(float)
    multiply(K, ids, v, s, u, t, r)
    rows = K[ids[r : r + GROUP], :width].astype(float)
    close(s[r : r + GROUP], rows @ v.astype(float), dtype)
    assert (np.delete(s, np.arange(r, r + GROUP)) == -1.0).all()
    close(t, before + u[r : r + GROUP].astype(float) @ rows, dtype)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_arrays_of_two_types_are_refused():
    K, v = np.ones((8, 8)), np.ones(8, dtype=np.float32)
    with pytest.raises(numba.TypingError):
        multiply(K, np.arange(8), v, np.ones(8), np.ones(8), np.ones(8), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("theta", [0.0, 0.35, 0.7])
def test_relaxed_updates(dtype, theta):
    rng = np.random.default_rng(0)
    a, u, s = rng.uniform(0.5, 2.0, size=(3, 40)).astype(dtype)
    a[20:22] = 0.0  # atoms that are padding
    x, old, sums = (part[8:32].astype(float) for part in (a, u, s))
    q = np.divide(x, old * sums)
    factor = ((1 + theta) * q + 1 - theta) / ((1 - theta) * q + 1 + theta)
    kept = u.copy()
    error = update(a, u, s, 8, 32, np.float32(theta))
    assert_allclose(error, np.abs(old * sums - x).sum(), rtol=200 * np.finfo(dtype).eps)
    # float32 holds theta to 3e-8
    assert_allclose(u[8:32], old * q * factor, rtol=max(200 * np.finfo(dtype).eps, 1e-7))
    assert (u[:8] == kept[:8]).all()
    assert (u[32:] == kept[32:]).all()
    assert (u[20:22] == 0.0).all()
