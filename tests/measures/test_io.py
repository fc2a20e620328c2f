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
