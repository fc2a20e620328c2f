"""The slices as measures of 25 texture features; the methods: distances, two clusters of slices, their chi-square."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.preprocessing import minmax_scale

from ... import Measures, clustering, divergences, ground, pairwise
from .._paper import AnyArray, FloatArray, Numbers, Run
from .dental import Slices, make_dental_ct
from .texture import texture_features

#: The methods, in the order of Figure 3.
METHODS = ("Wasserstein", "kernel Wasserstein", "KL", "kernel KL")
#: Euclidean distance of the 25 features, which knows which is which; not in the paper.
BASELINE = "Euclidean"
#: Names of slices without and with metal.
CLASSES = ("clean", "noisy")


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


@dataclass(frozen=True)
class Textures:
    """The features of each slice (n, 25), each scaled to [0, 1] over the set; whether it has metal; its scan."""

    features: FloatArray
    noisy: AnyArray
    scan: AnyArray

    def measures(self) -> Measures:
        """Return each slice as 25 atoms of equal weight on the line: which feature a number is, is forgotten."""
        return Measures.from_samples(self.features[:, :, np.newaxis])

    @property
    def labels(self) -> AnyArray:
        """Return the class of each slice by name."""
        return np.where(self.noisy, CLASSES[1], CLASSES[0])


def simulate(sizes: Numbers, seed: int) -> Slices:
    """Return the slices of a seed; the simulation keeps them in its cache."""
    return make_dental_ct(**sizes["slices"], seed=seed)


def read_textures(run: Run, seed: int, cut: Sequence[float] | None = None) -> Textures:
    """Return the features of the slices of a seed, from their file if they are there.

    ``cut`` are two percentiles of each slice at which its grey values are cut off.
    """

    def compute() -> Numbers:
        slices = simulate(run.sizes, seed)
        images = slices.images if cut is None else _cut(slices.images, cut)
        what = repr(slices) if cut is None else f"grey values cut at {cut[0]:g} and {cut[1]:g} %"
        run.say(f"seed {seed}: {what}")
        return {
            "features": texture_features(images).tolist(),
            "noisy": slices.noisy.tolist(),
            "scan": slices.scan.tolist(),
        }

    name = f"textures-{seed}" + ("" if cut is None else f"-{cut[0]:g}-{cut[1]:g}")
    kept = run.keep(name, {"slices": run.sizes["slices"], "seed": seed, "cut": cut}, compute)
    return Textures(minmax_scale(np.array(kept["features"])), np.array(kept["noisy"]), np.array(kept["scan"]))


def _cut(images: AnyArray, percentiles: Sequence[float]) -> FloatArray:
    low, high = np.percentile(images, percentiles, axis=(1, 2), keepdims=True)
    return np.clip(images, low, high)
