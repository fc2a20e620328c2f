"""The matrices here are small: one BLAS thread is faster than two that other tests compete with."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_blas_thread():
    with threadpool_limits(limits=1):
        yield
