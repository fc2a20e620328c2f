"""Pictures of a report without a library: charts as inline SVG, in the colours of the page, and matrices as PNG."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape

import numpy as np

from ..._quantities import among
from ..._typing import AnyArray, FloatArray
from ...inspection import Difference

WIDTH, HEIGHT, MARGIN = 640, 420, 58
#: Most that a character takes of the width, in the large type of narrow pages.
CHARACTER = 10.5


def spectrum_chart(eigenvalues: FloatArray) -> str:
    """Return the eigenvalues from the largest down, as absolute values on a logarithmic axis; negative ones marked."""
    values = np.sort(eigenvalues)[::-1]
    size = np.abs(values)
    top = np.ceil(np.log10(size.max())) if size.max() > 0 else 0.0
    low = max(np.floor(np.log10(max(size.min(), 1e-300))), top - 16)
    height = 260
    x = MARGIN + np.arange(len(values)) / max(len(values) - 1, 1) * (WIDTH - 2 * MARGIN)
    share = np.clip((np.log10(np.maximum(size, 10.0**low)) - low) / max(top - low, 1), 0, 1)
    y = height - MARGIN + 16 - share * (height - MARGIN - 10)
    marks = "".join(
        f'<circle class="{"minus" if v < 0 else "plus"}" cx="{a:.1f}" cy="{b:.1f}" r="2.4"/>'
        for v, a, b in zip(values, x, y, strict=True)
    )
    ticks = "".join(
        f'<text x="{MARGIN - 6}" y="{height - MARGIN + 20 - k / max(top - low, 1) * (height - MARGIN - 10):.1f}" '
        f'text-anchor="end">1e{low + k:.0f}</text>'
        for k in np.arange(0, top - low + 1, max(np.ceil((top - low) / 6), 1))
    )
    label = f'<text x="{WIDTH / 2}" y="{height - 4}" text-anchor="middle">eigenvalues, the largest first</text>'
    return _svg(height, f"{_axes(height - MARGIN + 16)}{ticks}{marks}{label}", "Eigenvalues of the kernel matrix")


def regression_chart(y: FloatArray, predicted: FloatArray) -> str:
    """Return predictions against targets, with the line on which they agree."""
    low, high = float(min(y.min(), predicted.min())), float(max(y.max(), predicted.max()))
    labels = {t: among(t, low, high) for t in (low, low / 2 + high / 2, high)}
    left = max(MARGIN, 8 + CHARACTER * max(map(len, labels.values())))

    def place(value: float) -> tuple[float, float]:
        """Return where a value is in the frame, (x, y)."""
        share = (value - low) / ((high - low) or 1.0)
        return left + share * (WIDTH - MARGIN - left), HEIGHT - MARGIN - share * (HEIGHT - MARGIN - 12)

    dots = "".join(
        f'<circle class="plus" fill-opacity="0.6" cx="{place(a)[0]:.1f}" cy="{place(b)[1]:.1f}" r="3"/>'
        for a, b in zip(y, predicted, strict=True)
    )
    (x0, y0), (x1, y1) = place(low), place(high)
    line = f'<line class="axis" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'
    ticks = "".join(
        f'<text x="{place(t)[0]:.1f}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">{label}</text>'
        f'<text x="{left - 6:.1f}" y="{place(t)[1] + 4:.1f}" text-anchor="end">{label}</text>'
        for t, label in labels.items()
    )
    names = (
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">target</text>'
        f'<text x="{left + 8:.1f}" y="18">predicted</text>'
    )
    return _svg(HEIGHT, f"{_axes(HEIGHT - MARGIN, left)}{line}{dots}{ticks}{names}", "Predictions against targets")


def sample_map(
    plane: FloatArray, colours: Sequence[str], marks: Sequence[str], captions: Sequence[str], wrong: AnyArray
) -> str:
    """Return a dot for each sample, with a mark inside; its caption, and the picture ``sample-i``, appear on hover."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    reach = float((high - low).max()) or 1.0
    width = WIDTH - 2 * MARGIN
    height = max(int(width * (high - low)[1] / reach), 120) + 40
    x = MARGIN + (plane[:, 0] - low[0]) / reach * width
    y = height - 20 - (plane[:, 1] - low[1]) / reach * width
    dots = "".join(
        f'<g class="sample{" wrong" if w else ""}" data-picture="sample-{i}" data-text="{escape(t)}">'
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{6 if m else 5}" style="fill:{c}"/>'
        f'<text x="{a:.1f}" y="{b + 3:.1f}" text-anchor="middle">{escape(m)}</text><title>{escape(t)}</title></g>'
        for i, (a, b, c, m, t, w) in enumerate(zip(x, y, colours, marks, captions, wrong, strict=True))
    )
    return _svg(height, dots, "Map of the samples")


def difference_chart(found: Difference, columns: Sequence[str] = ()) -> str:
    """Return where two groups differ: pixels, places on the line or in the plane, or a bar for each coordinate."""
    if found.shape is not None:
        height, marks = _difference_of_pixels(found, found.shape)
    elif found.points.shape[1] == 1:
        height, marks = _difference_on_the_line(found)
    elif found.points.shape[1] == 2:
        height, marks = _difference_in_the_plane(found)
    else:
        names = columns or [f"coordinate {j}" for j in range(found.points.shape[1])]
        height, marks = _difference_of_coordinates(found, names)
    return _svg(height, marks, "Where the groups differ")


def _looks(found: Difference) -> list[str]:
    """Return class and opacity of each place: orange where the second group has more, pale inside the band."""
    top = float(np.abs(found.scores).max()) or 1.0
    alphas = (0.1 + 0.9 * np.abs(found.scores) / top) * np.where(found.significant, 1.0, 0.3)
    return [_look(score, alpha) for score, alpha in zip(found.scores, alphas, strict=True)]


def _look(score: float, alpha: float) -> str:
    return f'class="{"minus" if score > 0 else "plus"}" fill-opacity="{alpha:.2f}"'


def _difference_of_pixels(found: Difference, shape: tuple[int, int]) -> tuple[int, str]:
    cell = 240 / max(shape)
    h, w = (cell * side for side in shape)
    pixels = "".join(
        f'<rect {look} x="{1 + i % shape[1] * cell:.1f}" y="{1 + i // shape[1] * cell:.1f}" width="{cell:.1f}" '
        f'height="{cell:.1f}"/>'
        for i, look in enumerate(_looks(found))
    )
    return int(h) + 3, f'{pixels}<rect class="axis" x="1" y="1" width="{w:.1f}" height="{h:.1f}"/>'


def _difference_on_the_line(found: Difference) -> tuple[int, str]:
    """Return scores against places, with their band."""
    order, height = np.argsort(found.points[:, 0], kind="stable"), 240
    places, scores, bands = found.points[order, 0], found.scores[order], found.bands[order]
    top = float(max(np.abs(scores).max(), bands.max())) or 1.0
    x = MARGIN + (places - places[0]) / (float(places[-1] - places[0]) or 1.0) * (WIDTH - 2 * MARGIN)

    def corners(values: FloatArray) -> list[str]:
        return [f"{a:.1f},{height / 2 - b / top * (height / 2 - 8):.1f}" for a, b in zip(x, values, strict=True)]

    band = " ".join(corners(bands) + corners(-bands)[::-1])
    dots = "".join(
        '<circle {} cx="{}" cy="{}" r="3"/>'.format(look, *corner.split(","))
        for look, corner in zip(np.array(_looks(found))[order], corners(scores), strict=True)
    )
    ends = "".join(
        f'<text x="{a:.1f}" y="{height + 12}" text-anchor="middle">{among(t, places[0], places[-1])}</text>'
        for a, t in ((x[0], places[0]), (x[-1], places[-1]))
    )
    return height + 16, f'{_axes(height - 4)}<polygon class="band" points="{band}"/>{dots}{ends}'


def _difference_in_the_plane(found: Difference) -> tuple[int, str]:
    low, extent = found.points.min(axis=0), np.ptp(found.points, axis=0)
    places = MARGIN + (found.points - low) / (float(extent.max()) or 1.0) * 300
    height = int(places[:, 1].max() + 12)
    order = np.argsort(np.abs(found.scores), kind="stable")  # the clearest on top
    looks = _looks(found)
    return height, "".join(
        f'<circle {looks[i]} cx="{places[i, 0]:.1f}" cy="{height + MARGIN - 12 - places[i, 1]:.1f}" r="3.5"/>'
        for i in order
    )


def _difference_of_coordinates(found: Difference, names: Sequence[str]) -> tuple[int, str]:
    """Return a bar for each of the 20 coordinates that differ most, in units of what chance reaches."""
    part = found.coordinates
    lengths = part.scores / np.where(part.bands > 0, part.bands, 1.0)
    order = np.argsort(-lengths, kind="stable")[:20]
    unit = (WIDTH - 150) / max(float(lengths.max()), 1.2)
    bars = "".join(
        f'<text x="94" y="{20 * k + 14}" text-anchor="end">{escape(_short(names[j]))}<title>{escape(names[j])}</title>'
        "</text><rect "
        f'{_look(part.shifts[j], 1.0 if lengths[j] > 1 else 0.3)} x="100" y="{20 * k + 3}" '
        f'width="{lengths[j] * unit:.1f}" height="14"/>'
        for k, j in enumerate(order)
    )
    bottom, x = 20 * len(order) + 4, 100 + unit
    text = f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">chance</text>'
    return bottom + 20, f'{bars}<path class="axis" d="M{x:.1f} 0 V{bottom}"/>{text}'


def _short(name: str) -> str:
    """Return what of a name has room beside a bar."""
    return name if len(name) <= 13 else f"{name[:12]}…"


def _axes(bottom: float, left: float = MARGIN) -> str:
    return f'<path class="axis" d="M{left:.1f} 8 V{bottom} H{WIDTH - MARGIN}"/>'


def _svg(height: int, marks: str, label: str) -> str:
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">{marks}</svg>'


#: Seven colours from dark blue to yellow, as in matplotlib's cividis: safe for colour-blind eyes, and in print.
RAMP = np.array([0x00224E, 0x32426B, 0x575D6D, 0x7C7B78, 0xA59B73, 0xD1BC5E, 0xFEE838])[:, None] >> [16, 8, 0] & 255


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
