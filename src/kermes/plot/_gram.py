"""Gram matrices, in order of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, ArrayLike, FloatArray
from ..exceptions import InvalidParameterError
from ._axes import pyplot

__all__ = ["as_square", "gram"]


def gram(K: ArrayLike, labels: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw a Gram matrix or a matrix of distances, classes side by side.

    Parameters
    ----------
    K : array of shape (n, n)
        Such as ``kernel(X)`` or ``pairwise(X, divergence=...)``.
    labels : array of shape (n,), optional
        Classes: rows and columns are sorted by them (within a class they keep their order), lines separate them and
        their names stand at the sides.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Colours run from 0 to 1 if all values lie there, otherwise over the values.

    Examples
    --------
    >>> from kermes import datasets, kernels, plot
    >>> digits = datasets.load_digits()[:60]
    >>> K = kernels.IGV(eta=1e-3)(digits.measures(spacing="unit"))
    >>> axes = plot.gram(K, digits.target)
    """
    values = as_square(K, "K", "kernel(X)")
    classes: list[tuple[Any, int]] = []
    if labels is not None:
        order, classes = _sorted(np.asarray(labels), len(values))
        values = values[np.ix_(order, order)]
    if ax is None:
        _, ax = pyplot().subplots(figsize=(4.6, 4.0), layout="constrained")
    unit = values.min() >= 0.0 and values.max() <= 1.0
    image = ax.imshow(values, cmap="viridis", interpolation="nearest", **({"vmin": 0.0, "vmax": 1.0} if unit else {}))
    ax.figure.colorbar(image, ax=ax, shrink=0.85)
    if classes:
        _mark(ax, classes)
    else:
        ax.set(xlabel="measure", ylabel="measure")
    return ax


def as_square(K: ArrayLike, name: str, example: str) -> FloatArray:
    """Return K as a square matrix of finite numbers, or say what it is instead."""
    values = np.asarray(K, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise InvalidParameterError(f"`{name}` must be a square matrix, such as {example}; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InvalidParameterError(f"`{name}` must hold finite numbers.")
    return values


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
