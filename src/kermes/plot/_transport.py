"""Transport plans: what moves where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..inspection import TransportPlan, transport_plan
from ..measures import Measure
from ._display import PALETTE, Display, across_and_up

SOURCE, TARGET = PALETTE[:2]
#: The largest moves are drawn, up to this share of the mass and this many.
SHARE, MOST_MOVES = 0.99, 3000
#: Width of the largest move in points, areas of the largest atom and of the largest move of a matrix in square points.
WIDEST, LARGEST, LARGEST_MOVE = 3.0, 70.0, 90.0


@dataclass(eq=False, repr=False)
class TransportPlanDisplay(Display):
    """A transport plan between two measures.

    On the plane: the atoms of both, areas by weight, and lines as wide as the mass they carry; images have their rows
    downwards. On the line: a dot for each move, source against target, with both measures at the sides; dots on the
    diagonal stay where they are. In higher dimensions the same with the numbers of the atoms.

    Parameters
    ----------
    plan : kermes.inspection.TransportPlan
    names : (str, str)
        Names of the source and of the target.

    Notes
    -----
    The largest moves are drawn, until they carry 99 % of the mass; the title says if there were too many.

    Examples
    --------
    >>> from kermes import datasets, divergences, plot
    >>> X = datasets.load_digits().measures()
    >>> display = plot.TransportPlanDisplay.from_measures(X[1], X[0], divergences.Wasserstein(p=2))
    """

    plan: TransportPlan
    names: tuple[str, str] = ("source", "target")

    @classmethod
    def from_measures(
        cls, mu: Measure, nu: Measure, divergence: Any = None, names: tuple[str, str] | None = None, ax: Any = None
    ) -> TransportPlanDisplay:
        """Compute a plan and draw it.

        Parameters
        ----------
        mu, nu : Measure
            Source and target, such as ``X[0]`` and ``X[3]``.
        divergence : Wasserstein or Sinkhorn, optional
            ``Wasserstein(p=2)`` by default.
        names : (str, str), optional
            Names of source and target.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls.from_plan(transport_plan(mu, nu, divergence), names, ax)

    @classmethod
    def from_plan(
        cls, plan: TransportPlan, names: tuple[str, str] | None = None, ax: Any = None
    ) -> TransportPlanDisplay:
        """Draw a plan of :func:`kermes.inspection.transport_plan`."""
        return cls(plan, ("source", "target") if names is None else names).plot(ax)

    def plot(self, ax: Any = None, _most: int = MOST_MOVES) -> TransportPlanDisplay:
        """Draw, on given axes or on a new figure."""
        moves = self.plan.moves()
        carried = np.cumsum(moves.mass) / moves.mass.sum()
        count = min(int(np.searchsorted(carried, SHARE)) + 1, _most, len(carried))
        rows, cols, mass = moves.source[:count], moves.target[:count], moves.mass[:count]
        if self.plan.source.dim == 2:
            self._lines(self._open(ax, 5.0, 4.6), self.plan.source.points[rows], self.plan.target.points[cols], mass)
        else:
            self._matrix(self._open(ax, 5.0, 4.8), rows, cols, mass)
        note = "" if carried[count - 1] > SHARE - 1e-9 else f"; {carried[count - 1]:.0%} of the mass is drawn"
        over = next(iter(self.ax_.child_axes), self.ax_)  # the marginal at the top, if there is one
        over.set_title(f"cost of the plan: {self.plan.cost:.3g}{note}", fontsize=10)
        return self

    def _lines(self, ax: Any, start: FloatArray, end: FloatArray, mass: FloatArray) -> None:
        from matplotlib.collections import LineCollection

        both = (self.plan.source, self.plan.target)
        pixels = all(measure.support is not None and measure.support.shape is not None for measure in both)
        segments = np.stack([across_and_up(start, pixels), across_and_up(end, pixels)], axis=1)
        widths = WIDEST * mass / mass.max()
        ax.add_collection(LineCollection(list(segments), linewidths=widths, colors="0.45", alpha=0.7, zorder=1))
        for measure, colour, name in zip(both, (SOURCE, TARGET), self.names, strict=True):
            x, y = across_and_up(measure.points, pixels).T
            areas = LARGEST * measure.weights / measure.weights.max()
            ax.scatter(x, y, s=areas, color=colour, alpha=0.75, linewidths=0, label=name, zorder=2)
        ax.set(aspect="equal", xlabel="column" if pixels else "x", ylabel="row" if pixels else "y")
        if pixels:
            ax.invert_yaxis()
        legend = ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        for handle in legend.legend_handles:
            handle.set_sizes([30.0])

    def _matrix(self, ax: Any, rows: Any, cols: Any, mass: FloatArray) -> None:
        line = self.plan.source.dim == 1
        y, x = (m.points[:, 0] if line else np.arange(len(m.weights)) for m in (self.plan.source, self.plan.target))
        if line:
            ends = [min(x.min(), y.min()), max(x.max(), y.max())]
            ax.plot(ends, ends, color="0.8", linewidth=1.0, zorder=0)
        ax.scatter(x[cols], y[rows], s=LARGEST_MOVE * mass / mass.max(), color="0.25", alpha=0.6, linewidths=0)
        what = "position" if line else "atom"
        ax.set(xlabel=f"{what} in the {self.names[1]}", ylabel=f"{what} in the {self.names[0]}")
        top = ax.inset_axes([0.0, 1.02, 1.0, 0.18], sharex=ax)
        side = ax.inset_axes([1.02, 0.0, 0.18, 1.0], sharey=ax)
        source, target = (m.weights / m.weights.sum() for m in (self.plan.source, self.plan.target))
        top.vlines(x, 0.0, target, color=TARGET, linewidth=1.5)
        side.hlines(y, 0.0, source, color=SOURCE, linewidth=1.5)
        top.set_ylim(bottom=0.0)
        side.set_xlim(left=0.0)
        for marginal in (top, side):
            marginal.tick_params(bottom=False, left=False, labelbottom=False, labelleft=False)
            marginal.spines[["top", "right"]].set_visible(False)
