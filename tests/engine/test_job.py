import numpy as np
from numpy.testing import assert_array_equal

from kermes import Measures, divergences
from kermes.engine import _plan
from kermes.engine._job import Job

X = Measures.from_samples([[float(i)] for i in range(12)])
BLOCK = _plan.Block(np.arange(12), np.arange(12), True)


def test_a_portion_is_mirrored_whatever_its_tiles():
    job = Job.prepare(divergences.Wasserstein(p=1), X, X)
    expected = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    for shape in ((12, 12), (5, 5), (2, 7), (1, 12)):
        values, status = job.evaluate(BLOCK, shape)
        assert_array_equal(values, expected)
        assert_array_equal(status, 0)


def test_a_portion_stops_between_two_tiles():
    job, done = Job.prepare(divergences.Wasserstein(p=1), X, X), []
    assert job.evaluate(BLOCK, (4, 4), done.append, lambda: len(done) == 2) is None
    assert done == [6, 16]
