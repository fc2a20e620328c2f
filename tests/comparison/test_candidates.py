import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.svm import SVC
from tests.comparison.cases import spreads, two_widths

from kermes import MeasureGPRegressor, Measures, compare, divergences, ground, kernels
from kermes.comparison import Candidate, CandidateModel, auto_candidates
from kermes.comparison._auto import _typical_distance
from kermes.comparison._candidate import definite_power
from kermes.comparison._search import definiteness
from kermes.exceptions import InvalidParameterError

W2 = divergences.Wasserstein(p=2)


def names(X, task="classification"):
    return [candidate.name for candidate in auto_candidates(X, task)]


def test_candidates_follow_the_data():
    rng = np.random.default_rng(0)
    line = Measures.from_samples([rng.normal(size=5) for _ in range(8)])
    assert names(line) == [
        "most frequent class", "means, logistic", "cluster shares, logistic",
        "W2, SVC", "W2, neighbours", "Gaussian W2, SVC", "MMD, SVC", "k-IGV, SVC",
    ]  # fmt: skip
    space = Measures.from_samples([rng.normal(size=(5, 3)) for _ in range(8)])
    assert {"sliced W2, SVC", "Sinkhorn W2, SVC", "Sinkhorn W2, LS-SVM"} <= set(names(space))
    assert not {"W2, SVC", "weights, SVC", "Jensen-Shannon, SVC"} & set(names(space))
    assert {"mean of y", "sliced W2, GP", "sliced W2, ridge", "Sinkhorn W2, neighbours"} <= set(
        names(space, "regression")
    )
    images = Measures.from_images(rng.random((8, 4, 4)))
    assert {"weights, SVC", "Jensen-Shannon, SVC", "sliced W2, SVC"} <= set(names(images))
    vectors = Measures.from_samples(rng.normal(size=(8, 1, 3)))
    assert names(vectors) == ["most frequent class", "means, SVC", "means, neighbours"]


def test_distances_out_of_reach_are_left_out():
    X = Measures.from_samples([np.random.default_rng(i).normal(size=(5, 2)) for i in range(8)])
    found = {candidate.name for candidate in auto_candidates(X, most_work=1.0)}
    assert not [name for name in found if name.startswith(("sliced", "Sinkhorn", "k-IGV", "MMD"))]
    assert {"Gaussian W2, SVC", "means, logistic"} <= found


def test_large_clouds_are_compared_on_a_codebook():
    rng = np.random.default_rng(0)
    wide = np.repeat([1.0, 2.0], 6)
    X = Measures.from_samples([rng.normal(0.0, s, size=(2500, 2)) for s in wide])
    found = auto_candidates(X)
    steps = {candidate.name: candidate.preprocessing for candidate in found}
    quantised = {name for name, step in steps.items() if step is not None}
    assert quantised == {name for name in steps if name.endswith(", codebook")}
    assert {"sliced W2, SVC, codebook", "Sinkhorn W2, SVC, codebook", "MMD, SVC, codebook"} <= quantised
    assert steps["Gaussian W2, SVC"] is None
    result = compare(
        X, wide, candidates=[c for c in found if "sliced" in c.name or "shares" in c.name], cv=2, inner_cv=2
    )
    assert [row.mean for row in result.rows] == [1.0, 1.0, 1.0]
    assert len(result.best_.predict(X)) == 12


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("dim", [1, 2])
def test_all_of_them_run(task, dim):
    rng = np.random.default_rng(0)
    spread = 1.0 + np.arange(16) % 2
    X = Measures.from_samples([s * rng.normal(size=(6, dim)) for s in spread])
    found = compare(X, spread if task == "classification" else np.log(spread), task, cv=2, inner_cv=2)
    assert {row.status for row in found.rows} == {"ok"}, found


def test_the_typical_distance_is_that_of_drawn_points():
    X = Measures.from_samples([[[0.0, 0.0]], [[3.0, 4.0], [0.0, 0.0]]], [[2.0], [1.0, 1e-9]])
    assert _typical_distance(X, 0) == 5.0
    assert _typical_distance(Measures.from_samples([[1.0, 1.0], [1.0]]), 0) == 1.0
    shifted = Measures.from_samples([np.arange(5.0), 10 + np.arange(5.0)])
    gaps = np.abs(np.subtract.outer(shifted.points[:, 0], shifted.points[:, 0]))
    assert _typical_distance(shifted, 0) == pytest.approx(np.median(gaps[gaps > 0]), abs=2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": " "}, "`name` must be a string"),
        ({"name": "a", "divergence": W2, "kernel": kernels.IGV(1.0)}, "not both"),
        ({"name": "a", "divergence": "W2"}, "must be a divergence such as"),
        ({"name": "a", "divergence": []}, "must be a divergence such as"),
        ({"name": "a", "divergence": divergences.Wasserstein}, "must be a divergence such as"),
        ({"name": "a", "kernel": RBF()}, "must be a kernel on measures"),
        ({"name": "a"}, "must have a divergence or a kernel, unless"),
        ({"name": "a", "learner": "knn"}, "must have a divergence or a kernel, unless"),
        ({"name": "a", "divergence": W2, "learner": "dummy"}, "must have a divergence or a kernel, unless"),
        ({"name": "a", "divergence": W2, "learner": DummyClassifier()}, "must have a divergence or a kernel, unless"),
        ({"name": "a", "divergence": W2, "grid": {"C": 1.0}}, "map names of parameters to lists"),
        ({"name": "a", "divergence": W2, "grid": {"C": []}}, "map names of parameters to lists"),
        ({"name": "a", "divergence": W2, "grid": 3}, "map names of parameters to lists of values; got 3"),
    ],
)
def test_candidates_that_make_no_sense(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        Candidate(**options)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ("all", "`candidates` must be 'auto' or a list of Candidate; got 'all'"),
        ([], "must be 'auto' or a list of Candidate; got none"),
        ([W2], "must be 'auto' or a list of Candidate; got Wasserstein"),
        ([Candidate("a", W2), Candidate("a", W2)], "'a' occurs twice"),
        ([Candidate("a", W2, learner="svm")], "candidate 'a': `learner` must be one of .* Did you mean 'lssvm'"),
        ([Candidate("a", W2, learner="ridge")], "candidate 'a': `learner` must be one of"),
        ([Candidate("a", W2, learner=SVC())], "kernel='precomputed' or metric='precomputed'"),
        ([Candidate("a", W2, learner=SVC)], "a scikit-learn estimator with fit and predict"),
        ([Candidate("a", W2, grid={"gama": [1.0]})], "the parameter 'gama', which SVC lacks"),
        ([Candidate("a", W2, grid={"length_scale": [-1.0]})], "`length_scale` must be a finite number"),
        ([Candidate("a", W2, learner="knn", grid={"length_scale": [1.0]})], "its learner has no kernel"),
        ([Candidate("a", W2, grid={"power": [3.0]})], "`power` must be"),
        ([Candidate("a", learner=SVC(kernel="precomputed"))], "its learner takes a matrix"),
        ([Candidate("a", kernel=kernels.IGV(1.0), learner="knn")], "its learner takes distances"),
        ([Candidate("a", W2, grid={"gama": [1.0]})], "Did you mean 'gamma'.* SVC has C, "),
        (
            [Candidate("a", kernel=kernels.IGV(1.0), grid={"etta": [1.0]})],
            "which IGV and SVC lack. Did you mean 'eta'.* IGV has .*eta.*; SVC has C, ",
        ),
    ],
)
def test_candidates_are_checked_before_anything_runs(candidates, message):
    X, y = two_widths(12)
    with pytest.raises(InvalidParameterError, match=message):
        compare(X, y, candidates=candidates)


def test_the_gaussian_process_is_that_of_the_measures():
    X, y = spreads()
    X_new, _ = spreads(seed=1)
    model = CandidateModel(Candidate("W2", W2, learner="gp"), "regression").fit(X, y)
    k = model.learner_.kernel_
    again = ConstantKernel(k.k1.k1.constant_value) * model.kernel_ + WhiteKernel(k.k2.noise_level)
    oracle = MeasureGPRegressor(again, optimizer=None).fit(X, (y - y.mean()) / y.std())
    mean, std = oracle.predict(X_new, return_std=True)
    assert_allclose(model.predict(X_new), y.mean() + y.std() * mean, rtol=1e-8)
    assert_allclose(model.predict(X_new, return_std=True)[1], y.std() * std, rtol=1e-8)
    assert model.source_ is W2
    assert model.params_ == {}


def test_definiteness_is_proved_or_looked_at():
    assert definiteness(kernels.Exponential(W2), pytest.fail, 1) == "proved"
    W1 = divergences.Wasserstein(p=1)
    assert definiteness(kernels.Exponential(W1, power=1.0), pytest.fail, 1) == "proved, power 1"
    rng = np.random.default_rng(0)
    D = np.triu(rng.uniform(0.1, 3.0, (20, 20)), 1)
    table = divergences.Precomputed(D + D.T)
    for scale, verdict in ((2.0, "indefinite, "), (0.02, "positive here")):
        gram = np.exp(-((D + D.T) ** 2) / 2 / scale**2)
        assert definiteness(kernels.Exponential(table, scale), gram.copy, 1).startswith(verdict)
    igv = kernels.IGV(1.0, ground.Gaussian(sigma=1.0))
    assert definiteness(igv, pytest.fail, 1) == "proved"


def test_a_distance_is_tried_at_a_power_for_which_its_claims_hold():
    X, y = two_widths()
    W1 = divergences.Wasserstein(p=1)
    assert [definite_power(W1, dim) for dim in (1, 2)] == [1.0, 2.0]
    given = Candidate("given", W1, grid={"power": [2.0]})
    found = compare(X, y, candidates=[Candidate("W1", W1), given, Candidate("W1, GP", W1, learner="gp")], cv=2)
    assert found["W1"].definiteness == "proved, power 1"
    assert found["W1, GP"].definiteness == "proved, power 1"
    assert not found["given"].definiteness.startswith("proved")
    assert found["W1"].chosen[0]["power"] == 1.0
    model = found.fit("W1")
    assert model.kernel_.power == 1.0
    assert_allclose(model.learner_.decision_function(model.kernel_(X, X)) > 0, model.predict(X) == 1)


def test_a_model_of_a_candidate():
    X, y = two_widths()
    model = CandidateModel(Candidate("W2", W2, learner="lssvm"))
    assert clone(model).candidate is model.candidate
    with pytest.raises(AttributeError, match="not fitted"):
        model.predict(X)
    model.fit(X, y)
    assert model.source_ is W2
    assert model.params_["gamma"] in (0.3, 3.0, 30.0)
    assert 0.5 < model.search_score_ <= 1.0
    K = model.kernel_(X, X)
    assert_allclose(model.learner_.decision_function(K) > 0, model.predict(X) == 1)
    with pytest.raises(InvalidParameterError, match="`candidate` must be a Candidate"):
        CandidateModel(W2).fit(X, y)
    with pytest.raises(ValueError, match="dimension 2"):
        model.predict([np.zeros((3, 2))])
