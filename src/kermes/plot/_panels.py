"""Measures on the plane with their principal axes, their eigenfunctions, and what moves where between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inspection
from .._checks import integer
from .._typing import FloatArray
from ..ground import PointKernel
from ..inspection import CovarianceSpectrum, TransportPlan, covariance_spectrum, transport_plan
from ..measures import Measure
from ._display import IN_A_ROW, PALETTE, Display, Frame, across_and_up, frame, names, panels, plane_measures, short_form

FIRST, SECOND = PALETTE[:2]
#: Area of the heaviest atom of a panel in square points.
LARGEST = 60.0
#: The largest moves are drawn, up to this share of the mass and this many.
SHARE, MOST_MOVES = 0.99, 3000
#: Width of the largest move in points, areas of the largest atom and of the largest move of a matrix in square points.
WIDEST, HEAVIEST, LARGEST_MOVE = 3.0, 70.0, 90.0


@dataclass(eq=False, repr=False)
class WeightedPCADisplay(Display):
    """Measures on the plane with their mean and principal axes, and the variances below.

    Dots have areas in proportion to the weights. Lines reach one standard deviation to either side of the mean, the
    first axis drawn bold. Figure 2 of "Semigroup kernels on measures" shows two digits and their mean this way: the
    linear IGV kernel sees of each only the product of its two variances.

    Parameters
    ----------
    measures : list of Measure
    titles : list of str

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes, one per measure, five in a row

    See Also
    --------
    kermes.inspection.weighted_pca : the numbers.

    Examples
    --------
    >>> from kermes import datasets, plot
    >>> from kermes.measures import mean_measure
    >>> one, zero = datasets.load_digits().measures(spacing="unit")[[1, 0]]
    >>> shown = [one, zero, mean_measure(one, zero)]
    >>> display = plot.WeightedPCADisplay.from_measures(shown, ["one", "zero", "mean"])
    """

    measures: list[Measure]
    titles: list[str]

    @classmethod
    def from_measures(cls, measures: Any, titles: Sequence[str] | None = None, axes: Any = None) -> WeightedPCADisplay:
        """Draw measures.

        Parameters
        ----------
        measures : Measure, list of Measure or Measures
            Images are drawn with rows downwards; other measures with (x, y) to the right and upwards.
        titles : list of str, optional
            Names of the measures.
        axes : array of matplotlib axes, optional, one per measure
        """
        drawn = plane_measures(measures)
        return cls(drawn, names(titles, drawn)).plot(axes)

    def plot(self, axes: Any = None) -> WeightedPCADisplay:
        """Draw, on given axes or on a new figure."""
        box = frame(self.measures, 1)
        n = len(self.measures)
        rows = -(-n // IN_A_ROW) if axes is None else 1
        self.figure_, cells = panels(rows, -(-n // rows), axes, box.ratio, margin=0.8)
        self.axes_ = cells.ravel()[:n]
        for empty in cells.flat[n:]:
            empty.set_axis_off()
        for cell, measure, heading in zip(self.axes_, self.measures, self.titles, strict=True):
            pca = inspection.weighted_pca(measure)
            x, y = across_and_up(measure.points, box.pixels).T
            areas = LARGEST * measure.weights / measure.weights.max()
            cell.scatter(x, y, s=areas, color=FIRST, alpha=0.55, linewidths=0)
            for k, (variance, axis) in enumerate(zip(pca.variances, pca.axes, strict=True)):
                ends = across_and_up(pca.mean + np.sqrt(variance) * np.outer([-1.0, 1.0], axis), box.pixels)
                cell.plot(*ends.T, color=SECOND, linewidth=3.0 if k == 0 else 1.2, solid_capstyle="butt")
            cell.plot(*across_and_up(pca.mean, box.pixels), "o", color="white", markeredgecolor=SECOND, markersize=6)
            left, right, bottom, top = box.extent
            cell.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
            cell.set_xlabel("variances\n" + ", ".join(f"{variance:.3g}" for variance in pca.variances), fontsize=9)
            cell.set_title(heading, fontsize=10)
        return self


weighted_pca = short_form("weighted_pca", WeightedPCADisplay.from_measures, "figure_")


@dataclass(eq=False, repr=False)
class EigenfunctionsDisplay(Display):
    """The leading eigenfunctions of the covariance operators of measures on the plane.

    One column per measure, one row per eigenfunction, its eigenvalue above it; one colour scale for all panels.
    Figures 4 and 5 of "Semigroup kernels on measures" show two digits and their mean this way.

    Parameters
    ----------
    spectra : list of CovarianceSpectrum
    grid : Frame
        Where they are evaluated.
    titles : list of str
    n_components : int
        Number of rows.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes, (n_components, n_measures)

    See Also
    --------
    kermes.inspection.covariance_spectrum : the numbers.

    Examples
    --------
    >>> from kermes import datasets, ground, plot
    >>> X = datasets.load_digits().measures(spacing="unit")
    >>> display = plot.EigenfunctionsDisplay.from_measures(X[:2], ground.Gaussian(sigma=0.1), n_components=2)
    """

    spectra: list[CovarianceSpectrum]
    grid: Frame
    titles: list[str]
    n_components: int

    @classmethod
    def from_measures(
        cls,
        measures: Any,
        ground: PointKernel,
        n_components: int = 4,
        titles: Sequence[str] | None = None,
        resolution: int = 64,
        axes: Any = None,
    ) -> EigenfunctionsDisplay:
        """Draw the eigenfunctions of measures.

        Parameters
        ----------
        measures, titles
            As in :meth:`WeightedPCADisplay.from_measures`; images are drawn on their pixels.
        ground : PointKernel
            The point kernel, such as ``ground.Gaussian(sigma=0.1)``.
        n_components : int
            Number of rows; panels stay empty where a measure has fewer eigenfunctions.
        resolution : int
            Cells along the wider side, if no measure comes from images.
        axes : array of matplotlib axes, optional
            ``n_components`` times ``len(measures)`` of them.
        """
        drawn = plane_measures(measures)
        n_components = integer(n_components, "n_components", low=1)
        grid = frame(drawn, integer(resolution, "resolution", low=1))
        headings = names(titles, drawn)
        spectra = [covariance_spectrum(m, ground, n_components) for m in drawn]
        return cls(spectra, grid, headings, n_components).plot(axes)

    def plot(self, axes: Any = None) -> EigenfunctionsDisplay:
        """Draw, on given axes or on a new figure."""
        grid = self.grid
        images = [spectrum.evaluate(grid.points).reshape(-1, *grid.shape) for spectrum in self.spectra]
        limit = max((float(np.abs(image).max()) for image in images if image.size), default=1.0)
        self.figure_, self.axes_ = panels(self.n_components, len(images), axes, grid.ratio, margin=0.3)
        shown = None
        for j, (spectrum, image) in enumerate(zip(self.spectra, images, strict=True)):
            for i, cell in enumerate(self.axes_[:, j]):
                if i >= len(spectrum):
                    cell.set_axis_off()
                    continue
                shown = cell.imshow(image[i], extent=grid.extent, cmap="RdBu_r", vmin=-limit, vmax=limit)
                eigenvalue = rf"$\lambda_{{{i + 1}}}$ = {spectrum.eigenvalues[i]:.3g}"
                heading = f"{self.titles[j]}\n{eigenvalue}" if i == 0 and self.titles[j] else eigenvalue
                cell.set_title(heading, fontsize=9)
                cell.set(xticks=[], yticks=[])
        if shown is not None:
            self.figure_.colorbar(shown, ax=list(self.axes_.flat), shrink=0.6, label="eigenfunction")
        return self


eigenfunctions = short_form("eigenfunctions", EigenfunctionsDisplay.from_measures, "figure_")


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
        """Compute :func:`kermes.inspection.transport_plan`, whose parameters these are, and draw it."""
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
        for measure, colour, name in zip(both, (FIRST, SECOND), self.names, strict=True):
            x, y = across_and_up(measure.points, pixels).T
            areas = HEAVIEST * measure.weights / measure.weights.max()
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
        top.vlines(x, 0.0, target, color=SECOND, linewidth=1.5)
        side.hlines(y, 0.0, source, color=FIRST, linewidth=1.5)
        top.set_ylim(bottom=0.0)
        side.set_xlim(left=0.0)
        for marginal in (top, side):
            marginal.tick_params(bottom=False, left=False, labelbottom=False, labelleft=False)
            marginal.spines[["top", "right"]].set_visible(False)
