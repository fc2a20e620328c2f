import importlib.util
import itertools
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.caching import NullCache
from numpy.testing import assert_allclose, assert_array_equal

from kermes.core import exp as exp_module
from kermes.core import jit, ragged
from kermes.core.jit import strict_core, tile_core
from kermes.core.lanes import load, store


@tile_core
def exp_all(x, out):
    for i in range(len(x)):
        out[i] = exp_module.exp(x[i])


@tile_core
def step(n, up):
    return n + 1 if up else n


@tile_core
def steps(n):
    return step(0, True) + step(1, False) + step(n, True)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_core_is_compiled_once_whatever_constants_others_pass(monkeypatch):
    monkeypatch.setattr(step, "_cache", NullCache())
    monkeypatch.setattr(steps, "_cache", NullCache())
    assert steps(5) == 8
    assert len(step.part.overloads) == 1


def test_exp_is_accurate_inside_a_reordering_loop():
    """The caller may reorder sums; the exponential must not suffer (it once did)."""
    x = np.concatenate([np.linspace(-708, 709, 20_001), np.linspace(-1, 1, 2001), [0.0, -1e-300, 1e-300]])
    out = np.empty_like(x)
    exp_all(x, out)
    assert_allclose(out, np.exp(x), rtol=4e-16)


@strict_core
def exp2_all(x, out):
    for i in range(x.shape[1]):
        store(out, 0, i, exp_module.exp2_lanes(load(x, 0, i)))


def test_powers_of_two_in_lanes():
    x = np.concatenate([np.linspace(-1022, 0, 20_001), np.linspace(-1, 0, 2000), np.full(7, -1e-300)])
    out = np.empty((1, len(x) // 8, 8))
    exp2_all(x.reshape(out.shape), out)
    assert_allclose(out.ravel(), np.exp2(x), rtol=4e-16)
    exp2_all(np.array([[[-1023.0, -1074.0, -1e300, -np.inf] * 2]]), out)
    assert not out[0, 0].any()


@tile_core
def exp32_all(x, out):
    for i in range(len(x)):
        out[i] = exp_module.exp32(x[i])


def test_exp32_is_accurate_inside_a_reordering_loop():
    x = np.linspace(-87, 0, 20_001).astype(np.float32)
    out = np.empty_like(x)
    exp32_all(x, out)
    assert_allclose(out, np.exp(x.astype(float)), rtol=3e-7)
    exp32_all(np.array([-90.0, -np.inf], dtype=np.float32), out)
    assert_array_equal(out[:2], 0.0)


@tile_core
def exp2_32_all(x, out):
    for i in range(len(x)):
        out[i] = exp_module.exp2_32(x[i])


def test_exp2_32_is_accurate_inside_a_reordering_loop():
    x = np.linspace(-125.5, 0, 20_001).astype(np.float32)
    out = np.empty_like(x)
    exp2_32_all(x, out)
    assert_allclose(out, np.exp2(x.astype(float)), rtol=2e-7)
    exp2_32_all(np.array([-126.0, -np.inf], dtype=np.float32), out)
    assert_array_equal(out[:2], 0.0)


def test_exp_clamps():
    x = np.array([-1e5, -np.inf, 1e5, np.inf])
    out = np.empty_like(x)
    exp_all(x, out)
    assert_array_equal(out[:2], 0.0)
    assert (out[2:] > 8e307).all()
    assert np.isfinite(out).all()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_ragged_gather_sums_and_compress(sizes, data):
    offsets = ragged.offsets_of(np.array(sizes))
    values = np.arange(offsets[-1], dtype=float)
    segments = [values[a:b] for a, b in itertools.pairwise(offsets)]
    rows = np.array(data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=6)), dtype=np.int64)
    index, new = ragged.gather_index(offsets, rows)
    assert_array_equal(values[index], np.concatenate([segments[r] for r in rows]) if len(rows) else [])
    assert_array_equal(np.diff(new), [sizes[r] for r in rows])
    assert_allclose(ragged.segment_sums(values, offsets), [s.sum() for s in segments])
    assert_array_equal(ragged.owners(offsets), np.repeat(np.arange(len(sizes)), sizes))
    keep = values % 2 == 0
    assert_array_equal(np.diff(ragged.compress(keep, offsets)), [np.sum(s % 2 == 0) for s in segments])


@pytest.fixture(params=["beside", "elsewhere"])
def compiled(request, tmp_path, monkeypatch):
    """A folder with a sub-folder, and what Numba leaves of both, beside them or in NUMBA_CACHE_DIR."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "" if request.param == "beside" else str(tmp_path / "caches"))
    folder = tmp_path / "cores"
    files = []
    for place in (folder, folder / "inner"):
        place.mkdir()
        (place / "a.py").write_text("import numba\n@numba.njit(cache=True)\ndef f(x):\n    return x + 1\n")
        spec = importlib.util.spec_from_file_location("a", place / "a.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.f(1)
        files += jit.cache_folder(place).glob("*.nb[ic]")
    assert len(files) == (0 if numba.config.DISABLE_JIT else 4)
    return folder, files


@pytest.mark.parametrize("edit", ["a.py", "b.py", "inner/a.py", "inner/b.py"])
def test_an_edit_of_any_source_drops_all_compiled_code(compiled, edit):
    folder, files = compiled
    jit.drop_stale_cache(folder)
    assert not any(file.exists() for file in files)
    (folder.parent / "others").mkdir()  # otherwise its files would be among those of the user
    others = [jit.cache_folder(folder) / "a.cpython-311.pyc", jit.cache_folder(folder.parent / "others") / "b.f-1.nbi"]
    for file in (*files, *others):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("compiled")
    jit.drop_stale_cache(folder)
    assert all(file.exists() for file in files)
    (folder / edit).write_text("changed")
    jit.drop_stale_cache(folder)
    assert not any(file.exists() for file in files)
    assert all(file.exists() for file in others)


UNCACHED = """
import warnings
from numba.core import caching
caching.CompileResultCacheImpl._locator_classes = []  # it finds no folder that can be written to
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import kermes
    D = kermes.pairwise([[0.0], [2.0]], divergence=kermes.divergences.Wasserstein())
print(D[0, 1], [str(item.message) for item in seen if "compiled code" in str(item.message)])
"""


def test_without_a_folder_for_compiled_code_it_is_not_kept():
    """As where the package is read-only and there is no home folder."""
    done = subprocess.run([sys.executable, "-c", UNCACHED], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    value, messages = done.stdout.split(maxsplit=1)
    assert float(value) == 2.0
    assert messages.count("NUMBA_CACHE_DIR") == 1


def fresh(path):
    """Return the function f of a module, as in a new process."""
    spec = importlib.util.spec_from_file_location("a", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "text"])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_of_compiled_code_are_made_anew(damage, ending, tmp_path, monkeypatch):
    """A flipped bit of machine code would be run: every file of it has its checksum."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "caches"))
    source = tmp_path / "a.py"
    source.write_text("from kermes.core.jit import tile_core\n@tile_core\ndef f(x):\n    return x + 1\n")
    assert fresh(source)(1) == 2
    (file,) = tmp_path.rglob(f"*.{ending}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 8
    file.write_bytes({"flip": bytes(content), "cut": content[:40], "empty": b"", "text": b"no code"}[damage])
    f = fresh(source)
    assert f(1) == 2
    assert not f.stats.cache_hits
    f = fresh(source)
    assert f(1) == 2
    assert f.stats.cache_hits


def test_compilation_is_timed_apart():
    with jit.compilation() as seconds:
        numba.njit(lambda x: x + 1)(1.0)
    assert numba.config.DISABLE_JIT or seconds[0] > 0
    with jit.compilation() as seconds:
        pass
    assert seconds == []
