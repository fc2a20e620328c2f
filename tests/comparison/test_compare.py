import pickle
import re
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from tests.comparison.cases import nested_svc, spreads, two_widths
from tests.counted import Counting

from kermes import Engine, KernelFeatures, Measures, compare, divergences, ground, kernels, pairwise
from kermes.comparison import Candidate, CandidateModel, Comparison, ComparisonInterrupted
from kermes.exceptions import InvalidParameterError

W2 = divergences.Wasserstein(p=2)
NOTHING = Candidate("nothing", learner="dummy")


@pytest.fixture(scope="module")
def found():
    X, y = two_widths()
    four = [
        Candidate("W2, SVC", W2),
        Candidate("W2, neighbours", W2, learner="knn"),
        Candidate("W2, LS-SVM", W2, learner="lssvm"),
        NOTHING,
    ]
    return compare(X, y, candidates=four, cv=3, progress=False)


def test_scores_are_those_of_a_slow_nested_search(found):
    X, y = two_widths()
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    expected = nested_svc(X, y, W2, splits, 3, 0, [1.0, 10.0, 100.0])
    row = found["W2, SVC"]
    for mine, oracle in zip(row.predicted, expected, strict=True):
        assert_array_equal(mine, oracle)
    scores = [accuracy_score(y[test], oracle) for (_, test), oracle in zip(splits, expected, strict=True)]
    assert_allclose(row.scores, scores)
    assert_allclose([row.mean, row.std], [np.mean(scores), np.std(scores)])
    assert row.mean > found["nothing"].mean


def test_the_test_rows_have_no_say():
    """Neither the labels nor the positions of test measures change what is chosen or fitted."""
    X, y = two_widths()
    train, test = np.arange(0, 16), np.arange(16, 24)
    moved = Measures.from_samples(
        [X[i].points + 100.0 * (i in test) for i in range(24)], [X[i].weights for i in range(24)]
    )
    other = y.copy()
    other[test] = 1 - other[test]
    options = {"candidates": Candidate("W2", W2), "cv": [(train, test)]}
    first, second, third = compare(X, y, **options), compare(X, other, **options), compare(moved, y, **options)
    assert_array_equal(first["W2"].predicted[0], second["W2"].predicted[0])
    assert first["W2"].scores[0] == pytest.approx(1 - second["W2"].scores[0])
    assert first["W2"].chosen[0]["length_scale"] == pytest.approx(third["W2"].chosen[0]["length_scale"])


@dataclass(frozen=True)
class CountedTransport(divergences.Wasserstein):
    """W_2 that counts the pairs it computes."""

    pairs: list = field(default_factory=list, compare=False)

    def route(self, X, Y):
        return Counting(super().route(X, Y), self.pairs.append)


@pytest.mark.parametrize("memo", [True, False, 1000])
@pytest.mark.parametrize("last", ["svc", "gp"])
def test_every_pair_is_paid_for_once(memo, last, tmp_path):
    """Without a memory, and with one that is too small, too: matrices are handed on."""
    X, y = two_widths()
    counting = CountedTransport()
    learners = {"svc": ["gp", "knn", "svc"], "gp": ["svc", "knn", "gp"]}[last]
    candidates = [Candidate(learner, counting, learner=learner) for learner in learners]
    found = compare(X, y, candidates=candidates, cv=3, engine=Engine("serial", memo=memo))
    assert {row.status for row in found.rows} == {"ok"}
    found.distances(found.names[0])
    found.report(tmp_path / "report.html")
    assert sum(counting.pairs) == 24 * 23 // 2


@pytest.mark.parametrize("learner", ["knn", "gp"])
def test_a_model_pays_for_every_pair_once(learner):
    X, y = two_widths()
    counting = CountedTransport()
    model = CandidateModel(Candidate("a", counting, learner=learner), engine=Engine("serial", memo=1000)).fit(X, y)
    assert sum(counting.pairs) == 24 * 23 // 2
    del counting.pairs[:]
    assert_array_equal(model.predict(X[:5]), pickle.loads(pickle.dumps(model)).predict(X[:5]))
    assert sum(counting.pairs) > 0  # those of the fit are forgotten


def test_the_leaderboard(found):
    table = found.table
    assert [row["rank"] for row in table] == [1, 2, 3, 4]
    assert list(table[0]) == [
        "rank", "candidate", "mean", "std", "distance_seconds", "fit_seconds", "expected_seconds", "definiteness",
        "status", "message",
    ]  # fmt: skip
    means = [row["mean"] for row in table]
    assert means == sorted(means, reverse=True)
    assert table[-1]["candidate"] == "nothing"
    assert found["W2, SVC"].definiteness == "proved"
    assert found["nothing"].definiteness == ""
    text = repr(found)
    assert text.startswith("Comparison: 24 measures, 2 classes, 3 folds\nrank  candidate")
    assert all(name in text for name in found.names)
    assert found._repr_html_().count("<tr>") == 5
    assert "<script>" not in found._repr_html_()
    pd = pytest.importorskip("pandas")
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert list(found.to_frame()["candidate"]) == found.names


def test_predictions_and_distances_are_kept(found):
    X, y = two_widths()
    kept = found.out_of_fold("W2, neighbours")
    assert_array_equal(np.sort(kept.rows), np.arange(24))
    assert_array_equal(kept.truth, y[kept.rows])
    assert accuracy_score(kept.truth, kept.predicted) == pytest.approx(found["W2, neighbours"].mean, abs=0.05)
    assert_array_equal(found.distances("W2, SVC"), pairwise(X, divergence=W2))
    with pytest.raises(InvalidParameterError, match="has no divergence"):
        found.distances("nothing")
    with pytest.raises(InvalidParameterError, match="Did you mean 'W2, SVC'"):
        found.out_of_fold("W2, SVM")


def test_the_best_estimator_predicts_new_measures(found):
    X_new, y_new = two_widths(n=40, seed=1)
    best = found.best_
    assert isinstance(best, CandidateModel)
    assert best.candidate is found.rows[0].candidate
    predicted = best.predict(X_new)
    assert best.score(X_new, y_new) == accuracy_score(y_new, predicted) > 0.7
    assert_array_equal(pickle.loads(pickle.dumps(best)).predict(X_new), predicted)
    again = clone(best).fit(found.X, found.y)
    assert_array_equal(again.predict(X_new), predicted)
    assert_array_equal(found.fit(found.names[0]).predict(X_new), predicted)
    assert_array_equal(best.classes_, [0, 1])


def test_equal_seeds_give_equal_results(found):
    X, y = two_widths()
    again = compare(X, y, candidates=[row.candidate for row in found.rows], cv=3)
    assert {row.name: row.scores for row in again.rows} == {row.name: row.scores for row in found.rows}
    assert again.names == found.names
    other = compare(X, y, candidates=[Candidate("W2, SVC", W2)], cv=3, random_state=5)
    assert not np.array_equal(other.folds[0].test, found.folds[0].test)


def test_equally_good_candidates_keep_their_order():
    X, y = two_widths()
    twins = [Candidate(name, W2, learner="knn", grid={"n_neighbors": [1]}) for name in "cab"]
    assert compare(X, y, candidates=twins).names == ["c", "a", "b"]


def test_texts_and_lists_are_labels_and_measures():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(3 * (i % 2), 1, size=(5, 2)) for i in range(12)]
    found = compare(
        clouds, ["low", "high"] * 6, candidates=[Candidate("means", divergences.MMD(ground.Linear()))], cv=2
    )
    assert set(found.best_.predict(clouds[:4])) <= {"low", "high"}
    assert found["means"].mean == 1.0


def test_tables_of_numbers_are_points():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    frame = pd.DataFrame({"a": y + 0.1 * rng.normal(size=20), "b": rng.normal(size=20)})
    found = compare(frame, pd.Series(y), cv=2)
    assert found.names[-1] == "most frequent class"
    assert_array_equal(found.best_.predict(frame), y)


def test_failures_are_rows():
    X, y = two_widths()
    found = compare(X, y, candidates=[Candidate("entropy", divergences.JensenShannon()), Candidate("W2", W2)], cv=2)
    assert [row.status for row in found.rows] == ["ok", "failed"]
    assert found["entropy"].message.startswith("UnsuitableDataError: entropies of histograms need a shared support")
    assert found.table[1]["rank"] is None
    assert found.table[1]["mean"] is None
    assert "failed: UnsuitableDataError" in repr(found)
    assert found.best_.candidate.name == "W2"
    with pytest.raises(InvalidParameterError, match="has no predictions"):
        found.out_of_fold("entropy")


def test_nothing_that_works_is_a_result_too():
    X, y = two_widths()
    found = compare(X, y, candidates=[Candidate("entropy", divergences.JensenShannon())])
    assert found.rows[0].status == "failed"
    with pytest.raises(NotFittedError, match="no candidate finished"):
        _ = found.best_


def test_values_that_are_no_distances_and_no_numbers():
    X, y = two_widths()
    signed = divergences.Sinkhorn(50.0, value="regularized")
    both = [Candidate("neighbours", signed, learner="knn"), Candidate("kernel", signed, grid={"length_scale": [9.0]})]
    found = compare(X, y, candidates=both, cv=2)
    assert found["kernel"].status == "ok"
    assert found["neighbours"].message.startswith("NumericalError: some squared distances are negative")
    X, y = spreads()
    mute = Candidate("mute", W2, learner=Mute())
    assert "predicted values that are not finite" in compare(X, y, "regression", mute, cv=2).rows[0].message


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"])
def test_scores_that_are_no_numbers(scoring):
    """Squares of huge predictions overflow: such a row fails."""
    X, y = spreads()
    far = Candidate("far", W2, learner=Mute(answer=1e308))
    found = compare(X, y, "regression", far, cv=2, scoring=scoring).rows[0]
    assert (found.status, found.mean) == ("failed", None)
    assert "predictions are far beyond `y`" in found.message


def test_a_setting_without_a_score_is_not_chosen():
    X, y = spreads()
    half = Candidate("half", W2, learner=Mute(), grid={"answer": [np.nan, 1e200, 0.0]})
    row = compare(X, y, "regression", half, cv=2).rows[0]
    assert row.status == "ok"
    assert {setting["answer"] for setting in row.chosen} == {0.0}


class Mute(RegressorMixin, BaseEstimator):
    """A learner of distances that has no answer."""

    def __init__(self, metric="precomputed", answer=np.nan):
        self.metric = metric
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


@dataclass(frozen=True)
class Unhashable(divergences.Wasserstein):
    """A divergence that the memory of an engine cannot take."""

    notes: list = field(default_factory=list)


def test_divergences_without_a_hash():
    X, y = two_widths()
    bad = Candidate("bad", Unhashable(), learner="knn")
    assert "must be a frozen dataclass with hashable fields" in compare(X, y, candidates=bad, cv=2).rows[0].message
    assert compare(X, y, candidates=bad, cv=2, engine=Engine(memo=False)).rows[0].status == "ok"


class Stubborn(ClassifierMixin, BaseEstimator):
    """A learner of kernels that raises what it is told."""

    def __init__(self, kernel="precomputed", error=KeyboardInterrupt):
        self.kernel = kernel
        self.error = error

    def fit(self, X, y):
        raise self.error

    def predict(self, X):
        raise AssertionError("nothing was fitted: nobody should ask")


def test_an_interrupt_carries_what_was_finished():
    X, y = two_widths()
    three = [NOTHING, Candidate("stubborn", W2, learner=Stubborn()), Candidate("W2", W2)]
    with pytest.raises(KeyboardInterrupt) as caught:
        compare(X, y, candidates=three)
    assert isinstance(caught.value, ComparisonInterrupted)
    partial = caught.value.comparison
    assert isinstance(partial, Comparison)
    assert partial.names == ["nothing"]
    assert "interrupted" in repr(partial)
    with pytest.raises(NotFittedError, match="interrupted"):
        _ = partial.best_
    assert partial.fit("nothing").predict(X[:1]) in (0, 1)


def test_warnings_are_kept_with_their_candidate():
    X, y = two_widths()
    hasty = divergences.Sinkhorn(0.01, max_iter=1, tol=1e-6)
    found = compare(X, y, candidates=[Candidate("hasty", hasty, learner="knn")], cv=2)
    assert any(re.match("ConvergenceWarning: .* did not reach", note) for note in found.rows[0].warnings)
    assert "ok, 1 warning" in repr(found)


def test_learners_and_kernels_of_ones_own():
    X, y = two_widths()
    igv = Candidate("IGV", kernel=kernels.IGV(eta=0.1), grid={"eta": [0.1, 1.0], "power": [0.5, 1.0], "C": [10.0]})
    features = make_pipeline(KernelFeatures("precomputed"), LogisticRegression())
    linear = Candidate("features", W2, learner=features, grid={"logisticregression__C": [1.0, 100.0]})
    fixed = Candidate("fixed", W2, grid={"length_scale": [0.7], "C": [1.0]})
    several = Candidate("MMD", [divergences.MMD(ground.Gaussian(sigma=s)) for s in (0.3, 1.0)])
    found = compare(X, y, candidates=[igv, linear, fixed, several], cv=3)
    assert {row.status for row in found.rows} == {"ok"}, found
    assert found["IGV"].mean > 0.7
    assert {setting["C"] for setting in found["IGV"].chosen} == {10.0}
    assert {setting["source"].eta for setting in found["IGV"].chosen} <= {0.1, 1.0}
    assert found["fixed"].chosen[0]["length_scale"] == 0.7
    assert found["MMD"].chosen[0]["source"] in several.divergences
    model = found.fit("IGV")
    assert_array_equal(model.predict(X[:5]), pickle.loads(pickle.dumps(model)).predict(X[:5]))
    with pytest.raises(InvalidParameterError, match="has no divergence"):
        found.distances("IGV")


@pytest.mark.parametrize("learner", ["ridge", "gp", "knn"])
def test_regression(learner):
    X, y = spreads()
    found = compare(
        X, y, "regression", [Candidate("W2", W2, learner=learner), Candidate("mean", learner="dummy")], cv=3
    )
    assert found.scoring == "r2"
    assert found["W2"].status == "ok", found
    assert found["W2"].mean > 0.3 > found["mean"].mean
    assert found["mean"].mean < 0
    X_new, y_new = spreads(seed=1)
    assert found.best_.score(X_new, y_new) > 0.3
    assert "regression" in repr(found)
    assert found["W2"].definiteness == ("" if learner == "knn" else "proved")


def test_other_folds_and_scores():
    X, y = two_widths()
    one = Candidate("W2", W2, learner="knn", grid={"n_neighbors": [1]})
    assert len(compare(X, y, candidates=one, cv=LeaveOneOut())["W2"].scores) == 24
    drawn = compare(X, y, candidates=one, cv=ShuffleSplit(2, random_state=0), scoring="balanced_accuracy")
    assert len(drawn.out_of_fold("W2").rows) == 6
    assert compare(X, y, candidates=one, scoring="f1_macro").scoring == "f1_macro"
    X, y = spreads()
    errors = compare(X, y, "regression", one, scoring="neg_mean_absolute_error", cv=LeaveOneOut())
    assert -1 < errors["W2"].mean < 0
    with pytest.raises(InvalidParameterError, match="two samples in every test fold"):
        compare(X, y, "regression", one, cv=LeaveOneOut())


class Slow(DummyClassifier):
    """A learner that takes longer than a bar waits for."""

    def fit(self, X, y):
        time.sleep(1.01)
        return super().fit(X, y)


def test_pipes_see_no_bars(capsys):
    X, y = two_widths()
    slow = Candidate("slow", learner=Slow())
    compare(X, y, candidates=[slow], cv=2)
    assert capsys.readouterr() == ("", "")
    compare(X, y, candidates=[slow], cv=2, progress=True)
    assert "slow" in capsys.readouterr().err
    with pytest.raises(InvalidParameterError, match="`progress` must be one of 'auto'"):
        compare(X, y, progress="yes")


def test_groups_stay_together():
    X, y = two_widths()
    groups = np.arange(24) // 4
    found = compare(X, y, candidates=[NOTHING], cv=3, groups=groups)
    for fold in found.folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        for train, test in fold.inner:
            assert not set(groups[fold.train[train]]) & set(groups[fold.train[test]])


@pytest.mark.parametrize("exponent", [-480, 480])
def test_the_unit_of_the_points_does_not_matter(exponent):
    """A power of two rounds nothing: every choice and prediction is the same."""
    X, y = two_widths()
    moved = Measures.from_samples([np.ldexp(m.points, exponent) for m in X], [m.weights for m in X])
    candidates = [Candidate(learner, W2, learner=learner) for learner in ("svc", "knn", "lssvm", "gp")]
    first, second = (compare(Z, y, candidates=candidates, cv=2) for Z in (X, moved))
    for name in ("svc", "knn", "lssvm", "gp"):
        assert first[name].status == second[name].status == "ok"
        assert first[name].scores == second[name].scores
        for mine, theirs in zip(first[name].predicted, second[name].predicted, strict=True):
            assert_array_equal(mine, theirs)
