"""The page of a comparison, and the code it prints."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kermes import MapPoints, Measures, compare, divergences, ground, inference, inspection, kernels
from kermes.comparison import Candidate
from kermes.comparison._report import comparison_report
from kermes.comparison._report._code import expression, source_code
from kermes.exceptions import InvalidParameterError
from kermes.features import MomentFeatures


def sample(n=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return Measures.from_samples([rng.normal(size=10) * (1 + 2 * label) for label in y]), y


NEAR = kernels.Exponential(divergences.Wasserstein(p=2), length_scale=1 / 3)
CANDIDATES = {
    "svc": Candidate("W2", divergences.Wasserstein(p=2)),
    "knn": Candidate("MMD", divergences.MMD(ground.Gaussian(sigma=0.7)), learner="knn"),
    "kernel": Candidate("IGV", kernel=kernels.IGV(eta=0.1), grid={"C": [1.0, 10.0]}),
    "composed": Candidate("two", kernel=1.41 * (NEAR + kernels.IGV(eta=1 / 3)) * NEAR**2, learner="lssvm"),
    "matrix": Candidate("costs", divergences.Wasserstein(cost=ground.Torus(2 * np.pi / 3)), learner="knn"),
    "array": Candidate(
        "moments", learner=make_pipeline(MomentFeatures(2), RidgeClassifierCV(np.geomspace(1e-3, 1, 25)))
    ),
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_the_printed_code_fits_the_same_model(name, tmp_path):
    X, y = sample()
    new, _ = sample(8, seed=1)
    found = compare(X, y, candidates=[CANDIDATES[name], Candidate("nothing", learner="dummy")], cv=3, progress=False)
    names = {"X": X, "y": y, "X_new": new}
    exec(source_code(found.best_), names)
    assert_array_equal(names["model"].predict(new), found.best_.predict(new))
    assert names["model"].params_ == found.best_.params_
    html = found.report(tmp_path / "r.html", command="kermes compare x.csv").read_text()
    assert "kermes compare x.csv" in html
    assert "Candidate" in html
    with pytest.raises(InvalidParameterError, match=f"`columns` must hold {X.dim} name.*; got 3"):
        found.report(tmp_path / "r.html", columns=["a", "b", "c"])


def test_expressions_name_packages_and_leave_out_defaults():
    assert expression(divergences.Wasserstein()) == "divergences.Wasserstein()"
    assert (
        expression(divergences.MMD(ground.Gaussian(sigma=2.0))) == "divergences.MMD(ground=ground.Gaussian(sigma=2.0))"
    )
    k = kernels.Exponential(divergences.Wasserstein(p=1), length_scale=np.float64(0.5))
    assert expression(k) == "kernels.Exponential(divergence=divergences.Wasserstein(p=1), length_scale=0.5)"
    assert eval(expression(k), {"kernels": kernels, "divergences": divergences}) == k


def test_expressions_of_costs():
    """A matrix is written out, unless it is too large to be read."""
    costs = divergences.Wasserstein(cost=np.array([[0.0, 1 / 3], [1 / 3, 0.0]]))
    assert eval(expression(costs), {"ground": ground, "divergences": divergences}) == costs
    many = divergences.Wasserstein(cost=1.0 - np.eye(30))
    assert expression(many) == "divergences.Wasserstein(cost=ground.Matrix(values=array_of_30_by_30))"


def test_a_regression(tmp_path):
    X, _ = sample()
    y = np.array([m.points.std() for m in X])
    found = compare(X, y, "regression", [Candidate("W2", divergences.Wasserstein(p=2))], cv=3, progress=False)
    assert "Root mean squared error" in found.report(tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(1990, 2014, ["targets from 1990 to 2014", "dark (1990)", ": 1990, predicted "]), (0, 1e7, ["from 0 to 1e+07"])],
)
def test_targets_are_told_apart(low, high, shown, tmp_path):
    """Years had three digits, which made 2e+03 of all of them."""
    X, _ = sample()
    y = np.linspace(low, high, len(X))
    found = compare(X, y, "regression", [Candidate("W2", divergences.Wasserstein(p=2))], cv=3, progress=False)
    html = found.report(tmp_path / "r.html").read_text()
    for text in shown:
        assert text in html
    captions = re.findall(r'data-text="\d+: (\S+), predicted', html)
    assert len(set(captions)) == len(X)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_samples_that_are_left_out_several_times_count_once(task, tmp_path):
    """Repeated folds: tests were of copies, so that p was too small, and samples had numbers of copies."""
    X, y = sample()
    y = y if task == "classification" else y + np.linspace(0, 1, len(y))
    folds = RepeatedKFold(n_splits=3, n_repeats=3, random_state=0)
    found = compare(X, y, task, [Candidate("W2", divergences.Wasserstein(p=2))], cv=folds, progress=False)
    report = comparison_report(found)
    rows, truth, predicted = found.out_of_fold("W2")
    assert len(report.X) == len(X)
    for i in range(len(X)):
        own = predicted[rows == i]
        assert len(own) == 3
        assert report.predicted[i] == (own.mean() if task == "regression" else stats.mode(own).mode)
    html = report.html()
    assert "72 predictions of 24 samples" in html
    if task == "classification":
        assert f"{np.mean(truth == predicted):.1%} right" in html
        test = inference.permanova(found.distances("W2"), y, "precomputed", n_permutations=9)
        assert f'<td class="number">{test.statistic:.3g}</td>' in html


def test_samples_that_are_never_left_out_do_not_shift_the_numbers_of_others(tmp_path):
    X, y = sample()
    folds = [(np.arange(16), np.arange(16, 24)), (np.arange(8, 24), np.arange(4))]
    found = compare(X, y, candidates=[Candidate("W2", divergences.Wasserstein(p=2))], cv=folds, progress=False)
    html = found.report(tmp_path / "r.html").read_text()
    shown = {int(i) for i in re.findall(r'data-text="(\d+): ', html)}
    assert shown == {*range(4), *range(16, 24)}
    assert "12 samples were never left out" in html


@pytest.mark.parametrize("step", [StandardScaler(with_mean=False), StandardScaler(), MinMaxScaler()])
def test_where_classes_differ_is_told_in_the_units_of_the_model(step):
    """One coordinate is a thousand times as wide as the one that differs; the model divides both."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = Measures.from_samples([rng.normal((2.0 * k, 0.0), (1.0, 1000.0), size=(10, 2)) for k in y])
    scaler = MapPoints(step)
    sliced = Candidate("sliced", divergences.SlicedWasserstein(n_slices=20))
    result = compare(X, y, candidates=[sliced], preprocessing=scaler, cv=3, progress=False)
    page = comparison_report(result).html()
    told = re.search(r"1 minus 0: (\d+) of \d+ places leave the 95 % band of chance, p = (\d\.\d+)", page)
    found = inspection.difference(clone(scaler).fit(X).transform(X), y, n_points=400, random_state=0)
    assert (int(told[1]), float(told[2])) == (np.count_nonzero(found.significant), pytest.approx(found.p_value))
    assert int(told[1]) > 100
