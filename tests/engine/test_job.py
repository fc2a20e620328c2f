import numpy as np
from numpy.testing import assert_array_equal

from kermes import Measures, divergences
from kermes.engine._job import Job
from kermes.engine._tiling import Batch, Block

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
