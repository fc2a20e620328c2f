"""Gram matrices, in order of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, ArrayLike, FloatArray
from ..exceptions import InvalidParameterError
from ._display import Display, short_form

#: Values this many widths of the middle 98 % beyond it share the colour of its end.
FAR = 0.5


@dataclass(eq=False, repr=False)
class GramDisplay(Display):
    """A Gram matrix or a matrix of distances, classes side by side.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        In the order in which it is drawn.
    classes : list of (name, size)
        Classes in this order; empty if they are not known.

    Notes
    -----
    Colours run from 0 to 1 if all values lie there and one exceeds 1/2, otherwise over the values. A diagonal, or a
    few values, that would leave the others without colours are cut off, which arrows on the colour bar show.

    Examples
    --------
    >>> from kermes import datasets, kernels, plot
    >>> digits = datasets.load_digits()[:60]
    >>> X = digits.measures(spacing="unit")
    >>> display = plot.GramDisplay.from_measures(X, kernels.IGV(eta=1e-3), digits.target)
    """

    K: FloatArray
    classes: list[tuple[Any, int]]

    @classmethod
    def from_matrix(cls, K: ArrayLike, labels: ArrayLike | None = None, ax: Any = None) -> GramDisplay:
        """Draw a matrix.

        Parameters
        ----------
        K : array of shape (n, n)
            Such as ``kernel(X)`` or ``pairwise(X, divergence=...)``.
        labels : array of shape (n,), optional
            Classes: rows and columns are sorted by them (within a class they keep their order), lines separate them
            and their names stand at the sides.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        values = as_square(K, "K", "kernel(X)")
        if labels is None:
            return cls(values, []).plot(ax)
        order, classes = _sorted(np.asarray(labels), len(values))
        return cls(values[np.ix_(order, order)], classes).plot(ax)

    @classmethod
    def from_measures(cls, X: Any, kernel: Any, labels: ArrayLike | None = None, ax: Any = None) -> GramDisplay:
        """Draw ``kernel(X)``; the other parameters are those of :meth:`from_matrix`."""
        return cls.from_matrix(np.asarray(kernel(X)), labels, ax)

    def plot(self, ax: Any = None) -> GramDisplay:
        """Draw, on given axes or on a new figure."""
        ax = self._open(ax, 4.6, 4.0)
        low, high, extend = _limits(self.K)
        image = ax.imshow(self.K, cmap="viridis", interpolation="nearest", vmin=low, vmax=high)
        ax.figure.colorbar(image, ax=ax, shrink=0.85, extend=extend)
        if self.classes:
            _mark(ax, self.classes)
        else:
            ax.set(xlabel="measure", ylabel="measure")
        return self


gram = short_form("gram", GramDisplay.from_matrix, "ax_")


def as_square(K: ArrayLike, name: str, example: str) -> FloatArray:
    """Return K as a square matrix of finite numbers, or say what it is instead."""
    try:
        values: FloatArray = np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"`{name}` must be a square matrix of numbers; got {type(K).__name__}. Pass {example}."
        ) from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise InvalidParameterError(f"`{name}` must be a square matrix, such as {example}; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InvalidParameterError(f"`{name}` must hold finite numbers.")
    return values


def _limits(K: FloatArray) -> tuple[float, float, str]:
    """Return the ends of the colours, and which of them values exceed ('neither', 'min', 'max' or 'both')."""
    low, high = float(K.min()), float(K.max())
    if low >= 0.0 and 0.5 < high <= 1.0:
        return 0.0, 1.0, "neither"
    # An unnormalised kernel may have a diagonal, or a few entries, that dwarf all others.
    others = K[~np.eye(len(K), dtype=bool)] if len(K) > 1 else K
    bottom, top = np.percentile(others, [1.0, 99.0])
    reach = FAR * (top - bottom)
    cut_low, cut_high = reach > 0 and low < bottom - reach, reach > 0 and high > top + reach
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    return float(bottom) if cut_low else low, float(top) if cut_high else high, extend[bool(cut_low), bool(cut_high)]


def _sorted(labels: AnyArray, n: int) -> tuple[AnyArray, list[tuple[Any, int]]]:
    """Return the order of the rows by class, and each class with its size."""
    if labels.shape != (n,):
        raise InvalidParameterError(f"`labels` must hold {n} classes, one per row of `K`; got shape {labels.shape}.")
    names, counts = np.unique(labels, return_counts=True)
    return np.argsort(labels, kind="stable"), list(zip(names.tolist(), counts.tolist(), strict=True))


def _mark(ax: Any, classes: list[tuple[Any, int]]) -> None:
    """Draw lines between the classes, and write their names at the middle of their rows and columns."""
    ends = np.cumsum([count for _, count in classes])
    middles = ends - np.array([count for _, count in classes]) / 2 - 0.5
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="white", linewidth=1.2)
        ax.axvline(end - 0.5, color="white", linewidth=1.2)
    written = [str(name) for name, _ in classes]
    ax.set_xticks(middles, written)
    ax.set_yticks(middles, written)
    ax.tick_params(length=0)
    ax.set(xlabel="class", ylabel="class")
