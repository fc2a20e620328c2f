"""Models: where a prediction comes from, and functions of probability vectors with their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import integer, real
from .._typing import AnyArray, ArrayLike, FloatArray
from ..estimators._equivalent_gp import weight_vectors
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..inspection import Contributions, contributions
from ..measures import Measures, as_measures
from ._display import PALETTE, Display, panels, pyplot

#: Corners of the triangle: all mass at the first, second, third point.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])


@dataclass(eq=False, repr=False)
class ContributionsDisplay(Display):
    """The training measures that add most to a decision, the sum of all others, and the intercept: together the output.

    Parameters
    ----------
    contributions : kermes.inspection.Contributions
    names : sequence, optional
        A name of each training measure, by row; its number by default.
    k : int
        How many measures.

    Examples
    --------
    >>> from kermes import LSSVMClassifier, datasets, plot
    >>> digits = datasets.load_digits()[:100]
    >>> X, y = digits.measures(), digits.target
    >>> model = LSSVMClassifier(gamma=10.0).fit(X[:90], y[:90])
    >>> display = plot.ContributionsDisplay.from_estimator(model, X[95], names=y[:90])
    """

    contributions: Contributions
    names: Sequence[Any] | AnyArray | None = None
    k: int = 8

    @classmethod
    def from_estimator(
        cls, model: Any, x: Any, names: Sequence[Any] | AnyArray | None = None, k: int = 8, ax: Any = None
    ) -> ContributionsDisplay:
        """Draw :func:`kermes.inspection.contributions` to the prediction of one measure ``x``.

        Of several classes the two best are compared. ``names`` may be the classes of the training measures.
        """
        return cls(contributions(model, x), names, integer(k, "k", low=1)).plot(ax)

    def plot(self, ax: Any = None, sample: int = 0) -> ContributionsDisplay:
        """Draw, on given axes or on a new figure, the given sample."""
        found = self.contributions
        problem = int(found.winners[sample])
        top = found.top(sample, self.k, problem)
        output, bias = float(found.decision[sample, problem]), float(found.intercept[problem])
        values = [*top.values, output - bias - float(top.values.sum()), bias]
        rows = [f"measure {row}" if self.names is None else f"{self.names[row]} (measure {row})" for row in top.rows]
        written = [*rows, f"{len(found.support) - len(top.rows)} others", "intercept"]
        self._bars(ax, values, written, [PALETTE[0] if value >= 0 else PALETTE[1] for value in values])
        self.ax_.axvline(0.0, color="0.3", linewidth=0.8)
        self.ax_.set_xlabel("contribution to the output")
        title = f"output {output:.3g}"
        if found.problems[problem] != (None, None):
            sides = ["the other classes" if name is None else f"class {name}" for name in found.problems[problem]]
            title = f"{sides[0]} (negative) against {sides[1]} (positive): {title}"
        self.ax_.set_title(title, fontsize=10)
        return self


@dataclass(eq=False, repr=False)
class SimplexDisplay(Display):
    """Predictions for all probability vectors on two or three points.

    Two points: the mean against the weight of the first, with a band of the given level. Three: two triangles, the mean
    and the standard deviation; a corner is all mass at one point. Observations are dots.

    Parameters
    ----------
    names : list of k str
        What the weights are of, k = 2 or 3: the points of the support.
    weights : ndarray of shape (n, k)
        Where predictions were made.
    mean, std : ndarray of shape (n,)
    level : float
        Probability of the band.
    observed : (weights, values), optional
        Observations.
    truth : ndarray of shape (n,), optional
        True values.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes: one (two points) or two, of which ``ax_`` is the first

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import EquivalentWassersteinGP, Measures, plot
    >>> def wave(weights):
    ...     return np.sin(6.0 * weights[:, 0])
    >>> a = np.linspace(0.0, 1.0, 8)
    >>> weights = np.column_stack([a, 1 - a])
    >>> X, y = Measures.from_histograms(weights, [0.0, 1.0]), wave(weights)
    >>> model = EquivalentWassersteinGP(random_state=0).fit(X, y)
    >>> display = plot.SimplexDisplay.from_estimator(model, X, y, truth=wave)
    """

    names: list[str]
    weights: FloatArray
    mean: FloatArray
    std: FloatArray
    level: float = 0.95
    observed: tuple[FloatArray, FloatArray] | None = None
    truth: FloatArray | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        support: ArrayLike | None = None,
        truth: Callable[[FloatArray], FloatArray] | None = None,
        level: float = 0.95,
        resolution: int | None = None,
        axes: Any = None,
    ) -> SimplexDisplay:
        """Predict on the whole simplex, and draw it.

        Parameters
        ----------
        model : fitted regressor with ``predict(X, return_std=True)``
            Such as ``EquivalentWassersteinGP`` or ``MeasureGPRegressor``.
        X, y : Measures and array of shape (n,), optional
            Observations.
        support : array of shape (2,), (3,), (2, d) or (3, d), optional
            The points; those of the model or of X by default.
        truth : callable, optional
            The function to be learned, of weights (n, k); drawn on the segment only.
        level : float
        resolution : int, optional
            Steps along an edge; 200 on the segment and 40 on the triangle by default.
        axes : matplotlib axes, or array of two, optional
        """
        if (X is None) != (y is None):
            raise InvalidParameterError("`X` and `y` must be given together; one of them is None.")
        measures = None if X is None else as_measures(X)
        points = _support(model, measures, support)
        level = real(level, "level", low=0.0, high=1.0, open_low=True)
        steps = (200 if len(points) == 2 else 40) if resolution is None else integer(resolution, "resolution", low=2)
        weights = _grid(len(points), steps)
        mean, std = model.predict(Measures.from_histograms(weights, points), return_std=True)
        observed = None if measures is None else (weight_vectors(points, measures), _values(y, len(measures)))
        true = None if truth is None else np.asarray(truth(weights), dtype=np.float64)
        listed = [", ".join(f"{coordinate:g}" for coordinate in point) for point in points]
        names = listed if points.shape[1] == 1 else [f"({point})" for point in listed]
        return cls(names, weights, mean, std, level, observed, true).plot(axes)

    @classmethod
    def from_predictions(
        cls,
        weights: ArrayLike,
        mean: ArrayLike,
        std: ArrayLike,
        names: Sequence[Any] | None = None,
        level: float = 0.95,
        axes: Any = None,
    ) -> SimplexDisplay:
        """Draw predictions that were made elsewhere; the parameters are those of the class.

        On the triangle the ``weights``, probability vectors (n, 3), should fill it.
        """
        rows: FloatArray = np.asarray(weights, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] not in (2, 3):
            raise InvalidParameterError(f"`weights` must have shape (n, 2) or (n, 3); got {rows.shape}.")
        if (rows < 0).any() or not np.allclose(rows.sum(axis=1), 1.0):
            raise InvalidParameterError("rows of `weights` must be non-negative and add up to 1.")
        written = [f"point {i}" for i in range(rows.shape[1])] if names is None else [str(name) for name in names]
        if len(written) != rows.shape[1]:
            raise InvalidParameterError(f"`names` must hold {rows.shape[1]} names; got {len(written)}.")
        order = np.argsort(rows[:, 0], kind="stable")  # a line is drawn from left to right
        of_rows, spread = _values(mean, len(rows), "mean")[order], _values(std, len(rows), "std")[order]
        level = real(level, "level", low=0.0, high=1.0, open_low=True)
        return cls(written, rows[order], of_rows, spread, level).plot(axes)

    def plot(self, axes: Any = None) -> SimplexDisplay:
        """Draw, on given axes or on a new figure."""
        if len(self.names) == 2:
            self.axes_ = np.array([self._open(axes, 5.8, 3.8)])
            self._segment(self.ax_)
            return self
        if axes is None:
            axes = pyplot().subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")[1]
        self.figure_, cells = panels(1, 2, axes, 1.0, margin=0.5)
        self.axes_ = cells[0]
        self.ax_ = self.axes_[0]
        self._triangle(self.axes_[0], self.mean, "mean")
        self._triangle(self.axes_[1], self.std, "standard deviation")
        return self

    def _segment(self, ax: Any) -> None:
        from scipy.stats import norm

        first, half = self.weights[:, 0], norm.ppf(0.5 + self.level / 2) * self.std
        band = {"color": PALETTE[4], "alpha": 0.35, "linewidth": 0}
        ax.fill_between(first, self.mean - half, self.mean + half, **band, label=f"{self.level:.0%} band")
        if self.truth is not None:
            ax.plot(first, self.truth, "--", color="0.25", linewidth=1.2, label="truth")
        ax.plot(first, self.mean, color=PALETTE[0], linewidth=1.8, label="mean")
        if self.observed is not None:
            weights, values = self.observed
            ax.plot(weights[:, 0], values, "o", color=PALETTE[1], markersize=5, label="observations", zorder=3)
        ax.set(xlabel=f"weight at {self.names[0]}", ylabel="value", xlim=(-0.01, 1.01))
        ax.legend(frameon=False, fontsize=9)

    def _triangle(self, ax: Any, values: FloatArray, what: str) -> None:
        places = self.weights @ CORNERS
        filled = ax.tricontourf(*places.T, values, levels=24, cmap="viridis" if what == "mean" else "cividis")
        ax.figure.colorbar(filled, ax=ax, shrink=0.75, label=what)
        if self.observed is not None:
            ax.plot(*(self.observed[0] @ CORNERS).T, "o", color="white", markeredgecolor="black", markersize=4)
        ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="0.3", linewidth=1.0)
        for corner, name, side in zip(CORNERS, self.names, ("top", "top", "bottom"), strict=True):
            gap = -0.03 if side == "top" else 0.03
            ax.text(corner[0], corner[1] + gap, name, ha="center", va=side, fontsize=9)
        ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.12, CORNERS[2, 1] + 0.12))
        ax.set_axis_off()
        ax.set_title(f"{what}; a corner: all mass there", fontsize=10)


def _support(model: Any, X: Measures | None, support: ArrayLike | None) -> FloatArray:
    """Return the two or three points: those given, those of the model, or those of X."""
    if support is None:
        support = getattr(model, "points_", None)
    if support is None and X is not None:
        support = np.unique(X.points, axis=0) if X.support is None else X.support.points
    if support is None:
        raise InvalidParameterError("`support` must be given: neither the model nor `X` says where the points are.")
    points: FloatArray = np.asarray(support, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if len(points) not in (2, 3):
        raise UnsuitableDataError(f"weights on two or three points can be drawn; these are on {len(points)}.")
    return points


def _grid(k: int, steps: int) -> FloatArray:
    """Return all weights on k points that are multiples of 1 / steps."""
    if k == 2:
        first = np.linspace(0.0, 1.0, steps + 1)
        return np.column_stack([first, 1.0 - first])
    i, j = (index.ravel() for index in np.indices((steps + 1, steps + 1)))
    inside = i + j <= steps
    return np.column_stack([i, j, steps - i - j])[inside] / steps


def _values(y: Any, n: int, name: str = "y") -> FloatArray:
    values: FloatArray = np.asarray(y, dtype=np.float64)
    if values.shape != (n,):
        raise InvalidParameterError(f"`{name}` must hold {n} values, one per measure; got shape {values.shape}.")
    return values
