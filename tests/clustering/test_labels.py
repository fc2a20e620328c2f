"""Labels and trees."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import linkage

from kermes._checks import as_labels
from kermes.clustering._base import as_linkage, cut_tree, number_by_size
from kermes.exceptions import InvalidParameterError


def test_clusters_are_numbered_by_size_then_first_member():
    labels, old = number_by_size(np.array([7, 5, 5, 3, 7, 5, 9]))
    assert_array_equal(labels, [1, 0, 0, 2, 1, 0, 3])
    assert_array_equal(old, [5, 7, 3, 9])


@pytest.mark.parametrize("method", ["single", "average", "centroid", "median", "ward"])
def test_a_cut_has_as_many_clusters_as_asked_for(method):
    """Points on a grid have many equal distances, for which fcluster finds fewer clusters."""
    points = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    Z = linkage(points, method)
    for k in range(1, 21):
        labels = cut_tree(Z, k)
        assert_array_equal(np.unique(labels), np.arange(k))
        if k > 1:  # one cluster of the coarser cut is split, the others stay
            coarser = cut_tree(Z, k - 1)
            assert len({*zip(labels.tolist(), coarser.tolist(), strict=True)}) == k


def test_what_is_no_tree():
    Z = linkage(np.arange(5.0)[:, None] ** 2)
    assert as_linkage(Z, "Z") is Z
    assert as_linkage(np.zeros((0, 4)), "Z").shape == (0, 4)
    for wrong in (Z[:, :3], Z[:3], Z[::-1], np.where(Z == 0, np.nan, Z)):
        with pytest.raises(InvalidParameterError, match="`Z` must"):
            as_linkage(wrong, "Z")
    with pytest.raises(
        InvalidParameterError,
        match=r"`n_clusters` \(--clusters\) must be at most the number of measures, n_samples = 5",
    ):
        cut_tree(Z, 6)
    with pytest.raises(InvalidParameterError, match="`n_clusters` must be an integer of at least 1; got 0"):
        cut_tree(Z, 0)


def test_labels():
    names, codes = as_labels(["b", "a", "b"], "y", 3)
    assert names.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    for wrong, message in [
        ([], "one label per measure"),
        ([[1, 2]], "got shape"),
        ([1.0, np.nan], "measure 1 is nan"),
        (np.array(["a", 1], dtype=object), "of one kind"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            as_labels(wrong, "y")
    with pytest.raises(InvalidParameterError, match="`y` must hold 4 labels"):
        as_labels([1, 2, 3], "y", 4)
