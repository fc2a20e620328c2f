"""Figures 1 to 4 of *Kernel Wasserstein distance*, on simulated slices, and what their numbers depend on."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from .._paper import AnyArray, FloatArray, Numbers, Paper, PrintedTable, Result, Run, by_name, flat, off
from . import figures, report
from .data import Textures, read_textures, simulate
from .methods import METHODS, all_distances, cluster, distances, of_linkages, score

#: Clean slice of Figure 1: within this distance in mm of the level of the noisy one, so that both show teeth.
NEAR = 6.0
FOLDS = 4


def figure1(run: Run) -> Result:
    """Show a clean and a noisy slice of different scans; return where they are.

    The noisy one has the features nearest to the mean of its class; the clean one likewise, among those at its level.
    """
    textures, slices = _first_textures(run), simulate(run.sizes, run.sizes["seeds"][0])
    noisy = _typical(textures.features, textures.noisy)
    near = ~textures.noisy & (np.abs(slices.level - slices.level[noisy]) <= NEAR) & (slices.scan != slices.scan[noisy])
    shown = {"clean": _typical(textures.features, near if near.any() else ~textures.noisy), "noisy": noisy}
    found = {name: {"scan": int(slices.scan[i]), "level": float(slices.level[i])} for name, i in shown.items()}
    return found, partial(figures.two_slices, {name: slices.images[i] for name, i in shown.items()})


def figure2(run: Run) -> Result:
    """Cluster the slices by the kernel Wasserstein distance; return the contingency table and its rates."""
    textures = _first_textures(run)
    D = distances(textures.measures(), "kernel Wasserstein", run.settings["gamma"], run.settings["rho"])
    tree = cluster(D, run.settings["linkage"])
    found = score(tree.labels_, textures.labels) | {"linkage": run.settings["linkage"]}
    return found, partial(figures.clusters, tree, textures.labels, found)


def figure3(run: Run) -> Result:
    """Return the chi-square of the four methods for every linkage."""
    textures = _first_textures(run)
    found = {
        "slices": len(textures.noisy),
        "linkage": run.settings["linkage"],
        "scores": _scores(textures, run.settings),
    }
    return found, partial(figures.chi_squares, found, run.published)


def figure4(run: Run) -> Result:
    """Compare both Wasserstein distances within the clusters of Figure 2 and between them."""
    textures = _first_textures(run)
    X = textures.measures()
    plain, kernel = (distances(X, name, run.settings["gamma"], run.settings["rho"]) for name in METHODS[:2])
    labels = cluster(kernel, run.settings["linkage"]).labels_
    pairs = {name: (plain[mask], kernel[mask]) for name, mask in _blocks(labels).items()}
    found = {name: _correlations(*block) for name, block in pairs.items()}
    return found, partial(figures.scatter, pairs, found)


def sensitivity(run: Run) -> Result:
    """Return chi-squares over linkages, seeds, powers, gamma, rho and grey ranges, and how far classes are apart."""
    settings, first = run.settings, run.sizes["seeds"][0]
    seeds, separability = {}, {}
    for seed in run.sizes["seeds"]:
        textures = read_textures(run, seed)
        seeds[str(seed)] = _scores(textures, settings)
        separability[str(seed)] = _separability(textures)
    textures = _first_textures(run)
    found = {
        "slices": len(textures.noisy),
        "seeds": seeds,
        "power": _over(textures, settings, METHODS, {"": {"other_power": True}})[""],
        "gamma": _over(textures, settings, METHODS[1::2], {f"{g:g}": {"gamma": g} for g in settings["gammas"]}),
        "rho": _over(textures, settings, METHODS[2:], {f"{rho:g}": {"rho": rho} for rho in settings["rhos"]}),
        "range": {},
        "separability": separability,
    }
    for cut in settings["ranges"]:
        again = read_textures(run, first, cut)
        name = f"{cut[0]:g} to {cut[1]:g} %"
        found["range"][name] = _scores(again, settings)
        separability[f"{first}, cut to {name}"] = _separability(again)
    return found, partial(figures.sensitivity, found, settings)


def _first_textures(run: Run) -> Textures:
    return read_textures(run, run.sizes["seeds"][0])


def _correlations(x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """Return the number of pairs and their correlations; None for a cluster without two different pairs."""
    if len(x) < 2 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return {"pairs": len(x), "pearson": None, "spearman": None}
    pearson, spearman = pearsonr(x, y).statistic, spearmanr(x, y).statistic
    return {"pairs": len(x), "pearson": float(pearson), "spearman": float(spearman)}


def _scores(textures: Textures, settings: Numbers) -> dict[str, Any]:
    """Return chi-square and smaller cluster by method and linkage, with the parameters of the paper."""
    return {
        name: of_linkages(D, textures.labels, settings["linkages"])
        for name, D in all_distances(textures, settings).items()
    }


def _over(textures: Textures, settings: Numbers, names: tuple[str, ...], changes: Numbers) -> dict[str, Any]:
    """Return chi-square and smaller cluster for each change of a parameter, by its title, method and linkage."""
    X = textures.measures()
    usual = {"gamma": settings["gamma"], "rho": settings["rho"]}
    return {
        title: {
            name: of_linkages(distances(X, name, **(usual | change)), textures.labels, settings["linkages"])
            for name in names
        }
        for title, change in changes.items()
    }


def _separability(textures: Textures) -> dict[str, float]:
    """Return areas under the ROC curve: a logistic regression with scans held out, and single numbers of a slice.

    The mean and the variance of the 25 numbers are all that the methods without a point kernel see.
    """
    machine = LogisticRegression(max_iter=2000)
    folds = GroupKFold(min(FOLDS, len(np.unique(textures.scan))))
    scores = cross_val_predict(
        machine, textures.features, textures.noisy, groups=textures.scan, cv=folds, method="decision_function"
    )
    single = {"mean": textures.features.mean(axis=1), "variance": textures.features.var(axis=1)}
    areas = {name: _area(textures.noisy, values) for name, values in single.items()}
    return {"logistic regression": float(roc_auc_score(textures.noisy, scores)), **areas}


def _area(noisy: AnyArray, values: FloatArray) -> float:
    """Return the area under the ROC curve in the better direction."""
    area = float(roc_auc_score(noisy, values))
    return max(area, 1.0 - area)


def _typical(features: FloatArray, among: AnyArray) -> int:
    """Return the slice nearest to the mean of those in the mask."""
    rows = np.flatnonzero(among)
    return int(rows[np.argmin(((features[rows] - features[rows].mean(axis=0)) ** 2).sum(axis=1))])


def _blocks(labels: AnyArray) -> dict[str, AnyArray]:
    """Return masks of the pairs i < j within cluster 1, within cluster 2 and between them."""
    upper = np.triu(np.ones((len(labels), len(labels)), dtype=bool), 1)
    same = labels[:, np.newaxis] == labels
    in_first = labels == 0
    return {
        "cluster 1": upper & same & in_first,
        "cluster 2": upper & same & ~in_first,
        "between": upper & ~same,
    }


class _KernelWasserstein(Paper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return the contingency table, the chi-squares and what they depend on, with the paper's numbers."""
        return report.tables(summary, self.expected["paper"], self.settings["shown"])

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words the numbers that differ from the recorded ones by more than the tolerance.

        Both sizes are held against what was measured when they were written. The full one is also held against the
        paper: since its slices are private and ours are simulated, differences are to be expected.
        """
        tolerance = self.expected["tolerance"]
        lines = _off(summary, self.expected[size], tolerance["quick"])
        if size == "full":
            lines += [f"{line} in the paper" for line in _off(summary, self.expected["paper"], tolerance["paper"])]
        return lines


def _off(summary: dict[str, Numbers], known: Numbers, tolerance: dict[str, float]) -> list[str]:
    lines = []
    if "figure2" in summary and "figure2" in known:
        found, wanted = (flat(numbers["figure2"]["rates"], "figure2") for numbers in (summary, known))
        lines += off(found, wanted, tolerance["rates"])
    if "figure3" in summary and "figure3" in known:
        linkage = summary["figure3"]["linkage"]
        scores = {name: row[linkage]["chi_square"] for name, row in summary["figure3"]["scores"].items()}
        found, wanted = (flat(numbers, "figure3, chi-square") for numbers in (scores, known["figure3"]))
        lines += off(found, wanted, tolerance["chi_square"], unit="")
    return lines


PAPER = _KernelWasserstein(__package__, by_name(figure1, figure2, figure3, figure4, sensitivity))
