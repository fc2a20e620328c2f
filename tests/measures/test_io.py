import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kermes import Measures
from kermes.exceptions import InvalidMeasureError


@pytest.mark.parametrize(
    "X",
    [
        Measures.from_samples([[1.0, 2.0], [3.0]]),
        Measures.from_images(np.ones((2, 3, 4)), spacing="unit"),
        Measures.from_histograms([[1, 2]], [0.0, 1.0]),
        Measures.from_frame(pd.DataFrame({"g": ["é", "b"], "x": [1, 2]}), by="g", columns="x"),
    ],
    ids=["samples", "images", "histograms", "frame"],
)
def test_round_trip(X, tmp_path):
    path = tmp_path / "x.npz"
    X.save(path)
    back = Measures.load(path)
    assert back.fingerprint == X.fingerprint
    assert repr(back) == repr(X)
    assert (back.support is None) == (X.support is None)
    if X.support is not None:
        assert_array_equal(back.atoms, X.atoms)
        assert back.support.spacing == X.support.spacing
    assert_array_equal(back.keys, X.keys)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_a_view_saves_its_rows_only(tmp_path):
    X = Measures.from_samples([[1.0], [2.0], [3.0]])
    X[[2, 0]].save(tmp_path / "v")
    back = Measures.load(tmp_path / "v")
    assert_array_equal(back.points[:, 0], [3, 1])


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    (tmp_path / "text.npz").write_text("not a zip")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "array.npz.npy", np.ones(3))
    for name in ("other.npz", "text.npz", "empty.npz", "array.npz.npy"):
        with pytest.raises(InvalidMeasureError, match=r"is not a file of measures"):
            Measures.load(tmp_path / name)
    np.savez(tmp_path / "new.npz", kermes_format=99, points=1, weights=1, offsets=1)
    with pytest.raises(InvalidMeasureError, match="newer kermes"):
        Measures.load(tmp_path / "new.npz")
    np.savez(tmp_path / "bad.npz", kermes_format=1, points=np.ones((2, 1)), weights=-np.ones(2), offsets=[0, 2])
    with pytest.raises(InvalidMeasureError, match="negative weight"):
        Measures.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "torn.npz", kermes_format=1, points=np.ones((2, 1)), weights=np.ones(2), offsets=[0, 5])
    with pytest.raises(InvalidMeasureError, match="is damaged"):
        Measures.load(tmp_path / "torn.npz")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        Measures.load(tmp_path / "nothing.npz")


IMAGES = {
    "kermes_format": 1, "points": np.array([[0.0, 0.5], [0.5, 0.0]]), "weights": np.ones(2),
    "offsets": np.array([0, 1, 2]), "atoms": np.array([1, 2]),
    "support": np.array([[0.0, 0.0], [0.0, 0.5], [0.5, 0.0], [0.5, 0.5]]),
    "grid": np.array([2, 2]), "spacing": np.array(0.5), "keys": np.array(["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"atoms": np.array([1, 4])},
        {"atoms": np.array([1, -2])},
        {"atoms": np.array([1, 2**40])},
        {"atoms": np.array([1.0, 2.0])},
        {"atoms": np.array([2, 1])},
        {"atoms": np.array([1])},
        {"atoms": None},
        {"support": None},
        {"support": IMAGES["support"] * (1 + 0j)},
        {"support": np.array([[0.0, np.nan], *IMAGES["support"][1:]])},
        {"support": IMAGES["support"][:3]},
        {"support": IMAGES["support"].ravel()},
        {"grid": None},
        {"grid": np.array([2, 3])},
        {"grid": np.array([4, 1])},
        {"grid": np.array([-2, -2])},
        {"grid": np.array([2**40, 2**40])},
        {"grid": np.array([2, 2, 1])},
        {"spacing": np.array(0.25)},
        {"spacing": np.array(np.inf)},
        {"spacing": np.array(-0.5)},
        {"spacing": np.array("a")},
        {"spacing": None},
        {"keys": np.array(["a"])},
        {"keys": np.array([["a", "b"]])},
        {"keys": np.array([1j, 2j])},
        {"points": IMAGES["points"] * (1 + 0j)},
        {"weights": np.ones(2, dtype=complex)},
        {"weights": np.array(["1", "1"])},
        {"offsets": np.array([0.0, 1.0, 2.0])},
        {"offsets": np.array([0, 3, 2])},
        {"offsets": np.array(2)},
        {"kermes_format": np.array("one")},
    ],
)
def test_what_does_not_fit_the_support_is_refused(change, tmp_path):
    """Atom numbers out of bounds would be read by compiled code, another grid would change distances."""
    path = tmp_path / "x.npz"
    np.savez(path, **IMAGES)
    assert Measures.load(path).support.shape == (2, 2)
    np.savez(path, **{name: value for name, value in {**IMAGES, **change}.items() if value is not None})
    with pytest.raises(InvalidMeasureError, match=r"x\.npz' is damaged: its arrays do not fit together"):
        Measures.load(path)


def test_repeated_bins_of_a_file_are_refused(tmp_path):
    change = {"support": np.array([[0.0, 0.0], [0.0, 0.5], [0.5, 0.0], [0.0, 0.0]]), "grid": np.array([0, 0])}
    np.savez(tmp_path / "x.npz", **{**IMAGES, **change})
    with pytest.raises(InvalidMeasureError, match="points 0 and 3 of `support` coincide"):
        Measures.load(tmp_path / "x.npz")


def test_a_damaged_file_never_loads_as_other_measures(tmp_path):
    path = tmp_path / "x.npz"
    X = Measures.from_images(np.arange(1.0, 13.0).reshape(2, 2, 3))
    X.save(path)
    content, loaded = path.read_bytes(), 0
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            loaded += Measures.load(path).fingerprint == X.fingerprint
        except InvalidMeasureError as error:
            refused = str(error)
            loaded += "x.npz" in refused
    assert loaded == len(content)


def test_a_failed_save_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "x.npz"
    X = Measures.from_samples([[1.0], [2.0]])
    X.save(path)

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        X[:1].save(path)
    assert Measures.load(path).fingerprint == X.fingerprint
    assert [file.name for file in tmp_path.iterdir()] == ["x.npz"]
