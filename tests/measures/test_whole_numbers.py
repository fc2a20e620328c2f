"""Whole numbers of more than 53 bits are refused, not rounded to equal ones."""

import numpy as np
import pandas as pd
import pytest

from kermes import Measures
from kermes.exceptions import InvalidMeasureError
from kermes.measures import as_measures

CODES = 10**17 + np.arange(1, 5)


@pytest.mark.parametrize("codes", [CODES, CODES.astype(np.uint64), -CODES, np.array([2**64 - 1], dtype=np.uint64)])
def test_codes_that_would_become_equal_are_refused(codes):
    with pytest.raises(InvalidMeasureError, match=r"samples\[0\].*more than the 53 bits of a double"):
        Measures.from_samples([codes])
    with pytest.raises(InvalidMeasureError, match="`support` has the whole number"):
        Measures.from_histograms(np.ones((2, len(codes))), codes)
    with pytest.raises(InvalidMeasureError, match="`X` has the whole number"):
        as_measures(codes[:, None])


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow", None])
def test_columns_of_codes_are_refused(backend):
    frame = pd.DataFrame({"p": list("aabb"), "x": CODES})
    frame = frame if backend is None else frame.convert_dtypes(dtype_backend=backend)
    with pytest.raises(InvalidMeasureError, match=r"the column 'x' has the whole number 1000\d+, which takes more"):
        Measures.from_frame(frame, by="p", columns=["x"])


def test_whole_numbers_that_doubles_hold_are_read():
    values = np.array([2**60, 2**53, -(2**53), 3 * 2**55])
    assert np.array_equal(Measures.from_samples([values]).points.ravel(), values.astype(float))
    X = Measures.from_frame(pd.DataFrame({"p": list("aabb"), "x": values}), by="p", columns=["x"])
    assert np.array_equal(np.sort(X.points.ravel()), np.sort(values.astype(float)))
