"""Candidates that take measures, steps before them, and tasks by the labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.comparison.cases import spreads, two_widths

from kermes import MapPoints, Measures, compare, divergences, kernels
from kermes.comparison import Candidate, CandidateModel, _auto
from kermes.comparison._report._code import source_code
from kermes.exceptions import InvalidParameterError
from kermes.features import Codebook, SlicedFeatures

W2 = divergences.Wasserstein(p=2)
SLICED = divergences.SlicedWasserstein(n_slices=10)
SCALER = MapPoints(StandardScaler(with_mean=False), weighting="atom")


def unequal(n=24, seed=0):
    """Return clouds whose first coordinate is noise of a large scale, and whose second one spreads by class."""
    rng = np.random.default_rng(seed)
    wide = np.arange(n) % 2
    return Measures.from_samples([rng.normal(size=(12, 2)) * (1000.0, 1.0 + 2 * w) for w in wide]), wide


def test_an_estimator_on_measures_is_a_row(tmp_path):
    X, y = two_widths()
    features = make_pipeline(SlicedFeatures(), LogisticRegression())
    listed = [
        Candidate("sliced + logistic", learner=features, grid={"logisticregression__C": [0.1, 10.0]}),
        Candidate("SVC on measures", learner=SVC(kernel=kernels.Exponential(W2, 0.5))),
    ]
    found = compare(X, y, candidates=[*listed, Candidate("nothing", learner="dummy")], cv=3)
    assert {row.status for row in found.rows} == {"ok"}, found
    assert found["sliced + logistic"].chosen[0]["logisticregression__C"] in (0.1, 10.0)
    fixed = compare(X, y, candidates=Candidate("W2", W2, grid={"length_scale": [0.5], "C": [1.0]}), cv=3)
    assert found["SVC on measures"].scores == fixed["W2"].scores
    model = found.fit("sliced + logistic")
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    names = {"X": X, "y": y, "X_new": X}
    exec(source_code(model), names)
    assert_array_equal(names["model"].predict(X), model.predict(X))
    only = compare(X, y, candidates=listed[:1], cv=3)
    assert "Map of the samples" in only.report(tmp_path / "r.html").read_text()


def test_steps_are_fitted_within_the_folds():
    """The scores are those of a pipeline that scikit-learn fits to each training set."""
    X, y = unequal()
    kernel = Candidate("sliced", SLICED, grid={"length_scale": [0.5], "C": [1.0]}, preprocessing=SCALER)
    estimator = Candidate("pipeline", learner=make_pipeline(SCALER, SVC(kernel=kernels.Exponential(SLICED, 0.5))))
    found = compare(X, y, candidates=[kernel, estimator], cv=3)
    assert {row.status for row in found.rows} == {"ok"}, found
    assert found["sliced"].scores == found["pipeline"].scores
    for mine, theirs in zip(found["sliced"].predicted, found["pipeline"].predicted, strict=True):
        assert_array_equal(mine, theirs)
    model = found.fit("sliced")
    assert_allclose(model.preprocessing_.transformer_.scale_, X.points.std(axis=0))
    expected = compare(SCALER.fit_transform(X), y, candidates=Candidate("sliced", SLICED), cv=3)
    assert_allclose(found.distances("sliced"), expected.distances("sliced"), rtol=1e-12)
    with pytest.raises(InvalidParameterError, match="`preprocessing` of candidate 'a' must be a transformer"):
        Candidate("a", W2, preprocessing=StandardScaler)


def test_one_step_for_all_candidates(tmp_path):
    X, y = unequal()
    found = compare(X, y, cv=2, inner_cv=2, preprocessing=SCALER)
    assert {row.status for row in found.rows} == {"ok"}, found
    assert all(row.candidate.preprocessing is SCALER for row in found.rows)
    assert found["sliced W2, SVC"].mean > 0.8
    names = {"X": X, "y": y, "X_new": X}
    exec(source_code(found.best_), names)
    assert_array_equal(names["model"].predict(X), found.best_.predict(X))
    found.report(tmp_path / "r.html")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 12, "classification"),
        ([1.0, 2.0] * 12, "classification"),
        (np.arange(24) % 12, "classification"),
        (np.arange(24) + 0.5, "regression"),
        (np.arange(24), "regression"),
    ],
)
def test_the_task_by_the_labels(y, task):
    X, _ = two_widths()
    model = CandidateModel(Candidate("W2", W2, learner="knn"), "auto", cv=2).fit(X, y)
    assert model.task_ == task
    assert model.__sklearn_tags__().estimator_type == ("classifier" if task == "classification" else "regressor")


def test_a_comparison_by_the_labels():
    X, y = spreads()
    assert compare(X, y, "auto", [Candidate("W2", W2, learner="knn")], cv=2).scoring == "r2"
    X, y = two_widths()
    floats = compare(X, 1.0 + y, task="auto", candidates=[Candidate("W2", W2)], cv=3)
    assert floats.scoring == "accuracy"
    assert floats.best_.score(X, 1 + y) == floats.best_.score(X, 1.0 + y) > 0.8


def test_a_gaussian_process_of_classes():
    X, y = two_widths()
    for labels in (y, np.arange(24) % 3):
        model = CandidateModel(Candidate("GP", W2, learner="gp")).fit(X, labels)
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


class RecordingScaler(MapPoints):
    """A scaler that records the measures it was fitted on: by their sizes, which no step changes."""

    def __init__(self, record, transformer=None, weighting="atom"):
        super().__init__(transformer or StandardScaler(), weighting)
        self.record = record

    def fit(self, X, y=None):
        self.record.append(frozenset(X.sizes.tolist()))
        return super().fit(X, y)


class Record(list):
    """A list that clones of its owner share."""

    def __sklearn_clone__(self):
        return self


@pytest.mark.parametrize("learner", ["svc", "gp"])
def test_steps_are_fitted_within_the_folds_of_the_search(learner):
    """No scaler that a test sample is judged with has seen it, on the outer folds and on the inner ones."""
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = Measures.from_samples([rng.normal(size=(2 + i, 2)) * (1.0 + y[i]) for i in range(12)])
    record, sizes = Record(), X.sizes
    candidate = Candidate("a", [SLICED, W2], learner=learner, preprocessing=RecordingScaler(record))
    found = compare(X, y, candidates=candidate, cv=2, inner_cv=2)
    assert found["a"].status == "ok", found
    expected = []
    for fold in found.folds:
        expected.append(fold.train)
        expected += [fold.train[train] for train, _ in fold.inner]
    assert record[:6] == [frozenset(sizes[rows].tolist()) for rows in expected]
    model = found.fit("a")
    assert record[-3] == frozenset(sizes.tolist())  # then the two splits of the search in all samples
    assert model.predict(X).shape == (12,)


def test_a_step_that_reads_labels_helps_nobody_to_cheat():
    """Scores of the search on noise are those of chance, though a step that saw the test rows would give them away."""

    class Reveal(MapPoints):
        def __init__(self, transformer=None, weighting="atom"):
            super().__init__(transformer or StandardScaler(), weighting)

        def fit(self, X, y=None):
            self.known = {X[i].points.tobytes(): label for i, label in enumerate(y)}
            return super().fit(X, y)

        def transform(self, X):
            places = [self.known.get(X[i].points.tobytes(), 0.5) for i in range(len(X))]
            return Measures.from_samples([[[float(place)]] for place in places])

    rng = np.random.default_rng(0)
    X, y = Measures.from_samples(rng.normal(size=(24, 5, 2))), np.arange(24) % 2
    model = CandidateModel(Candidate("a", W2, learner="knn", preprocessing=Reveal())).fit(X, y)
    assert model.search_score_ == pytest.approx(0.5, abs=0.01)


class CountingCodebook(Codebook):
    """Counts how often it is fitted, in all its copies."""

    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        return super().fit(X, y)


def test_candidates_share_the_result_of_a_small_step():
    X, y = unequal()
    step = CountingCodebook(4, 0)
    listed = [Candidate(f"{n}", divergences.SlicedWasserstein(n_slices=n), preprocessing=step) for n in (3, 5)]
    found = compare(X, y, candidates=listed, cv=3, inner_cv=2)
    assert (
        CountingCodebook.fits == 3 * (1 + 2) + 3
    )  # each outer fold, its inner splits; the best one fitted to all, searched
    alone = compare(X, y, candidates=listed[1:], cv=3, inner_cv=2)
    assert found["5"].scores == alone["5"].scores


def test_codebooks_of_auto_candidates_follow_the_scaling(monkeypatch):
    X, y = unequal()
    monkeypatch.setattr(_auto, "LARGE", 10)
    found = compare(X, y, cv=2, inner_cv=2, preprocessing=SCALER, budget="1h")
    steps = {row.name: row.candidate.preprocessing for row in found.rows}
    assert [type(step) for _, step in steps["sliced W2, SVC, codebook"].steps] == [MapPoints, Codebook]
    assert steps["Gaussian W2, SVC"] is SCALER
    assert steps["MMD, SVC, codebook"] is steps["sliced W2, SVC, codebook"]
