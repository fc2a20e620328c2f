"""``kermes explain``: where groups differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from ._columns import assigned_option, blocks_option, read_groups
from ._hints import standardized
from ._options import as_json, command, output, plans, reads, seed_option
from ._output import number, print_json, print_table, refuse_ending, say, show
from ._reading import Reading

#: Level of the bands, and below one minus which the sentences speak of a difference.
LEVEL = 0.95
REST = "the rest"


@command(
    "kermes explain cells.csv --by patient --columns cd4,cd8 --label sick -o picture.png",
    "kermes explain digits.npz --permutations 99",
)
@plans
@reads(groups=True)
@blocks_option
@assigned_option
@click.option("--permutations", type=click.IntRange(1), default=999, show_default=True, help="All, if they are fewer.")
@seed_option
@output("Where the picture goes: .png, .pdf or .svg.")
@as_json
def explain(
    data: Path,
    reading: Reading,
    blocks: str | None,
    units: str | None,
    permutations: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Show where groups of measures differ.

    Two tests by permutation of the labels. Over all points: does one group have more mass near some point of space?
    Along each coordinate: are the distributions of that number apart? P-values hold for all points, and for all
    coordinates, together. Of three groups or more each is compared with the rest.
    """
    from .._dry_run import stop_if_dry

    refuse_ending(output, (".png", ".pdf", ".svg"))
    found, columns = read_groups(reading, data, blocks=blocks, units=units)
    stop_if_dry()
    results = _differences(found, standardized(found, reading), columns, permutations, seed)
    names = found.columns or tuple(f"coordinate {j}" for j in range(found.measures.dim))
    facts = _facts(results, names)
    if as_json:
        print_json({"permutations": results[0].n_permutations, "level": LEVEL, "groups": facts})
    else:
        several = "" if len(facts) == 1 else f"; p-values are adjusted for {len(facts)} comparisons (Holm)"
        show(f"{found.measures}, {results[0].n_permutations} permutations{several}")
        for fact in facts:
            _print(fact)
    if output is not None:
        _draw(results, [_title(fact) for fact in facts], names, output)
        say(f"Picture written to {output}")


def _differences(found: Any, reading: Reading, columns: dict[str, Any], permutations: int, seed: int) -> list[Any]:
    """Return the difference of two groups, or those of each from the rest; in the units of the file."""
    from ..inspection import difference

    X, scaler = found.measures, reading.scaler(found.measures)
    scaled = X if scaler is None else scaler.fit_transform(X)
    options: dict[str, Any] = columns | {"n_permutations": permutations, "level": LEVEL, "random_state": seed}
    groups = np.unique(found.labels)
    if len(groups) <= 2:
        results = [difference(scaled, found.labels, **options)]
    else:
        results = [
            replace(difference(scaled, found.labels == name, **options), groups=(REST, name.item())) for name in groups
        ]
    return results if scaler is None else [_in_units(result, scaler.transformer_.scale_) for result in results]


def _in_units(result: Any, scale: Any) -> Any:
    """Return a difference of standardised measures with points and distances in the units of the file."""
    part = result.coordinates
    names = ("scores", "shifts", "bands")
    return replace(
        result,
        points=result.points * scale,
        coordinates=replace(part, **{name: getattr(part, name) * scale for name in names}),
    )


def _facts(results: list[Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what is printed of each comparison; p-values of several are adjusted for their number."""
    from ..inference import holm

    at_points = holm([result.p_value for result in results])
    along = holm(np.concatenate([result.coordinates.p_values for result in results])).reshape(len(results), -1)
    single = len(results) == 1
    return [
        {
            "group": str(result.groups[1]),
            "against": str(result.groups[0]),
            "points": len(result.scores),
            "outside": int(np.count_nonzero(result.significant)),
            "p_value": result.p_value if single else p,
            "coordinates": [
                dict(zip(("name", "shift", "distance", "chance", "p_value"), row, strict=True))
                for row in zip(
                    names,
                    *(getattr(result.coordinates, part).tolist() for part in ("shifts", "scores", "bands")),
                    (result.coordinates.p_values if single else adjusted).tolist(),
                    strict=True,
                )
            ],
        }
        for result, p, adjusted in zip(results, at_points.tolist(), along, strict=True)
    ]


def _print(fact: dict[str, Any]) -> None:
    """Print a comparison: both tests, and what they say together."""
    seen = f"{fact['outside']} of {fact['points']} points outside the {LEVEL:.0%} band"
    show(f"{_title(fact)}, {seen}")
    rows = [tuple(row.values()) for row in fact["coordinates"]]
    print_table("", ("along", "shift of the mean", "distance", "by chance up to", "p"), rows)
    show(conclusion(fact))


def _title(fact: dict[str, Any]) -> str:
    return f"{fact['group']} minus {fact['against']}, over all points: p = {number(fact['p_value'])}"


def conclusion(fact: dict[str, Any]) -> str:
    """Return what the test over all points and those along the coordinates say together, in a sentence."""
    names = [row["name"] for row in fact["coordinates"] if row["p_value"] <= 1 - LEVEL]
    pair = f"{fact['group']} and {fact['against']}"
    differ = fact["p_value"] <= 1 - LEVEL
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
    from .._atomic import whole
    from .._checks import needed

    Figure = needed("matplotlib.figure", "plot", "A picture").Figure
    from ..plot import DifferenceDisplay

    cols = min(3, len(results))
    rows = -(-len(results) // cols)
    figure = Figure(figsize=(5.5 * cols, 4.5 * rows), layout="constrained")
    axes = figure.subplots(rows, cols, squeeze=False).ravel()
    for ax, result, title in zip(axes, results, titles, strict=False):
        DifferenceDisplay(result, names).plot(ax).ax_.set_title(title, fontsize=10)
    for empty in axes[len(results) :]:
        empty.set_axis_off()
    with whole(path) as temporary:
        figure.savefig(temporary, dpi=150)
