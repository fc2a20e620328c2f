"""Figures 1 and 2 of *Semigroup kernels on finite sets*, and its comparison with an RBF kernel."""

from __future__ import annotations

from .._digits import DigitsPaper, best_table, error_table
from .._paper import Numbers, PrintedTable
from . import experiments, pictures

__all__ = ["PAPER"]


class _FiniteSets(DigitsPaper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return the numbers of the figures and of the comparison in the text, with the paper's."""
        paper = self.expected["paper"]
        made = []
        if "figure1" in summary:
            rows = [
                [point_kernel, name, _listed(summary["figure1"][point_kernel][name][: len(known)]), _listed(known)]
                for point_kernel, measures in paper["figure1"].items()
                for name, known in measures.items()
            ]
            made.append(PrintedTable("Figure 1: eigenvalues", ["point kernel", "measure", "ours", "paper"], rows))
        if "figure2a" in summary:
            made.append(best_table("Figure 2a", summary["figure2a"], "paper: 19.5 % at eta 0.008 to 0.02, sigma 0.12"))
        if "figure2b" in summary:
            found = summary["figure2b"]
            every = list(next(iter(found["mean"].values())))
            shown = [count for count in every if int(count) % 5 == 0]
            made.append(error_table("Figure 2b: error by sampled points, %", found, {}, shown))
        if "rbf" in summary:
            made.append(error_table("RBF on pixels: error by sampled points, %", summary["rbf"], paper["rbf"], ["30"]))
        return made


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


PAPER = _FiniteSets(
    __package__,
    {
        "figure1": pictures.figure1,
        "figure2a": experiments.figure2a,
        "figure2b": experiments.figure2b,
        "rbf": experiments.rbf,
    },
)
