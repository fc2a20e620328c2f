"""Two processes on this machine, one of which is killed at the end of the file."""

import contextlib
import gc
import logging
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.engine import _dask
from kermes.engine._job import Job
from kermes.engine._store import StoreKeeper
from kermes.engine._tiling import Batch, Block
from kermes.exceptions import InvalidParameterError, KermesError, NumericalError, StoreError, UnsuitableDataError

distributed = pytest.importorskip("distributed")
pytest.importorskip("zarr")

W = divergences.Wasserstein(p=2)
MMD = divergences.MMD(ground.Gaussian(sigma=1.0))
SERIAL = Engine("serial", memo=False)


@contextlib.contextmanager
def two_workers(folder, **environment):
    """Yield the client of two processes on this machine."""
    options = {
        "host": "127.0.0.1",
        "dashboard_address": ":0",
        "silence_logs": logging.CRITICAL,
        "local_directory": str(folder),
        "env": environment,
    }
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster, timeout=20) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with two_workers(tmp_path_factory.mktemp("cluster")) as client:
        yield client


def clouds(n, size=20):
    return Measures.from_samples(np.random.default_rng(0).normal(size=(n, size, 2)))


def compilations():
    """Return how often this worker compiled a core, and how often it found one on disk."""
    from kermes.core import vectors

    stats = vectors.power_tile.stats
    return sum(stats.cache_misses.values()), sum(stats.cache_hits.values())


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_one_worker_compiles_and_the_other_reads(tmp_path):
    """With an empty cache of compiled code, which both workers share."""
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(60, 3)))
    with two_workers(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "numba")) as client:
        D = pairwise(X, divergence=W, engine=Engine(client, tile=4))
        counts = sorted(client.run(compilations).values())
    assert counts == [(0, 1), (1, 0)]
    assert_array_equal(D, pairwise(X, divergence=W, engine=Engine("serial", tile=4, memo=False)))


@pytest.mark.parametrize(
    "divergence",
    [
        MMD,
        divergences.Sinkhorn(epsilon=0.1),
    ],
    ids=lambda d: type(d).__name__,
)
def test_a_cluster_gives_the_bits_of_serial(client, divergence, tmp_path):
    X, Y = clouds(40), Measures.from_samples(np.random.default_rng(1).normal(size=(9, 7, 2)))
    for other in (None, Y):
        expected = pairwise(X, other, divergence=divergence, engine=SERIAL)
        assert_array_equal(pairwise(X, other, divergence=divergence, engine=Engine(client)), expected)
        store = Engine(client, store=tmp_path / f"{other is None}.zarr")
        assert_array_equal(np.asarray(pairwise(X, other, divergence=divergence, engine=store)), expected)


def arrays_of(value, seen):
    """Return the arrays that a value of kermes holds."""
    if isinstance(value, np.ndarray):
        return [value]
    inner = [part for part in gc.get_referents(value) if not isinstance(part, type) and id(part) not in seen]
    seen.update(map(id, inner))
    return [array for part in inner for array in arrays_of(part, seen)]


@pytest.mark.parametrize("divergence", [MMD, W, divergences.Sinkhorn(epsilon=0.1)], ids=lambda d: type(d).__name__)
def test_arrays_at_odd_addresses_are_copied(divergence):
    """Dask hands over buffers as they lie in its messages; Numba would compile code of its own for them."""
    job, buffers = Job.prepare(divergence, clouds(5), clouds(5)), []
    text = pickle.dumps(_dask.Sent(job, None), protocol=5, buffer_callback=buffers.append)
    odd = [memoryview(bytearray(b"-" + bytes(buffer)))[1:] for buffer in buffers]
    there = pickle.loads(text, buffers=odd).job
    found = [*arrays_of(there.A, set()), *arrays_of(there.B, set())]
    assert found
    assert all(array.flags.aligned for array in found)
    assert len(found) == len([*arrays_of(job.A, set()), *arrays_of(job.B, set())])


def test_histograms_on_a_shared_support(client):
    H = np.random.default_rng(0).random((30, 16)) * (np.random.default_rng(1).random((30, 16)) > 0.3)
    X = Measures.from_histograms(H, np.arange(16.0))
    V = divergences.GeneralizedVariance(0.1, ground.Gaussian(sigma=1.0))
    expected = pairwise(X, divergence=V, engine=SERIAL)
    assert_array_equal(pairwise(X, divergence=V, engine=Engine(client)), expected)


def test_the_memo_works_as_ever(client):
    X, engine = clouds(20), Engine(client)
    pairwise(X[:10], divergence=MMD, engine=engine)
    D, info = pairwise(X, divergence=MMD, engine=engine, return_info=True)
    assert info.n_evaluated == 190 - 45
    assert_array_equal(D, pairwise(X, divergence=MMD, engine=Engine(client, memo=False)))


def test_errors_come_back(client, tmp_path):
    X = Measures.from_samples([[0.0], [1e200], [-1e200]])
    for store in (None, tmp_path / "d.zarr"):
        with pytest.raises(NumericalError, match="no finite value for measures 0 and 1"):
            pairwise(X, divergence=W, engine=Engine(client, store=store))
    with pytest.raises(UnsuitableDataError, match="dimension"):
        pairwise(clouds(3), X, divergence=MMD, engine=Engine(client))


def test_an_engine_pickles_without_its_client(client):
    copy = pickle.loads(pickle.dumps(Engine(client, tile=5)))
    assert (copy.executor, copy.tile) == ("threads", 5)


def test_blas_keeps_to_one_thread_per_task():
    from threadpoolctl import threadpool_info

    from kermes._linalg import OneThread

    def limits():
        return [pool["num_threads"] for pool in threadpool_info()]

    before, limit = limits(), OneThread()
    with limit:
        with limit:
            assert set(limits()) == {1}
        assert set(limits()) == {1}
    assert limits() == before


def test_a_closed_client_is_reported(client):
    second = distributed.Client(client.scheduler.address, set_as_default=False)
    engine = Engine(second, memo=False)
    second.close()
    with pytest.raises(InvalidParameterError, match="`executor` is a Dask client that was closed"):
        pairwise(clouds(3), divergence=W, engine=engine)


@pytest.mark.parametrize("executor", [3, None, object()])
def test_what_is_no_client(executor):
    with pytest.raises(InvalidParameterError, match=r"'threads', 'serial' or a synchronous dask.distributed Client"):
        Engine(executor)


def test_another_worker_warms_up_where_the_chosen_one_is_gone(client, monkeypatch):
    X, rows = clouds(9), np.arange(9)
    [sent] = client.scatter([_dask.Sent(Job.prepare(MMD, X, X), None)], broadcast=True, hash=False)
    monkeypatch.setattr(client, "run", lambda function: {"tcp://127.0.0.1:1": "a machine"})
    _dask._warm_up(client, sent, Batch(Block(rows, rows, True), (4, 4)))  # does not wait for ever


def test_a_killed_worker_costs_what_it_was_running(client, tmp_path):
    X, path = clouds(80, 100), tmp_path / "d.zarr"
    engine = Engine(client, store=path, tile=4)
    expected = pairwise(X, divergence=MMD, engine=Engine(tile=4, memo=False))
    victim = next(iter(client.run(os.getpid).values()))
    written = {}

    def kill():
        deadline = time.monotonic() + 20
        while len(written) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
            written.update({mark: mark.stat().st_mtime_ns for mark in path.glob("marks/*.0")})
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    D, info = pairwise(X, divergence=MMD, engine=engine, return_info=True)
    killer.join()
    n_batches = len(list(path.glob("marks/*.0")))
    assert 20 <= len(written) < n_batches - 20  # it was killed in the middle
    assert info.n_evaluated == 80 * 79 // 2
    assert_array_equal(np.asarray(D), expected)
    assert all(mark.stat().st_mtime_ns == then for mark, then in written.items())  # none was computed twice
    assert victim not in client.run(os.getpid).values()


def test_a_kill_during_warm_up_is_retried(monkeypatch, tmp_path):
    X, real, kills = clouds(30), _dask._warm_up, []
    monkeypatch.setattr(_dask, "PATIENCE", 120.0)  # new processes take their time on a busy machine
    with two_workers(tmp_path) as client:

        def killed(*arguments):
            if not kills:
                kills.extend(client.run(os.getpid).values())
                for process in kills:
                    os.kill(process, signal.SIGKILL)
            return real(*arguments)

        monkeypatch.setattr(_dask, "_warm_up", killed)
        D = pairwise(X, divergence=MMD, engine=Engine(client, store=tmp_path / "d.zarr", tile=4))
        assert len(kills) == 2
        assert not set(kills) & set(client.run(os.getpid).values())
    assert_array_equal(np.asarray(D), pairwise(X, divergence=MMD, engine=Engine("serial", memo=False, tile=4)))


def forge():
    """Let this worker pretend to run other code."""
    from kermes.engine import _dask

    _dask.real, _dask.code_digest = _dask.code_digest, lambda: ("0.1.0", "other")


def restore():
    from kermes.engine import _dask

    _dask.code_digest = _dask.real


def test_workers_with_other_code_are_refused(client):
    client.wait_for_workers(1)  # the other one was killed above, and Dask 2024.12 may never start it again
    X, address = clouds(9), next(iter(client.run(os.getpid)))
    client.run(forge, workers=[address])
    try:
        with pytest.raises(
            InvalidParameterError,
            match=f"the worker {address} of `executor` runs another kermes: 0.1.0 with code other",
        ):
            pairwise(X, divergence=MMD, engine=Engine(client, memo=False))
    finally:
        client.run(restore, workers=[address])
    pairwise(X, divergence=MMD, engine=Engine(client, memo=False))


class Lost:
    """A client whose workers, or whose scheduler, are gone."""

    def __init__(self, status, error):
        self.status, self.error = status, error

    def wait_for_workers(self, n, timeout):
        raise self.error


@pytest.mark.parametrize(
    "lost",
    [
        Lost("running", TimeoutError("no worker")),
        Lost("running", distributed.CancelledError("lost")),
        Lost("connecting", OSError("Timed out trying to connect")),
        Lost("running", distributed.scheduler.KilledWorker("batch", None, 3)),
    ],
    ids=lambda lost: type(lost.error).__name__,
)
def test_a_lost_cluster_is_an_error_that_says_how_to_go_on(lost, tmp_path, monkeypatch):
    monkeypatch.setattr(_dask, "PAUSE", 0.0)
    X = clouds(9)
    kept = Engine(store=tmp_path / "d.zarr")
    pairwise(X, divergence=MMD, engine=kept)
    store = StoreKeeper(tmp_path / "d.zarr", writable=True)
    job = Job.prepare(MMD, X, X)
    with pytest.raises(StoreError, match=r"the cluster stopped working .*d\.zarr: the same call .* \(--resume\)"):
        _dask.run(lost, job, store.batches, print, store, print)
    with pytest.raises(KermesError, match=r"the cluster stopped working .* Engine\(store='d\.zarr'\)"):
        _dask.run(lost, job, store.batches, print, None, print)


def test_an_error_of_the_work_is_not_taken_for_a_lost_cluster():
    with pytest.raises(PermissionError):
        _dask.run(Lost("running", PermissionError("of a file")), None, [], print, None, print)
