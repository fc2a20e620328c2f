"""``kermes explain``: where two groups differ."""

from __future__ import annotations

from pathlib import Path

import click

from ..exceptions import UnsuitableDataError
from ._options import Reading, command, output, reads, seed_option
from ._output import printable, refuse_ending, say


@command("kermes explain cells.csv --by patient --columns cd4,cd8 --label sick -o picture.png")
@reads()
@click.option("--permutations", type=click.IntRange(1), default=999, show_default=True, help="Of the labels.")
@seed_option
@output("Where the picture goes: .png, .pdf or .svg.")
def explain(data: Path, reading: Reading, permutations: int, seed: int, output: Path | None) -> None:
    """Show where two groups of measures differ.

    Bands from permuted labels hold for all points together: what stays inside is noise.
    """
    from ..inspection import difference

    refuse_ending(output, (".png", ".pdf", ".svg"))
    found = reading.scaled(data)
    if found.labels is None:
        raise UnsuitableDataError("the groups need labels: give --label COLUMN or --labels FILE.")
    result = difference(found.measures, found.labels, n_permutations=permutations, random_state=seed)
    click.echo(printable(result))
    part = result.coordinates
    names = found.columns or [f"coordinate {j}" for j in range(found.measures.dim)]
    for name, score, band, p in zip(names, part.scores, part.bands, part.p_values, strict=True):
        click.echo(f"{printable(name)}: distance {score:.3g}, by chance up to {band:.3g}, p = {p:.3g}")
    if output is not None:
        from matplotlib.figure import Figure

        from ..plot import DifferenceDisplay

        figure = Figure(figsize=(5.5, 4.5), layout="constrained")
        DifferenceDisplay(result).plot(figure.subplots())
        figure.savefig(output, dpi=150)
        say(f"picture written to {output}")
