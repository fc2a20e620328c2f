"""``kermes mean``: the barycentre of measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._options import Name, Reading, command, output, reads, seed_option
from ._output import refuse_ending, say, write_rows

#: Endings: measures, tables of atoms.
ENDINGS = (".npz", ".csv", ".parquet")


@command("kermes mean cells.csv --by patient --columns cd4,cd8 -o mean.csv")
@reads(labels=False)
@click.option("-d", "--divergence", type=Name("divergence"), default="sliced", show_default=True, help="The distance.")
@click.option("--n-atoms", type=click.IntRange(1), help="Atoms of a mean whose atoms move.")
@seed_option
@output("Where the mean goes: .npz (measures), .csv or .parquet (a row for each atom).", required=True)
def mean(data: Path, reading: Reading, divergence: str, n_atoms: int | None, seed: int, output: Path) -> None:
    """Write the mean of all measures, their barycentre.

    On pixels take sinkhorn:epsilon=...,value=debiased for a sharp picture, euclidean for the mean of the masses.
    With --standardize distances are those of standardised coordinates, and the mean is in the units of the file.
    """
    from ..inference import barycenter
    from . import _naming as naming

    refuse_ending(output, ENDINGS)
    whole = reading.read(data)
    X, scaler = whole.measures, reading.scaler(whole.measures)
    scaled = X if scaler is None else scaler.fit_transform(X)
    found = barycenter(scaled, divergence=naming.divergence(divergence), n_atoms=n_atoms, random_state=seed)
    if scaler is not None:
        found = found.map_points(scaler.transformer_.inverse_transform)  # back to the units of the file
    if output.suffix == ".npz":
        found.save(output)
    else:
        names = whole.columns or [f"x{j}" for j in range(found.dim)]
        columns: dict[str, Any] = dict(zip(names, found.points.T, strict=True))
        write_rows({**columns, "weight": found.weights}, output)
    say(f"the mean of {len(X)} measures, {found.sizes[0]} atoms, written to {output}")
