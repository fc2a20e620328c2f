"""Every Sinkhorn route on problems small enough to be interpreted; tests/divergences has the large ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import entropic

from kermes.core import ground_codes as codes
from kermes.core import sinkhorn, sinkhorn_grid, sinkhorn_log, sinkhorn_points
from kermes.core.sinkhorn_ops import REGULARIZED, TRANSPORT
from kermes.core.status import OK, RETRY

rng = np.random.default_rng(0)
EPS, TOL, MOST = 1.0, 1e-6, 5000
#: Three 4 x 4 images, the last of two pixels only.
IMAGES = rng.random((3, 4, 4))
IMAGES[2] = 0.0
IMAGES[2, 1, 0], IMAGES[2, 3, 2] = 0.3, 0.7
IMAGES /= IMAGES.sum(axis=(1, 2), keepdims=True)
POINTS = np.indices((4, 4)).reshape(2, -1).T.astype(float)
COST = ((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=-1)
OWNER, IDS = np.nonzero(IMAGES.reshape(3, -1))
WEIGHTS = IMAGES.reshape(3, -1)[OWNER, IDS]
OFFSETS = np.concatenate([[0], np.cumsum(np.bincount(OWNER))]).astype(np.int64)
ROWS, COLS = np.array([0, 1]), np.array([1, 2])


def expected(i, j, code):
    a, b = (WEIGHTS[OFFSETS[k] : OFFSETS[k + 1]] for k in (i, j))
    C = COST[np.ix_(IDS[OFFSETS[i] : OFFSETS[i + 1]], IDS[OFFSETS[j] : OFFSETS[j + 1]])]
    return (entropic.plan(a, b, C, EPS) * C).sum() if code == TRANSPORT else entropic.relative(a, b, C, EPS)


def answers():
    return np.zeros((2, 2)), np.full((2, 2), RETRY, dtype=np.uint8), np.zeros((2, 2), dtype=np.int32)


def check(code, out, status):
    assert (status == OK).all()
    assert_allclose(out, [[expected(i, j, code) for j in COLS] for i in ROWS], rtol=1e-5)


both = pytest.mark.parametrize("code", [TRANSPORT, REGULARIZED])


@both
def test_table(code):
    out, status, iterations = answers()
    kernels = sinkhorn.gibbs_tables(COST, EPS, np.float64)
    side = (WEIGHTS, OFFSETS, IDS)
    sinkhorn.tile_table(*kernels, *side, *side, ROWS, COLS, False, False, EPS, TOL, MOST, code, out, status, iterations)
    check(code, out, status)


@both
def test_coordinates(code):
    out, status, iterations = answers()
    side = (np.ascontiguousarray(POINTS[IDS].T), WEIGHTS, OFFSETS)
    cost = (codes.SQEUCLIDEAN, np.zeros(1))
    options = (EPS, TOL, MOST, code, out, status, iterations)
    sinkhorn_points.tile_points(np.empty(0), *side, *side, ROWS, COLS, False, False, *cost, *options)
    check(code, out, status)


@both
def test_grid(code):
    out, status, iterations = answers()
    line = (np.arange(4.0)[:, None] - np.arange(4.0)[None]) ** 2
    kernels = sinkhorn_grid.grid_tables(line, line, EPS, np.float64)
    side = (IMAGES, sinkhorn_grid.bounding_boxes(IMAGES))
    sinkhorn_grid.tile_grid(
        *kernels, *side, *side, ROWS, COLS, False, False, EPS, TOL, MOST, code, out, status, iterations
    )
    check(code, out, status)


@both
def test_stabilised(code):
    out, status, iterations = answers()
    side = (WEIGHTS, OFFSETS, IDS)
    sinkhorn.retry_table(COST, *side, *side, ROWS, COLS, EPS, TOL, MOST, code, out, status, iterations)
    check(code, out, status)


def test_self_terms():
    out, status = np.zeros(3), np.zeros(3, dtype=np.uint8)
    sinkhorn_points.self_table(COST, WEIGHTS, OFFSETS, IDS, np.arange(3), EPS, 1e-9, MOST, out, status)
    assert_allclose(out, [expected(i, i, REGULARIZED) for i in range(3)], rtol=1e-6)
    assert (status == OK).all()


def test_triangle_leaves_the_rest_alone():
    out, status, iterations = answers()
    kernels = sinkhorn.gibbs_tables(COST, EPS, np.float64)
    side = (WEIGHTS, OFFSETS, IDS)
    sinkhorn.tile_table(
        *kernels, *side, *side, ROWS, ROWS, True, False, EPS, TOL, MOST, TRANSPORT, out, status, iterations
    )
    assert status.tolist() == [[RETRY, OK], [RETRY, RETRY]]
    assert_allclose(out[0, 1], expected(0, 1, TRANSPORT), rtol=1e-5)


def test_log_domain_survives_what_underflows():
    C = np.array([[0.0, 1e6], [1e6, 0.0]])
    value, status, _ = sinkhorn_log.stable_value(
        C, np.array([0.5, 0.5]), np.array([0.25, 0.75]), 1.0, 1e-8, 1000, TRANSPORT
    )
    assert status == OK
    assert_allclose(value, 0.25e6, rtol=1e-8)
