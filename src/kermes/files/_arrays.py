"""Images and labels: ``.npy``, ``.npz`` and IDX files, and folders of images, one sub-folder per class."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import _foreign
from .._checks import needed
from .._foreign import decoding, require_file, require_memory, require_room
from .._typing import AnyArray
from ..datasets import read_idx
from ..exceptions import InvalidFileError, KermesWarning
from ..measures import Measures
from ._data import IDX, Data, visible
from ._text import are_names

IMAGES = ("images", "X", "x", "data")
LABELS = ("labels", "label", "y", "target")
#: Labels in lines that are numbers; Python would take 1_000 and digits of other scripts, too.
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf(inity)?)", re.ASCII | re.IGNORECASE)
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm")
#: Bytes that a pixel is counted with: decoded, and as an atom of a measure.
PIXEL = 16
#: What the content may be. Others that Pillow would recognise run other programs, such as Ghostscript for PostScript.
FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "PPM")
#: Formats of several pictures in one file. Others may hold a preview (JPEG of cameras), which is no picture of its own.
PAGED = ("PNG", "TIFF")
#: Numbers of the tags of the bits of each value in a TIFF file, and of how a picture is turned: beyond 4 by a quarter.
BITS_PER_SAMPLE, ORIENTATION = 258, 274
#: Of how numbers of a TIFF file are meant, and the values that say white is 0, and numbers have signs.
PHOTOMETRIC, SAMPLE_FORMAT, WHITE_IS_ZERO, SIGNED = 262, 339, 0, 2


def read_npz(path: Path, label: str | None, as_measures: Callable[[AnyArray], Measures]) -> Data:
    """Read saved measures, or a stack of images with labels."""
    arrays = _foreign.read_npz(path)
    if label is not None and label not in arrays:
        raise InvalidFileError(f"{str(path)!r} has no array {label!r}; it holds {_shapes(arrays)}.")
    wanted = LABELS if label is None else (label,)
    labels = next((arrays[name] for name in wanted if name in arrays), None)
    if "kermes_format" in arrays:
        X, kind = Measures.load(path), "measures"
    else:
        X, kind = as_measures(_pick_images(arrays, path)), "images"
    if labels is not None and labels.shape != (len(X),):
        raise InvalidFileError(f"{str(path)!r} has labels of shape {labels.shape} for {len(X)} measures.")
    names = arrays.get("columns", np.zeros(0))  # of the coordinates, if `write_npz` kept them
    known = kind == "measures" and names.dtype.kind == "U" and names.shape == (X.dim,)
    return Data(X, labels, columns=tuple(names.tolist()) if known else (), kind=kind)


def read_array(path: Path) -> AnyArray:
    """Read an ``.npy`` or IDX file."""
    return _foreign.read_npy(path) if _plain_name(path).endswith(".npy") else read_idx(path)


def read_labels(path: Path) -> AnyArray:
    """Read labels from ``.npy``, IDX, or text with one per line."""
    if _plain_name(path).endswith((".npy", *IDX)):
        return read_array(path)
    try:
        lines = _foreign.read_bytes(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InvalidFileError(f"{str(path)!r} is not text; labels are .npy, IDX, or text in lines.") from None
    while lines and not lines[-1].strip():
        lines.pop()
    words = np.array([line.strip() for line in lines])
    if are_names([word.encode() for word in words.tolist()]) or not all(map(NUMBER.fullmatch, words.tolist())):
        return words
    for kind in (np.int64, np.float64):
        try:
            return words.astype(kind)
        except (ValueError, OverflowError):
            continue
    return words


def write_npz(data: Data, path: Path) -> None:
    """Write the measures as ``Measures.save`` does, and beside them the labels and the names of the coordinates."""
    data.measures.save(path)
    beside = {} if data.labels is None else {"labels": data.labels}
    beside |= {"columns": np.array(data.columns)} if data.columns else {}
    for name, values in beside.items():
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(f"{name}.npy", "w") as file:
            np.lib.format.write_array(file, values, allow_pickle=False)


def _plain_name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz")


def _pick_images(arrays: dict[str, AnyArray], path: Path) -> AnyArray:
    named = [arrays[name] for name in IMAGES if name in arrays and arrays[name].ndim == 3]
    found = named[:1] or [array for array in arrays.values() if array.ndim == 3]
    if len(found) != 1:
        raise InvalidFileError(
            f"{str(path)!r} has {len(found)} stacks of images (n, height, width); it holds {_shapes(arrays)}. Name one "
            "of them 'images'."
        )
    return found[0]


def _shapes(arrays: dict[str, AnyArray]) -> str:
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"


def read_folder(folder: Path, as_measures: Callable[[AnyArray], Measures]) -> Data:
    """Read all images in order of their names; those of sub-folders have the name of the folder as label."""
    classes = [entry for entry in visible(folder) if entry.is_dir() and _images(entry)]
    if classes and _images(folder):
        raise InvalidFileError(f"{str(folder)!r} has images beside folders of images; give each class a folder.")
    paths = [path for entry in classes or [folder] for path in _images(entry)]
    if not paths:
        raise InvalidFileError(f"{str(folder)!r} has no images ({', '.join(ENDINGS)}), nor have its folders.")
    grey: list[AnyArray] = []
    for path in paths:  # each may expand as far as one file may: all of them count
        image = _grey(path)
        require_memory(2 * len(paths) * image.nbytes, f"{len(paths)} images", "read fewer, or smaller ones")
        grey.append(image)
        if image.dtype != grey[0].dtype:
            raise InvalidFileError(
                f"{str(path)!r} has grey values of type {image.dtype}, {str(paths[0])!r} of type {grey[0].dtype}: "
                "white is not the same number. Write all images with as many bits."
            )
        if image.shape != grey[0].shape:
            raise InvalidFileError(
                f"{str(path)!r} has {image.shape[0]} x {image.shape[1]} pixels, {str(paths[0])!r} has "
                f"{grey[0].shape[0]} x {grey[0].shape[1]}; all images must have one size."
            )
    X = as_measures(np.stack(grey))
    keys = np.array([path.relative_to(folder).as_posix() for path in paths])
    labels = np.array([path.parent.name for path in paths]) if classes else None
    return Data(Measures(replace(X._packed, keys=keys)), labels, "image", kind="images")


def _images(folder: Path) -> list[Path]:
    return [path for path in visible(folder) if path.suffix.lower() in ENDINGS]


def _grey(path: Path) -> AnyArray:
    """Return grey values, 0 to 255, or to 65535 for images of 16 bits."""
    Image = needed("PIL.Image", "image", "Reading images", "pillow")
    require_file(path)
    with decoding(path, "an image"), Image.open(path, formats=FORMATS) as image:
        require_room(path, PIXEL * image.width * image.height)
        if image.format in PAGED and image.is_animated:
            raise InvalidFileError(
                f"{str(path)!r} holds several pictures (pages, or an animation); save each as a file of its own."
            )
        if image.info.get("compression") == "raw" and image.getexif().get(ORIENTATION, 1) > 4:
            raise InvalidFileError(
                f"{str(path)!r} is turned by a quarter and not compressed, which Pillow scrambles; save it upright."
            )
        deep = image.mode.startswith(("I", "F"))
        if not deep and (bits := _bits(image, path)) > 8:
            raise InvalidFileError(
                f"{str(path)!r} has values of {bits} bits in colour or with transparency, of which 8 would be left; "
                "save it as grey without transparency, which keeps 16 bits, or with 8 bits."
            )
        _require_grey_as_stored(image, path)
        layered = "A" in image.getbands() or "transparency" in image.info  # a layer, or one colour
        if layered and (deep or image.convert("RGBA").getchannel("A").getextrema()[0] < 255):
            message = f"{path.name} has transparent pixels; their colours count as if they were not."
            warnings.warn(f"{message} Flatten it onto a background.", KermesWarning, stacklevel=2)
        upright = needed("PIL.ImageOps", "image", "Reading images", "pillow").exif_transpose(image)
        # Conversion to "L" would clip 16 bits to 255.
        return np.asarray(upright if deep else upright.convert("L"))


def _require_grey_as_stored(image: Any, path: Path) -> None:
    """Refuse pictures whose numbers Pillow changes: signed ones of 8 bits, white as 0 of 16, and odd largest values."""
    if image.format == "TIFF":
        tags, bits = image.tag_v2, _bits(image, path)
        if bits == 8 and SIGNED in tags.get(SAMPLE_FORMAT, ()):
            raise InvalidFileError(f"{str(path)!r} has signed values of 8 bits; save it with values of 0 to 255.")
        if bits > 8 and tags.get(PHOTOMETRIC) == WHITE_IS_ZERO:
            raise InvalidFileError(f"{str(path)!r} stores white as 0 (and has {bits} bits); save it with black as 0.")
    if image.format == "PPM":
        largest = _largest(image)
        if (255 if largest < 256 else 65535) % largest:
            raise InvalidFileError(
                f"{str(path)!r} has a largest value of {largest}, from which Pillow rounds to 255 or 65535; save it "
                "with one of these, or as PNG."
            )


def _bits(image: Any, path: Path) -> int:
    """Return the bits of a value in the file, where there may be more than the 8 to which Pillow decodes it."""
    if image.format == "PNG":
        with open(path, "rb") as file:
            return file.read(25)[-1]  # the header is at the same place in all of them
    if image.format == "TIFF":
        bits: tuple[int, ...] = image.tag_v2.get(BITS_PER_SAMPLE, (1,))
        return max(bits)
    if image.format == "PPM":
        return _largest(image).bit_length()
    return 8


def _largest(image: Any) -> int:
    """Return the largest value of a PPM file."""
    *_, settings = image.tile[0]  # how it is decoded: the raw mode, and the largest value unless that is 255
    return int(settings[-1]) if isinstance(settings, tuple) else 255
