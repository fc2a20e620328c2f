import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Measures
from kermes.exceptions import InvalidMeasureError, InvalidParameterError
from kermes.measures import Measure, as_measures


@pytest.fixture
def X():
    return Measures.from_samples([[[0, 0], [1, 0]], [[5, 5]], [[2, 2], [3, 3], [4, 4]]], [[1, 2], [4], [1, 1, 1]])


def test_packed_arrays(X):
    assert len(X) == 3
    assert X.shape == (3,)
    assert X.dim == 2
    assert_array_equal(X.offsets, [0, 2, 3, 6])
    assert_array_equal(X.masses, [3, 4, 3])
    assert_array_equal(X.sizes, [2, 1, 3])
    assert_allclose(X.probabilities, [1 / 3, 2 / 3, 1, 1 / 3, 1 / 3, 1 / 3])
    assert_allclose(X.expectation(X.points), [[2 / 3, 0], [5, 5], [3, 3]])
    assert X.support is None
    assert X.keys is None


def test_expectation_of_one_value_per_atom(X):
    assert_allclose(X.expectation(X.points[:, 0]), X.expectation(X.points)[:, 0])
    assert X[1:].expectation(X[1:].points[:, 0]).shape == (2,)


@pytest.mark.parametrize("shape", [(3,), (1, 2), (4, 1), (2, 2, 2), ()])
def test_expectation_of_other_shapes_is_refused(X, shape):
    """They were broadcast to numbers without a meaning."""
    with pytest.raises(InvalidParameterError, match=rf"one row for each of the {len(X.points)} atoms"):
        X.expectation(np.zeros(shape))
    with pytest.raises(InvalidParameterError, match="`values` must be an array of numbers"):
        X.expectation("a")


def test_arrays_are_read_only_copies():
    data = np.zeros((2, 1))
    X = Measures.from_samples([data])
    data[:] = 9.0
    assert_array_equal(X.points, 0.0)
    for array in (X.points, X.weights, X.offsets, X[:1].points):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_indexing(X):
    assert isinstance(X[0], Measure)
    assert_array_equal(X[-1].points, [[2, 2], [3, 3], [4, 4]])
    assert X[np.int64(1)].mass == 4.0
    for key in ([2, 0], np.array([2, 0]), (np.array([2, 0]), Ellipsis)):
        assert_array_equal(X[key].masses, [3, 3])
        assert_array_equal(X[key].offsets, [0, 3, 5])
    assert_array_equal(X[np.array([True, False, True])].rows, [0, 2])
    assert_array_equal(X[1:].rows, [1, 2])
    assert_array_equal(X[1:][[True, False]].rows, [1])
    assert_array_equal(X[::-1][0].points, X[2].points)
    assert [m.mass for m in X] == [3.0, 4.0, 3.0]


@pytest.mark.parametrize("key", [3, -4])
def test_index_out_of_range(X, key):
    with pytest.raises(IndexError, match="out of range for 3 measures"):
        X[key]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((0, 1), "one axis"),
        ([True, False], "mask has 2 entries for 3"),
        ("a", "integer, a slice, a mask"),
        ([[0]], "1-D array of integers"),
    ],
)
def test_bad_index(X, key, message):
    with pytest.raises(IndexError, match=message):
        X[key]


def test_a_name_is_no_index():
    table = pd.DataFrame({"g": ["01", "02"], "x": [1.0, 2.0]})
    X = Measures.from_frame(table, by="g", columns=["x"])
    with pytest.raises(IndexError, match=r"By names: X\[np.isin\(X.keys, names\)\]"):
        X["01"]


def test_empty_selection(X):
    with pytest.raises(InvalidMeasureError, match="holds none of the 3 measures"):
        X[[]]


def test_views_remember_their_root(X):
    view = X[[2, 1]][[1]]
    assert view.fingerprint == X.fingerprint
    assert_array_equal(view.rows, [1])
    same = as_measures(np.asarray(view))
    assert same.fingerprint == X.fingerprint
    assert_array_equal(same.rows, [1])


def test_fingerprint_is_the_content(X):
    again = Measures.from_samples([m.points for m in X], [m.weights for m in X])
    other = Measures.from_samples([m.points for m in X])
    assert again.fingerprint == X.fingerprint != other.fingerprint
    assert pickle.loads(pickle.dumps(X)).fingerprint == X.fingerprint


def test_a_pickled_view_holds_its_rows_only():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(100, 50, 2)))
    view = pickle.loads(pickle.dumps(X[[3, 1]]))
    assert_array_equal(view.points, X[[3, 1]].points)
    assert len(pickle.dumps(X[[3, 1]])) < len(pickle.dumps(X)) / 10


def test_twins_are_equal_measures_of_any_mass_and_order():
    X = Measures.from_samples([[1.0, 2.0], [3.0], [1.0, 2.0], [1.0, 2.0]], [[1, 1], [1], [1, 2], [1, 1 + 1e-9]])
    Y = Measures.from_samples([[3.0], [1.0, 2.0], [2.0, 1.0], [2.0, 1.0, 2.0]], [[5], [2, 2], [1, 1], [0.1, 0.1, 0.1]])
    left, right = X.twins(Y)
    assert_array_equal(left[:, None] == right[None], [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


def test_twins_however_they_are_written():
    """Another order, split atoms, a negative zero and another total mass; on a support and off it."""
    rng = np.random.default_rng(0)
    H = np.where(rng.random((5, 9)) < 0.3, 0.0, rng.random((5, 9)))
    X = Measures.from_histograms(H, np.indices((3, 3)).reshape(2, -1).T)
    points, weights = [], []
    for measure in X:
        order = rng.permutation(np.repeat(np.arange(len(measure.points)), 2))
        points.append(np.where(measure.points == 0, -0.0, measure.points)[order])
        weights.append(0.7 * measure.weights[order])
    left, right = X.twins(Measures.from_samples(points, weights)[::-1])
    assert_array_equal(left, right[::-1])
    assert len(set(left)) == 5


def test_merged_adds_up_atoms_at_one_point():
    X = Measures.from_samples([[0.0, 1.0, -0.0], [2.0]], [[1, 2, 3], [4]])
    assert_array_equal(X.merged().points.ravel(), [0, 1, 2])
    assert_array_equal(X.merged().weights, [4, 2, 4])
    assert X[[1]].merged().sizes == [1]


def test_object_array(X):
    array = np.asarray(X)
    assert array.dtype == object
    assert array.shape == (3,)
    assert (array == array).all()  # the finite check of scikit-learn
    with pytest.raises(InvalidMeasureError, match="no numeric array form"):
        np.asarray(X, dtype=float)
    with pytest.raises(TypeError, match="len"):
        len(X[0])


def test_repr(X):
    assert repr(X) == "Measures(3 measures in dimension 2, 1 to 3 atoms)"
    assert repr(X[[1]]) == "Measures(1 measure in dimension 2, 1 atom)"
    assert repr(X[1]) == "Measure(1 atom in dimension 2, mass 4)"
    images = Measures.from_images(np.ones((2, 3, 4)))
    assert repr(images) == "Measures(2 measures in dimension 2, 12 atoms, on 3 x 4 pixels)"
    bins = Measures.from_histograms(np.ones((1, 3)), [0, 1, 2])
    assert repr(bins) == "Measures(1 measure in dimension 1, 3 atoms, 3 common bins)"


@pytest.mark.parametrize(
    ("X", "mark", "count"),
    [
        (Measures.from_images(np.eye(3)[None]), "<rect", 3),
        (Measures.from_samples([np.eye(4)]), "<circle", 4),
        (Measures.from_samples([np.arange(5.0)]), "<rect", 5),
        (Measures.from_samples([[1.0]]), "<rect", 1),
    ],
)
def test_html_has_a_picture_of_each_measure(X, mark, count):
    html = X._repr_html_()
    assert html.count(mark) == count
    assert "nan" not in html
    assert "Measures(1 measure" in html


def test_html_is_short_for_long_collections():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(50, 1000, 2)))
    html = X._repr_html_()
    assert html.count("<svg") == 8
    assert "and 42 more" in html
    assert len(html) < 400_000


def test_direct_construction_is_refused():
    for arguments in ([np.eye(2)], []):
        with pytest.raises(InvalidMeasureError, match=r"Measures\.from_samples"):
            Measures(*arguments)


def test_subsample_draws_distinct_atoms():
    rng = np.random.default_rng(0)
    X = Measures.from_samples(
        [rng.normal(size=(n, 2)) for n in (3, 50, 20)], [np.arange(1, n + 1) for n in (3, 50, 20)]
    )
    small = X.subsample(10, seed=1)
    assert_array_equal(small.sizes, [3, 10, 10])
    for before, after in zip(X, small, strict=True):
        originals = {tuple(p): w for p, w in zip(before.points, before.weights, strict=True)}
        drawn = {tuple(p): w for p, w in zip(after.points, after.weights, strict=True)}
        assert len(drawn) == len(after.weights)
        assert drawn.items() <= originals.items()
    assert_array_equal(small.points, X.subsample(10, seed=1).points)
    assert not np.array_equal(small.points, X.subsample(10, seed=2).points)


def test_subsample_commutes_with_slicing_and_keeps_the_grid():
    X = Measures.from_images(np.random.default_rng(0).random((5, 6, 6)))
    left, right = X.subsample(4)[[3, 1]], X[[3, 1]].subsample(4)
    assert_array_equal(left.points, right.points)
    assert_array_equal(left.support.points[left.atoms], left.points)


def test_subsample_merges_repeated_atoms_first():
    X = Measures.from_samples([[1.0, 2.0, 1.0, 3.0]], [[1, 1, 2, 1]])
    everything = X.subsample(10)
    assert_array_equal(everything.points[:, 0], [1, 2, 3])
    assert_array_equal(everything.weights, [3, 1, 1])
    assert X.subsample(1).sizes == [1]
