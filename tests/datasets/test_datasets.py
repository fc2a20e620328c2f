import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from tests import strategies
from tests.oracles.transport import wasserstein

from kermes import datasets
from kermes.exceptions import InvalidParameterError, KermesError


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as file:
        file.write(header + array.tobytes())


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with tiny files in the layout of the real ones."""
    rng = np.random.default_rng(0)
    for name in ("mnist", "usps", "quickdraw"):
        (tmp_path / name).mkdir()
    images = rng.integers(1, 255, size=(6, 4, 4), dtype=np.uint8)
    labels = np.arange(6, dtype=np.uint8)
    write_idx(tmp_path / "mnist" / "train-images-idx3-ubyte.gz", images)
    write_idx(tmp_path / "mnist" / "train-labels-idx1-ubyte.gz", labels)
    write_idx(tmp_path / "mnist" / "t10k-images-idx3-ubyte", images[:2])
    write_idx(tmp_path / "mnist" / "t10k-labels-idx1-ubyte", labels[:2])
    np.savez(tmp_path / "usps" / "usps.npz", X_train=images / 255, y_train=labels, X_test=images[:1], y_test=labels[:1])
    np.savez(tmp_path / "quickdraw" / "quickdraw.npz", images=images, labels=labels, class_names=np.array(["a", "b"]))
    monkeypatch.setenv("KERMES_DATA", str(tmp_path))
    return images


def test_digits_ship_with_scikit_learn():
    digits = datasets.load_digits()
    assert len(digits) == 1797
    X = digits[:50].measures()
    assert repr(X).startswith("Measures(50 measures in dimension 2")
    assert digits.classes[digits.target[3]] == "3"


def test_loaders_read_the_folder_of_the_environment(data):
    mnist = datasets.load_mnist()
    assert_array_equal(mnist.images, data)
    assert_array_equal(mnist.target, range(6))
    assert len(datasets.load_mnist(split="test")) == 2
    assert_array_equal(datasets.load_usps().images, data / 255)
    assert len(datasets.load_usps(split="test")) == 1
    assert datasets.load_quickdraw().classes == ("a", "b")


def test_loaders_read_a_given_folder(data, tmp_path, monkeypatch):
    monkeypatch.delenv("KERMES_DATA")
    assert len(datasets.load_mnist(tmp_path / "mnist")) == 6
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
        datasets.load_mnist(tmp_path / "usps")
    with pytest.raises(FileNotFoundError, match=r"usps\.npz"):
        datasets.load_usps(tmp_path)


def test_a_missing_data_set_says_where_it_may_be(tmp_path, monkeypatch):
    monkeypatch.delenv("KERMES_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets._images, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "e.py"))
    with pytest.raises(FileNotFoundError, match="pass its folder as `path`, or set KERMES_DATA"):
        datasets.load_quickdraw()


def test_bad_split_and_bad_file(data, tmp_path):
    with pytest.raises(InvalidParameterError, match="Did you mean 'train'"):
        datasets.load_mnist(split="trian")
    (tmp_path / "x.idx").write_bytes(b"hello")
    with pytest.raises(KermesError, match="not an IDX file"):
        datasets.read_idx(tmp_path / "x.idx")


@given(problem=strategies.exact_transport())
def test_closed_forms_are_what_a_linear_program_finds(problem):
    X, expected = problem
    i, j = 0, len(X) - 1
    for p in (1, 2):
        assert_allclose(wasserstein(X[i], X[j], p), expected[i, j], atol=1e-6)


def test_location_scale_is_what_a_linear_program_finds():
    X, expected = datasets.make_location_scale(n=4, n_atoms=12, seed=1)
    assert_allclose([wasserstein(X[0], X[j], 2) for j in range(1, 4)], expected[0, 1:], atol=1e-6)


def test_seeds():
    for make in (datasets.make_diracs, datasets.make_translates, datasets.make_location_scale):
        assert make(seed=1).measures.fingerprint == make(seed=1).measures.fingerprint
        assert make(seed=1).measures.fingerprint != make(seed=2).measures.fingerprint
