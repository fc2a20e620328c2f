"""What displays are: data that can be drawn again, and the axes they were drawn on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ._axes import pyplot


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
