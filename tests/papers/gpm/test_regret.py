"""Regret curves: shared starts, falling regrets, and what random search is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes.exceptions import InvalidParameterError
from kermes.optimization import EuclideanSurrogate, ExpectedImprovement
from kermes.papers.gpm import regret
from kermes.papers.gpm.data import simplex_problem
from kermes.papers.gpm.regret import draw_regrets, regret_curves

PROBLEM = simplex_problem("problem13")
METHODS = {"model": (EuclideanSurrogate(n_restarts=0), ExpectedImprovement()), "random": None}


@pytest.fixture(scope="module")
def curves():
    return regret_curves(PROBLEM, PROBLEM.minimum, 2, methods=METHODS, n_calls=10, n_seeds=3)


def test_methods_share_their_start_and_regrets_fall(curves):
    model, random = curves.regrets["model"], curves.regrets["random"]
    assert curves.n_initial == 4
    assert_array_equal(model[:, :4], random[:, :4])
    for regrets in (model, random):
        assert regrets.shape == (3, 10)
        assert (regrets >= 0).all()
        assert (np.diff(regrets, axis=1) <= 0).all()
    assert np.median(model[:, -1]) < np.median(random[:, -1])


def test_random_search_is_uniform_on_the_simplex(curves):
    draws = np.random.RandomState(1)
    points = np.array([draws.dirichlet(np.ones(2)) for _ in range(10)])
    expected = np.minimum.accumulate(PROBLEM(points)) - PROBLEM.minimum
    assert_allclose(curves.regrets["random"][1], expected, atol=1e-14)


def test_quartiles(curves):
    quartiles = curves.quartiles("random")
    assert_allclose(quartiles[1], np.median(curves.regrets["random"], axis=0))
    assert (np.diff(quartiles, axis=0) >= 0).all()


def test_the_methods_of_the_comparison():
    assert list(regret.METHODS) == ["Wasserstein EI", "Wasserstein LCB", "Euclidean EI", "random"]


def test_parameters():
    with pytest.raises(InvalidParameterError, match="`methods` must name one method or more"):
        regret_curves(PROBLEM, PROBLEM.minimum, 2, methods={})
    with pytest.raises(InvalidParameterError, match="`minimum` must be a finite number"):
        regret_curves(PROBLEM, np.nan, 2)


def test_picture(curves):
    plt = pytest.importorskip("matplotlib.pyplot")
    backend = plt.get_backend()
    plt.switch_backend("agg")
    try:
        figure = draw_regrets({"problem13": curves.regrets, "again": curves.regrets})
        left, right = figure.axes
        assert [left.get_title(), right.get_title()] == ["problem13", "again"]
        drawn = left.lines[1].get_ydata()
        assert_allclose(drawn, np.maximum(np.median(curves.regrets["random"], axis=0), 1e-8))
        assert left.get_yscale() == "log"
        for bad in ({}, {"empty": {}}):
            with pytest.raises(InvalidParameterError, match="`curves` must hold one problem or more"):
                draw_regrets(bad)
    finally:
        plt.close("all")
        plt.switch_backend(backend)
