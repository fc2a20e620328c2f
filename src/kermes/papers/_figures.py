"""Figures of errors that both semigroup papers draw; each function returns a matplotlib figure."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Errors above this multiple of the lowest one share the darkest colour, so that the valley keeps its shades.
CLIP = 2.5


def surface(found: dict[str, Any]) -> Any:
    """Draw the error over eta (rows) and sigma (columns), a panel for each kernel; the lowest cell is framed."""
    import matplotlib.pyplot as plt

    names = list(found["mean"])
    cells = np.array([found["mean"][name] for name in names])
    low = cells.min()
    high = min(cells.max(), CLIP * low)
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.4 * len(names) + 1.0, 5.4), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, name, values in zip(axes[0], names, cells, strict=True):
        image = axis.imshow(values, cmap="cividis_r", vmin=low, vmax=high, aspect="auto")
        _write_values(axis, values, 0.5 * (low + high))
        axis.set(title=name, xlabel=r"width $\sigma$ of the point kernel")
        axis.set_xticks(range(len(found["sigmas"])), [f"{sigma:g}" for sigma in found["sigmas"]])
        axis.set_yticks(range(len(found["etas"])), [f"{eta:g}" for eta in found["etas"]])
    axes[0, 0].set_ylabel(r"regularisation $\eta$")
    extend = "max" if high < cells.max() else "neither"
    figure.colorbar(image, ax=axes, label="test error, %", shrink=0.9, extend=extend)
    return figure


def _write_values(axis: Any, values: Any, middle: float) -> None:
    from matplotlib.patches import Rectangle

    for (row, column), value in np.ndenumerate(values):
        axis.text(
            column, row, f"{value:.1f}", ha="center", va="center", size=7, color="white" if value > middle else "black"
        )
    row, column = np.unravel_index(np.argmin(values), values.shape)
    axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="tab:red", linewidth=2.0))


def curves(found: dict[str, Any], marked: float | None = None, label: str = "") -> Any:
    """Draw errors against the number of sampled points, with standard deviations; ``marked`` is a level to mark."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    for (name, errors), line in zip(found["mean"].items(), ("-", "--", "-.", ":"), strict=False):
        points = np.array([int(count) for count in errors])
        means, stds = np.array(list(errors.values())), np.array(list(found["std"][name].values()))
        (drawn,) = axis.plot(points, means, line, label=name)
        axis.fill_between(points, means - stds, means + stds, color=drawn.get_color(), alpha=0.15, lw=0)
    if marked is not None:
        axis.axhline(marked, color="0.4", lw=0.8)
        place: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "xytext": (-6, -8),
            "textcoords": "offset points",
        }
        axis.annotate(label, (1.0, marked), ha="right", va="top", color="0.4", **place)
    axis.set(xlabel="sampled points per image", ylabel="test error, %", ylim=(0, None))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return figure
