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
from .dental import make_dental_ct
from .texture import texture_features

#: The methods, in the order of Figure 3.
METHODS = ("Wasserstein", "kernel Wasserstein", "KL", "kernel KL")
#: Euclidean distance of the 25 features, which knows which is which; not in the paper.
BASELINE = "Euclidean"
#: Names of slices without and with metal.
CLASSES = ("clean", "noisy")


def distances(X: Measures, name: str, gamma: float, rho: float, other_power: bool = False) -> FloatArray:
    """Return what the paper clusters: W_2, or J_KL; ``other_power`` gives W_2^2 and the root of J_KL instead."""
    divergence = divergence_of(name, gamma, rho)
    return pairwise(X, divergence=divergence, squared=other_power != name.endswith("KL"))  # J_KL is d^2 here


def divergence_of(name: str, gamma: float, rho: float) -> divergences.Divergence:
    """Return the divergence of a method."""
    point_kernel = ground.Gaussian(gamma=gamma) if name.startswith("kernel") else ground.Linear()
    if name.endswith("KL"):
        return divergences.GaussianKL(point_kernel, reg=rho)
    return divergences.GaussianWasserstein(point_kernel)


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


def scores(
    textures: Textures, settings: Numbers, names: Sequence[str] = (*METHODS, BASELINE), **changed: Any
) -> dict[str, Any]:
    """Return :func:`of_linkages` by method, with the parameters of the paper but for those that are ``changed``."""
    X = textures.measures()
    parameters = {"gamma": settings["gamma"], "rho": settings["rho"]} | changed
    found = {}
    for name in names:
        D = squareform(pdist(textures.features)) if name == BASELINE else distances(X, name, **parameters)
        found[name] = of_linkages(D, textures.labels, settings["linkages"])
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


def read_textures(run: Run, seed: int | None = None, cut: Sequence[float] | None = None) -> Textures:
    """Return the features of the slices of a seed, the first one by default, from their file if they are there.

    ``cut`` are two percentiles of each slice at which its grey values are cut off.
    """
    seed = run.sizes["seeds"][0] if seed is None else seed

    def compute() -> Numbers:
        slices = make_dental_ct(**run.sizes["slices"], seed=seed)
        images = slices.images if cut is None else _cut(slices.images, cut)
        what = repr(slices) if cut is None else f"grey values cut at {cut[0]:g} and {cut[1]:g} %"
        run.say(f"seed {seed}: {what}")
        kept = {"features": texture_features(images), "noisy": slices.noisy, "scan": slices.scan}
        return {key: values.tolist() for key, values in kept.items()}

    kept = run.keep(*_textures(run, seed, cut), compute)
    return Textures(minmax_scale(np.array(kept["features"])), np.array(kept["noisy"]), np.array(kept["scan"]))


def has_textures(run: Run, seed: int, cut: Sequence[float] | None) -> bool:
    """Return whether the features of these slices are there."""
    return run.has(*_textures(run, seed, cut))


def _textures(run: Run, seed: int, cut: Sequence[float] | None) -> tuple[str, Numbers]:
    """Return the name of the file of features, and what they depend on."""
    name = f"textures-{seed}" + ("" if cut is None else f"-{cut[0]:g}-{cut[1]:g}")
    return name, {"slices": run.sizes["slices"], "seed": seed, "cut": cut}


def _cut(images: AnyArray, percentiles: Sequence[float]) -> FloatArray:
    low, high = np.percentile(images, percentiles, axis=(1, 2), keepdims=True)
    return np.clip(images, low, high)


#: Features of a slice.
COUNT = 25
#: Mean and standard deviation of the means of slices, and range of their standard deviations, in both classes.
MEANS, SPREADS = (0.5, 0.05), (0.12, 0.2)
#: Standard deviation about each of the two humps at -1 and 1, before numbers are standardised.
HUMP = 0.2


def of_equal_moments(sizes: Numbers, seed: int) -> Textures:
    """Return slices whose 25 numbers have a mean and a standard deviation drawn alike for both classes.

    Standardised, those of a clean slice are normal, those of a noisy one lie about -1 and 1. Not a model of CT slices:
    it asks whether the contrast of the paper, methods with a point kernel against methods without, appears where it
    must if anywhere. Made before the four methods were run on it, and not changed since.
    """
    rng = np.random.default_rng(seed)
    n, n_noisy = sizes["n_slices"], sizes["n_noisy"]
    noisy = np.zeros(n, dtype=bool)
    noisy[rng.choice(n, n_noisy, replace=False)] = True
    one_hump = _standardised(rng.normal(size=(n, COUNT)))
    two_humps = _standardised(rng.choice([-1.0, 1.0], size=(n, COUNT)) + HUMP * rng.normal(size=(n, COUNT)))
    means, spreads = rng.normal(*MEANS, size=(n, 1)), rng.uniform(*SPREADS, size=(n, 1))
    features = means + spreads * np.where(noisy[:, np.newaxis], two_humps, one_hump)
    return Textures(features, noisy, np.arange(n) % sizes["n_scans"])


def _standardised(values: FloatArray) -> FloatArray:
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(centred / centred.std(axis=1, keepdims=True))
