"""Simple regret on the five problems of the paper `gpm`.

``python -m benchmarks regret [--full] [--figure FILE] [PROBLEM ...]``
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from kermes.papers.gpm.data import SIMPLEX_PROBLEMS, simplex_problem
from kermes.papers.gpm.regret import METHODS, draw_regrets, regret_curves

from .harness import timed

#: Evaluations of a run, and runs.
SMALL, FULL = (15, 4), (25, 20)
#: Numbers of evaluations that the table shows.
SHOWN = (10, 15, 20, 25)


def main(arguments: list[str]) -> int:
    """Print the medians and quartiles over seeds, and draw them on request."""
    names = list(arguments)
    figure = names.pop(names.index("--figure") + 1) if "--figure" in names else None
    n_calls, n_seeds = FULL if "--full" in names else SMALL
    names = [name for name in names if not name.startswith("--")] or list(SIMPLEX_PROBLEMS)
    console = Console(width=150)
    columns = [n for n in SHOWN if n <= n_calls]
    table = Table(title=f"simple regret, median (quartiles) of {n_seeds} seeds")
    for column in ("problem", "method", *(f"{n} evaluations" for n in columns), "seconds"):
        table.add_column(column)
    drawn = {}
    for name in names:
        problem = simplex_problem(name)
        regrets = {}
        for method, parts in METHODS.items():
            seconds, curves = timed(
                lambda problem=problem, method=method, parts=parts: regret_curves(
                    problem, problem.minimum, problem.n_weights, methods={method: parts}, n_calls=n_calls,
                    n_seeds=n_seeds,
                )
            )  # fmt: skip
            low, middle, high = curves.quartiles(method)
            cells = (f"{middle[n - 1]:.2g} ({low[n - 1]:.2g}, {high[n - 1]:.2g})" for n in columns)
            table.add_row(name, method, *cells, f"{seconds / n_seeds:.1f}")
            regrets.update(curves.regrets)
        drawn[name] = regrets
    console.print(table)
    if figure:
        draw_regrets(drawn).savefig(figure, dpi=150)
    return 0
