import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences import Claims, Divergence, Tile
from kermes.divergences._embeddings import OnAtoms
from kermes.engine._job import Job
from kermes.engine._tiling import Batch, Block
from kermes.exceptions import InvalidParameterError, NumericalError

X = Measures.from_samples([[float(i)] for i in range(12)])
BLOCK = Block(np.arange(12), np.arange(12), True)


def test_a_batch_is_mirrored_whatever_its_tiles():
    job = Job.prepare(divergences.Wasserstein(p=1), X, X)
    expected = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    for shape in ((12, 12), (5, 5), (2, 7), (1, 12)):
        values, status, error = job.evaluate(Batch(BLOCK, shape))
        assert_array_equal(values, expected)
        assert_array_equal(status, 0)
        assert error is None


def test_a_batch_stops_between_two_tiles():
    job, done = Job.prepare(divergences.Wasserstein(p=1), X, X), []
    assert job.evaluate(Batch(BLOCK, (4, 4)), done.append, lambda: len(done) == 2) is None
    assert done == [6, 16]


@dataclass(frozen=True)
class Table(Divergence):
    """Values that are given; tiles are views of the table where they can be."""

    values: Any

    def claims(self, dim):
        return Claims(None, None, "unknown")

    def prepare(self, X):
        return np.array(self.values)

    def tile(self, A, B, rows, cols, triangle):
        return Tile(A[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1])


def distances(values, Y=None):
    return pairwise(X[:2], Y, divergence=Table(values), engine=Engine(memo=False), squared=True)


def test_a_negative_value_of_a_divergence_of_ones_own_is_an_error_that_names_it():
    with pytest.raises(NumericalError, match=r"Table\(.* is negative, -5, for measures 0 and 1 .* at least 0"):
        distances(((0.0, -5.0), (-5.0, 0.0)))
    assert_array_equal(distances(((0.0, -1e-12), (-1e-12, 0.0))), 0.0)  # rounding


def test_a_negative_value_of_a_built_in_divergence_is_an_error_unless_it_is_rounding(monkeypatch):
    divergence = divergences.MMD(ground.Gaussian(sigma=1.0))
    clouds = Measures.from_samples([[0.0, 1.0], [0.5, 2.0]])
    for value, refused in ((-1e-3, True), (-1e-14, False)):
        monkeypatch.setattr(
            OnAtoms,
            "tile",
            lambda self, A, B, rows, cols, triangle, value=value: Tile(np.full((2, 2), value), error=np.zeros((2, 2))),
        )
        with pytest.raises(NumericalError, match=r"MMD.* is negative") if refused else contextlib.nullcontext():
            assert (pairwise(clouds, divergence=divergence, engine=Engine(memo=False)) == 0).all()


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (((0.0, np.nan), (np.nan, 0.0)), NumericalError, "no finite value for measures 0 and 1"),
        (
            ((0.0, 1.0), (3.0, 0.0)),
            InvalidParameterError,
            "must be symmetric; it is 1 for measures 0 and 1, and 3",
        ),
        (((0.0, 1j), (1j, 0.0)), InvalidParameterError, "Table.tile must return real numbers; got values of type comp"),
    ],
)
def test_what_a_divergence_of_ones_own_returns_is_checked(values, error, message):
    with pytest.raises(error, match=message):
        distances(values)


def test_a_tile_whose_entries_are_masked_is_refused():
    class Masked(Table):
        def tile(self, A, B, rows, cols, triangle):
            return Tile(np.ma.masked_equal(np.ones((len(rows), len(cols))), 1.0))

    with pytest.raises(InvalidParameterError, match=r"`Masked\.tile` has masked entries"):
        pairwise(X[:2], divergence=Masked(((0.0,),)), engine=Engine(memo=False))


def test_a_divergence_of_ones_own_cannot_write_to_what_it_is_given():
    class Writes(Table):
        def tile(self, A, B, rows, cols, triangle):
            rows[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        pairwise(X[:2], divergence=Writes(((0.0,),)), engine=Engine(memo=False))
    for array in (X.points, X.weights, X.offsets):
        assert not array.flags.writeable


def test_what_a_divergence_has_prepared_is_not_written_to():
    values = np.array([[7.0, 1.0], [1.0, 7.0]])
    job = Job.prepare(Table(values), X[:2], X[:2], same_rows=True)
    job.distances(np.arange(2), np.arange(2))
    assert_array_equal(job.A, values)
    assert_array_equal(distances(((0, 4), (4, 0))), [[0.0, 4.0], [4.0, 0.0]])  # integers


@dataclass(frozen=True)
class Reporting(Table):
    """Values with a status and errors; what a triangle does not need is nonsense."""

    status: Any = 0
    error: Any = 0.0
    estimates_error = True

    def tile(self, A, B, rows, cols, triangle):
        values = super().tile(A, B, rows, cols, triangle).values
        above = np.triu(np.ones(values.shape, dtype=bool), 1)
        return Tile(values, np.where(above, self.status, 9), np.where(above, self.error, np.nan))


ZEROS = ((0.0, 1.0), (1.0, 0.0))


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({"status": 255}, "must give each pair the status 0"),
        ({"status": 3}, "must give each pair the status 0"),
        ({"error": -1.0}, "must estimate errors by numbers of at least 0"),
        ({"error": np.nan}, "must estimate errors by numbers of at least 0"),
    ],
)
def test_what_a_divergence_of_ones_own_reports_is_checked(report, message):
    engine = Engine("serial", memo=False)
    _, info = pairwise(X[:2], divergence=Reporting(ZEROS), engine=engine, return_info=True)
    assert_array_equal(info.error, 0.0)
    with pytest.raises(InvalidParameterError, match=f"Reporting.tile {message}"):
        pairwise(X[:2], divergence=Reporting(ZEROS, **report), engine=engine)


def test_equal_measures_have_no_error():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(3, 4, 2)))
    for divergence in (divergences.MMD(ground.Laplacian(1.0)), divergences.JensenShannon(ground.Gaussian(sigma=1.0))):
        _, info = pairwise(X, X[[1, 0]], divergence=divergence, engine=Engine(memo=False), return_info=True)
        assert info.error[1, 0] == info.error[0, 1] == 0.0
        assert (info.error[2] > 0.0).all()


@dataclass(frozen=True)
class Rough(Divergence):
    """The distance of the first points, biased, with an error of 1 for each pair."""

    biased = True
    estimates_error = True

    def claims(self, dim):
        return Claims(None, None, "none")

    def prepare(self, X):
        return X.points[X.offsets[:-1], 0]

    def tile(self, A, B, rows, cols, triangle):
        values = np.abs(A[rows][:, None] - B[cols][None])
        return Tile(values, error=np.ones(values.shape))


def test_what_is_0_by_definition_has_no_error():
    """Whatever the estimate of a tile says."""
    Y = Measures.from_samples([[0.0], [5.0]])
    _, info = pairwise(X, Y, divergence=Rough(), engine=Engine("serial", memo=False), return_info=True)
    expected = np.ones((12, 2))
    expected[0, 0] = expected[5, 1] = 0.0
    assert_array_equal(info.error, expected)
