"""Kullback-Leibler divergences in one direction: the formula, the symmetrised value, nasty measures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cases import POINT_KERNELS
from tests.oracles import gaussians

from kermes import Measures, divergences, ground, pairwise
from kermes.exceptions import UnsuitableDataError


@pytest.mark.parametrize(("name", "kernel", "k"), POINT_KERNELS, ids=[name for name, *_ in POINT_KERNELS])
def test_agrees_with_the_oracle_and_with_pairwise(name, kernel, k, clouds):
    X, Y = clouds(4, 2), clouds(3, 2, seed=1)
    divergence = divergences.GaussianKL(kernel, reg=0.1)
    found = divergence.directed(X, Y)
    assert_allclose(found, [[gaussians.directed_kl(mu, nu, k, 0.1) for nu in Y] for mu in X], rtol=1e-8, atol=1e-10)
    D = divergence.directed(X)
    assert_allclose((D + D.T) / 2, pairwise(X, divergence=divergence, squared=True), rtol=1e-9, atol=1e-10)
    assert not np.allclose(D, D.T, rtol=0.01)


def test_a_broad_gaussian_stands_in_for_a_narrow_one_better_than_the_other_way_round():
    X = Measures.from_samples([[-1.0, 1.0], [-9.0, 9.0]])
    D = divergences.GaussianKL(reg=0.1).directed(X)
    assert D[1, 0] > 10 * D[0, 1] > 0


def test_shifts_masses_and_equal_measures():
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(n, 3)) for n in (1, 1, 6, 40)]
    X = Measures.from_samples(points)
    divergence = divergences.GaussianKL(reg=0.5)
    D = divergence.directed(X)
    assert_array_equal(D[0, 0], 0.0)
    assert_allclose(np.diagonal(D), 0.0, atol=1e-14)
    assert_allclose(D[0, 1], ((points[0] - points[1]) ** 2).sum())  # both reg I: |m - n|^2 / (2 reg)
    assert_allclose(divergence.directed(X.map_points(lambda x: x + 1e6)), D, rtol=1e-7, atol=1e-9)
    heavier = Measures.from_samples(points, weights=[np.full(len(p), 7.0) for p in points])
    assert_allclose(divergence.directed(heavier), D, rtol=1e-12, atol=1e-14)


def test_points_of_other_dimensions_are_refused():
    X, Y = Measures.from_samples([[0.0, 1.0]]), Measures.from_samples([[[0.0, 1.0]]])
    with pytest.raises(UnsuitableDataError, match="dimension"):
        divergences.GaussianKL(ground.Gaussian(sigma=1.0)).directed(X, Y)
