"""``kermes mean``: the barycentre of measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ._hints import say_hints
from ._options import Renamed, as_json, command, divergence_option, output, plans, reads, seed_option
from ._output import print_json, refuse_ending, refuse_name, say, write_rows
from ._reading import Reading

#: Endings: measures, tables of atoms.
ENDINGS = (".npz", ".csv", ".parquet")


@command(
    "kermes mean cells.csv --by patient --columns cd4,cd8 -o mean.csv",
    "kermes mean cells.csv --by patient --columns cd4,cd8 --label sick -o means.csv",
)
@plans
@reads()
@divergence_option
@click.option(
    *("--mean-atoms", "--n-atoms"),
    cls=Renamed,
    type=click.IntRange(1),
    metavar="N",
    help="Atoms of a mean whose atoms move.",
)
@seed_option
@output("Where the mean goes: .npz (measures), .csv or .parquet (a row for each atom).", unwritten="mean.npz")
@as_json
def mean(
    data: Path,
    reading: Reading,
    divergence: str,
    mean_atoms: int | None,
    seed: int,
    output: Path,
    as_json: bool,
) -> None:
    """Write the mean of all measures, their barycentre.

    With --label one mean for each label. On pixels take sinkhorn:epsilon=...,value=debiased for a sharp picture,
    euclidean for the mean of the masses. With --standardize distances are those of standardised coordinates, and the
    mean is in the units of the file.
    """
    from .._dry_run import stop_if_dry
    from ..inference import barycenter
    from ..measures import Measures
    from . import _naming as naming

    refuse_ending(output, ENDINGS)
    found = reading.read(data)
    say_hints(found, reading)
    X, scaler = found.measures, reading.scaler(found.measures)
    stop_if_dry()
    scaled = X if scaler is None else scaler.fit_transform(X)
    grouped = reading.label is not None or reading.labels is not None
    groups = np.unique(found.labels) if grouped else None
    parts = [scaled] if groups is None else [scaled[found.labels == name] for name in groups]
    options: dict[str, Any] = {"divergence": naming.divergence(divergence), "n_atoms": mean_atoms, "random_state": seed}
    means = Measures.concatenate([barycenter(part, **options) for part in parts])
    if scaler is not None:
        means = means.map_points(scaler.transformer_.inverse_transform)  # back to the units of the file
    label = reading.label or "label"
    _write(means, groups, label, found.columns or tuple(f"x{j}" for j in range(means.dim)), output)
    sizes = dict(zip(["all"] if groups is None else map(str, groups), map(len, parts), strict=True))
    if as_json:
        print_json({"measures": sizes, "atoms": means.sizes, "output": output})
        return
    atoms = ", ".join(f"{size} atoms" for size in means.sizes)
    what = "the mean" if groups is None else f"{len(groups)} means ({', '.join(sizes)})"
    say(f"{what} of {len(X)} measures, {atoms}, written to {output}")


def _write(means: Any, groups: Any, label: str, names: tuple[str, ...], path: Path) -> None:
    """Write the means: measures with their labels, or a row for each atom."""
    from ..files import Data, write

    if path.suffix.lower() == ".npz":
        write(Data(means, groups), path)
        return
    columns: dict[str, Any] = dict(zip(names, means.points.T, strict=True)) | {"weight": means.weights}
    if groups is not None:
        refuse_name(label, columns)
        columns = {label: np.repeat(groups, means.sizes)} | columns
    write_rows(columns, path)
