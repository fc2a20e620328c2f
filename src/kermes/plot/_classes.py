"""Colours of classes and clusters, and the bar of classes along a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, IndexArray
from ._axes import pyplot

#: Clusters: the palette of Okabe and Ito without black and yellow, told apart by everybody.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"]
#: Classes: the muted palette of Paul Tol, likewise, and black. Clusters and classes of one picture differ in colour.
CLASS_PALETTE = [
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#44AA99", "#AA4499", "#999933", "#DDCC77", "#000000",
]  # fmt: skip
#: More names than this make no readable legend.
MOST_NAMES = 12
BAR, GAP = 0.045, 0.02  # height of the bar and its distance from the axes, in heights of the axes


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
