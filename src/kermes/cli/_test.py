"""``kermes test``: do groups of measures differ?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ._columns import assigned_option, blocks_option, read_groups
from ._hints import standardized
from ._options import as_json, command, divergence_option, plans, reads, seed_option
from ._output import number, print_json, print_table, show
from ._reading import Reading

#: Level at which the sentence speaks of a difference.
LEVEL = 0.05


@command(
    "kermes test cells.csv --by patient --columns cd4,cd8 --label sick",
    "kermes test cells.csv --by patient --columns cd4,cd8 --label age --trend --permutations 999",
    "kermes test digits.npz --pairwise -d euclidean --permutations 199",
    name="test",
)
@plans
@reads(groups=True)
@blocks_option
@assigned_option
@divergence_option
@click.option("--permutations", type=click.IntRange(1), default=9999, show_default=True, help="All, if they are fewer.")
@click.option("--trend", is_flag=True, help="The label is a number (age, dose): test whether measures move with it.")
@click.option("--pairwise", is_flag=True, help="Also every pair of groups, with Holm's correction.")
@seed_option
@as_json
def test_groups(
    data: Path,
    reading: Reading,
    blocks: str | None,
    units: str | None,
    divergence: str,
    permutations: int,
    trend: bool,
    pairwise: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Test whether groups of measures differ.

    PERMANOVA compares centres, the dispersion test spreads, the energy test whole distributions. P-values are from
    permutations.
    """
    from .. import inference
    from .. import pairwise as distances
    from . import _naming as naming

    if trend and pairwise:
        raise click.UsageError("--trend has no groups for --pairwise.")
    found, held = read_groups(reading, data, numbers=trend, blocks=blocks, units=units)
    found = standardized(found, reading).scale_data(found)
    D = distances(found.measures, divergence=naming.divergence(divergence))
    given: dict[str, Any] = {
        "divergence": "precomputed",
        **held,
        "n_permutations": permutations,
        "random_state": seed,
    }
    if trend:
        tests = [inference.trend(D, found.labels, **given)]
        groups: dict[str, Any] = {}
    else:
        run = (inference.permanova, inference.dispersion, inference.k_sample)
        tests = [test(D, {reading.label or "label": found.labels}, **given) for test in run]
        groups = _groups(found.labels, tests[1].groups)
    pairs = inference.pairwise_tests(D, found.labels, **given) if pairwise else None
    said = _trend_said(tests[0]) if trend else conclusion(*tests)
    caveat = _caveat(units is not None, blocks is not None)
    if as_json:
        print_json(
            {
                "tests": [_plain(test) for test in tests],
                "groups": groups,
                "pairs": None if pairs is None else _plain_pairs(pairs),
                "conclusion": said,
                "caveat": caveat,
            }
        )
        return
    n = tests[0].n_permutations
    how = f"all {n}" if tests[0].exhaustive else f"{n} random"
    title = f"{found.measures}, {how} permutations"
    print_table(title, ("test", "statistic", "df", "R²", "p"), [_row(test) for test in tests])
    if groups:
        sizes = [(name, facts["size"], facts["spread"]) for name, facts in groups.items()]
        print_table("", ("group", "measures", "mean distance to the centre"), sizes)
    if pairs is not None:
        shown = ("statistic", "effect_size", "p_value", "adjusted")
        rows = [(" - ".join(pair["groups"]), *(pair[name] for name in shown)) for pair in _plain_pairs(pairs)]
        print_table("", ("pair (PERMANOVA)", "statistic", "R²", "p", "p, Holm"), rows)
    show(f"{said}\n{caveat}")


def conclusion(centres: Any, spreads: Any, energy: Any) -> str:
    """Return what PERMANOVA, dispersion and energy test say together, in a sentence."""
    p, spread = f"p = {number(centres.p_value)}", f"p = {number(spreads.p_value)}"
    if centres.p_value <= LEVEL:
        differ = f"The groups differ ({p}; they explain {centres.effect_size:.0%} of the squared distances)"
        if spreads.p_value <= LEVEL:
            return f"{differ}, and spread differently ({spread}), which may be all that PERMANOVA sees."
        return f"{differ}; a difference of spread was not found ({spread})."
    if spreads.p_value <= LEVEL:
        return f"The groups spread differently ({spread}); a difference of their centres was not found ({p})."
    if energy.p_value <= LEVEL:
        return f"The groups differ in distribution (energy test, p = {number(energy.p_value)}), not in centre ({p})."
    return f"No difference was found ({p}), which does not show that there is none."


def _trend_said(test: Any) -> str:
    p = f"p = {number(test.p_value)}"
    if test.p_value <= LEVEL:
        return f"The measures move with the number ({p}; a line explains {test.effect_size:.0%})."
    return f"No trend was found ({p}), which does not show that there is none."


def _caveat(units: bool, blocks: bool) -> str:
    what = "units" if units else "measures"
    hint = "" if units else " within blocks" if blocks else " (several of one donor: --units)"
    return f"This holds if the {what} are independent{hint} and this test was chosen before looking at its result."


def _groups(labels: Any, spread: Any) -> dict[str, Any]:
    names, counts = np.unique(labels, return_counts=True)
    return {str(name): {"size": int(n), "spread": spread[name.item()]} for name, n in zip(names, counts, strict=True)}


def _row(test: Any) -> tuple[Any, ...]:
    return test.test, test.statistic, f"{test.df[0]}, {test.df[1]}", test.effect_size, test.p_value


def _plain(test: Any) -> dict[str, Any]:
    names = ("test", "statistic", "df", "effect_size", "p_value", "n_permutations", "exhaustive")
    return {name: getattr(test, name) for name in names}


def _plain_pairs(pairs: Any) -> list[dict[str, Any]]:
    return [
        {"groups": [str(name) for name in pair], **_plain(test), "adjusted": adjusted}
        for pair, test, adjusted in zip(pairs.pairs, pairs.tests, pairs.p_values, strict=True)
    ]
