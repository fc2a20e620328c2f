"""Figures 1 to 4 and the one on sensitivity; each function returns a matplotlib figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import clustering, plot
from .._paper import AnyArray, FloatArray, Numbers, panels
from .methods import BASELINE, CLASSES, METHODS

#: Window of the pictures in Hounsfield units: centre 40, width 800.
WINDOW = (-360.0, 440.0)
#: Colours that everybody can tell apart, and a mark for each linkage.
COLOURS = dict(zip((*METHODS, BASELINE), ("#56B4E9", "#0072B2", "#E69F00", "#D55E00", "#7F7F7F"), strict=True))
MARKS = "osD^vP*"
LINES = ("-", "--", ":")
PER_SLICE = "chi-square / number of slices"


def two_slices(images: dict[str, AnyArray]) -> Any:
    """Figure 1: a clean and a noisy slice."""
    figure, axes = panels(1, len(images), (4.0 * len(images), 4.5))
    for axis, letter, (name, image) in zip(axes[0], "ab", images.items(), strict=True):
        axis.imshow(image, cmap="gray", vmin=WINDOW[0], vmax=WINDOW[1], interpolation="nearest")
        axis.set(title=f"({letter}) {name}", xticks=[], yticks=[])
    figure.supxlabel("simulated slices, not patients", fontsize=9, color="0.4")
    return figure


def clusters(tree: clustering.HierarchicalClustering, labels: AnyArray, found: dict[str, Any]) -> Any:
    """Figure 2: the distances in the order of the tree, the tree, and the contingency table."""
    import matplotlib.pyplot as plt

    axes: Any
    figure, axes = plt.subplot_mosaic(
        [["map", "tree"], ["map", "table"]], figsize=(13.0, 5.6), height_ratios=(3.2, 1.0), layout="constrained"
    )
    plot.heatmap(tree, labels=labels, ax=axes["map"])
    axes["map"].invert_yaxis()  # as in the paper: cluster 1 below
    axes["map"].set(title="(a) kernel Wasserstein distances", ylabel=f"{len(labels)} slices")
    plot.dendrogram(tree, labels, ax=axes["tree"])
    axes["tree"].set(title=f"(b) hierarchical clustering, {found['linkage']} linkage")
    # The paper counts clusters from 1.
    rows = [[f"cluster {i}", *map(str, row), str(sum(row))] for i, row in enumerate(found["table"], start=1)]
    names = [f"cluster {i} ({row[-1]})" for i, row in enumerate(rows, start=1)]
    for text, name in zip(axes["tree"].get_legend().get_texts(), names, strict=True):
        text.set_text(name)
    axes["table"].axis("off")
    table = axes["table"].table([["", *CLASSES, "slices"], *rows], loc="center", cellLoc="center", edges="horizontal")
    table.scale(0.8, 1.25)
    rates = ", ".join(f"{name} {rate:.1f} %" for name, rate in found["rates"].items())
    axes["table"].set_title(f"chi-square {found['chi_square']:.0f}; in the right cluster: {rates}", fontsize=9, y=-0.25)
    return figure


def chi_squares(found: dict[str, Any], paper: Numbers) -> Any:
    """Figure 3: the four methods, with the paper's numbers, and again for every linkage."""
    n, scores, linkage = found["slices"], found["scores"], found["linkage"]
    figure, ((bars, dots),) = panels(1, 2, (12.0, 4.6), sharey=True, width_ratios=(1.0, 1.15))
    places = np.arange(len(METHODS))
    ours = [scores[name][linkage]["chi_square"] for name in METHODS]
    theirs = [paper["figure3"][name] for name in METHODS]
    for shift, values, size, name, colour in (
        (-0.2, theirs, paper["slices"], f"paper ({paper['slices']} real slices)", "0.7"),
        (0.2, ours, n, f"here ({n} simulated slices, {linkage})", "#0072B2"),
    ):
        drawn = bars.bar(places + shift, np.array(values) / size, 0.38, label=name, color=colour)
        bars.bar_label(drawn, [f"{value:.0f}" for value in values], fontsize=9)
    bars.set(ylabel=PER_SLICE, ylim=(-0.02, 1.0), title="the numbers on the bars are chi-squares")
    bars.legend(frameon=False, loc="upper left")
    _dots(dots, {"": scores}, n)
    dots.set(title="here, every linkage")
    for axis, names in ((bars, METHODS), (dots, tuple(scores))):
        axis.set_xticks(range(len(names)), [name.replace(" ", "\n", 1) for name in names], fontsize=9)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    return figure


def scatter(pairs: dict[str, tuple[FloatArray, FloatArray]], found: dict[str, Any]) -> Any:
    """Figure 4: the kernel Wasserstein distance against the plain one, pairs of slices counted in hexagons."""
    from matplotlib.colors import LogNorm

    figure, (axes,) = panels(1, len(pairs), (13.0, 4.3), sharex=True, sharey=True)
    right, top = (1.02 * max(float(block[k].max(initial=0.0)) for block in pairs.values()) for k in (0, 1))
    most = max(len(block[0]) for block in pairs.values())
    norm = LogNorm(1, max(2.0, most / 50))
    for axis, letter, (name, (x, y)) in zip(axes, "abc", pairs.items(), strict=True):
        drawn = axis.hexbin(x, y, gridsize=60, extent=(0, right, 0, top), mincnt=1, norm=norm, cmap="viridis", lw=0.1)
        r = found[name]["pearson"]
        axis.set(title=f"({letter}) {name}, {len(x)} pairs" + ("" if r is None else f", r = {r:.3f}"))
        axis.set(xlabel="Wasserstein distance", xlim=(0, right), ylim=(0, top))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("kernel Wasserstein distance")
    figure.colorbar(drawn, ax=axes, label="pairs", extend="max")
    return figure


def sensitivity(found: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Chi-squares over linkages and seeds, gamma, rho, and grey ranges."""
    n, seeds = found["slices"], found["seeds"]
    figure, axes = panels(2, 2, (12.5, 8.4), sharey=True)
    _dots(axes[0, 0], seeds, n)
    names = list(next(iter(seeds.values())))
    axes[0, 0].set_xticks(range(len(names)), [name.replace(" ", "\n", 1) for name in names], fontsize=9)
    axes[0, 0].set(title=f"every linkage, {len(seeds)} simulation{'s' if len(seeds) > 1 else ''}")
    first = next(iter(seeds.values()))
    ranges = {"all values": first, **found["range"]}
    for axis, title, label, over in (
        (axes[0, 1], "grey values cut off at percentiles of a slice", "", ranges),
        (axes[1, 0], "width of the point kernel", r"$\gamma$", found["gamma"]),
        (axes[1, 1], "regularisation", r"$\rho$", found["rho"]),
    ):
        _curves(axis, over, settings["shown"], n)
        axis.set(title=title, xlabel=label)
    for axis in axes.flat:
        axis.set(ylim=(-0.02, 1.0))
        axis.grid(axis="y", alpha=0.3)
    for axis in axes[:, 0]:
        axis.set(ylabel=PER_SLICE)
    return figure


def _dots(axis: Any, scores: dict[str, Any], n: int) -> None:
    """Draw a dot for each method, linkage and seed; linkages have marks, methods colours."""
    linkages = list(next(iter(next(iter(scores.values())).values())))
    for k, (linkage, mark) in enumerate(zip(linkages, MARKS, strict=False)):
        for methods in scores.values():
            for place, (name, by_linkage) in enumerate(methods.items()):
                shift = 0.1 * (k - (len(linkages) - 1) / 2)
                axis.plot(place + shift, by_linkage[linkage]["chi_square"] / n, mark, color=COLOURS[name], ms=6, mew=0)
        axis.plot([], [], mark, color="0.3", label=linkage)
    axis.legend(frameon=False, ncols=2, loc="upper left", fontsize=9)


def _curves(axis: Any, over: dict[str, Any], linkages: list[str], n: int) -> None:
    """Draw a line for each method (colour) and linkage (style) over the values of a parameter."""
    names = list(next(iter(over.values())))
    for name in names:
        for linkage, line in zip(linkages, LINES, strict=True):
            values = [methods[name][linkage]["chi_square"] / n for methods in over.values()]
            label = name if linkage == linkages[0] else None
            axis.plot(range(len(over)), values, line, marker="o", ms=4, color=COLOURS[name], label=label)
    for linkage, line in zip(linkages, LINES, strict=True):
        axis.plot([], [], line, color="0.3", label=linkage)
    axis.set_xticks(range(len(over)), list(over))
    axis.margins(x=0.1)
    axis.legend(frameon=False, fontsize=8, ncols=2)
