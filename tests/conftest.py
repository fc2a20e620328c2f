import os
import signal

import numpy as np
import pytest
from hypothesis import settings

from kermes import Measures

# Compilation makes the first example slow; the suite's own time limit guards the rest.
settings.register_profile("kermes", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("kermes")

# In the background of a script Ctrl-C is ignored, and so it would be in all processes that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        # Compiled cores divide by zero in padding without a word (error_model="numpy"); interpreted ones warn.
        config.addinivalue_line("filterwarnings", "ignore:.*encountered in scalar:RuntimeWarning")
        config.addinivalue_line("filterwarnings", "ignore:invalid value encountered in (sqrt|log):RuntimeWarning")


def pytest_sessionfinish(session):
    from kermes.engine import _shared

    _shared.close()  # the processes of pytest-xdist end without running exit handlers


@pytest.fixture(scope="session")
def clouds():
    """Return a maker of small weighted ragged collections with a few repeated atoms."""

    def make(n, dim, seed=0):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 9, size=n)
        samples = [rng.normal(size=(size, dim)).round(1) for size in sizes]
        return Measures.from_samples(samples, [rng.uniform(0.1, 2.0, size=size) for size in sizes])

    return make
