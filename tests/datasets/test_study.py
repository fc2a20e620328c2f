import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import datasets
from kermes.exceptions import InvalidParameterError


def test_a_study_is_its_seed_and_its_sizes():
    one, same, other = (datasets.make_study(n_donors=6, n_cells=(20, 40), n_markers=3, seed=s) for s in (1, 1, 2))
    assert one.measures.fingerprint == same.measures.fingerprint != other.measures.fingerprint
    assert 20 <= one.measures.sizes.min() <= one.measures.sizes.max() <= 40
    assert one.measures.dim == len(one.markers) == 3
    assert one.target.tolist() == [0, 1] * 3
    assert one.batch.tolist() == [0, 0, 1, 1, 0, 0]  # each batch holds both groups
    assert repr(one).startswith("Study(6 donors, ")


def test_the_shift_moves_one_population_along_one_marker():
    plain, moved = (datasets.make_study(n_cells=(500, 500), shift=shift) for shift in (0.0, 2.0))
    change = moved.measures.points - plain.measures.points
    owner = np.repeat(moved.target, moved.measures.sizes)
    assert not change[:, 1:].any()
    assert not change[owner == 0].any()
    values, counts = np.unique(np.round(change[owner == 1, 0], 9), return_counts=True)
    assert_allclose(values, [0, 2])
    assert counts[1] < counts[0] / 4


def test_batches_move_all_cells():
    still, moved = (datasets.make_study(n_cells=(50, 50), batch_effect=effect) for effect in (0.0, 1.0))
    change = (moved.measures.points - still.measures.points).reshape(20, 50, -1)
    assert_allclose(change, np.broadcast_to(change[:, :1], change.shape), atol=1e-9)
    assert_allclose(change[0], change[1], atol=1e-9)
    assert np.abs(change[0] - change[2]).max() > 0.1


def test_impossible_studies_are_refused():
    with pytest.raises(InvalidParameterError, match="n_donors"):
        datasets.make_study(n_donors=1)
