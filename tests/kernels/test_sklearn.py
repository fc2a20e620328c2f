"""Scikit-learn's learners and tools on measures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR
from sklearn.utils import resample, shuffle

from kermes import Engine, Measures, divergences, ground, kernels


@pytest.fixture(scope="module")
def problem():
    """Clouds of two radii, and the radius as a regression target."""
    rng = np.random.default_rng(0)
    radius = np.r_[rng.uniform(0.8, 1.0, 30), rng.uniform(1.2, 1.4, 30)]
    X = Measures.from_samples([r * rng.normal(size=(200, 2)) for r in radius])
    return X, (radius > 1.1).astype(int), radius


def kernel(**options):
    return kernels.Exponential(divergences.MMD(ground.Gaussian(sigma=1.0)), 0.2, **options)


def test_tools_keep_the_type(problem):
    X, y, _ = problem
    parts = train_test_split(X, y, random_state=0)
    assert all(isinstance(part, Measures) for part in parts[:2])
    assert isinstance(shuffle(X, random_state=0), Measures)
    assert isinstance(resample(X, random_state=0), Measures)
    assert parts[0].fingerprint == X.fingerprint


def test_svc_equals_svc_on_the_gram_matrix(problem):
    X, y, _ = problem
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    direct = SVC(kernel=kernel()).fit(X[train], y[train])
    given = SVC(kernel="precomputed").fit(kernel()(X[train]), y[train])
    assert_allclose(direct.decision_function(X[test]), given.decision_function(kernel()(X[test], X[train])))
    assert direct.score(X[test], y[test]) > 0.85


def test_svr_and_pipeline(problem):
    X, _, radius = problem
    model = Pipeline([("svr", SVR(kernel=kernel(), C=10, epsilon=0.01))])
    assert cross_val_score(model, X, radius, cv=KFold(5, shuffle=True, random_state=0)).mean() > 0.5


def test_grid_search_pays_each_pair_once(problem, monkeypatch):
    X, y, _ = problem
    engine = Engine()
    counted = []
    evaluate = Engine.evaluate

    def count(self, *arguments, **options):
        values, info = evaluate(self, *arguments, **options)
        counted.append(info.n_evaluated)
        return values, info

    monkeypatch.setattr(Engine, "evaluate", count)
    search = GridSearchCV(SVC(kernel=kernel(engine=engine)), {"kernel__length_scale": [0.05, 0.2, 0.8]}, cv=5).fit(X, y)
    assert sum(counted) == 60 * 59 // 2
    assert len(counted) > 15
    assert search.best_estimator_.kernel.engine is engine
    assert search.predict(X[:3]).shape == (3,)


def test_gaussian_process_regression_tunes_and_interpolates(problem):
    X, _, radius = problem
    model = GaussianProcessRegressor(ConstantKernel() * kernel() + WhiteKernel(1e-2), normalize_y=True)
    model.fit(X[::2], radius[::2])
    mean, std = model.predict(X[1::2], return_std=True)
    assert model.kernel_.k1.k2.length_scale != 0.2
    assert np.sqrt(np.mean((mean - radius[1::2]) ** 2)) < 0.5 * radius.std()
    assert (std > 0).all()


def test_gaussian_process_on_diracs_is_the_rbf_process():
    points = np.linspace(0, 1, 9)[:, None]
    y = np.sin(6 * points[:, 0])
    mine = GaussianProcessRegressor(kernels.Exponential(divergences.Wasserstein(), 0.3), alpha=1e-6).fit(points, y)
    theirs = GaussianProcessRegressor(RBF(0.3), alpha=1e-6).fit(points, y)
    assert_allclose(mine.kernel_.length_scale, theirs.kernel_.length_scale, rtol=1e-3)
    grid = np.linspace(0, 1, 50)[:, None]
    assert_allclose(mine.predict(grid), theirs.predict(grid), atol=1e-4)


def test_gaussian_process_classification(problem):
    X, y, _ = problem
    model = GaussianProcessClassifier(kernel(), optimizer=None).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.85
