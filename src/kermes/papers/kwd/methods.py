"""The methods of the paper: distances between slices, two clusters of them, and their chi-square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from ... import Measures, clustering, divergences, ground, pairwise
from .._paper import AnyArray, FloatArray
from .data import Textures

#: The methods, in the order of Figure 3.
METHODS = ("Wasserstein", "kernel Wasserstein", "KL", "kernel KL")
#: Euclidean distance of the 25 features, which knows which is which; not in the paper.
BASELINE = "Euclidean"


def distances(X: Measures, name: str, gamma: float, rho: float, other_power: bool = False) -> FloatArray:
    """Return what the paper clusters: W_2, or J_KL; ``other_power`` gives W_2^2 and the root of J_KL instead."""
    point_kernel = ground.Gaussian(gamma=gamma) if name.startswith("kernel") else ground.Linear()
    if name.endswith("KL"):  # J_KL is d^2 here
        return pairwise(X, divergence=divergences.GaussianKL(point_kernel, reg=rho), squared=not other_power)
    return pairwise(X, divergence=divergences.GaussianWasserstein(point_kernel), squared=other_power)


def all_distances(textures: Textures, settings: dict[str, Any]) -> dict[str, FloatArray]:
    """Return the distances of every method with the parameters of the paper, and those of the baseline."""
    X = textures.measures()
    found = {name: distances(X, name, settings["gamma"], settings["rho"]) for name in METHODS}
    return {**found, BASELINE: squareform(pdist(textures.features))}


def cluster(D: FloatArray, linkage: str) -> clustering.HierarchicalClustering:
    """Return the tree of a matrix of distances, cut into two clusters."""
    return clustering.HierarchicalClustering("precomputed", n_clusters=2, linkage=linkage).fit(D)


def score(labels: AnyArray, classes: AnyArray) -> dict[str, Any]:
    """Return the table of clusters (rows, the largest first) and classes, its chi-square, and the rates in percent."""
    report = clustering.cluster_report(labels, classes)
    rates = dict(zip(report.classes.tolist(), report.rates.tolist(), strict=True))
    return {
        "table": report.table.tolist(),
        "chi_square": report.chi_square.statistic,
        "p_value": report.chi_square.p_value,
        "rates": {name: 100.0 * rate for name, rate in rates.items()} | {"overall": 100.0 * report.accuracy},
        "adjusted_rand": report.adjusted_rand,
    }


def of_linkages(D: FloatArray, classes: AnyArray, linkages: Iterable[str]) -> dict[str, Any]:
    """Return chi-square, and size of the smaller cluster, for each linkage."""
    found = {}
    for linkage in linkages:
        result = score(cluster(D, linkage).labels_, classes)
        found[linkage] = {"chi_square": result["chi_square"], "smaller": int(np.sum(result["table"][1]))}
    return found
