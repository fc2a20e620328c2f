"""Figures 1 to 12, A1 and A2 of *Gaussian process regression over discrete probability measures*, and causes."""

from __future__ import annotations

from .._paper import Numbers, Paper, PrintedTable
from . import experiments, pictures, report

__all__ = ["PAPER"]


class _GaussianProcesses(Paper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return failures, errors and the corrected comparison, with the published numbers."""
        return report.tables(summary, self.settings["shown"])

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words what differs from the published failures, and from the errors recorded here, by too much."""
        return report.deviations(size, summary, self.expected)


#: The figures, the causes of the failures, and the comparison with correct matrices.
PAPER = _GaussianProcesses(
    __package__,
    {
        "figure1": pictures.figure1,
        "figure2": pictures.figure2,
        "figure3": pictures.figure3,
        "figure4": pictures.figure4,
        "figure5": pictures.figure5,
        "figure6": experiments.figure6,
        "figure7": experiments.figure7,
        "figure8": experiments.figure8,
        "figure9": experiments.figure9,
        "figure10": experiments.figure10,
        "figure11": experiments.figure11,
        "figure12": experiments.figure12,
        "figureA1": pictures.figureA1,
        "figureA2": pictures.figureA2,
        "ablation": experiments.ablation,
        "corrected": experiments.comparison,
    },
)
