"""Arrays of images and labels: ``.npy``, ``.npz`` and IDX files."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np

from .._typing import AnyArray
from ..datasets import read_idx
from ..exceptions import InvalidFileError, KermesError
from ..measures import Measures
from ._data import Data

IMAGES = ("images", "X", "x", "data")
LABELS = ("labels", "label", "y", "target")


def read_npz(
    path: Path, label: str | None, threshold: float | None, binary: bool, spacing: str | float, invert: bool
) -> Data:
    """Read saved measures, or a stack of images with labels."""
    arrays = _npz(path)
    labels = _pick_labels(arrays, label, path)
    if "kermes_format" in arrays:
        X, kind = Measures.load(path), "measures"
    else:
        X, kind = stack(_pick_images(arrays, path), threshold, binary, spacing, invert), "images"
    if labels is not None and labels.shape != (len(X),):
        raise InvalidFileError(f"{str(path)!r} has labels of shape {labels.shape} for {len(X)} measures.")
    return Data(X, labels, kind=kind)


def read_stack(path: Path, threshold: float | None, binary: bool, spacing: str | float, invert: bool) -> Data:
    """Read the images of an ``.npy`` or IDX file."""
    return Data(stack(_array(path), threshold, binary, spacing, invert), kind="images")


def read_labels(path: Path) -> AnyArray:
    """Read labels from ``.npy``, IDX, or text with one per line."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".npy", "-ubyte", ".idx")):
        return _array(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InvalidFileError(f"{str(path)!r} is not text; labels are .npy, IDX, or text in lines.") from None
    while lines and not lines[-1].strip():
        lines.pop()
    words = np.array([line.strip() for line in lines])
    for kind in (np.int64, np.float64):
        try:
            return words.astype(kind)
        except ValueError:
            continue
    return words


def write_npz(data: Data, path: Path) -> None:
    """Write the measures as ``Measures.save`` does, and the labels beside them."""
    data.measures.save(path)
    if data.labels is not None:
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("labels.npy", "w") as file:
            np.lib.format.write_array(file, data.labels, allow_pickle=False)


def stack(images: AnyArray, threshold: float | None, binary: bool, spacing: str | float, invert: bool) -> Measures:
    """Return grey images as measures."""
    if invert:
        images = images.max() - images
    return Measures.from_images(images, threshold, binary, spacing)


def _array(path: Path) -> AnyArray:
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        return read_idx(path)
    except (ValueError, EOFError, KermesError, gzip.BadGzipFile) as error:
        raise InvalidFileError(f"{str(path)!r} cannot be read ({error}).") from error


def _npz(path: Path) -> dict[str, AnyArray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidFileError(f"{str(path)!r} is not an archive of plain arrays ({error}).") from error


def _pick_images(arrays: dict[str, AnyArray], path: Path) -> AnyArray:
    named = [arrays[name] for name in IMAGES if name in arrays and arrays[name].ndim == 3]
    found = named[:1] or [array for array in arrays.values() if array.ndim == 3]
    if len(found) != 1:
        raise InvalidFileError(
            f"{str(path)!r} has {len(found)} stacks of images (n, height, width); it holds {_shapes(arrays)}. Name one "
            "of them 'images'."
        )
    return found[0]


def _pick_labels(arrays: dict[str, AnyArray], label: str | None, path: Path) -> AnyArray | None:
    if label is not None and label not in arrays:
        raise InvalidFileError(f"{str(path)!r} has no array {label!r}; it holds {_shapes(arrays)}.")
    names = LABELS if label is None else (label,)
    return next((arrays[name] for name in names if name in arrays), None)


def _shapes(arrays: dict[str, AnyArray]) -> str:
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
