"""Figure 1: the first eigenfunctions of a one, a zero and their mean."""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import ground, inspection, plot
from ...measures import Measure
from .._digits import pair_and_mean, titles
from .._paper import Result, Run

__all__ = ["figure1"]


def figure1(run: Run) -> Result:
    """Show the first eigenfunction with the linear and the Gaussian point kernel; return the leading eigenvalues."""
    shown = pair_and_mean((1, 0), run.published["figure1"]["linear"], run.settings["threshold"])
    point_kernels = {"linear": ground.Linear(), "gaussian": ground.Gaussian(sigma=run.settings["figure1"]["sigma"])}
    eigenvalues = {
        name: {
            which: inspection.covariance_spectrum(measure, point_kernel, 2).eigenvalues.tolist()
            for which, measure in shown.items()
        }
        for name, point_kernel in point_kernels.items()
    }
    return eigenvalues, partial(_draw, shown, point_kernels)


def _draw(shown: dict[str, Measure], point_kernels: dict[str, ground.PointKernel]) -> Any:
    """One row for each point kernel; the functions of each have a colour scale of their own."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(8.2, 5.4), layout="constrained")
    for row, (name, point_kernel) in zip(axes, point_kernels.items(), strict=True):
        plot.eigenfunctions(list(shown.values()), point_kernel, 1, titles(shown), axes=row)
        row[0].set_ylabel(f"{name} point kernel")
    return figure
