import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from kermes import Measures, compare, divergences
from kermes.comparison import Candidate
from kermes.comparison._folds import as_score, inner_folds, outer_folds, read_target
from kermes.exceptions import DegenerateDataWarning, InvalidParameterError, UnsuitableDataError

NOTHING = [Candidate("nothing", learner="dummy")]

MAE = "neg_mean_absolute_error"


def measures(n):
    return Measures.from_samples([[float(i), 0.5] for i in range(n)])


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.linspace(0.1, 3.7, 37), "classification", "37 distinct values, all real: use task='regression'"),
        ([0, 1, np.nan, 1], "classification", "that of measure 2 is missing"),
        ([0.1, 0.5, np.nan, 1.0], "regression", "that of measure 2 is missing"),
        (np.array(["a", None, "b", "a"], dtype=object), "classification", "that of measure 1 is missing"),
        (["a", "b", "a"], "regression", "not numbers: use task='classification'"),
        ([1.0, np.inf, 2.0], "regression", "finite numbers"),
        ([2.0, 2.0, 2.0], "regression", "all values of `y` are equal, 2"),
        ([1e-200, 2e-200, 4e-200], "regression", "the values of `y` reach 4e-200 and differ by 3e-200"),
        ([1e200, 2e200, 4e200], "regression", "the values of `y` reach 4e.200 .* Divide them by 4e.200"),
        (["a", "a", "a"], "classification", "it holds only one, a"),
        (np.array([1, "a", 2], dtype=object), "classification", "labels of one kind"),
        ([0, 1, 1j], "classification", "real numbers; got complex ones"),
        ([0, 1, 0], "clasification", "Did you mean 'classification'"),
        ([[0, 1], [1, 0]], "classification", "one per measure; got shape"),
    ],
)
def test_targets_that_do_not_fit(y, task, message):
    with pytest.raises(ValueError, match=message):
        compare(measures(len(y)), y, task, candidates=NOTHING)


def test_targets_of_another_length():
    with pytest.raises(InvalidParameterError, match="`y` must hold 4 values, one per measure; got shape"):
        compare(measures(4), [0, 1, 0])


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 1, 2],
        [1.0, 2.0, 1.0, 2.0],
        ["b", "a", "b", "a"],
        np.array(["b", "a", "b", "a"], dtype=object),
        [True, False, True, False],
        [[1], [2], [1], [2]],
    ],
)
def test_labels_of_many_kinds(y):
    assert_array_equal(read_target(y, 4, "classification")[0], np.ravel(y))


def test_missing_values_of_pandas():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidParameterError, match="that of measure 1 is missing"):
        read_target(pd.Series([1, pd.NA, 2], dtype="Int64"), 3, "classification")[0]
    assert_array_equal(read_target(pd.Categorical(["u", "v", "u"]), 3, "classification")[0], ["u", "v", "u"])


def test_few_samples_of_a_class_mean_fewer_folds():
    y = np.array([0] * 10 + [1] * 3)
    with pytest.warns(DegenerateDataWarning, match="5 folds were asked for, but class 1 has 3 samples: 3 folds"):
        folds = outer_folds(y, "classification", 5, 3, None, 0)
    assert len(folds) == 3
    for fold in folds:
        assert (y[fold.test] == 1).sum() == 1
        assert len(fold.inner) == 2
    with pytest.raises(UnsuitableDataError, match=r"class 1 has 1 sample\. .* use task='regression'"):
        outer_folds(y[:11], "classification", 5, 3, None, 0)
    with pytest.warns(DegenerateDataWarning, match="there are 6 samples, and each fold needs 2 to test on: 3"):
        assert len(outer_folds(np.arange(6.0), "regression", 5, 3, None, 0)) == 3


@pytest.mark.parametrize(
    ("counts", "cv", "message"),
    [
        ([2, 2], 5, "needs 3 samples of each class, .* but class 0 has 2 samples"),
        ([3, 2], 5, "needs 3 samples of each class, .* but class 1 has 2 samples"),
        ([2, 5], 5, "needs 3 samples of each class, .* but class 0 has 2 samples"),
        ([3, 9], 2, "with 2 folds needs 4 samples of each class, .* but class 0 has 3 samples"),
    ],
)
def test_classes_too_small_for_nested_folds(counts, cv, message):
    y = np.repeat(np.arange(len(counts)), counts)
    with pytest.raises(UnsuitableDataError, match=message):
        compare(measures(len(y)), y, cv=cv)


@pytest.mark.parametrize(("counts", "cv"), [([3, 7, 4], 3), ([4, 4], 2), ([4, 5], 4)])
def test_the_smallest_classes_run(counts, cv):
    y = np.repeat(np.arange(len(counts)), counts)
    found = compare(measures(len(y)), y, cv=cv)
    assert {row.status for row in found.rows} == {"ok"}, found


def test_few_samples_of_a_regression():
    with pytest.raises(UnsuitableDataError, match=r"needs 4 samples, .* but `y` holds 3") as caught:
        compare(measures(3), np.arange(3.0), "regression")
    assert "class" not in str(caught.value)
    with pytest.warns(DegenerateDataWarning, match="there are 4 samples, and each fold needs 2 to test on: 2 folds"):
        found = compare(measures(4), np.arange(4.0), "regression")
    assert {row.status for row in found.rows} == {"ok"}, found


@pytest.mark.parametrize(
    ("y", "task", "options", "message"),
    [
        ([0, 1, 0, 1], "classification", {"cv": [([0, 1], [2, 3])]}, "class 0 has 1 sample"),
        ([0, 1, 0, 0], "classification", {"cv": [([0, 1, 2], [3])]}, "would learn from class 0 only"),
        ([0, 0, 1, 1], "classification", {"cv": [([0, 1], [2, 3])]}, "would learn from class 0 only"),
        (np.arange(4.0), "regression", {"cv": [([0], [2, 3])]}, "a training set has 1 sample"),
        (np.repeat([0, 1], 4), "classification", {"cv": 2, "groups": np.repeat([0, 1, 2, 3], 2)}, "in two groups"),
        (np.arange(4.0), "regression", {"cv": 2, "groups": [0, 0, 0, 1], "scoring": MAE}, "a training set has 1"),
    ],
)
def test_training_rows_that_cannot_be_split_again(y, task, options, message):
    with pytest.raises(UnsuitableDataError, match=message):
        compare(measures(len(y)), y, task, **options)


def test_few_groups_mean_fewer_folds():
    y, groups = np.arange(12) % 2, np.arange(12) // 6
    with pytest.warns(DegenerateDataWarning, match="there are 2 groups: 2 folds"):
        folds = outer_folds(y, "classification", 5, 3, groups, 0)
    assert len(folds) == 2
    with pytest.raises(UnsuitableDataError, match="there is 1 group"):
        outer_folds(y, "classification", 5, 3, np.zeros(12, dtype=int), 0)


def test_folds_are_stratified_and_seeded():
    y = np.repeat([0, 1], [40, 10])
    first, second = (outer_folds(y, "classification", 5, 3, None, seed) for seed in (0, 0))
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a.test, b.test)
        assert_array_equal(np.bincount(y[a.test]), [8, 2])
        for train, test in a.inner:
            assert not set(train) & set(test)
            assert max(train.max(), test.max()) < len(a.train)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "`cv` must be an integer of at least 2"),
        ("five", "`cv` must be a number of folds"),
        ([], "at least one split"),
        ([([0, 1], [1, 2])], "others to test on"),
        ([([0, 1], [])], "others to test on"),
        ([([0, 1, 4, 5], [-2, -1])], r"whole numbers from 0 to 5; got \[-2, -1\]"),
        ([([0, 1, 2, 3], [5, 6])], r"whole numbers from 0 to 5; got \[5, 6\]"),
        ([([0.0, 1.0, 2.0], [3.0, 4.0])], "distinct rows, whole numbers"),
        ([([0, 1, 2, 2], [3, 4])], "distinct rows"),
        ([([[0, 1], [2]], [3, 4])], "distinct rows"),
        ([(np.arange(6) < 4, np.arange(6) >= 4)], r"numpy.flatnonzero\(mask\) makes rows of a mask"),
        ([0, 1], "`cv` must be a number of folds"),
        ([([0, 1], [2, 3], [4, 5])], "`cv` must be a number of folds"),
        (GroupKFold(3), "`cv` does not split these 6 measures: .* Pass `groups`"),
        (KFold(7), "`cv` does not split these 6 measures: .*n_splits=7"),
    ],
)
def test_folds_that_make_no_sense(cv, message):
    with pytest.raises(InvalidParameterError, match=message):
        compare(measures(6), [0, 1] * 3, candidates=NOTHING, cv=cv)


@pytest.mark.parametrize("cv", [KFold(3), StratifiedKFold(4), [([0, 1, 2, 3], [4, 5, 6, 7]), ([0, 1, 4, 5], [6, 7])]])
def test_folds_that_part_a_group(cv):
    donors = np.array(["a", "b", "c", "a", "d", "e", "f", "e"])
    with pytest.raises(InvalidParameterError, match=r"trains and tests on group [ae].* such as GroupKFold"):
        compare(measures(8), [0, 1] * 4, candidates=NOTHING, cv=cv, groups=donors)


def test_folds_that_keep_groups():
    donors = np.repeat(["a", "b", "c", "d"], 2)
    for cv in (GroupKFold(2), [(np.arange(4), np.arange(4, 8, dtype=np.uint8))]):
        found = compare(measures(8), [0, 1] * 4, candidates=NOTHING, cv=cv, groups=donors)
        assert found.rows[0].status == "ok"


def test_a_class_of_one_sample_in_the_search():
    splits = inner_folds(np.array([0, 0, 0, 1]), "classification", 3, None, 0)
    assert sorted(np.concatenate([test for _, test in splits])) == [0, 1, 2, 3]


def test_a_search_in_few_samples():
    """R^2 of one sample does not exist; the search uses another measure of error."""
    X = measures(6)
    with pytest.warns(DegenerateDataWarning):
        found = compare(X, np.arange(6.0), "regression", [Candidate("W2", divergences.Wasserstein())])
    assert found.rows[0].status == "ok"
    assert found.rows[0].warnings == ()


def test_scores():
    truth, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 2, 1])
    assert as_score(None, "classification").function(truth, predicted) == 0.75
    assert as_score("balanced_accuracy", "classification").function(truth, predicted) == pytest.approx(5 / 6)
    assert as_score(None, "regression").name == "r2"
    with pytest.raises(InvalidParameterError, match="Did you mean 'accuracy'"):
        as_score("acuracy", "classification")
