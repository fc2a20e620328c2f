import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

from kermes import ground
from kermes.exceptions import InvalidParameterError

rng = np.random.default_rng(0)
x, y = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))


def torus(a, b):
    gap = np.abs(a[:, None] - b[None]) % 1.5
    return np.linalg.norm(np.minimum(gap, 1.5 - gap), axis=-1)


GROUNDS = [
    (ground.Euclidean(), cdist),
    (ground.SqEuclidean(), lambda a, b: cdist(a, b, "sqeuclidean")),
    (ground.Binary(2.5), lambda a, b: 2.5 * (cdist(a, b) > 0)),
    (ground.Torus(1.5), torus),
    (ground.Linear(), linear_kernel),
    (ground.Gaussian(gamma=0.3), lambda a, b: rbf_kernel(a, b, gamma=0.3)),
    (ground.Gaussian(sigma=2.0), lambda a, b: rbf_kernel(a, b, gamma=1 / 8)),
    (ground.Polynomial(3, 0.5, 0.2), lambda a, b: polynomial_kernel(a, b, 3, 0.2, 0.5)),
    (ground.Laplacian(0.4), lambda a, b: laplacian_kernel(a, b, 0.4)),
]
each = pytest.mark.parametrize(("geometry", "peer"), GROUNDS, ids=lambda g: repr(g) if hasattr(g, "code") else "")


@each
def test_agrees_with_scipy_and_scikit_learn(geometry, peer):
    both = np.vstack([x, y[:2]])  # some points in common
    assert_allclose(geometry(both, y), peer(both, y), rtol=1e-12, atol=1e-14)
    assert_allclose(geometry(x), peer(x, x), rtol=1e-12, atol=1e-14)
    assert_allclose(geometry(x[:, 0], y[:, 0]), peer(x[:, :1], y[:, :1]), rtol=1e-12, atol=1e-14)


@each
def test_is_a_value(geometry, peer):
    assert clone(geometry) is geometry
    assert pickle.loads(pickle.dumps(geometry)) == geometry
    assert eval(repr(geometry), vars(ground)) == geometry


def test_costs_by_name_and_table():
    assert ground.as_cost("euclidean") == ground.Euclidean()
    assert ground.as_cost(ground.Torus(2.0)) == ground.Torus(2.0)
    table = cdist(x, x)
    table = (table + table.T) / 2
    np.fill_diagonal(table, 0)
    matrix = ground.as_cost(table)
    assert matrix == ground.Matrix(table.copy())
    assert hash(matrix) == hash(ground.Matrix(table.copy()))
    assert matrix != ground.Matrix(2 * table)
    assert repr(matrix) == "Matrix(values=<7 x 7>)"
    assert_allclose(np.asarray(matrix.values), table)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ground.Gaussian(), "exactly one of `sigma`"),
        (lambda: ground.Gaussian(sigma=1.0, gamma=1.0), "exactly one of `sigma`"),
        (lambda: ground.Gaussian(sigma=0.0), "`sigma` must be a finite number greater than 0"),
        (lambda: ground.Gaussian(gamma=np.inf), "`gamma` must be a finite number"),
        (lambda: ground.Gaussian(sigma="1"), "`sigma` must be a finite number"),
        (lambda: ground.Polynomial(degree=0), "`degree` must be an integer of at least 1"),
        (lambda: ground.Polynomial(coef0=-1.0), "indefinite"),
        (lambda: ground.Laplacian(-1.0), "`gamma`"),
        (lambda: ground.Torus(0), "`period`"),
        (lambda: ground.Binary(True), "`scale`"),
        (lambda: ground.as_cost("sqeuclidian"), "Did you mean 'sqeuclidean'"),
        (lambda: ground.as_cost(3), "`cost` must be one of"),
        (lambda: ground.Matrix(np.ones((2, 3))), r"`cost matrix` must be a square array; got shape \(2, 3\)"),
        (lambda: ground.Matrix([[0, -1], [-1, 0]]), r"entry \(0, 1\) is -1"),
        (lambda: ground.Matrix([[0, 1], [2, 0]]), "symmetric"),
        (lambda: ground.Euclidean()(x, y[:, :2]), "`x` has dimension 3, `y` dimension 2"),
        (lambda: ground.Euclidean()(np.ones((1, 1, 1))), r"points of shape \(n, d\)"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()
