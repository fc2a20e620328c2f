"""Leave-one-out in closed form against refitting without each sample."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from kermes import EquivalentWassersteinGP, Measures, divergences, inspection, kernels
from kermes.estimators._measure_gp import target_units
from kermes.exceptions import InvalidParameterError


def problem(n=15, seed=0):
    rng = np.random.default_rng(seed)
    shifts = rng.uniform(0, 4, n)
    return Measures.from_samples([rng.normal(s, 1, 20) for s in shifts]), 5 + 10 * np.sin(shifts) + rng.normal(size=n)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("white", [0.3, None])
def test_equals_refitting_without_each_sample(normalize_y, white):
    X, y = problem()
    kernel = ConstantKernel(2.0) * kernels.Exponential(divergences.Wasserstein(), 1.5)
    if white:
        kernel = kernel + WhiteKernel(white)
    alpha = 0.01
    model = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, normalize_y=normalize_y).fit(X, y)
    loo = inspection.leave_one_out(model)
    shift, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        without = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(X[rest], (y[rest] - shift) / scale)
        mean, std = without.predict(X[[i]], return_std=True)
        std = scale * np.sqrt(std[0] ** 2 + alpha)  # of an observation: scikit-learn leaves alpha out
        mean = shift + scale * mean[0]
        assert loo.means[i] == pytest.approx(mean)
        assert loo.stds[i] == pytest.approx(std)
        assert loo.residuals[i] == pytest.approx((y[i] - mean) / std)
        assert loo.log_densities[i] == pytest.approx(norm(mean, std).logpdf(y[i]))
    assert_allclose(loo.targets, y)
    assert loo.rmse == pytest.approx(np.sqrt(np.mean((y - loo.means) ** 2)))


def test_coverage_counts_targets_inside_central_intervals():
    loo = inspection.LeaveOneOut(np.array([0.0, 0.5, 1.0, 3.0]), np.zeros(4), np.ones(4))
    assert_allclose(loo.coverage([0.1, 0.5, 0.9, 0.999]), [0.25, 0.5, 0.75, 1.0])
    assert repr(loo) == "LeaveOneOut(4 targets, RMSE 1.6, mean log density -2.20; 50% in 50%, 75% in 90%)"
    with pytest.raises(ValueError, match="`levels` must be probabilities between 0 and 1"):
        loo.coverage([0.5, 1.0])


def test_a_right_model_is_calibrated_and_a_wrong_one_is_not():
    """Targets drawn from the process itself; then the same with noise that the model does not know of."""
    X, _ = problem(120)
    kernel = ConstantKernel(1.0) * kernels.Exponential(divergences.Wasserstein(), 1.5) + WhiteKernel(0.05)
    y = np.linalg.cholesky(kernel(X)) @ np.random.default_rng(1).normal(size=120)
    right = inspection.leave_one_out(GaussianProcessRegressor(kernel, optimizer=None).fit(X, y))
    levels = np.array([0.5, 0.8, 0.95])
    assert (np.abs(right.coverage(levels) - levels) < 3 * np.sqrt(levels * (1 - levels) / 120)).all()
    y = y + np.random.default_rng(2).normal(size=120)
    wrong = inspection.leave_one_out(GaussianProcessRegressor(kernel, optimizer=None).fit(X, y))
    assert wrong.coverage([0.8])[0] < 0.6
    assert wrong.log_densities.sum() < right.log_densities.sum()


def test_takes_the_equivalent_process():
    a = np.linspace(0, 1, 12)
    X = Measures.from_histograms(np.column_stack([a, 1 - a]), [0.0, 1.0])
    model = EquivalentWassersteinGP(n_restarts=0).fit(X, np.sin(6 * a))
    assert inspection.leave_one_out(model).rmse == inspection.leave_one_out(model.gp_).rmse


def test_bad_input():
    X, y = problem(6)
    kernel = kernels.Exponential(divergences.Wasserstein(), 1.5, length_scale_bounds="fixed")
    with pytest.raises(ValueError, match="`gp` must be a fitted Gaussian process"):
        inspection.leave_one_out(GaussianProcessRegressor(kernel))
    with pytest.raises(ValueError, match="takes one output; `gp` has 2"):
        inspection.leave_one_out(GaussianProcessRegressor(kernel).fit(X, np.column_stack([y, y])))
    with pytest.raises(ValueError, match="at least two training samples"):
        inspection.leave_one_out(GaussianProcessRegressor(kernel).fit(X[:1], y[:1]))


@pytest.mark.parametrize("targets", [[1.0, 2.0, 4.0, 3.0], [1e8, 1e8 + 1, 1e8 + 3, 1e8], [1e-8, 3e-8, 0.0, 1e-8]])
@pytest.mark.parametrize("column", [False, True])
def test_units_of_the_targets(targets, column):
    """The numbers that scikit-learn keeps for itself."""
    X, y = np.arange(4.0)[:, None], np.array(targets)
    for normalize in (True, False):
        gp = GaussianProcessRegressor(ConstantKernel(2.0) * RBF(), optimizer=None, normalize_y=normalize)
        gp.fit(X, y[:, None] if column else y)
        mean, std = target_units(gp)
        assert mean == np.ravel(gp._y_train_mean)[0]
        assert std == pytest.approx(np.ravel(gp._y_train_std)[0], rel=1e-14)


@pytest.mark.parametrize(
    ("targets", "means", "stds", "message"),
    [
        (
            np.zeros((3, 1)),
            np.zeros(3),
            np.ones(3),
            r"one and the same shape \(n,\); got shapes \(3, 1\), \(3,\), \(3,\)",
        ),
        (np.zeros(3), np.zeros(1), np.ones(3), r"got shapes \(3,\), \(1,\), \(3,\)"),
        (np.zeros(3), np.zeros(3), -np.ones(3), "`stds` must be at least 0; entry 0 is -1.0"),
        (["a", "b"], np.zeros(2), np.ones(2), "`targets` must be an array of numbers"),
    ],
)
def test_what_does_not_fit_together_is_refused(targets, means, stds, message):
    """Columns were compared with rows, all with all."""
    with pytest.raises(InvalidParameterError, match=message):
        inspection.LeaveOneOut(targets, means, stds)


def test_lists_are_read():
    assert inspection.LeaveOneOut([0.0, 1.0], [0.0, 1.0], [1.0, 1.0]).rmse == 0.0


def test_series_in_another_order_are_refused():
    targets = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    stds = np.ones(3)
    assert inspection.LeaveOneOut(targets, targets, stds).rmse == 0.0
    with pytest.raises(InvalidParameterError, match="`means` must be in the order"):
        inspection.LeaveOneOut(targets, targets[::-1], stds)
