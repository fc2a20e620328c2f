"""The notebook view of a collection: a line of text and a few thumbnails as inline SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .._typing import FloatArray
from ._packed import Support

if TYPE_CHECKING:
    from ._collection import Measures
    from ._measure import Measure

SIDE = 64  # pixels
MOST_MEASURES = 8
MOST_ATOMS = 400
BINS = 20
INK = "#1b6ca8"


def collection_html(X: Measures) -> str:
    """Return HTML: what the collection is, and its first measures as pictures."""
    shown = X[:MOST_MEASURES]
    pictures = "".join(
        f'<figure style="margin:0 6px 0 0;display:inline-block;text-align:center">{picture}'
        f'<figcaption style="font-size:11px">{escape(str(i if measure.key is None else measure.key))}</figcaption>'
        "</figure>"
        for i, (measure, picture) in enumerate(zip(shown, thumbnails(shown), strict=True))
    )
    drawn = f"<div>first two of the {X.dim} coordinates</div>" if X.dim > 2 else ""
    rest = f"<span> and {len(X) - len(shown)} more</span>" if len(X) > len(shown) else ""
    return f'<div><code>{escape(repr(X))}</code><div style="margin-top:6px">{pictures}{rest}</div>{drawn}</div>'


def thumbnails(X: Measures) -> list[str]:
    """Return a small picture of each measure as SVG, all in one frame of coordinates."""
    low, high = X.points.min(axis=0), X.points.max(axis=0)
    return [_thumbnail(measure, X.support, low, high) for measure in X]


def _thumbnail(measure: Measure, support: Support | None, low: FloatArray, high: FloatArray) -> str:
    points, weights = measure.points, measure.weights
    if len(points) > MOST_ATOMS:  # the heaviest atoms carry the shape
        heaviest = np.argsort(weights)[-MOST_ATOMS:]
        points, weights = points[heaviest], weights[heaviest]
    shade = weights / weights.max()
    if support is not None and support.shape is not None:
        marks = _pixels(points / support.spacing, shade, support.shape)
    elif points.shape[1] == 1:
        marks = _bars(_fit(measure.points[:, 0], low[0], high[0]), measure.weights)
    else:
        marks = _dots(_fit(points[:, :2], low[:2], high[:2]), shade)
    return (
        f'<svg width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}" style="border:1px solid #8888">{marks}</svg>'
    )


def _fit(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Map [low, high] to the frame, with a margin; a constant sits in the middle."""
    extent = np.where(high > low, high - low, 1.0)
    scaled = np.where(high > low, (values - low) / extent, 0.5)
    return np.asarray(4 + scaled * (SIDE - 8))


def _pixels(index: FloatArray, shade: FloatArray, shape: tuple[int, int]) -> str:
    cell = SIDE / max(shape)
    return "".join(
        f'<rect x="{column * cell:.1f}" y="{row * cell:.1f}" width="{cell:.1f}" height="{cell:.1f}" '
        f'fill="{INK}" fill-opacity="{alpha:.2f}"/>'
        for (row, column), alpha in zip(np.rint(index), shade, strict=True)
    )


def _bars(x: FloatArray, weights: FloatArray) -> str:
    """A histogram of 20 bins: atoms on the line are too many and too close to be drawn one by one."""
    mass, edges = np.histogram(x, bins=BINS, range=(0, SIDE), weights=weights)
    return "".join(
        f'<rect x="{edge:.1f}" y="{SIDE - height:.1f}" width="{SIDE / BINS:.1f}" height="{height:.1f}" fill="{INK}"/>'
        for edge, height in zip(edges, mass / mass.max() * (SIDE - 8), strict=False)
        if height > 0
    )


def _dots(xy: FloatArray, shade: FloatArray) -> str:
    return "".join(
        f'<circle cx="{x:.1f}" cy="{SIDE - y:.1f}" r="1.8" fill="{INK}" fill-opacity="{0.2 + 0.6 * alpha:.2f}"/>'
        for (x, y), alpha in zip(xy, shade, strict=True)
    )
