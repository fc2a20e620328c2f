"""Portions of folders, arrays and collections."""

import numpy as np
import pytest

from kermes import Measures
from kermes.exceptions import InvalidMeasureError, InvalidParameterError
from kermes.measures import chunks


def points_of(parts):
    return np.concatenate([X.points for X in parts])


def test_slices_of_a_collection_are_views(clouds):
    X = clouds(10, 2)
    parts = list(chunks(X, size=4))
    assert [len(part) for part in parts] == [4, 4, 2]
    assert all(part.fingerprint == X.fingerprint for part in parts)
    np.testing.assert_array_equal(points_of(parts), X.points)


def test_images_on_disk(tmp_path):
    images = np.random.default_rng(0).integers(0, 3, size=(7, 3, 3)).astype(np.uint8)
    images[:, 0, 0] = 1
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    parts = list(chunks(mapped, size=3))
    np.testing.assert_array_equal(points_of(parts), Measures.from_images(images).points)
    assert parts[0].support.shape == (3, 3)


def test_other_arrays():
    H = np.random.default_rng(0).random((5, 3))
    parts = list(chunks(H, size=2, make=lambda rows: Measures.from_histograms(rows, [0.0, 1.0, 5.0])))
    assert parts[2].support is not None
    np.testing.assert_array_equal(np.concatenate([X.weights for X in parts]), H.ravel())
    assert next(chunks(H)).dim == 1  # bags of numbers
    assert next(chunks(np.ones((2, 3, 4, 1)), make=lambda a: Measures.from_images(a[..., 0]))).dim == 2


def test_a_folder_in_the_order_of_names(tmp_path, clouds):
    X = clouds(9, 2)
    X[:4].save(tmp_path / "a.npz")
    X[4:].save(tmp_path / "b.npz")
    (tmp_path / "notes.txt").write_text("not measures")
    parts = list(chunks(str(tmp_path), size=3))
    assert [len(part) for part in parts] == [3, 1, 3, 2]
    np.testing.assert_array_equal(points_of(parts), X.points)


def test_labels_go_along(clouds):
    X = clouds(7, 1)
    parts = list(chunks(X, np.arange(7), size=3))
    assert [list(y) for _, y in parts] == [[0, 1, 2], [3, 4, 5], [6]]


def test_chunks_are_made_when_asked_for():
    made = []

    def make(rows):
        made.append(len(rows))
        return Measures.from_samples(rows)

    parts = chunks(np.ones((100, 2)), size=10, make=make)
    next(parts)
    assert made == [10]


def test_what_is_refused(tmp_path, clouds):
    X = clouds(5, 1)
    with pytest.raises(InvalidMeasureError, match=r"there is no file \*.npz in"):
        chunks(tmp_path)
    with pytest.raises(InvalidParameterError, match=r"`source` must be Measures, an array of samples .*; got list"):
        chunks([1, 2])
    with pytest.raises(InvalidParameterError, match="`size` must be an integer of at least 1"):
        chunks(X, size=0)
    with pytest.raises(InvalidParameterError, match="`y` has 4 labels, and there are more measures"):
        list(chunks(X, np.arange(4), size=3))
    with pytest.raises(InvalidParameterError, match="`y` has 6 labels, but there are 5 measures only"):
        list(chunks(X, np.arange(6), size=3))
