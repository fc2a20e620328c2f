"""Which training measures a prediction comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import integer
from .._typing import AnyArray
from ..inspection import Contributions, contributions
from ._display import PALETTE, Display


@dataclass(eq=False, repr=False)
class ContributionsDisplay(Display):
    """The training measures that add most to a decision, the sum of all others, and the intercept: together the output.

    Parameters
    ----------
    contributions : kermes.inspection.Contributions
    names : sequence, optional
        A name of each training measure, by row; its number by default.
    k : int
        How many measures.

    Examples
    --------
    >>> from kermes import LSSVMClassifier, datasets, plot
    >>> digits = datasets.load_digits()[:100]
    >>> X, y = digits.measures(), digits.target
    >>> model = LSSVMClassifier(gamma=10.0).fit(X[:90], y[:90])
    >>> display = plot.ContributionsDisplay.from_estimator(model, X[95], names=y[:90])
    """

    contributions: Contributions
    names: Sequence[Any] | AnyArray | None = None
    k: int = 8

    @classmethod
    def from_estimator(
        cls, model: Any, x: Any, names: Sequence[Any] | AnyArray | None = None, k: int = 8, ax: Any = None
    ) -> ContributionsDisplay:
        """Draw the contributions to the prediction of one measure.

        Parameters
        ----------
        model : fitted LSSVMClassifier, LSSVMRegressor or LSSVMClassifierCV
            Of several classes the two best are compared.
        x : Measure, or a collection of one
        names : sequence, optional
            Names of the training measures, or their classes.
        k : int
            How many measures are drawn; the others are summed up.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls(contributions(model, x), names, integer(k, "k", low=1)).plot(ax)

    def plot(self, ax: Any = None, sample: int = 0) -> ContributionsDisplay:
        """Draw, on given axes or on a new figure, the given sample."""
        found = self.contributions
        problem = int(found.winners[sample])
        top = found.top(sample, self.k, problem)
        output, bias = float(found.decision[sample, problem]), float(found.intercept[problem])
        values = [*top.values, output - bias - float(top.values.sum()), bias]
        written = [*(self._name(row) for row in top.rows), f"{len(found.support) - len(top.rows)} others", "intercept"]
        ax = self._open(ax, 6.0, 0.3 * len(values) + 1.3)
        places = np.arange(len(values))[::-1]
        ax.barh(places, values, color=[PALETTE[0] if value >= 0 else PALETTE[1] for value in values], height=0.7)
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_yticks(places, written)
        ax.tick_params(axis="y", length=0, labelsize=9)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_xlabel("contribution to the output")
        ax.set_title(self._told(problem, output), fontsize=10)
        return self

    def _name(self, row: int) -> str:
        return f"measure {row}" if self.names is None else f"{self.names[row]} (measure {row})"

    def _told(self, problem: int, output: float) -> str:
        negative, positive = self.contributions.problems[problem]
        if negative is None and positive is None:
            return f"output {output:.3g}"
        sides = ["the other classes" if name is None else f"class {name}" for name in (negative, positive)]
        return f"{sides[0]} (negative) against {sides[1]} (positive): output {output:.3g}"
