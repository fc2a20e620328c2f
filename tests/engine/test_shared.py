"""Distances shared by processes: each pair is computed once in all."""

import ast
import copy
import copyreg
import hashlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from tests.counted import Counted, Counting
from tests.estimators.cases import clouds

from kermes import (
    DistanceMatrix,
    DistanceToKernel,
    Engine,
    Measures,
    divergences,
    ground,
    kernels,
    pairwise,
    precompute,
)
from kermes.divergences import Family, Tile
from kermes.engine import _shared
from kermes.engine._manifest import describe
from kermes.exceptions import StoreError
from kermes.measures._packed import Origin

N = 36
ALL = N * (N - 1) // 2
GAUSSIAN = ground.Gaussian(sigma=1.0)
pytestmark = pytest.mark.skipif(_shared.fcntl is None, reason="no file locks on this system")


@pytest.fixture
def counted(tmp_path):
    return Counted(GAUSSIAN, counter=str(tmp_path / "count"))


@pytest.fixture(scope="module")
def data():
    """The measures, and classes; another root for every module, so that no memo knows it."""
    return clouds(N, seed=11)


def search(divergence, **options):
    """Return a search over what follows the distances."""
    model = make_pipeline(DistanceMatrix(divergence), DistanceToKernel(), SVC(kernel="precomputed"))
    grid = {"distancetokernel__scale": [0.3, 1.0, 3.0], "svc__C": [1.0, 10.0]}
    return GridSearchCV(model, grid, cv=3, **options)


def test_one_process_pays_each_pair_once(counted, data):
    search(counted).fit(*data)
    assert counted.n_pairs == ALL


def test_two_processes_pay_each_pair_once(counted, data):
    found = search(counted, n_jobs=2).fit(*data)
    assert counted.n_pairs == ALL
    assert os.getpid() not in counted.processes, "the final fit reads what the workers computed"
    alone = search(divergences.MMD(GAUSSIAN)).fit(*data)
    assert_array_equal(found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    D, info = pairwise(data[0], divergence=counted, return_info=True)
    assert info.n_evaluated == 0
    assert_allclose(D, pairwise(data[0], divergence=divergences.MMD(GAUSSIAN)), rtol=1e-12)


def test_kernels_in_two_processes(counted, data):
    model = SVC(kernel=kernels.Exponential(counted))
    GridSearchCV(model, {"kernel__length_scale": [0.3, 1.0], "C": [1.0, 9.0]}, cv=3, n_jobs=2).fit(*data)
    assert counted.n_pairs == ALL


@pytest.mark.parametrize(("outer", "inner"), [(None, None), (2, None), (None, 2)])
def test_nested_cross_validation_pays_each_pair_once(counted, data, outer, inner):
    scores = cross_val_score(search(counted, n_jobs=inner), *data, cv=3, n_jobs=outer)
    assert counted.n_pairs == ALL
    assert scores.mean() > 0.4


def test_slices_of_a_collection_share_its_table(counted, data):
    X, y = data
    rows = np.r_[20:36, 0:10]
    search(counted, n_jobs=2).fit(X[rows], y[rows])
    assert counted.n_pairs == 26 * 25 // 2
    search(counted, n_jobs=2).fit(X, y)
    assert counted.n_pairs == ALL


def test_distances_computed_before_the_search(counted, data):
    X, y = data
    pairwise(X, divergence=counted)
    assert precompute(X, counted) is X
    search(counted, n_jobs=2).fit(X, y)
    assert counted.n_pairs == ALL
    assert counted.processes == {os.getpid()}


def test_precompute_takes_repeated_rows_and_arrays(counted):
    points = np.random.default_rng(5).normal(size=(7, 2))
    X = precompute(points, counted)
    assert isinstance(X, Measures)
    view = X[[3, 1, 3, 6]]
    assert precompute(view, counted) is view
    assert_array_equal(pairwise(view, divergence=counted), pairwise(X, divergence=counted)[np.ix_(*[[3, 1, 3, 6]] * 2)])
    with pytest.raises(ValueError, match="`divergence` must be a divergence object"):
        precompute(X, "wasserstein")


def rows_of(X, divergence, engine=None):
    return pairwise(X, divergence=divergence, engine=engine, return_info=True)[1].n_evaluated


def test_workers_take_turns(counted):
    """Many tasks on overlapping slices: no pair is computed twice, whoever is first."""
    X = clouds(30, seed=12)[0]
    parts = [np.random.default_rng(i).permutation(30)[:20] for i in range(8)]
    evaluated = sum(Parallel(n_jobs=2)(delayed(rows_of)(X[part], counted) for part in parts))
    pairs = {(min(i, j), max(i, j)) for part in parts for i in part for j in part if i != j}
    assert evaluated == counted.n_pairs == len(pairs)


def origin_of_a_new_collection():
    return pickle.loads(pickle.dumps(Measures.from_samples([[0.0], [1.0]])))._root.origin


def test_workers_leave_no_folders():
    assert Parallel(n_jobs=2)(delayed(origin_of_a_new_collection)() for _ in range(2)) == [None, None]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda X: pickle.loads(pickle.dumps(X))])
def test_copies_touch_no_disk_and_hash_nothing(copied, monkeypatch, tmp_path):
    X = Measures.from_samples([[0.0], [1.0], [3.0]])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(hashlib, "blake2b", lambda *arguments, **options: 1 / 0)
    for Y, expected in ((X, [0, 1, 3]), (X[[2, 0]], [3, 0]), (copied(X[1:])[1:], [3])):
        assert_array_equal(copied(Y).points.ravel(), expected)
    assert not list(tmp_path.iterdir())


W1 = divergences.Wasserstein(p=1)


def diracs(X):
    return pairwise(X, divergence=W1)


@pytest.fixture(scope="module")
def spawned():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("first", [[0, 0, 1], [1, 0, 1, 1], [2, 2], [0, 1, 2, 0]])
def test_repeated_rows_keep_one_slot(first, spawned):
    """A row is identified by the collection it comes from, never by its position in a view."""
    X = Measures.from_samples([[0.0], [1.0], [3.0]])
    expected = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    assert_array_equal(spawned.apply(diracs, (X[first],)), expected[np.ix_(first, first)])
    assert_array_equal(spawned.apply(diracs, (X,)), expected)
    assert_array_equal(spawned.apply(diracs, (X[[2, 1, 2]],)), expected[np.ix_([2, 1, 2], [2, 1, 2])])
    assert_array_equal(pairwise(X, divergence=W1), expected)


def test_changed_measures_do_not_keep_their_name():
    X = pickle.loads(pickle.dumps(Measures.from_samples([[0.0], [1.0], [3.0]])))
    assert X._root.origin is not None
    assert replace(X._root, points=2.0 * X.points).origin is None


def test_errors_are_shared(clouds):
    smooth = divergences.JensenShannon(smoothing=GAUSSIAN)
    X = clouds(7, 1, seed=4)
    _, info = pairwise(X, divergence=smooth, engine=Engine(), return_info=True)
    precompute(X, smooth)
    _, again = pairwise(X[::-1], divergence=smooth, engine=Engine(), return_info=True)
    assert again.n_evaluated == 0
    assert_array_equal(again.error, info.error[::-1, ::-1])


def test_engines_without_memory_share_nothing(counted):
    X = clouds(9, seed=13)[0]
    assert sum(Parallel(n_jobs=2)(delayed(rows_of)(X, counted, Engine(memo=False)) for _ in range(3))) == 3 * 36
    assert sum(Parallel(n_jobs=2)(delayed(rows_of)(X, counted, Engine(memo=100)) for _ in range(3))) == 3 * 36


def test_no_room_on_the_disk(counted, monkeypatch):
    X = precompute(clouds(5, seed=14)[0], counted)
    X = pickle.loads(pickle.dumps(X))
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    monkeypatch.setattr(_shared.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    other = divergences.MMD(ground.Gaussian(sigma=3.0))
    assert _shared.shared_keeper(other, X, 5, 10**9) is None
    assert _shared.shared_keeper(counted, X, 5, 10**9) is not None


def test_no_folder_for_temporary_files(counted, monkeypatch):
    X = clouds(5, seed=18)[0]
    expected = pairwise(X, divergence=divergences.MMD(GAUSSIAN), engine=Engine(memo=False))
    X = pickle.loads(pickle.dumps(X))
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    monkeypatch.setattr(tempfile, "tempdir", __file__)
    assert_allclose(pairwise(X, divergence=counted, engine=Engine()), expected, rtol=1e-12)


def test_a_model_outlives_the_session(counted, monkeypatch, tmp_path):
    """A pickle from a process that is gone holds all it needs."""
    X = precompute(clouds(6, seed=15)[0], counted)
    D = pairwise(X, divergence=counted)
    content = pickle.dumps(X[1:4])
    assert tempfile.gettempdir().encode() not in content
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert_array_equal(pairwise(pickle.loads(content), divergence=counted, engine=Engine()), D[1:4, 1:4])


def test_interrupted_work_is_done_by_the_next(counted, monkeypatch):
    X = clouds(12, seed=16)[0]
    precompute(X[:8], counted)
    with monkeypatch.context() as patch:
        patch.setattr(Counting, "tile", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pairwise(X, divergence=counted)
    before = counted.n_pairs
    D = pairwise(X, divergence=counted)
    assert counted.n_pairs - before == 66 - 28
    assert_allclose(D, pairwise(X, divergence=divergences.MMD(GAUSSIAN)), rtol=1e-12)


def test_divergences_are_recognised_in_other_processes():
    table = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert describe(divergences.Precomputed(table)) == describe(divergences.Precomputed(table.tolist()))
    assert describe(divergences.Precomputed(table)) != describe(divergences.Precomputed(2 * table))
    assert describe(divergences.Wasserstein(p=2)) == describe(divergences.Wasserstein(p=np.float64(2)))
    seeds = [describe(divergences.SlicedWasserstein(seed=seed)) for seed in (2**60, 2**60 + 1, np.int64(2**60))]
    assert [seed == seeds[0] for seed in seeds] == [True, False, True]
    own = describe(Counted(GAUSSIAN))
    assert describe(divergences.MMD(GAUSSIAN)) != own
    vars(Counted).get("__slotnames__", copyreg._slotnames(Counted))  # what pickling leaves in a class
    assert describe(Counted(GAUSSIAN)) == own
    home_made = divergences.ExponentialFamily(Family(lambda x: x, -1.0, 1.0))
    with pytest.raises(StoreError, match="cannot recognise"):  # a lambda has no name that another process knows
        describe(home_made)
    X = Measures.from_samples([[0.0], [0.5]])
    assert _shared.publish(home_made, X, Tile(np.zeros((2, 2)), np.zeros((2, 2), np.uint8))) is False


OWN = """
from dataclasses import dataclass
import numpy as np
from kermes.divergences import Claims, Divergence, ExponentialFamily, Family, Tile

def statistic(x):
    return FACTOR * x if "x" in {"a", "b", "c", "x"} else x

@dataclass(frozen=True)
class Own(Divergence):
    def claims(self, dim):
        return Claims(None, None, "unknown")

    def prepare(self, X):
        return X.points[:, 0]

    def tile(self, A, B, rows, cols, triangle):
        return Tile(FACTOR * np.abs(A[rows][:, None] - B[cols][None]))

@dataclass(frozen=True)
class Derived(Own):
    pass

FAMILY = ExponentialFamily(Family(statistic, -1.0, 1.0))
"""

SAID = """
import own
from kermes.engine._manifest import describe
print([describe(divergence) for divergence in (own.FAMILY, own.Own(), own.Derived())])
"""


def test_code_that_was_edited_under_its_name_is_another(tmp_path):
    """A store, and other processes, know a function and a divergence of one's own by what they do."""

    def said(source, seed):
        (tmp_path / "own.py").write_text(source)
        environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}", "PYTHONHASHSEED": seed}
        return ast.literal_eval(
            subprocess.run(
                [sys.executable, "-B", "-c", SAID], env={**os.environ, **environment}, capture_output=True, check=True
            ).stdout.decode()
        )

    first = said(OWN.replace("FACTOR", "2.0"), "1")
    assert said("\n\n# a comment\n" + OWN.replace("FACTOR", "2.0"), "2") == first
    edited = said(OWN.replace("FACTOR", "3.0"), "1")
    assert [a != b for a, b in zip(first, edited, strict=True)] == [True] * 3


def test_files_end_with_the_process():
    code = (
        "import kermes; from kermes.engine import _shared\n"
        "X = kermes.Measures.from_samples([[0.0], [1.0]])\n"
        "kermes.precompute(X, kermes.divergences.Wasserstein())\n"
        "folder = _shared._session(X._root.origin.process)\n"
        "print(folder, folder.exists())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    folder, existed = out.stdout.split()
    assert Path(folder).name.startswith("kermes-")
    assert existed == "True"
    assert not Path(folder).exists()


def test_folders_of_killed_processes_are_removed_after_a_day(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_shared, "_alive", lambda process: process.startswith("1-"))
    name = "0" * 32
    old = [tmp_path / folder for folder in (f"kermes-1-{name}", f"kermes-2-{name}", "kermes-mine", "other")]
    new = tmp_path / f"kermes-3-{name}"
    for folder in (*old, new):
        folder.mkdir()
        (folder / "index").write_bytes(b"")
    for folder in old:
        os.utime(folder, (0, 0))
    keeper = _shared.SharedKeeper(tmp_path / "kermes-4" / "pairs", Origin("4", "root", 2, np.arange(2)), False)
    with keeper.locked():
        left = sorted(folder.name for folder in tmp_path.iterdir())
    assert left == sorted([f"kermes-1-{name}", "kermes-mine", "other", f"kermes-3-{name}", "kermes-4"])


@pytest.mark.parametrize("content", [b"", b"abc", np.arange(9).tobytes(), np.full(4, -7).tobytes()], ids=range(4))
def test_a_damaged_index_is_begun_anew(content, counted):
    X = precompute(clouds(6, seed=17)[0], counted)
    D = pairwise(X, divergence=counted, engine=Engine())
    folder = _shared._folder(counted, X._root.origin)
    (folder / "index").write_bytes(content)
    assert_allclose(pairwise(X, divergence=counted, engine=Engine()), D, rtol=1e-12)
    assert pairwise(X, divergence=counted, engine=Engine(), return_info=True)[1].n_evaluated == 0
