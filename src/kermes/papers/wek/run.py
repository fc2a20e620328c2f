"""Table 1 and Figures 1 to 3 of *Wasserstein exponential kernels*."""

from __future__ import annotations

from functools import partial

from .._paper import Numbers, Paper, PrintedTable, flat, off
from .experiments import errors_on


class _ExponentialKernels(Paper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return Table 1; the paper's numbers stand beside ours where the protocol is the same."""
        full = size == "full"
        rows = {method: [method] for method in max((found["mean"] for found in summary.values()), key=len)}
        header = ["method"]
        for name, found in summary.items():
            beside = full and name in self.expected["paper"]
            header += [f"{name} ({found['repetitions']} runs)", "best"] + ["paper", "paper's best"] * beside
            for method, cells in rows.items():
                cells += _cells(found, method)
                if beside:
                    cells += _cells(self.published(name), method)
        return [PrintedTable("Table 1: test error, %", header, list(rows.values()))]

    def published(self, name: str) -> dict[str, dict[str, float]]:
        """Return mean, standard deviation and least error of each method on a data set, as the paper prints them."""
        printed = self.expected["paper"][name]
        return {
            part: {method: numbers[i] for method, numbers in printed.items()}
            for i, part in enumerate(("mean", "std", "best"))
        }

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return the errors that differ from the recorded ones by more than the tolerance, in words.

        The full protocol is held against the paper, the quick one against what was measured when it was written.
        """
        reference = "paper" if size == "full" else "quick"
        found = flat({name: entry["mean"] for name, entry in summary.items()})
        known = (
            {name: self.published(name)["mean"] for name in COMPARABLE} if size == "full" else self.expected["quick"]
        )
        return off(found, flat(known), self.expected["tolerance"][reference])


def _cells(found: Numbers, method: str) -> list[str]:
    """Return mean with standard deviation, and the best, of a method; empty where it was not run."""
    if method not in found["mean"]:
        return ["", ""]
    mean, std, best = (found[part][method] for part in ("mean", "std", "best"))
    return [f"{mean:.2f}" + (f" ± {std:.2f}" if std is not None else ""), f"{best:.2f}"]


#: The data sets that are the paper's: six of its eight classes of drawings are other ones here.
COMPARABLE = ("mnist", "usps")
#: The data sets; on request MNIST with the distance as the paper prints it, which takes many times as long.
PAPER = _ExponentialKernels(
    __package__,
    {name: partial(errors_on, name) for name in ("mnist", "quickdraw", "usps")},
    {"printed": partial(errors_on, "printed")},
)
