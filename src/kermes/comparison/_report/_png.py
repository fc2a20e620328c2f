"""A matrix as a PNG picture inside a page, without an imaging library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from ..._typing import AnyArray, FloatArray

#: Seven colours from dark blue to yellow, as in matplotlib's cividis: safe for colour-blind eyes, and in print.
RAMP = np.array(
    [
        (0, 34, 78),
        (50, 66, 107),
        (87, 93, 109),
        (124, 123, 120),
        (165, 155, 115),
        (209, 188, 94),
        (254, 232, 56),
    ]
)


def heat(values: FloatArray) -> AnyArray:
    """Return values in [0, 1] as colours of the ramp, uint8, one axis more."""
    places = np.linspace(0, 1, len(RAMP))
    return np.stack([np.interp(values, places, RAMP[:, c]) for c in range(3)], axis=-1).round().astype(np.uint8)


def data_uri(rgb: AnyArray) -> str:
    """Return an (h, w, 3) array of uint8 as the address of an embedded picture."""
    height, width, _ = rgb.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), rgb.reshape(height, -1)])  # filter byte 0 before each row
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return "data:image/png;base64," + base64.b64encode(png + _chunk(b"IEND", b"")).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
