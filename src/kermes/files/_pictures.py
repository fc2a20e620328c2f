"""Folders of images, one sub-folder per class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from .._checks import missing
from .._foreign import decoding, require_file, require_room
from .._typing import AnyArray
from ..exceptions import InvalidFileError
from ..measures import Measures
from ._data import Data

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm")
#: What the content may be. Others that Pillow would recognise run other programs, such as Ghostscript for PostScript.
#: Bytes that a pixel is counted with: decoded, and as an atom of a measure.
PIXEL = 16
FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "PPM")


def read(folder: Path, as_measures: Callable[[AnyArray], Measures]) -> Data:
    """Read all images in order of their names; those of sub-folders have the name of the folder as label."""
    classes = sorted(entry for entry in folder.iterdir() if entry.is_dir() and _images(entry))
    if classes and _images(folder):
        raise InvalidFileError(f"{str(folder)!r} has images beside folders of images; give each class a folder.")
    paths = [path for entry in classes or [folder] for path in _images(entry)]
    if not paths:
        raise InvalidFileError(f"{str(folder)!r} has no images ({', '.join(ENDINGS)}), nor have its folders.")
    grey = [_grey(path) for path in paths]
    for path, image in zip(paths, grey, strict=True):
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
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)


def _grey(path: Path) -> AnyArray:
    """Return grey values, 0 to 255, or to 65535 for images of 16 bits."""
    try:
        from PIL import Image
    except ImportError:
        raise missing("pillow", "image", "Reading images") from None
    require_file(path)
    with decoding(path, "an image"), Image.open(path, formats=FORMATS) as image:
        require_room(path, PIXEL * image.width * image.height)
        # Conversion to "L" would clip 16 bits to 255.
        return np.asarray(image if image.mode.startswith(("I", "F")) else image.convert("L"))
