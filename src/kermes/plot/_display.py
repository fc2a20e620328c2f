"""What displays are: data that can be drawn again, and the axes they were drawn on."""

from __future__ import annotations

from typing import Any

from ._axes import pyplot

__all__ = ["Display"]


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
