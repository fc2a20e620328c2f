"""Colours of classes and clusters, and the bar of classes along a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, IndexArray
from ._axes import pyplot

#: The palette of Okabe and Ito without black and yellow: told apart by everybody.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"]
#: More names than this make no readable legend.
MOST_NAMES = 12
BAR, GAP = 0.045, 0.02  # height of the bar and its distance from the axes, in heights of the axes


def colours(n: int) -> AnyArray:
    """Return n colours as rows (r, g, b, a)."""
    from matplotlib.colors import to_rgba_array

    if n <= len(PALETTE):
        return np.asarray(to_rgba_array(PALETTE[:n]))
    return np.asarray(pyplot().get_cmap("turbo")(np.linspace(0.05, 0.95, n)))


def class_bar(ax: Any, names: AnyArray, codes: IndexArray, extent: tuple[float, float], low: float = 0.0) -> Any:
    """Draw one stripe per measure below ``ax``, in its class's colour, and the names of the classes under it.

    ``extent`` is the horizontal range of the stripes in data of ``ax``, ``low`` how far below the axes other text ends.
    """
    from matplotlib.patches import Patch

    bar = ax.inset_axes([0.0, -low - GAP - BAR, 1.0, BAR], sharex=ax)
    palette = colours(len(names))
    # A row of an image: thousands of stripes cost nothing, and those narrower than a pixel are averaged.
    bar.imshow(palette[codes][np.newaxis], extent=(*extent, 0.0, 1.0), aspect="auto")
    bar.set(xlim=ax.get_xlim(), ylim=(0.0, 1.0), yticks=[])
    bar.tick_params(bottom=False, labelbottom=False)
    if len(names) <= MOST_NAMES:
        patches = [Patch(color=colour) for colour in palette]
        bar.legend(
            patches, [str(name) for name in names], ncols=min(len(names), 6), loc="upper center", frameon=False,
            bbox_to_anchor=(0.5, -0.2), fontsize=9, handlelength=1.0, handleheight=1.0, borderaxespad=0.2,
        )  # fmt: skip
    return bar
