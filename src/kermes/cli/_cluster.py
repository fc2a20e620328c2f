"""``kermes cluster``: groups of near measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ._options import as_json, command, divergence_option, output, plans, reads, seed_option
from ._output import ROWS, print_json, print_table, refuse_ending, refuse_name, say, show, write_rows
from ._reading import Reading


@command(
    "kermes cluster cells.csv --by patient --columns cd4,cd8 -n 3 -o clusters.csv",
    "kermes cluster digits.npz -n 3 --method k-medoids",
)
@plans
@reads()
@divergence_option
@click.option("-n", "--clusters", type=click.IntRange(1), default=2, show_default=True, help="Number of clusters.")
@click.option("--method", type=click.Choice(["hierarchical", "k-medoids"]), default="hierarchical", show_default=True)
@click.option("--linkage", default="average", show_default=True, help="Hierarchical: distance between clusters.")
@seed_option
@output("Where the clusters go: .csv or .parquet.")
@as_json
def cluster(
    data: Path,
    reading: Reading,
    divergence: str,
    clusters: int,
    method: str,
    linkage: str,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Group measures by distance; compare with labels.

    Clusters are numbered by size. The central measure of a cluster has the least sum of distances to the others.
    """
    from .. import clustering, pairwise
    from . import _naming as naming

    refuse_ending(output, ROWS)
    found = reading.scaled(data)
    refuse_name(found.by, ["cluster"])
    X = found.measures
    distance = naming.divergence(divergence)
    model: Any
    if method == "hierarchical":
        model = clustering.HierarchicalClustering(distance, clusters, linkage)
    else:
        model = clustering.KMedoids(distance, clusters, random_state=seed)
    labels = model.fit(X).labels_
    D = pairwise(X, divergence=distance)  # remembered
    if output is not None:
        write_rows({found.by: found.keys, "cluster": labels}, output)
    report = None if found.labels is None else clustering.cluster_report(labels, found.labels, D)
    rows = [_described(k, labels, D, found.keys) for k in range(clusters)]
    if as_json:
        names = ("cluster", "size", "central", "mean distance")
        members = dict(zip(found.keys.tolist(), labels.tolist(), strict=True))
        scores = None if report is None else report.scores()
        print_json(
            {"clusters": [dict(zip(names, row, strict=True)) for row in rows], "labels": members, "report": scores}
        )
        return
    print_table(str(X), ("cluster", "size", "central measure", "mean distance"), rows)
    if report is not None:
        show(report)
    if output is not None:
        say(f"{len(X)} rows written to {output}")


def _described(k: int, labels: Any, D: Any, keys: Any) -> tuple[int, int, str, float]:
    """Return number, size, central measure and mean distance to it."""
    members = np.flatnonzero(labels == k)
    sums = D[np.ix_(members, members)].mean(axis=1)
    return k, len(members), str(keys[members[sums.argmin()]]), float(sums.min())
