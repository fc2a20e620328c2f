"""What all pictures share: displays, axes to draw on, measures of the plane, colours of classes and clusters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from .._checks import needed
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measure, Measures

#: Width of a panel in inches.
PANEL = 2.3
#: Most panels beside each other.
IN_A_ROW = 5
#: Clusters: the palette of Okabe and Ito without black and yellow, told apart by everybody.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"]
#: Classes: the muted palette of Paul Tol, likewise, and black. Clusters and classes of one picture differ in colour.
CLASS_PALETTE = [
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#44AA99", "#AA4499", "#999933", "#DDCC77", "#000000",
]  # fmt: skip
#: More names than this make no readable legend.
MOST_NAMES = 12
BAR, GAP = 0.045, 0.02  # height of the bar and its distance from the axes, in heights of the axes


class Display:
    """Base of the displays, which follow those of scikit-learn.

    A ``from_...`` method computes what is to be seen, draws it and returns the display; :meth:`plot` draws it again,
    elsewhere. ``ax_`` (``axes_`` if there are several) and ``figure_`` are where it was drawn last.
    """

    ax_: Any
    figure_: Any

    def _open(self, ax: Any, width: float, height: float) -> Any:
        """Return the axes to draw on: those given, or those of a new figure of this size in inches."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=(width, height), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _bars(self, ax: Any, lengths: Any, names: Sequence[str], colours: Any) -> None:
        """Draw named bars to the right, the first at the top."""
        ax = self._open(ax, 6.0, 0.3 * len(lengths) + 1.3)
        places = np.arange(len(lengths))[::-1]
        ax.barh(places, lengths, height=0.7, color=colours)
        ax.set_yticks(places, names)
        ax.tick_params(axis="y", length=0, labelsize=9)
        ax.spines[["top", "right", "left"]].set_visible(False)


def short_form(name: str, draw: Callable[..., Display], drawn_on: str) -> Callable[..., Any]:
    """Return a function that draws like ``draw``, a ``from_...`` method, and returns ``ax_`` or ``figure_``."""

    @wraps(draw)
    def function(*args: Any, **options: Any) -> Any:
        return getattr(draw(*args, **options), drawn_on)

    what = {"ax_": "axes", "figure_": "figure"}[drawn_on]
    function.__name__ = function.__qualname__ = name
    function.__signature__ = inspect.signature(draw).replace(return_annotation=Any)  # type: ignore[attr-defined]
    function.__doc__ = f"{inspect.getdoc(draw)}\n\nReturns\n-------\nmatplotlib {what}\n"
    return function


class Frame(NamedTuple):
    """A regular grid of points (h * w, 2) over the plane, and the extent of its cells for ``imshow``.

    ``pixels``: the points are (row, column) of images, rows downwards; otherwise (x, y), y upwards.
    """

    points: FloatArray
    shape: tuple[int, int]
    extent: tuple[float, float, float, float]
    pixels: bool

    @property
    def ratio(self) -> float:
        """Height over width."""
        left, right, bottom, top = self.extent
        return abs(top - bottom) / (right - left)


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    return needed("matplotlib.pyplot", "plot", "drawing")


def panels(rows: int, cols: int, axes: Any, ratio: float, margin: float) -> tuple[Any, AnyArray]:
    """Return a figure and an array (rows, cols) of axes: those given, or new ones.

    New panels are ``ratio`` times as high as wide, with ``margin`` inches above and below them.
    """
    if axes is None:
        size = (PANEL * cols + 0.6, (PANEL * ratio + margin) * rows + 0.3)
        figure, axes = pyplot().subplots(rows, cols, figsize=size, squeeze=False, layout="constrained")
        return figure, axes
    given = np.asarray(axes, dtype=object)
    if given.size != rows * cols:
        raise InvalidParameterError(f"`axes` must hold {rows} x {cols} axes, one per panel; got {given.size}.")
    given = given.reshape(rows, cols)
    return given[0, 0].figure, given


def plane_measures(measures: Any) -> list[Measure]:
    """Return a list of measures on the plane."""
    listed = [measures] if isinstance(measures, Measure) else measures
    if not isinstance(listed, (Measures, Iterable)) or not all(isinstance(m, Measure) for m in listed):
        raise InvalidParameterError(
            f"`measures` must be a measure, a list of measures or Measures; got {type(measures).__name__}."
        )
    listed = list(listed)
    if not listed:
        raise InvalidParameterError("`measures` must hold one measure or more; got none.")
    if any(m.dim != 2 for m in listed):
        raise UnsuitableDataError(
            f"only measures on the plane can be drawn; these have points of dimension {max(m.dim for m in listed)}."
        )
    return listed


def names(titles: Sequence[str] | None, measures: list[Measure]) -> list[str]:
    """Return one title per measure: those given, or the names of the measures."""
    if titles is None:
        return ["" if m.key is None else str(m.key) for m in measures]
    if len(titles) != len(measures):
        raise InvalidParameterError(f"`titles` must hold {len(measures)} names, one per measure; got {len(titles)}.")
    return [str(title) for title in titles]


def frame(measures: list[Measure], resolution: int) -> Frame:
    """Return the pixel grid of the first measure that has one, or ``resolution`` cells along the wider side."""
    for measure in measures:
        if measure.support is not None and measure.support.shape is not None:
            (h, w), step = measure.support.shape, measure.support.spacing
            extent = (-0.5 * step, (w - 0.5) * step, (h - 0.5) * step, -0.5 * step)
            return Frame(measure.support.points, (h, w), extent, True)
    points = np.concatenate([m.points for m in measures])
    low, high = points.min(axis=0), points.max(axis=0)
    side = float((high - low).max()) or 1.0
    low, high = low - 0.15 * side, high + 0.15 * side
    w, h = np.maximum(1, np.rint(resolution * (high - low) / (high - low).max())).astype(int).tolist()
    cell = (high - low) / [w, h]
    x, y = low[0] + (np.arange(w) + 0.5) * cell[0], high[1] - (np.arange(h) + 0.5) * cell[1]
    grid = np.stack([np.tile(x, h), np.repeat(y, w)], axis=1)  # row by row from the top
    return Frame(grid, (h, w), (float(low[0]), float(high[0]), float(low[1]), float(high[1])), False)


def across_and_up(points: FloatArray, pixels: bool) -> FloatArray:
    """Return points as (horizontal, vertical) coordinates: (column, row) of pixels, (x, y) otherwise."""
    return points[..., ::-1] if pixels else points


def colours(n: int, palette: list[str] = PALETTE) -> AnyArray:
    """Return n colours as rows (r, g, b, a): of the palette, or shades of viridis if there are more."""
    from matplotlib.colors import to_rgba_array

    if n <= len(palette):
        return np.asarray(to_rgba_array(palette[:n]))
    return np.asarray(pyplot().get_cmap("viridis")(np.linspace(0.0, 1.0, n)))


def class_colours(n: int) -> AnyArray:
    """Return the colours of n classes."""
    return colours(n, CLASS_PALETTE)


def class_bar(ax: Any, names: AnyArray, codes: IndexArray, extent: tuple[float, float], low: float = 0.0) -> Any:
    """Draw one stripe per measure below ``ax``, in its class's colour, and the names of the classes under it.

    ``extent`` is the horizontal range of the stripes in data of ``ax``, ``low`` how far below the axes other text ends.
    """
    bar = ax.inset_axes([0.0, -low - GAP - BAR, 1.0, BAR], sharex=ax)
    palette = class_colours(len(names))
    # A row of an image: thousands of stripes cost nothing, and those narrower than a pixel are averaged.
    bar.imshow(palette[codes][np.newaxis], extent=(*extent, 0.0, 1.0), aspect="auto")
    bar.set(xlim=ax.get_xlim(), ylim=(0.0, 1.0), yticks=[])
    bar.tick_params(bottom=False, labelbottom=False)
    class_legend(bar, names, ncols=min(len(names), 6), loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return bar


def class_legend(ax: Any, names: AnyArray, **place: Any) -> None:
    """Write the names of the classes beside their colours, if there are not too many."""
    from matplotlib.patches import Patch

    if len(names) > MOST_NAMES:
        return
    patches = [Patch(color=colour) for colour in class_colours(len(names))]
    written = [str(name) for name in names]
    ax.legend(
        patches, written, frameon=False, fontsize=9, handlelength=1.0, handleheight=1.0, borderaxespad=0.2, **place
    )
