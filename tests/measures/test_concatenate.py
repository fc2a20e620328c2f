"""Collections joined: views stay views, supports and names are kept where all agree."""

import numpy as np
import polars as pl
import pytest

from kermes import Measures, divergences, pairwise
from kermes.exceptions import InvalidMeasureError
from kermes.measures import as_measures

CLOUDS = Measures.from_samples([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]])
OTHERS = Measures.from_samples([[[6.0, 7.0]]], weights=[[0.5]])


def test_views_of_one_collection_give_a_view_of_it():
    joined = Measures.concatenate([CLOUDS[[1]], CLOUDS])
    assert joined._root is CLOUDS._root
    assert joined.rows.tolist() == [1, 0, 1]


def test_several_collections_are_packed_in_order():
    joined = Measures.concatenate([CLOUDS[[1]], OTHERS])
    assert joined.points.tolist() == [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
    assert joined.weights.tolist() == [1.0, 1.0, 0.5]
    assert joined.offsets.tolist() == [0, 2, 3]
    assert joined.support is None
    assert joined.keys is None


def test_a_support_that_all_share_is_kept():
    images = np.arange(1.0, 13.0).reshape(2, 2, 3)
    A, B = Measures.from_images(images[:1]), Measures.from_images(images[1:])
    joined = Measures.concatenate([A, B])
    assert joined.support.shape == (2, 3)
    expected = pairwise(Measures.from_images(images), divergence=divergences.Euclidean())
    np.testing.assert_array_equal(pairwise(joined, divergence=divergences.Euclidean()), expected)
    bins = Measures.from_histograms([[1.0] * 6], A.support.points)
    mixed = Measures.concatenate([A, bins])
    assert mixed.support.shape is None
    assert mixed.shares_support(A)
    assert Measures.concatenate([A, OTHERS]).support is None


@pytest.mark.parametrize(("names", "expected"), [(["a", "c"], ["a", "c"]), (["a", 1], None), (["a", None], None)])
def test_names_are_kept_if_all_are_of_one_kind(names, expected):
    def named(name):
        if name is None:
            return Measures.from_samples([[1.0]])
        return Measures.from_frame(pl.DataFrame({"by": [name], "x": [1.0]}), by="by", columns="x")

    keys = Measures.concatenate([named(name) for name in names]).keys
    assert (None if keys is None else keys.tolist()) == expected


def test_measures_of_several_collections_keep_their_support_and_are_packed_once():
    A, B = (Measures.from_histograms([[1.0, i], [0.0, 1.0]], [0.0, 1.0]) for i in (1.0, 2.0))
    joined = as_measures([B[1], A[0], B[1], A[1]])
    assert joined.shares_support(A)
    assert joined.rows.tolist() == [0, 1, 0, 2]
    assert [measure.weights.tolist() for measure in joined] == [[1.0], [1.0, 1.0], [1.0], [1.0]]


@pytest.mark.parametrize(
    ("collections", "message"),
    [
        ([], "got none"),
        ([CLOUDS, [1.0]], "got Measures, list"),
        ([CLOUDS, Measures.from_samples([[1.0]])], "collection 1 has points of dimension 1, collection 0"),
    ],
)
def test_what_cannot_be_joined_is_refused(collections, message):
    with pytest.raises(InvalidMeasureError, match=message):
        Measures.concatenate(collections)
