"""Regret against evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..exceptions import InvalidParameterError
from ._axes import panels
from ._classes import PALETTE

__all__ = ["regret"]

#: Regrets below this are drawn here: the axis is logarithmic.
LEAST = 1e-8


def regret(curves: Mapping[str, Mapping[str, FloatArray]], axes: Any = None) -> Any:
    """Draw simple regrets against the number of evaluations: medians over runs, and bands from quartile to quartile.

    Parameters
    ----------
    curves : dict of dict of ndarray of shape (n_seeds, n_calls)
        For each problem, which gets a panel, the regrets of each method: ``optimization.regret_curves(...).regrets``.
    axes : array of matplotlib axes, optional
        One per problem; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    kermes.optimization.regret_curves : the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import plot
    >>> figure = plot.regret({"bowl": {"random": 1.0 / np.arange(1.0, 11.0)[None]}})
    """
    if not curves or not all(curves.values()):
        raise InvalidParameterError("`curves` must hold one problem or more, each with one method or more.")
    methods = list(dict.fromkeys(method for group in curves.values() for method in group))
    figure, cells = panels(1, len(curves), axes, ratio=1.0, text=0.8)
    for cell, (problem, group) in zip(cells[0], curves.items(), strict=True):
        for method, values in group.items():
            colour = PALETTE[methods.index(method) % len(PALETTE)]
            low, middle, high = np.maximum(np.quantile(np.atleast_2d(values), [0.25, 0.5, 0.75], axis=0), LEAST)
            calls = np.arange(1, len(middle) + 1)
            cell.fill_between(calls, low, high, color=colour, alpha=0.2, linewidth=0)
            cell.plot(calls, middle, color=colour, label=method)
        cell.set_title(problem, fontsize=10)
        cell.set(yscale="log", xlabel="evaluations")
    cells[0, 0].set_ylabel("simple regret")
    cells[0, -1].legend(fontsize=8)
    return figure
