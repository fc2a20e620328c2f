"""Figures 1 to 4 of *Kernel Wasserstein distance*, on simulated slices, and what their numbers depend on."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from .._paper import AnyArray, FloatArray, Numbers, Paper, PrintedTable, Result, Run, by_name, flat, off
from . import estimate, figures
from .dental import make_dental_ct
from .estimate import depends_on
from .methods import (
    METHODS,
    Textures,
    cluster,
    distances,
    of_equal_moments,
    read_textures,
    score,
    scores,
)

#: Clean slice of Figure 1: within this distance in mm of the level of the noisy one, so that both show teeth.
NEAR = 6.0
FOLDS = 4
#: What a cell shows: a small cluster says that a linkage has cut off a few odd slices.
CELL = "chi-square (size of the smaller cluster)"

#: Chi-squares that differ by less are of the same clusters.
SAME = 1e-9


def figure1(run: Run) -> Result:
    """Show a clean and a noisy slice of different scans; return where they are.

    The noisy one has the features nearest to the mean of its class; the clean one likewise, among those at its level.
    """
    textures, slices = read_textures(run), make_dental_ct(**run.sizes["slices"], seed=run.sizes["seeds"][0])
    noisy = _typical(textures.features, textures.noisy)
    near = ~textures.noisy & (np.abs(slices.level - slices.level[noisy]) <= NEAR) & (slices.scan != slices.scan[noisy])
    shown = {"clean": _typical(textures.features, near if near.any() else ~textures.noisy), "noisy": noisy}
    found = {name: {"scan": int(slices.scan[i]), "level": float(slices.level[i])} for name, i in shown.items()}
    return found, partial(figures.two_slices, {name: slices.images[i] for name, i in shown.items()})


def figure2(run: Run) -> Result:
    """Cluster the slices by the kernel Wasserstein distance; return the contingency table and its rates."""
    textures = read_textures(run)
    D = distances(textures.measures(), "kernel Wasserstein", run.settings["gamma"], run.settings["rho"])
    tree = cluster(D, run.settings["linkage"])
    means = {name: float(D[mask].mean()) if mask.any() else None for name, mask in _blocks(tree.labels_).items()}
    found = score(tree.labels_, textures.labels) | {"linkage": run.settings["linkage"], "mean distance": means}
    return found, partial(figures.clusters, tree, textures.labels, found)


def figure3(run: Run) -> Result:
    """Return the chi-square of the four methods for every linkage."""
    textures, linkage = read_textures(run), run.settings["linkage"]
    found = {"slices": len(textures.noisy), "linkage": linkage, "scores": scores(textures, run.settings)}
    return found, partial(figures.chi_squares, found, run.published)


def figure4(run: Run) -> Result:
    """Compare both Wasserstein distances within the clusters of Figure 2 and between them."""
    X = read_textures(run).measures()
    plain, kernel = (distances(X, name, run.settings["gamma"], run.settings["rho"]) for name in METHODS[:2])
    labels = cluster(kernel, run.settings["linkage"]).labels_
    pairs = {name: (plain[mask], kernel[mask]) for name, mask in _blocks(labels).items()}
    found = {name: _correlations(*block) for name, block in pairs.items()}
    return found, partial(figures.scatter, pairs, found)


def sensitivity(run: Run) -> Result:
    """Return chi-squares over linkages, seeds, powers, gamma, rho and grey ranges, and how far classes are apart."""
    settings = run.settings
    found = run.keep("sensitivity", depends_on(run, "sensitivity"), partial(_sensitivity_of, run))
    return found, partial(figures.sensitivity, found, settings)


def _sensitivity_of(run: Run) -> Numbers:
    settings, first = run.settings, read_textures(run)
    seeds = {str(seed): read_textures(run, seed) for seed in run.sizes["seeds"]}
    ranges = {f"{cut[0]:g} to {cut[1]:g} %": read_textures(run, cut=cut) for cut in settings["ranges"]}
    cut = {f"{run.sizes['seeds'][0]}, cut to {name}": textures for name, textures in ranges.items()}
    return {
        "slices": len(first.noisy),
        "seeds": {seed: scores(textures, settings) for seed, textures in seeds.items()},
        "power": scores(first, settings, METHODS, other_power=True),
        **_over_parameters(first, settings, settings["gammas"]),
        "range": {name: scores(textures, settings) for name, textures in ranges.items()},
        "separability": {name: _separability(textures) for name, textures in (seeds | cut).items()},
    }


def equal_moments(run: Run) -> Result:
    """Return chi-squares of slices whose mean and variance carry no information, by gamma and rho."""
    slices, settings = run.sizes["slices"], run.settings

    def compute(seed: int) -> Numbers:
        textures = of_equal_moments(slices, seed)
        found = {"scores": scores(textures, settings), "separability": _separability(textures)}
        found |= _over_parameters(textures, settings, settings["narrow_gammas"])
        run.say(f"equal moments, seed {seed}: done")
        return found

    kept = {
        str(seed): run.keep(f"equal-moments-{seed}", depends_on(run, "equal_moments"), partial(compute, seed))
        for seed in run.sizes["equal_moments"]
    }
    parts = {"seeds": "scores", "separability": "separability", "gamma": "gamma", "rho": "rho"}
    return {name: {seed: found[part] for seed, found in kept.items()} for name, part in parts.items()}, None


def _over_parameters(textures: Textures, settings: Numbers, gammas: list[float]) -> Numbers:
    """Return the scores of the methods with a point kernel over its width, and of both KL over the regularisation."""
    return {
        "gamma": {f"{gamma:g}": scores(textures, settings, METHODS[1::2], gamma=gamma) for gamma in gammas},
        "rho": {f"{rho:g}": scores(textures, settings, METHODS[2:], rho=rho) for rho in settings["rhos"]},
    }


def _correlations(x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """Return the number of pairs and their correlations; None for a cluster without two different pairs."""
    if len(x) < 2 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return {"pairs": len(x), "pearson": None, "spearman": None}
    pearson, spearman = pearsonr(x, y).statistic, spearmanr(x, y).statistic
    return {"pairs": len(x), "pearson": float(pearson), "spearman": float(spearman)}


def _separability(textures: Textures) -> dict[str, float]:
    """Return areas under the ROC curve: a logistic regression with scans held out, and single numbers of a slice.

    The mean and the variance of the 25 numbers are all that the methods without a point kernel see.
    """
    features, noisy, scan = textures.features, textures.noisy, textures.scan
    folds = GroupKFold(min(FOLDS, len(np.unique(scan))))
    machine = LogisticRegression(max_iter=2000)
    decisions = cross_val_predict(machine, features, noisy, groups=scan, cv=folds, method="decision_function")
    areas = {"logistic regression": float(roc_auc_score(noisy, decisions))}
    for name, values in (("mean", features.mean(axis=1)), ("variance", features.var(axis=1))):
        area = float(roc_auc_score(noisy, values))
        areas[name] = max(area, 1.0 - area)  # in the better direction
    return areas


def _typical(features: FloatArray, among: AnyArray) -> int:
    """Return the slice nearest to the mean of those in the mask."""
    rows = np.flatnonzero(among)
    return int(rows[np.argmin(((features[rows] - features[rows].mean(axis=0)) ** 2).sum(axis=1))])


def _blocks(labels: AnyArray) -> dict[str, AnyArray]:
    """Return masks of the pairs i < j within cluster 1, within cluster 2 and between them."""
    upper = np.triu(np.ones((len(labels), len(labels)), dtype=bool), 1)
    same, in_first = labels[:, np.newaxis] == labels, labels == 0
    return {"cluster 1": upper & same & in_first, "cluster 2": upper & same & ~in_first, "between": upper & ~same}


class _KernelWasserstein(Paper):
    def ahead(self, run: Run, chosen: set[str]) -> list[str]:
        """Say which slices and scores are there, and how long the rest takes, from a few slices and pairs."""
        return estimate.ahead(run, chosen)

    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return the contingency table, the chi-squares and what they depend on, with the paper's numbers."""
        paper, shown, made = self.expected["paper"], self.settings["shown"], []
        if "figure2" in summary:
            made += _clusters(summary["figure2"], paper["figure2"])
        if "figure3" in summary:
            made += _chi_squares(summary["figure3"], paper)
        if "figure4" in summary:
            rows = [
                [name, str(found["pairs"]), *(_three_digits(found[kind]) for kind in ("pearson", "spearman"))]
                for name, found in summary["figure4"].items()
            ]
            header = ["pairs of slices", "number", "Pearson", "Spearman"]
            made.append(PrintedTable("Figure 4: correlation of both Wasserstein distances", header, rows))
        if "sensitivity" in summary:
            made += _sensitivity(summary["sensitivity"], shown)
        if "equal_moments" in summary:
            made += _equal_moments(summary["equal_moments"], shown)
        return made

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


def _clusters(found: Numbers, paper: Numbers) -> list[PrintedTable]:
    tables = zip(found["table"], paper["table"], strict=True)
    counts = [[f"{i}", *map(str, ours), *map(str, theirs)] for i, (ours, theirs) in enumerate(tables, start=1)]
    rates = [
        [f"{name}, % in the right cluster", f"{found['rates'][name]:.1f}", f"{rate:.1f}"]
        for name, rate in paper["rates"].items()
    ]
    rates.append(["chi-square", f"{found['chi_square']:.1f}", f"{paper['chi_square']:.0f}"])
    rates.append(["p-value", f"{found['p_value']:.0e}", "< 0.0001"])
    rates.append(["adjusted Rand index", f"{found['adjusted_rand']:.3f}", ""])
    for name, distance in found["mean distance"].items():
        where = "between the clusters" if name == "between" else f"in {name}"
        rates.append([f"mean distance {where}", _three_digits(distance), ""])
    title = f"Figure 2: kernel Wasserstein distance, {found['linkage']} linkage"
    return [
        PrintedTable(title, ["cluster", "clean", "noisy", "clean, paper", "noisy, paper"], counts),
        PrintedTable("Figure 2: rates", ["", "ours", "paper"], rates),
    ]


def _chi_squares(found: Numbers, paper: Numbers) -> list[PrintedTable]:
    """Chi-squares grow with the number of slices, so they are also given as a share of it, which is at most 1."""
    n, known, linkage = found["slices"], paper["figure3"], found["linkage"]
    rows = []
    for name, theirs in known.items():
        ours = found["scores"][name][linkage]["chi_square"]
        rows.append([name, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / n:.3f}", f"{theirs / paper['slices']:.3f}"])
    header = ["method", "ours", "paper", f"ours / {n}", f"paper / {paper['slices']}"]
    return [
        PrintedTable(f"Figure 3: chi-square, {linkage} linkage", header, rows),
        _by_linkage(f"Figure 3, every linkage: {CELL}", "", {"": found["scores"]}),
    ]


def _sensitivity(found: Numbers, shown: list[str]) -> list[PrintedTable]:
    made = [
        _by_linkage(f"Simulations: {CELL}", "seed", found["seeds"]),
        *_spread(found["seeds"]),
        _by_linkage(f"W_2^2, root of J_KL: {CELL}", "", {"": found["power"]}),
    ]
    for key, title in (("gamma", "Point kernel"), ("rho", "Regularisation"), ("range", "Grey values cut off")):
        made.append(_parameter_table(f"{title}: {CELL}", key, found[key], shown))
    return [*made, _areas(found["separability"])]


def _equal_moments(found: Numbers, shown: list[str]) -> list[PrintedTable]:
    return [
        _by_linkage(f"Equal moments: {CELL}", "seed", found["seeds"]),
        _over_seeds("Equal moments, point kernel", "gamma", found["gamma"], shown),
        _over_seeds("Equal moments, regularisation", "rho", found["rho"], shown),
        _areas(found["separability"]),
    ]


def _over_seeds(title: str, key: str, seeds: Numbers, shown: list[str]) -> PrintedTable:
    """A row for each value of a parameter and each method; a cell has the chi-squares of all seeds."""
    rows = [
        [value, name, *(" / ".join(f"{seeds[seed][value][name][linkage]['chi_square']:.0f}" for seed in seeds)
                        for linkage in shown)]
        for value, scores in next(iter(seeds.values())).items()
        for name in scores
    ]  # fmt: skip
    return PrintedTable(f"{title}: chi-square of seeds {' / '.join(seeds)}", [key, "method", *shown], rows)


def _areas(areas: Numbers) -> PrintedTable:
    names = list(next(iter(areas.values())))
    rows = [[seed, *(f"{values[name]:.3f}" for name in names)] for seed, values in areas.items()]
    title = "Noisy against clean, labels known: area under the ROC curve"
    return PrintedTable(title, ["seed", *names], rows)


def _spread(seeds: Numbers) -> list[PrintedTable]:
    """Summarise all seeds and linkages but 'single', which cuts off a few odd slices for every method."""
    values: dict[str, list[float]] = {}
    for methods in seeds.values():
        for name, row in methods.items():
            values.setdefault(name, []).extend(x["chi_square"] for linkage, x in row.items() if linkage != "single")
    spread = [[name, *(f"{f(v):.0f}" for f in (min, median, max))] for name, v in values.items()]
    wins = []
    for name in ("Wasserstein", "KL"):
        gains = [b - a for a, b in zip(values[name], values[f"kernel {name}"], strict=True)]
        counts = (sum(g > SAME for g in gains), sum(abs(g) <= SAME for g in gains), sum(g < -SAME for g in gains))
        wins.append([name, *map(str, counts)])
    title = "All seeds and linkages but single"
    return [
        PrintedTable(f"{title}: chi-square", ["method", "lowest", "median", "highest"], spread),
        PrintedTable(f"{title}: chi-square with a point kernel", ["method", "higher", "equal", "lower"], wins),
    ]


def _by_linkage(title: str, key: str, many: Numbers) -> PrintedTable:
    """A row for each linkage of each entry of ``many``, a column for each method."""
    rows = [
        [*([value] if key else []), linkage, *(_cell(row[linkage]) for row in scores.values())]
        for value, scores in many.items()
        for linkage in next(iter(scores.values()))
    ]
    names = list(next(iter(many.values())))
    return PrintedTable(title, [*([key] if key else []), "linkage", *names], rows)


def _parameter_table(title: str, key: str, over: Numbers, shown: list[str]) -> PrintedTable:
    rows = [
        [value, name, *(_cell(row[linkage]) for linkage in shown)]
        for value, scores in over.items()
        for name, row in scores.items()
    ]
    return PrintedTable(title, [key, "method", *shown], rows)


def _three_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _cell(score: Numbers) -> str:
    return f"{score['chi_square']:.0f} ({score['smaller']})"


PAPER = _KernelWasserstein(
    __package__, by_name(figure1, figure2, figure3, figure4, sensitivity), by_name(equal_moments)
)
