"""``kermes cluster``, ``mean`` and ``convert``: groups of near measures, barycentres, and measures in one file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import numpy as np

import kermes

from .._dry_run import stop_if_dry
from .._values import written
from ..files import Data, write
from ..files._choice import WEIGHTS
from ._naming import Named
from ._options import Renamed, command, divergence, output, reads, seed
from ._output import print_table, printed_json, refuse_name, say, show, write_rows
from ._reading import Reading

MEASURES = (".npz", ".csv", ".parquet")


@command(
    "kermes cluster cells.csv --by patient --columns cd4,cd8 -n 3 -o clusters.csv",
    "kermes cluster digits.npz -n 3 --method k-medoids",
)
@reads()
@divergence
@click.option("-n", "--clusters", type=click.IntRange(1), default=2, show_default=True, help="Number of clusters.")
@click.option("--method", type=click.Choice(["hierarchical", "k-medoids"]), default="hierarchical", show_default=True)
@click.option("--linkage", default="average", show_default=True, help="Hierarchical: distance between clusters.")
@seed
@output("Where the clusters go: .csv or .parquet.", ".csv", ".parquet")
def cluster(
    reading: Reading, divergence: Named, clusters: int, method: str, linkage: str, seed: int, output: Path | None
) -> None:
    """Group measures by distance; compare with labels.

    Clusters are numbered by size. The central measure of a cluster has the least sum of distances to the others;
    their mean is shown.
    """
    clustering = kermes.clustering
    found = reading.scaled(divergence)
    refuse_name(found.by, ["cluster"])
    X = found.measures
    model: Any = clustering.KMedoids(divergence.made, clusters, random_state=seed)
    if method == "hierarchical":
        model = clustering.HierarchicalClustering(divergence.made, clusters, linkage)
    labels = model.fit(X).labels_
    D = kermes.pairwise(X, divergence=divergence.made)  # remembered
    if output is not None:
        write_rows({found.by: found.keys, "cluster": labels}, output)
    report = None if found.labels is None else clustering.cluster_report(labels, found.labels, D)
    rows = []
    for k in range(clusters):
        members = np.flatnonzero(labels == k)
        sums = D[np.ix_(members, members)].sum(axis=1)
        mean = float(sums.min()) / max(len(members) - 1, 1)
        rows.append((k, len(members), str(found.keys[members[sums.argmin()]]), mean))
    described = [dict(zip(("cluster", "size", "central", "mean distance"), row, strict=True)) for row in rows]
    named = dict(zip(written(found.keys), labels.tolist(), strict=True))
    scores = None if report is None else report.scores()
    if printed_json({"clusters": described, "labels": named, "report": scores}):
        return
    print_table(str(X), ("cluster", "size", "central measure", "mean distance"), rows)
    if report is not None:
        show(report)
    if output is not None:
        say(f"{len(X)} rows written to {output}")


@command(
    "kermes mean cells.csv --by patient --columns cd4,cd8 -o mean.csv",
    "kermes mean cells.csv --by patient --columns cd4,cd8 --label sick -o means.csv",
)
@reads()
@divergence
@click.option(
    *("--mean-atoms", "--n-atoms"),
    cls=Renamed,
    type=click.IntRange(1),
    metavar="N",
    help="Atoms of a mean whose atoms move.",
)
@seed
@output(
    "Where the mean goes: .npz (measures), .csv or .parquet (a row for each atom).", *MEASURES, unwritten="mean.npz"
)
def mean(reading: Reading, divergence: Named, mean_atoms: int | None, seed: int, output: Path) -> None:
    """Write the mean of all measures, their barycentre.

    With --label one mean for each label. On pixels take sinkhorn:epsilon=...,value=debiased for a sharp picture,
    euclidean for the mean of the masses. With --standardize distances are those of standardised coordinates, and the
    mean is in the units of the file.
    """
    found = reading.read()
    reading.say_hints(found)
    X, scaler = found.measures, reading.scaler(found)
    stop_if_dry()
    names = found.columns or tuple(f"x{j}" for j in range(X.dim))
    for name in names if output.suffix.lower() != ".npz" else ():
        refuse_name(name, ["weight"], "a coordinate (--columns)")
    scaled = X if scaler is None else scaler.transform(X)
    grouped = reading.label is not None or reading.labels is not None
    groups = np.unique(found.labels) if grouped else None
    parts = [scaled] if groups is None else [scaled[found.labels == name] for name in groups]
    options: dict[str, Any] = {"divergence": divergence.made, "n_atoms": mean_atoms, "random_state": seed}
    means = kermes.Measures.concatenate([kermes.inference.barycenter(part, **options) for part in parts])
    if scaler is not None:
        means = means.map_points(scaler.transformer_.inverse_transform)  # back to the units of the file
    _write(means, groups, reading.label or "label", names, output)
    sizes = dict(zip(["all"] if groups is None else map(str, groups), map(len, parts), strict=True))
    if printed_json({"measures": sizes, "atoms": means.sizes, "output": output}):
        return
    atoms = ", ".join(f"{size} atoms" for size in means.sizes)
    what = "the mean" if groups is None else f"{len(groups)} means ({', '.join(sizes)})"
    say(f"{what} of {len(X)} measures, {atoms}, written to {output}")


def _write(means: Any, groups: Any, label: str, names: tuple[str, ...], path: Path) -> None:
    """Write the means: measures with their labels, or a row for each atom."""
    if path.suffix.lower() == ".npz":
        write(Data(means, groups), path)
        return
    columns: dict[str, Any] = dict(zip(names, means.points.T, strict=True)) | {"weight": means.weights}
    if groups is not None:
        refuse_name(label, columns, "the label (--label)")
        columns = {label: np.repeat(groups, means.sizes)} | columns
    write_rows(columns, path)


@command(
    "kermes convert cells.csv --by patient --columns cd4,cd8 --label sick -o cells.npz",
    "kermes convert digits.npz --threshold 4 --atoms 30 -o digits.csv",
)
@reads()
@output(
    "The file to write: .npz (measures), .csv or .parquet (a row for each atom).", *MEASURES, unwritten="measures.npz"
)
def convert(reading: Reading, output: Path) -> None:
    """Turn tables, images, IDX files into measures, and back.

    An .npz is read by every command and by Measures.load; labels are kept.
    """
    found = reading.scaled()
    write(found, output)
    if reading.standardize:
        say("The file holds standardised coordinates. Models standardise new data themselves: do not predict from it.")
    if output.suffix.lower() != ".npz":
        label = "" if found.labels is None else " --label label"
        say(f"Read it with: --by {shlex.quote(found.by)} --weights {WEIGHTS[0]}{label}")
    X = found.measures
    facts = {"measures": len(X), "atoms": len(X.weights), "dim": X.dim, "labels": found.labels is not None}
    if not printed_json(facts | {"output": output}):
        show(f"{X}{'' if found.labels is None else ', with labels'}, written to {output}")
