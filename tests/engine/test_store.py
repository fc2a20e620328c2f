import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import squareform
from sklearn.neighbors import KNeighborsClassifier
from tests.cases import DIVERGENCES, each_dim

from kermes import Engine, Measures, clustering, divergences, pairwise
from kermes.core import status as codes
from kermes.divergences import Claims, Divergence, Tile
from kermes.engine import Store, StoredDistances, _manifest, _store, _tiling
from kermes.exceptions import (
    ConvergenceWarning,
    InvalidParameterError,
    NumericalError,
    StoreError,
    StoreWarning,
)

pytest.importorskip("zarr")
W = divergences.Wasserstein(p=2)
MEMORY = Engine("serial", memo=False)


@dataclass(frozen=True)
class Gap(Divergence):
    """|x - y| of Dirac masses on the line; fails or stops at a measure on request; may ask for strips."""

    unconverged: float = -1.0
    failed: float = -1.0
    interrupt: float = -1.0
    strip: float = 0.0
    factor: float = 1.0

    @property
    def power(self):
        return 1.0

    def claims(self, dim):
        return Claims(True, 2.0, "the line")

    def prepare(self, X):
        return X.points[:, 0].copy()

    def tile(self, A, B, rows, cols, triangle):
        if (A[rows] == self.interrupt).any():
            raise KeyboardInterrupt
        values = self.factor * np.abs(A[rows][:, None] - B[cols][None])
        status = np.zeros(values.shape, dtype=np.uint8)
        status[A[rows] == self.unconverged] = codes.UNCONVERGED
        values[A[rows] == self.failed] = np.nan
        return Tile(values, status)

    def row_work(self, X, Y):
        return self.strip


def line(n, start=0):
    return Measures.from_samples([[float(start + i)] for i in range(n)])


def stored(path, X, Y=None, divergence=W, **options):
    """Return stored distances and the number of pairs computed."""
    engine = Engine(store=path, progress=False, **options)
    D, info = pairwise(X, Y, divergence=divergence, engine=engine, return_info=True)
    return D, info.n_evaluated


@pytest.fixture
def path(tmp_path):
    return tmp_path / "d.zarr"


# -- the same numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "dim"), **each_dim(DIVERGENCES))
def test_a_store_holds_the_bits_of_memory(case, dim, clouds, path, tmp_path):
    X, Y = clouds(19, dim), clouds(5, dim, seed=3)
    for other, place in ((None, path), (Y, tmp_path / "cross.zarr")):
        D = pairwise(X, other, divergence=case.divergence, engine=Engine(store=place, progress=False))
        assert_array_equal(np.asarray(D), pairwise(X, other, divergence=case.divergence, engine=MEMORY))


@pytest.mark.parametrize("strip", [0.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
def test_all_sizes_and_shapes_of_tiles(n, strip, path, tmp_path):
    gap = Gap(strip=strip)
    D, count = stored(path, line(n), divergence=gap)
    assert count == n * (n - 1) // 2
    assert_array_equal(np.asarray(D), np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    E, count = stored(tmp_path / "cross.zarr", line(n), line(70, 5), divergence=gap)
    assert count == 70 * n
    assert_array_equal(np.asarray(E), np.abs(np.subtract.outer(np.arange(n), np.arange(5, 75))))


def test_views_of_one_root_and_repeated_rows(tmp_path):
    """Equal rows of one root are at distance 0, whatever a tile says of them."""
    X, shifted = line(12), Shifted()
    for left, right, name in ((X[[3, 3, 0]], None, "a"), (X[:8], X[5:], "b")):
        D, _ = stored(tmp_path / name, left, right, divergence=shifted)
        assert_array_equal(np.asarray(D), pairwise(left, right, divergence=shifted, engine=MEMORY))


@dataclass(frozen=True)
class Shifted(Gap):
    """Gives equal measures a value of 1."""

    def tile(self, A, B, rows, cols, triangle):
        tile = super().tile(A, B, rows, cols, triangle)
        return tile._replace(values=tile.values + 1.0)


def test_only_chunks_on_and_above_the_diagonal_are_written(path):
    stored(path, line(20), tile=5)
    chunks = sorted(
        str(p.relative_to(path / "values" / "c")) for p in (path / "values" / "c").rglob("*") if p.is_file()
    )
    assert chunks == [f"{i}/{j}" for i in range(4) for j in range(i, 4)]


def test_single_precision(path):
    X = line(20)
    D, _ = stored(Store(path, dtype="float32"), X)
    assert D.dtype == np.float32
    assert_array_equal(np.asarray(D), pairwise(X, divergence=W).astype(np.float32))
    with pytest.raises(StoreError, match=r"`dtype` \(stored float32, asked for float64\)"):
        stored(path, X)


def test_single_precision_refuses_what_it_cannot_hold(path):
    with pytest.raises(NumericalError, match="does not fit the store's float32"):
        stored(Store(path, dtype="float32"), line(3), divergence=Gap(factor=1e39))


# -- reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [3, 64])
def test_indexing_is_that_of_an_array(tile, path):
    X, Y = line(23), line(9, 40)
    D, _ = stored(path, X, Y, tile=tile)
    expected = pairwise(X, Y, divergence=W)
    rows, cols, mask = [20, 3, 3, -1], np.array([8, 0]), np.arange(23) % 2 == 0
    keys = [
        3, -1, slice(2, 9), slice(None, None, -2), rows, mask, [], (4, 5), (-1, -1), (slice(3), 2), (2, slice(3)),
        (rows, 1), (mask, slice(2)), (rows, ...), (1, ...), (slice(5, 5), slice(None)), np.ix_(rows, cols),
    ]  # fmt: skip
    for key in keys:
        assert_array_equal(D[key], expected[key])
        assert type(D[key]) is type(expected[key])
    assert (D.shape, D.ndim, D.size, len(D)) == ((23, 9), 2, 207, 23)
    assert_array_equal(np.array(list(D)), expected)
    assert_array_equal(np.concatenate([strip for _, strip in D.strips()]), expected)


@pytest.mark.parametrize("key", [23, (0, 9), (1, 2, 3), ([1, 2], [3, 4]), 1.5, None, (slice(2), None), "a"])
def test_bad_indices(key, path):
    D, _ = stored(path, line(23), line(9))
    with pytest.raises(IndexError):
        D[key]


def test_condensed_and_nearest(path, tmp_path):
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(30, 4)))
    full = pairwise(X, divergence=W)
    D, _ = stored(path, X, tile=7)
    assert_array_equal(D.condensed(), squareform(full))
    assert_array_equal(D.squared.condensed(), squareform(pairwise(X, divergence=W, squared=True)))
    np.fill_diagonal(full, np.inf)
    for k in (1, 5, 29):
        indices, distances = D.top_k(k)
        assert_array_equal(indices, np.argsort(full, axis=1)[:, :k])
        assert_array_equal(distances, np.sort(full, axis=1)[:, :k])
    with pytest.raises(InvalidParameterError, match="`k` must be at most 29"):
        D.top_k(30)
    E, _ = stored(tmp_path / "cross.zarr", X[:4], X[4:])
    assert_array_equal(E.top_k(26)[0], np.argsort(full[:4, 4:], axis=1))
    with pytest.raises(InvalidParameterError, match=r"condensed\(\) needs the distances of one collection"):
        E.condensed()


def test_learners_take_it(path):
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(30, 4)) + np.arange(30)[:, None] % 3)
    y = np.arange(30) % 3
    D, _ = stored(path, X, tile=7)
    full = np.asarray(D)
    ours = clustering.KMedoids("precomputed", n_clusters=3).fit(D)
    assert_array_equal(ours.labels_, clustering.KMedoids("precomputed", n_clusters=3).fit(full).labels_)
    assert_array_equal(clustering.KMedoids(W, n_clusters=3, engine=Engine(store=path)).fit(X).labels_, ours.labels_)
    kNN = KNeighborsClassifier(metric="precomputed")
    assert_array_equal(kNN.fit(D, y).predict(D[:5]), kNN.fit(full, y).predict(full[:5]))
    assert divergences.Precomputed(D) == divergences.Precomputed(full)


def test_a_store_is_opened_by_its_path_and_pickles_as_it(path):
    D, _ = stored(path, line(9))
    for other in (StoredDistances(path), pickle.loads(pickle.dumps(D))):
        assert_array_equal(np.asarray(other), np.asarray(D))
    assert_array_equal(pickle.loads(pickle.dumps(D.squared))[0], D.squared[0])
    assert D.manifest["divergence"]["p"] == "2.0"
    assert repr(D).startswith("StoredDistances(9 x 9, float64, in ")


# -- status -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strip", [0.0, 1e6])
def test_status_is_kept_and_counted(strip, path):
    X, spoiled = line(70), Gap(unconverged=3.0, strip=strip)
    with pytest.warns(ConvergenceWarning):
        _, expected = pairwise(X, divergence=spoiled, engine=Engine(tile=16, memo=False), return_info=True)
    for _ in range(2):  # told again when nothing is computed
        with pytest.warns(ConvergenceWarning, match=f"{expected.n_unconverged} of 4900 entries"):
            _, info = pairwise(X, divergence=spoiled, engine=Engine(store=path, tile=16), return_info=True)
        assert_array_equal(np.asarray(info.status), expected.status)
        assert info.n_unconverged == expected.n_unconverged


def test_a_failed_pair_is_named_and_the_rest_is_kept(path):
    X = line(20)
    with pytest.raises(NumericalError, match=r"measures 13 and 1[45]"):
        stored(path, X, divergence=Gap(failed=13.0), executor="serial", tile=5)
    with pytest.raises(StoreError, match="is not finished: 7 of 10 batches"):
        StoredDistances(path)


def test_negative_values_are_refused_when_read(path):
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(4, 3, 2)))
    D, _ = stored(path, X, divergence=divergences.Sinkhorn(epsilon=50.0, value="regularized"))
    assert (D.squared[:] < 0).any()
    with pytest.raises(NumericalError, match=r"is negative, -.* for `X\[2\]` and `Y\[3\]`"):
        D[2, 3]


def test_estimated_errors_are_kept(path, clouds):
    from kermes import ground

    divergence = divergences.JensenShannon(smoothing=ground.Gaussian(sigma=1.0))
    X = clouds(4, 1)
    _, expected = pairwise(X, divergence=divergence, return_info=True)
    _, info = pairwise(X, divergence=divergence, engine=Engine(store=path), return_info=True)
    assert_array_equal(np.asarray(info.error), expected.error)


# -- going on ---------------------------------------------------------------------------------------


def test_a_finished_store_is_read_and_not_computed(path):
    X = line(20)
    assert stored(path, X)[1] == 190
    assert stored(path, X)[1] == 0
    assert stored(path, line(40)[:20])[1] == 0  # equal content, from another root
    assert stored(path, X, tile=3)[1] == 0  # the plan is the store's


def test_an_interrupt_keeps_finished_tiles(path):
    X, options = line(40), {"executor": "serial", "tile": 10}
    with pytest.raises(KeyboardInterrupt):
        stored(path, X, divergence=Gap(interrupt=25.0), **options)
    rewrite(path, lambda manifest: manifest["divergence"].update(interrupt="-1.0"))
    D, count = stored(path, X, divergence=Gap(), **options)
    assert count == 45 + 100 + 45  # rows 20 to 39; the rows before were there
    assert_array_equal(D[25], np.abs(25.0 - np.arange(40)))


@pytest.mark.parametrize("name", ["values/c/0/1", "values/c/1/1", "marks/2.0"])
@pytest.mark.parametrize("damage", ["flip", "cut", "delete"])
def test_a_damaged_file_is_found_reported_and_computed_again(name, damage, path):
    X = line(20)
    expected = np.asarray(stored(path, X, tile=5)[0])
    content = bytearray((path / name).read_bytes())
    content[9] ^= 1
    {
        "flip": lambda: (path / name).write_bytes(content),
        "cut": lambda: (path / name).write_bytes(content[:5]),
        "delete": (path / name).unlink,
    }[damage]()
    if name.startswith("marks") and damage != "flip":  # not marked: as if it had never been finished
        D, count = stored(path, X)
    else:
        with pytest.warns(StoreWarning, match="1 of 10 batches .* computed anew"):
            D, count = stored(path, X)
    assert count == (10 if name == "values/c/1/1" else 25)
    assert_array_equal(np.asarray(D), expected)


@pytest.mark.parametrize("strip", [0.0, 1e4])
@pytest.mark.parametrize("damage", ["flip", "cut", "delete"])
@pytest.mark.parametrize("opened", ["before", "after"])
def test_a_damaged_batch_is_never_read(opened, damage, strip, path):
    X = line(20)
    D = stored(path, X, divergence=Gap(strip=strip), tile=5)[0]
    expected = np.asarray(D) if opened == "before" and damage != "flip" else None  # checksums are compared once
    file = sorted(f for f in (path / "values" / "c").rglob("*") if f.is_file())[-1]
    content = bytearray(file.read_bytes())
    content[9] ^= 1
    {"flip": lambda: file.write_bytes(content), "cut": lambda: file.write_bytes(content[:5]), "delete": file.unlink}[
        damage
    ]()
    D = D if opened == "before" else StoredDistances(path)
    for read in (lambda: D[-1], lambda: D[:, -1], lambda: np.asarray(D), lambda: D.top_k(2)):
        with pytest.raises(StoreError, match=r"the batch from entry \(15, 15\) on .* computes it anew"):
            read()
    with pytest.warns(StoreWarning, match="computed anew"):
        D = stored(path, X, divergence=Gap(strip=strip))[0]
    assert_array_equal(np.asarray(D), np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0))))
    assert expected is None or (np.asarray(D) == expected).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"divergence": divergences.Wasserstein(p=1)}, r"what differs: `p` \(stored 2.0, asked for 1.0\)\."),
        ({"divergence": Gap()}, r"`divergence` \(stored Wasserstein, asked for .*test_store.Gap\)"),
        ({"X": line(20, 1)}, r"the data `X` \(its measures are others\); the data `Y`"),
        ({"X": line(21)}, r"the data `X` \(it has 20 measures, not 21\)"),
        ({"X": line(20)[::-1]}, r"the data `X` \(its measures are others\)"),
        ({"Y": line(3)}, r"what differs: the data `Y` \(it has 20 measures, not 3\)\."),
    ],
)
def test_other_distances_are_refused_and_named(change, message, path):
    stored(path, line(20))
    with pytest.raises(StoreError, match=message):
        stored(path, **{"X": line(20), **change})


def test_resume_false_never_touches_a_store(path):
    stored(path, line(5), resume=False)
    with pytest.raises(StoreError, match="Use resume=True to continue it, or delete it"):
        stored(path, line(5), resume=False)
    assert stored(path, line(5))[1] == 0


@pytest.mark.parametrize("resume", [True, False])
def test_an_empty_folder_is_used(resume, path):
    path.mkdir()
    assert stored(path, line(5), resume=resume)[1] == 10
    assert stored(path, line(5))[1] == 0


def test_what_is_not_a_store(path, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match="is not a store of distances"):
        stored(tmp_path / "full", line(3))
    assert (tmp_path / "full" / "letter.txt").read_text() == "dear"
    with pytest.raises(StoreError, match="is not a store of distances"):
        StoredDistances(path)
    (tmp_path / "file.txt").write_text("dear")
    for read in (lambda: stored(tmp_path / "file.txt", line(3)), lambda: StoredDistances(tmp_path / "file.txt")):
        with pytest.raises(StoreError, match=r"must be a folder; .*file\.txt is a file"):
            read()
    assert (tmp_path / "file.txt").read_text() == "dear"
    for bad, message in ((3, "`store` must be the path"), ("s3://a/d.zarr", "`store` must be a folder")):
        with pytest.raises(InvalidParameterError, match=message):
            Engine(store=bad)
    with pytest.raises(InvalidParameterError, match="`resume` must be True or False"):
        Engine(store=path, resume="yes")


def rewrite(path, change):
    """Change the manifest of a store as if it had been written so."""
    content = json.loads((path / "zarr.json").read_text())
    manifest = content["attributes"]["kermes"]
    del manifest["checksum"]
    change(manifest)
    content["attributes"]["kermes"] = _manifest.sealed(manifest, path)
    (path / "zarr.json").write_text(json.dumps(content))


def test_versions_and_formats(path):
    X = line(20)
    stored(path, X, tile=5)
    rewrite(path, lambda manifest: manifest.update(numpy="1.0"))
    assert stored(path, X)[1] == 0  # reading is no matter
    (path / "marks" / "0.0").unlink()
    with pytest.warns(StoreWarning, match="begun with numpy 1.0"):
        stored(path, X)
    rewrite(path, lambda manifest: manifest.update(format=2))
    with pytest.raises(StoreError, match="in the store format 2; this version reads format 3"):
        stored(path, X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": [1.0, False, "W"]}, r"what is kept \(stored d\*\*1, now d\*\*2\)"),
        ({"scale": [2.0, True, "W"]}, r"what is kept \(stored d\*\*2, signed, now d\*\*2\)"),
    ],
)
def test_every_setting_is_compared(change, message, path):
    stored(path, line(5))
    rewrite(path, lambda manifest: manifest.update(change))
    with pytest.raises(StoreError, match=message):
        stored(path, line(5))


# -- faults -----------------------------------------------------------------------------------------


def read_or_refused(path):
    """Return the distances of a store, or the message with which it is refused."""
    try:
        return np.asarray(StoredDistances(path))
    except StoreError as error:
        return str(error)


def test_no_flipped_bit_of_the_metadata_goes_unnoticed(path):
    """Every digit and sign of what describes a store: it is refused by the file's name, or nothing changes."""
    X = line(6)
    expected = np.asarray(stored(path, X, tile=3)[0])
    for file in sorted(path.rglob("zarr.json")):
        content = file.read_bytes()
        noticed = 0
        for at, byte in enumerate(content):
            if bytes([byte]).isspace():
                continue
            file.write_bytes(content[:at] + bytes([byte ^ 1]) + content[at + 1 :])
            found = read_or_refused(path)
            if isinstance(found, str):
                assert str(file) in found or "is not a store of distances" in found
                noticed += 1
            else:
                assert_array_equal(found, expected)
        assert noticed > len(content) // 3
        file.write_bytes(content)
    for name in ("zarr.json", "values/zarr.json", "status/zarr.json", "marks/zarr.json"):
        content = (path / name).read_bytes()
        for damage in (b"", content[: len(content) // 2], b"[]", b'{"attributes": 3}', b"\xff" * 20):
            (path / name).write_bytes(damage)
            for use in (lambda: StoredDistances(path), lambda: stored(path, X)):
                with pytest.raises(StoreError, match=f"{name}` is missing or damaged"):
                    use()
        (path / name).write_bytes(content)
    assert stored(path, X)[1] == 0


@pytest.mark.parametrize("name", ["d::e.zarr", "d e#?.zarr", "of/no/folder.zarr"])
def test_names_of_folders_are_taken_as_they_are(name, tmp_path):
    assert stored(tmp_path / name, line(4))[1] == 6
    assert stored(tmp_path / name, line(4))[1] == 0
    assert os.listdir(tmp_path) == [name.partition("/")[0]]


def test_parameters_that_no_process_can_recognise(path):
    with pytest.raises(StoreError, match=r"`factor` of the divergence .* frozen dataclass defined in a module"):
        stored(path, line(3), divergence=Gap(factor=lambda: 1.0))
    assert not path.exists()


def test_arrays_in_a_divergence_are_told_apart(path):
    X = np.arange(3)[:, None]
    table = np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    stored(path, X, divergence=divergences.Precomputed(table))
    with pytest.raises(StoreError, match=r"`distances` \(stored array \(3, 3\)"):
        stored(path, X, divergence=divergences.Precomputed(2 * table))


KILLED = """
import os, sys, time
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
from kermes.engine._store import StoreKeeper
put = StoreKeeper.put
def slow(self, *batch):
    time.sleep(0.02)
    put(self, *batch)
    os.write(1, b"put\\n")
StoreKeeper.put = slow
X = Measures.from_samples(np.arange(600.0).reshape(200, 3))
engine = Engine(workers=2, tile=10, store=sys.argv[1], progress=False)
pairwise(X, divergence=divergences.Wasserstein(p=2), engine=engine)
"""


def test_a_killed_run_loses_only_what_was_running(path):
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as child:
        for _ in range(40):
            assert child.stdout.readline() == "put\n"
        child.send_signal(signal.SIGKILL)
        told = 40 + len(child.stdout.readlines())
    X = Measures.from_samples(np.arange(600.0).reshape(200, 3))
    total = len(list(_tiling.cut(_tiling.Block(np.arange(200), np.arange(200), True), (10, 10))))
    marks = len([name for name in os.listdir(path / "marks") if name.endswith(".0")])
    assert told <= marks <= told + 2 < total
    D, count = stored(path, X)
    assert count <= 100 * (total - told)
    assert_array_equal(np.asarray(D), pairwise(X, divergence=W, engine=Engine(memo=False, tile=10)))


FAULTS = """
import errno, os, pickle, sys, threading
import numpy as np
import zarr.storage._local as disk
from kermes import Engine, Measures, divergences, pairwise
from kermes.exceptions import StoreError
folder = sys.argv[1]
X = Measures.from_samples(np.arange(24.0).reshape(8, 3) ** 1.5)
W = divergences.Wasserstein(p=2)
pairwise(X, divergence=W, engine=Engine("serial"))  # compiled here once, for all children
real, calls, counting = disk._put, [0], threading.Lock()

def run(name, fault, at):
    def put(path, *arguments, **options):
        with counting:  # several threads write
            calls[0] += 1
            mine = calls[0]
        if mine == at:
            fault(path)
        return real(path, *arguments, **options)

    calls[0], disk._put = 0, put
    try:
        D = pairwise(X, divergence=W, engine=Engine("serial", tile=4, store=f"{folder}/{name}", progress=False))
        return np.asarray(D)
    finally:
        disk._put = real

def forked(job):
    # In a child, so that nothing of a run that was killed is left in this process; pickled through a pipe.
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with open(writing, "wb") as pipe:
            pickle.dump(job(), pipe)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        content = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), content

def kill_before(path):
    os._exit(9)

def kill_within(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".half.partial").write_bytes(b"ha")
    os._exit(9)

def full(path):
    raise OSError(errno.ENOSPC, "No space left on device", str(path))

def no_right(path):
    raise PermissionError(errno.EACCES, "Permission denied", str(path))

def refused(name, fault, at):
    try:
        run(name, fault, at)
    except StoreError as error:
        return str(error)

_, content = forked(lambda: (run("whole", None, 0), calls[0]))
expected, n_writes = pickle.loads(content)
assert n_writes >= 10, n_writes
for at in range(1, n_writes + 1):
    for fault in (kill_before, kill_within):
        name = f"{fault.__name__}-{at}"
        assert forked(lambda: run(name, fault, at)) == (9, b"")
        code, content = forked(lambda: run(name, None, 0))
        assert code == 0 and (pickle.loads(content) == expected).all(), name
    fault = (full, no_right)[at % 2]  # errors of one kind to the store: each at every second write
    name = f"{fault.__name__}-{at}"
    code, content = forked(lambda: refused(name, fault, at))
    message = pickle.loads(content)
    assert "cannot be written" in message and "--resume" in message and name in message, message
    assert not [file for file in os.listdir(folder) if file.startswith(".") and name in file]
    code, content = forked(lambda: run(name, None, 0))
    assert code == 0 and (pickle.loads(content) == expected).all(), name
print(n_writes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="faults are injected in forked processes")
def test_faults_at_every_write_lose_nothing(tmp_path):
    """Killed before and within every write, a full disk and no right to write: resumed, the bits are the same."""
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4 + 3 + 3  # descriptions and manifest; three batches, written and marked


STARTED = """
import sys
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
X = Measures.from_samples(np.arange(60.0).reshape(20, 3))
print("ready", flush=True)
sys.stdin.readline()
D, info = pairwise(X, divergence=divergences.Wasserstein(p=2), engine=Engine("serial", tile=4, store=sys.argv[1]),
                   return_info=True)
print(np.asarray(D).tobytes().hex())
"""


def test_three_processes_start_on_one_new_store(path):
    children = [
        subprocess.Popen(
            [sys.executable, "-c", STARTED, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=120) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0], answers
    assert len({out for out, _ in answers}) == 1
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("before", [None, "folder", "other"])
def test_somebody_else_makes_the_store_first(before, path, monkeypatch):
    """Between the look for a store and its making another process is faster."""
    X = line(9)
    create = _store._create

    def slow(place, manifest):
        with monkeypatch.context() as patch:
            patch.setattr(_store, "_create", create)
            if before == "folder":
                path.mkdir()
            else:
                stored(path, X, divergence=W if before is None else Gap(), tile=2)
        create(place, manifest)

    monkeypatch.setattr(_store, "_create", slow)
    if before == "other":
        with pytest.raises(StoreError, match="holds other distances"):
            stored(path, X)
    else:
        D, count = stored(path, X)
        assert count == (0 if before is None else 36)
        assert_array_equal(np.asarray(D), pairwise(X, divergence=W, engine=MEMORY))
    assert os.listdir(path.parent) == [path.name]
