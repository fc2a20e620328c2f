"""What a matrix costs in memory, when it is refused, and what a forked child finds."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.engine.test_engine import Probe, line

from kermes import Engine, Measures, divergences, pairwise
from kermes._linalg import ONE_THREAD
from kermes.engine import _memory
from kermes.exceptions import InvalidParameterError
from kermes.measures._packed import Packed

W = divergences.Wasserstein(p=2)

PEAK = """
import resource, sys
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
X = Measures.from_samples(np.random.default_rng(0).normal(size=(4000, 1)))
if sys.argv[1] == "limit":
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 8 * 4000**2,) * 2)
rows = np.random.default_rng(1).permutation(4000) if sys.argv[1] == "permuted" else slice(None)
W, engine = divergences.Wasserstein(p=2), Engine("serial", memo=False)
if sys.argv[1] == "limit":
    pairwise(X, divergence=W, engine=engine)
pairwise(X[:500], divergence=W, engine=engine)


def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # compiling took more: the peak is counted from here on
before = peak()
D = pairwise(X[rows], divergence=W, engine=engine)
print((peak() - before) / D.nbytes)
"""


def in_a_process(*arguments):
    return subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="the interpreted core takes minutes")
@pytest.mark.parametrize(("rows", "most"), [("all", 1.3), ("permuted", 2.5)])
def test_a_matrix_takes_little_more_than_itself(rows, most):
    done = in_a_process(PEAK, rows)
    assert done.returncode == 0, done.stderr
    assert 1.0 < float(done.stdout) < most


@pytest.mark.skipif(sys.platform != "linux", reason="reads what is in use from /proc")
def test_the_limit_of_the_process_is_seen():
    done = in_a_process(PEAK, "limit")
    assert "InvalidParameterError: the distances of 4,000 x 4,000 measures take 0.1 GiB of memory" in done.stderr


def test_what_does_not_fit_is_refused_before_anything_is_computed(monkeypatch):
    points = np.arange(200_000.0)[:, None]
    monkeypatch.setattr(Probe, "prepare", lambda self, X: 1 / 0)
    for engine in (Engine(), Engine(memo=False)):
        with pytest.raises(
            InvalidParameterError,
            match=r"distances of 200,000 x 200,000 measures take 335\.3 GiB of memory; .* Engine\(store='d\.zarr'\)",
        ):
            pairwise(points, divergence=Probe(), engine=engine)


def test_the_table_that_is_remembered_counts(monkeypatch):
    X = line(100)
    monkeypatch.setattr(_memory, "SMALL", 0)
    monkeypatch.setattr(_memory, "available_memory", lambda: 1.5 * 9 * 100**2)
    pairwise(X, divergence=Probe(), engine=Engine(memo=False))
    engine = Engine()
    pairwise(X[:70], divergence=Probe(), engine=engine)
    with pytest.raises(InvalidParameterError, match="100 x 100 measures"):
        pairwise(X, divergence=Probe(), engine=engine)


def test_what_is_free(tmp_path, monkeypatch):
    assert 2**26 < _memory.available_memory() < 2**50
    files = {
        "/proc/meminfo": "MemTotal: 90 kB\nMemAvailable: 50 kB\nSwapFree: 10 kB\n",
        "/sys/fs/cgroup/memory.max": "40000\n",
        "/sys/fs/cgroup/memory.stat": "anon 30000\nfile 9\n",
    }

    def read(path):
        if str(path) not in files:
            raise FileNotFoundError
        return files[str(path)]

    monkeypatch.setattr(_memory.Path, "read_text", read)
    assert _memory.available_memory() == 10_000
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert _memory.available_memory() == 60 * 1024


def test_blocks_of_all_kinds():
    array = np.arange(12.0).reshape(3, 4)
    rows, cols = np.array([2, 0, 0]), np.array([3, 1])
    for copy in (True, False):
        assert_array_equal(_memory._block(array, rows, cols, copy), array[np.ix_(rows, cols)])
        assert np.shares_memory(_memory._block(array, np.arange(3), np.arange(4), copy), array) is not copy


# -- forks ------------------------------------------------------------------------------------------


def fork(function, seconds=60):
    """Return a forked child, which ends with 0 if ``function`` is true; an alarm ends one that hangs."""
    import signal

    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return child


def code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_a_thread_computes_the_same_table():
    X, engine, slow = line(40), Engine("serial", tile=8), Probe(pause=0.1)
    expected = np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    known = Probe(bad=-7.0)
    pairwise(X, divergence=known, engine=engine)
    started = threading.Event()
    thread = threading.Thread(
        target=lambda: (started.set(), pairwise(X, divergence=slow, engine=engine)), name="computes"
    )
    thread.start()
    started.wait()
    children = []
    for _ in range(3):  # in the middle of 15 tiles of 0.1 s
        time.sleep(0.2)
        children.append(fork(lambda: np.array_equal(pairwise(X, divergence=slow, engine=engine), expected)))
        children.append(
            fork(lambda: pairwise(X, divergence=known, engine=engine, return_info=True)[1].n_evaluated == 0)
        )
    assert thread.is_alive()
    thread.join()
    assert [code(child) for child in children] == [0] * 6
    assert_array_equal(pairwise(X, divergence=slow, engine=engine), expected)


LOCKS = {"blas": ONE_THREAD._lock}
LOCKS |= {name: getattr(vars(Packed)[name], "lock", None) for name in ("fingerprint", "first_twins")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", [name for name, lock in LOCKS.items() if lock is not None])
def test_a_fork_while_a_thread_holds_a_lock(name):
    """BLAS is being limited, data are being hashed: the child cannot wait for a thread that it does not have."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with LOCKS[name]:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    X = Measures.from_samples([[0.0], [2.0]])
    S = divergences.Sinkhorn(100.0)  # of which equal measures are looked for
    found = code(fork(lambda: pairwise(X, divergence=S, engine=Engine("serial"))[0, 1] > 0.0, 30))
    done.set()
    thread.join()
    assert found == 0


def test_a_table_that_grows_row_by_row_stays_small():
    """A quarter of its side at a time: fewer copies than rows, and at most 1.6 times the room."""
    keeper = _memory.MemoryKeeper(300, 300, True, False)
    copies, before = 0, 0
    for n in range(1, 301):
        rows = np.arange(n)
        keeper.slots(rows, rows)
        copies, before = copies + (keeper.nbytes != before), keeper.nbytes
        assert keeper.nbytes <= 1.6 * max(n, 8) ** 2 * keeper.pair_bytes
    assert copies < 40


def test_a_limit_of_address_space_counts_what_is_reserved(monkeypatch):
    """Pages that were mapped and never touched count against it: the first number of statm, not the second."""
    resource = pytest.importorskip("resource")
    read = _memory.Path.read_text
    monkeypatch.setattr(
        _memory.Path, "read_text", lambda path: "900 100 9 9 0 9 0\n" if str(path) == "/proc/self/statm" else read(path)
    )
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000 * resource.getpagesize(), resource.RLIM_INFINITY))
    assert _memory.available_memory() == 100 * resource.getpagesize()
