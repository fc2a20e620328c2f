"""Table 1 and Figures 2 to 7 of *Semigroup kernels on measures*."""

from __future__ import annotations

from .._digits import DigitsPaper, best_table, error_table
from .._paper import Numbers, PrintedTable
from . import experiments, pictures

__all__ = ["PAPER"]

#: Numbers of points whose errors are printed of Figure 7, or the nearest measured ones; all are in the figure.
SHOWN = (10, 20, 35, 60, 100, 200)


class _SemigroupKernels(DigitsPaper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return Table 1 and the numbers of the figures, with the paper's."""
        paper = self.expected["paper"]
        made = []
        if "table1" in summary:
            found = summary["table1"]
            known = paper["table1"] if size == "full" else {}  # the quick size has half the images
            made.append(error_table("Table 1: error by sampled points, %", found, known, _columns(found)))
        if "figure2" in summary:
            found = summary["figure2"]
            rows = [
                [name, *(f"{v:.4f}" for v in found["variances"][name]), *(f"{v:.4f}" for v in known)]
                for name, known in paper["figure2"]["variances"].items()
            ]
            rows.append(["kernel value", f"{found['kernel']:.3f}", "", f"{paper['figure2']['kernel']:.3f}", ""])
            made.append(PrintedTable("Figure 2: variances", ["measure", "first", "second", "paper", "paper"], rows))
        if "figure3" in summary:
            rows = [[pair, f"{value:.2f}"] for pair, value in summary["figure3"]["mean"].items()]
            made.append(PrintedTable("Figure 3: mean kernel value", ["digits", "linear IGV"], rows))
        if "figure6" in summary:
            made.append(best_table("Figure 6", summary["figure6"], "paper: 19.5 % at eta 0.008 to 0.02, sigma 0.12"))
        if "figure7" in summary:
            found = summary["figure7"]
            nearest = [min(_columns(found), key=lambda column: abs(int(column) - wanted)) for wanted in SHOWN]
            columns = list(dict.fromkeys(nearest))
            made.append(error_table("Figure 7: error by sampled points, %", found, paper["figure7"], columns))
        return made


def _columns(found: Numbers) -> list[str]:
    return list(next(iter(found["mean"].values())))


#: Figure 1 of the paper explains a notion.
PAPER = _SemigroupKernels(
    __package__,
    {
        "table1": experiments.table1,
        "figure2": pictures.figure2,
        "figure3": pictures.figure3,
        "figure4": pictures.figure4,
        "figure5": pictures.figure5,
        "figure6": experiments.figure6,
        "figure7": experiments.figure7,
    },
)
