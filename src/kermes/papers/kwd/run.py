"""Figures 1 to 4 of *Kernel Wasserstein distance*, on simulated slices, and what their numbers depend on."""

from __future__ import annotations

from .._paper import Numbers, Paper, PrintedTable, flat, off
from . import experiments, report

__all__ = ["PAPER"]


class _KernelWasserstein(Paper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return the contingency table, the chi-squares and what they depend on, with the paper's numbers."""
        return report.tables(summary, self.expected["paper"], self.settings["shown"])

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words the numbers that differ from the recorded ones by more than the tolerance.

        Both sizes are held against what was measured when they were written. The full one is also held against the
        paper: since its slices are private and ours are simulated, differences are to be expected.
        """
        tolerance = self.expected["tolerance"]
        lines = _off(summary, self.expected[size], tolerance["quick"])
        if size == "full":
            lines += [f"{line} in the paper" for line in _off(summary, self.expected["paper"], tolerance["paper"])]
        return lines


def _off(summary: dict[str, Numbers], known: Numbers, tolerance: dict[str, float]) -> list[str]:
    lines = []
    if "figure2" in summary and "figure2" in known:
        found, wanted = (flat(numbers["figure2"]["rates"], "figure2") for numbers in (summary, known))
        lines += off(found, wanted, tolerance["rates"])
    if "figure3" in summary and "figure3" in known:
        linkage = summary["figure3"]["linkage"]
        scores = {name: row[linkage]["chi_square"] for name, row in summary["figure3"]["scores"].items()}
        found, wanted = (flat(numbers, "figure3, chi-square") for numbers in (scores, known["figure3"]))
        lines += off(found, wanted, tolerance["chi_square"], unit="")
    return lines


#: The figures, and the dependence on linkage, gamma, rho, grey range and simulation.
PAPER = _KernelWasserstein(
    __package__,
    {
        "figure1": experiments.figure1,
        "figure2": experiments.figure2,
        "figure3": experiments.figure3,
        "figure4": experiments.figure4,
        "sensitivity": experiments.sensitivity,
    },
)
