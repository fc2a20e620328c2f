"""Labelled images, and the loaders of the four image data sets."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import choice
from .._foreign import decoding, read_bytes, read_npz
from .._typing import AnyArray
from ..exceptions import InvalidFileError
from ..measures import Measures


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """Grey images with labels.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Ink is bright, background 0.
    target : ndarray of shape (n,)
        Class numbers.
    classes : tuple of str
        Name of each class.
    """

    images: AnyArray
    target: AnyArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        height, width = self.images.shape[1:]
        return f"Images({len(self)} of {height} x {width} pixels, {len(self.classes)} classes)"

    def __getitem__(self, key: Any) -> Images:
        """Return the images of a slice, mask or index array."""
        return Images(self.images[key], self.target[key], self.classes)

    def measures(self, **options: Any) -> Measures:
        """Return the images as measures; options as in :meth:`Measures.from_images`."""
        return Measures.from_images(self.images, **options)


DIGITS = tuple("0123456789")


def load_digits() -> Images:
    """Return the 1797 handwritten digits of 8 x 8 pixels that ship with scikit-learn."""
    from sklearn.datasets import load_digits as load

    digits = load()
    return Images(digits.images, digits.target, DIGITS)


def load_mnist(path: str | os.PathLike[str] | None = None, split: str = "train") -> Images:
    """Return the MNIST digits, 28 x 28 pixels in 0 to 255: 60,000 to train, 10,000 to test.

    Parameters
    ----------
    path : path, optional
        Folder with the four IDX files, compressed or not. By default that is the folder ``mnist`` of ``$KERMES_DATA``;
        if the variable is not set, of ``../shared/data``, then scikit-learn's OpenML cache or download.
    split : 'train' or 'test'
    """
    stem = {"train": "train", "test": "t10k"}[choice(split, "split", ["train", "test"])]
    folder = find_folder("mnist", f"{stem}-images-idx3-ubyte", path)
    if folder is None:
        return _openml_mnist(split)
    images = read_idx(_plain_or_gz(folder / f"{stem}-images-idx3-ubyte"))
    return Images(images, read_idx(_plain_or_gz(folder / f"{stem}-labels-idx1-ubyte")).astype(np.int64), DIGITS)


def load_usps(path: str | os.PathLike[str] | None = None, split: str = "train") -> Images:
    """Return the USPS digits, 16 x 16 pixels in [0, 1]: 7291 to train, 2007 to test.

    Parameters
    ----------
    path : path, optional
        Folder with ``usps.npz`` (arrays X_train, y_train, X_test, y_test). By default that is the folder ``usps``
        of ``$KERMES_DATA``, or of ``../shared/data`` if the variable is not set.
    split : 'train' or 'test'
    """
    choice(split, "split", ["train", "test"])
    file = read_npz(_require("usps", "usps.npz", path) / "usps.npz")
    return Images(file[f"X_{split}"], file[f"y_{split}"].astype(np.int64), DIGITS)


def load_quickdraw(path: str | os.PathLike[str] | None = None) -> Images:
    """Return drawings of the Quick, Draw! data set (Google, CC BY 4.0), 28 x 28 pixels in 0 to 255.

    The file at hand has eight classes: airplane, rainbow, alarm clock, house, book, banana, crown and square. Only the
    first two are among the eight of the paper on Wasserstein exponential kernels, so errors on them cannot be held
    against the paper's.

    Parameters
    ----------
    path : path, optional
        Folder with ``quickdraw.npz`` (arrays images, labels, class_names). By default that is the folder
        ``quickdraw`` of ``$KERMES_DATA``, or of ``../shared/data`` if the variable is not set.
    """
    file = read_npz(_require("quickdraw", "quickdraw.npz", path) / "quickdraw.npz")
    return Images(file["images"], file["labels"].astype(np.int64), tuple(map(str, file["class_names"])))


def read_idx(path: str | os.PathLike[str]) -> AnyArray:
    """Return the array in an IDX file of unsigned bytes (the format of MNIST), gzipped or not."""
    content = read_bytes(path)
    # Two zero bytes, the type (8 = unsigned byte), the number of dimensions, then big-endian sizes.
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise InvalidFileError(f"{os.fspath(path)!r} is not an IDX file of unsigned bytes.")
    with decoding(path, "an IDX file"):
        shape = struct.unpack_from(f">{content[3]}I", content, 4)
        return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)


def find_folder(name: str, file: str, path: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder of a data set that is not part of kermes; None if it is nowhere.

    Parameters
    ----------
    name : str
        Of the data set: the sub-folder of ``KERMES_DATA`` that is looked into before ``KERMES_DATA`` itself.
    file : str
        A file that the folder must hold, as it is or with ``.gz``.
    path : path, optional
        The folder itself, instead of ``KERMES_DATA``.

    Raises
    ------
    FileNotFoundError
        ``path``, or the folder that ``KERMES_DATA`` names, does not hold the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kermes import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "table.csv").touch()
    ...     datasets.find_folder("tables", "table.csv", folder) == Path(folder)
    True
    """
    known = os.environ.get("KERMES_DATA")
    beside = [Path(".."), Path(__file__).parents[4]]  # of the current folder, and of a source checkout
    folders = [folder / "shared" / "data" / name for folder in beside]
    if path is not None:
        folders = [Path(path)]
    elif known:
        folders = [Path(known) / name, Path(known)]
    found = next((folder for folder in folders if _plain_or_gz(folder / file).exists()), None)
    if found is None and path is not None:
        raise FileNotFoundError(f"there is no {file} (or {file}.gz) in {os.fspath(path)!r}")
    if found is None and known:
        raise FileNotFoundError(
            f"there is no {file} (or {file}.gz) in {known!r}, which KERMES_DATA names, nor in its folder {name!r}"
        )
    return found


def _require(name: str, file: str, path: str | os.PathLike[str] | None) -> Path:
    folder = find_folder(name, file, path)
    if folder is None:
        raise FileNotFoundError(f"{file} was not found; pass its folder as `path`, or set KERMES_DATA to it")
    return folder


def _plain_or_gz(path: Path) -> Path:
    return path if path.exists() else path.with_name(path.name + ".gz")


def _openml_mnist(split: str) -> Images:
    from sklearn.datasets import fetch_openml

    try:
        images, labels = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, n_retries=1)
    except OSError as error:
        raise FileNotFoundError(
            "the MNIST files were not found, nor could they be downloaded from OpenML; pass their folder as `path`, "
            f"or set KERMES_DATA to it ({error})"
        ) from None
    part = slice(0, 60_000) if split == "train" else slice(60_000, 70_000)
    return Images(images[part].reshape(-1, 28, 28).astype(np.uint8), labels[part].astype(np.int64), DIGITS)
