"""``kermes test`` and ``kermes explain``: do groups of measures differ, and where?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import kermes

from .._atomic import whole
from .._checks import needed
from .._dry_run import stop_if_dry
from ._naming import Named
from ._options import assigned, blocks, command, divergence, output, reads, seed
from ._output import number, print_table, printed_json, say, show
from ._reading import Reading, say_if_apart

#: Level at which the sentence speaks of a difference.
LEVEL = 0.05
#: Level of the bands, and below one minus which the sentences speak of a difference.
BAND = 0.95
ALONG = ("name", "shift", "distance", "chance", "p_value")


@command(
    "kermes test cells.csv --by patient --columns cd4,cd8 --label sick",
    "kermes test cells.csv --by patient --columns cd4,cd8 --label age --trend --permutations 999",
    "kermes test digits.npz --pairwise -d euclidean --permutations 199",
    name="test",
)
@reads(groups=True)
@blocks
@assigned
@divergence
@click.option(
    "--permutations", type=click.IntRange(1), default=9999, show_default=True, help="How many; all there are, if fewer."
)
@click.option("--trend", is_flag=True, help="The label is a number (age, dose): test whether measures move with it.")
@click.option("--pairwise", is_flag=True, help="Also every pair of groups, with Holm's correction.")
@seed
def test_groups(
    reading: Reading,
    blocks: str | None,
    units: str | None,
    divergence: Named,
    permutations: int,
    trend: bool,
    pairwise: bool,
    seed: int,
) -> None:
    """Test whether groups of measures differ.

    PERMANOVA compares centres, the dispersion test spreads, the energy test whole distributions. P-values are from
    permutations.
    """
    inference = kermes.inference
    if trend and pairwise:
        raise click.UsageError("--trend has no groups for --pairwise.")
    found, held = reading.read_groups(numbers=trend, blocks=blocks, units=units)
    say_if_apart(found.measures, divergence)
    X = reading.rescaled(found, automatic=True)[0]
    D = kermes.pairwise(X, divergence=divergence.made)
    given: dict[str, Any] = {"divergence": "precomputed", "n_permutations": permutations, "random_state": seed} | held
    if trend:
        tests: list[Any] = [inference.trend(D, found.labels, **given)]
        groups: dict[str, Any] = {}
    else:
        run = (inference.permanova, inference.dispersion, inference.k_sample)
        tests = [test(D, {reading.label or "label": found.labels}, **given) for test in run]
        counted = zip(*np.unique(found.labels, return_counts=True), strict=True)
        groups = {str(name): {"size": n, "spread": tests[1].groups[name.item()]} for name, n in counted}
    pairs = None
    if pairwise:
        made = inference.pairwise_tests(D, found.labels, **given)
        pairs = [
            {"groups": [str(name) for name in pair], **_plain(test), "adjusted": adjusted}
            for pair, test, adjusted in zip(made.pairs, made.tests, made.p_values, strict=True)
        ]
    said = _trend_said(tests[0]) if trend else conclusion(*tests)
    alone = "" if units is not None else " within blocks" if blocks is not None else " (several of one donor: --units)"
    what = f"the {'measures' if units is None else 'units'} are independent{alone}"
    caveat = f"This holds if {what} and this test was chosen before looking at its result."
    plain = [_plain(test) for test in tests]
    if printed_json({"tests": plain, "groups": groups, "pairs": pairs, "conclusion": said, "caveat": caveat}):
        return
    n = tests[0].n_permutations
    how = f"all {n}" if tests[0].exhaustive else f"{n} random"
    rows = [(t.test, t.statistic, f"{t.df[0]}, {t.df[1]}", t.effect_size, t.p_value) for t in tests]
    print_table(f"{X}, {how} permutations", ("test", "statistic", "df", "R²", "p"), rows)
    if groups:
        sizes = [(name, facts["size"], facts["spread"]) for name, facts in groups.items()]
        print_table("", ("group", "measures", "mean distance to the centre"), sizes)
    if pairs is not None:
        shown = ("statistic", "effect_size", "p_value", "adjusted")
        rows = [(" - ".join(pair["groups"]), *(pair[name] for name in shown)) for pair in pairs]
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


def _plain(test: Any) -> dict[str, Any]:
    names = ("test", "statistic", "df", "effect_size", "p_value", "n_permutations", "exhaustive")
    return {name: getattr(test, name) for name in names}


@command(
    "kermes explain cells.csv --by patient --columns cd4,cd8 --label sick -o picture.png",
    "kermes explain digits.npz --permutations 99",
)
@reads(groups=True)
@blocks
@assigned
@click.option(
    "--permutations", type=click.IntRange(1), default=999, show_default=True, help="How many; all there are, if fewer."
)
@seed
@output("Where the picture goes: .png, .pdf or .svg.", ".png", ".pdf", ".svg")
def explain(
    reading: Reading, blocks: str | None, units: str | None, permutations: int, seed: int, output: Path | None
) -> None:
    """Show where groups of measures differ.

    Two tests by permutation of the labels. Over all points: does one group have more mass near some point of space?
    Along each coordinate: are the distributions of that number apart? P-values hold for all points, and for all
    coordinates, together. Of three groups or more each is compared with the rest.
    """
    found, columns = reading.read_groups(blocks=blocks, units=units)
    stop_if_dry()
    results = _differences(found, reading, columns, permutations, seed)
    names = found.columns or tuple(f"coordinate {j}" for j in range(found.measures.dim))
    facts = _compared(results, names)
    told = {"permutations": results[0].n_permutations, "level": BAND, "adjusted_for": len(facts), "groups": facts}
    if not printed_json(told):
        adjusted = f"; p-values are adjusted for {len(facts)} comparisons (Holm), bands are of each"
        several = "" if len(facts) == 1 else adjusted
        show(f"{found.measures}, {results[0].n_permutations} permutations{several}")
        for fact in facts:
            show(f"{_title(fact)}, {fact['outside']} of {fact['points']} points outside the {BAND:.0%} band")
            rows = [tuple(row.values()) for row in fact["coordinates"]]
            print_table("", ("along", "shift of the mean", "distance", "by chance up to", "p"), rows)
            show(explanation(fact))
    if output is not None:
        _draw(results, [_title(fact) for fact in facts], names, output)
        say(f"Picture written to {output}")


def _differences(found: Any, reading: Reading, columns: dict[str, Any], permutations: int, seed: int) -> list[Any]:
    """Return the difference of two groups, or those of each from the rest; in the units of the file."""
    difference = kermes.inspection.difference
    scaled, scaler = reading.rescaled(found, automatic=True)
    options: dict[str, Any] = columns | {"n_permutations": permutations, "level": BAND, "random_state": seed}
    groups = np.unique(found.labels)
    if len(groups) <= 2:
        results = [difference(scaled, found.labels, **options)]
    else:
        results = [difference(scaled, found.labels == name, **options) for name in groups]
        results = [replace(r, groups=("the rest", name.item())) for r, name in zip(results, groups, strict=True)]
    if scaler is None:
        return results
    return [result.scaled(scaler.transformer_.scale_) for result in results]


def _compared(results: list[Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what is printed of each comparison; p-values of several are adjusted for their number."""
    at_points = np.array([result.p_value for result in results])
    along = np.array([result.coordinates.p_values for result in results])
    if len(results) > 1:
        at_points, along = kermes.inference.holm(at_points), kermes.inference.holm(along)
    facts = []
    for result, p_value, p_values in zip(results, at_points.tolist(), along.tolist(), strict=True):
        part = result.coordinates
        columns = (names, part.shifts.tolist(), part.scores.tolist(), part.bands.tolist(), p_values)
        rows = zip(*columns, strict=True)
        facts.append(
            {
                "group": str(result.groups[1]),
                "against": str(result.groups[0]),
                "points": len(result.scores),
                "outside": int(np.count_nonzero(result.significant)),
                "p_value": p_value,
                "coordinates": [dict(zip(ALONG, row, strict=True)) for row in rows],
            }
        )
    return facts


def _title(fact: dict[str, Any]) -> str:
    return f"{fact['group']} minus {fact['against']}, over all points: p = {number(fact['p_value'])}"


def explanation(fact: dict[str, Any]) -> str:
    """Return what the test over all points and those along the coordinates say together, in a sentence."""
    names = [row["name"] for row in fact["coordinates"] if row["p_value"] <= 1 - BAND]
    pair = f"{fact['group']} and {fact['against']}"
    differ = fact["p_value"] <= 1 - BAND
    if differ and names:
        return f"{pair} differ, also along {', '.join(names)} alone."
    if differ and len(fact["coordinates"]) == 1:
        return f"{pair} differ in mass near some points; the distance along the whole line may be chance."
    if differ:
        return (
            f"{pair} differ near some points, but along no coordinate alone by more than chance: in how coordinates go "
            "together, or in few points of each measure."
        )
    if names:
        return (
            f"{pair} differ along {', '.join(names)}; near no point of space by more than chance, where all "
            "coordinates count at once and a small shift of everything is hard to see."
        )
    return f"No difference of {pair} was found, which does not show that there is none."


def _draw(results: list[Any], titles: list[str], names: tuple[str, ...], path: Path) -> None:
    """Draw a panel for each comparison."""
    Figure = needed("matplotlib.figure", "plot", "A picture").Figure
    cols = min(3, len(results))
    rows = -(-len(results) // cols)
    figure = Figure(figsize=(5.5 * cols, 4.5 * rows), layout="constrained")
    axes = figure.subplots(rows, cols, squeeze=False).ravel()
    for ax, result, title in zip(axes, results, titles, strict=False):
        kermes.plot.DifferenceDisplay(result, names).plot(ax).ax_.set_title(title, fontsize=10)
    for empty in axes[len(results) :]:
        empty.set_axis_off()
    with whole(path) as temporary:
        figure.savefig(temporary, dpi=150)
