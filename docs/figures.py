"""Pictures of the pages of the papers, drawn from the recorded results at the build of the documentation.

``write_figures`` writes ``papers/figures/KEY-NAME.png``; the results are those of ``tables``.
"""

import json

import numpy as np
from tables import HERE, RESULTS

from kermes import ground
from kermes.papers._digits import draw_curves
from kermes.papers._paper import save_figure
from kermes.papers.gpm.figures import errors, failures, stationarity
from kermes.papers.skm.run import PAPER as SKM
from kermes.papers.wek.figures import error_curves, matrices

FIGURES = HERE / "papers" / "figures"
COLOURS = ("#3b7dd8", "#d8743b", "#3ba55d", "#a03bd8")


def write_figures():
    """Write all of them."""
    FIGURES.mkdir(exist_ok=True)
    drawn = {
        "wek-figure1": lambda: _wek_matrices("figure1"),
        "wek-figure2": lambda: _wek_matrices("figure2"),
        "wek-figure3": wek_figure3,
        "skm-figure1": skm_figure1,
        "skm-table1": skm_table1,
        "skm-figure7": skm_figure7,
        "gpm-figure9": gpm_figure9,
        "gpm-figure10": gpm_figure10,
        "gpm-figure12": gpm_figure12,
    }
    for name, draw in drawn.items():
        save_figure(FIGURES / f"{name}.png", draw)


def _summary(folder):
    """Return what a recorded run has found, by piece."""
    return json.loads((RESULTS / folder / "summary.json").read_text())


def _panels(count, width=3.0, height=2.5):
    """Return a figure and axes side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * count + 0.6, height), layout="constrained")
    return figure, list(figure.subplots(1, count, sharey=False, squeeze=False)[0])


def _wek_matrices(name):
    path = RESULTS / "wek-full" / "spectra.json"
    return matrices(json.loads(path.read_text())["result"]["matrices"][name])


def wek_figure3():
    """Draw errors against training images, at the sizes of the paper."""
    repetitions = sorted((RESULTS / "wek-full").glob("mnist-*.json"))
    return error_curves(
        [
            entry
            for path in repetitions
            for entry in json.loads(path.read_text())["result"]
        ]
    )


def skm_figure1():
    """Draw two weighted lists as measures, smoothed, and their smoothed sum: the notion that Figure 1 explains."""
    x = np.linspace(-3.0, 5.0, 300)
    lists = {
        "z": ([-1.5, -1.0, 0.2], [0.3, 0.2, 0.5]),
        "z'": ([0.5, 2.0, 3.2], [0.4, 0.4, 0.2]),
    }
    figure, (axis,) = _panels(1, 4.2, 2.8)
    total = np.zeros_like(x)
    for (name, (points, weights)), colour in zip(lists.items(), COLOURS, strict=False):
        density = ground.Gaussian(sigma=0.5)(x[:, None], np.c_[points]) @ weights
        total += density / 2
        axis.vlines(points, 0, weights, color=colour, lw=2)
        axis.plot(x, density, color=colour, label=f"list {name}, smoothed")
    axis.plot(x, total, "k:", label="their mean, smoothed")
    axis.set(yticks=[], ylim=(0, None))
    axis.legend(fontsize=7, frameon=False)
    return figure


def skm_table1():
    """Draw Table 1: errors against points, ours and the paper's."""
    ours = _summary("skm-full")["table1"]["mean"]
    paper = SKM.expected["paper"]["table1"]
    figure, axes = _panels(2)
    for axis, title, table, style in (
        (axes[0], "ours", ours, "o-"),
        (axes[1], "the paper's", paper, "o--"),
    ):
        for name, colour in zip(paper, COLOURS, strict=True):
            points = [int(count) for count in table[name]]
            values = list(table[name].values())
            axis.plot(points, values, style, color=colour, label=name, ms=3)
        axis.set(title=title, xlabel="points", ylim=(0, 35))
    axes[0].set_ylabel("test error, %")
    axes[1].legend(fontsize=7, frameon=False)
    return figure


def skm_figure7():
    """Draw errors against points."""
    return draw_curves(
        _summary("skm-full")["figure7"], 17.5, "RBF in the paper at 200 points"
    )


def gpm_figure9():
    """Draw failed fits against samples, ours and the published ones."""
    found = _summary("gpm-full")
    return failures(found["figure9"], found["figure12"])


def gpm_figure10():
    """Draw failed fits against samples, with targets as they are and with centred ones."""
    return stationarity(_summary("gpm-full")["figure10"])


def gpm_figure12():
    """Draw mean errors against samples: ours and the published ones."""
    return errors(_summary("gpm-full")["figure12"])
