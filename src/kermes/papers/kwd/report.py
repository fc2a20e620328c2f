"""The numbers as tables to print."""

from __future__ import annotations

from statistics import median

from .._paper import Numbers, PrintedTable

#: What a cell shows: a small cluster says that a linkage has cut off a few odd slices.
CELL = "chi-square (size of the smaller cluster)"

#: Chi-squares that differ by less are of the same clusters.
SAME = 1e-9


def tables(summary: dict[str, Numbers], paper: Numbers, shown: list[str]) -> list[PrintedTable]:
    """Return the tables of the pieces in the summary; those over a parameter have the linkages ``shown``."""
    made = []
    if "figure2" in summary:
        made += [_contingency(summary["figure2"], paper["figure2"]), _rates(summary["figure2"], paper["figure2"])]
    if "figure3" in summary:
        made += _chi_squares(summary["figure3"], paper)
    if "figure4" in summary:
        rows = [
            [name, str(found["pairs"]), _number(found["pearson"], 3), _number(found["spearman"], 3)]
            for name, found in summary["figure4"].items()
        ]
        header = ["pairs of slices", "number", "Pearson", "Spearman"]
        made.append(PrintedTable("Figure 4: correlation of both Wasserstein distances", header, rows))
    if "sensitivity" in summary:
        made += _sensitivity(summary["sensitivity"], shown)
    return made


def _contingency(found: Numbers, paper: Numbers) -> PrintedTable:
    rows = [
        [f"{i}", *map(str, ours), *map(str, theirs)]
        for i, (ours, theirs) in enumerate(zip(found["table"], paper["table"], strict=True), start=1)
    ]
    title = f"Figure 2: kernel Wasserstein distance, {found['linkage']} linkage"
    return PrintedTable(title, ["cluster", "clean", "noisy", "clean, paper", "noisy, paper"], rows)


def _rates(found: Numbers, paper: Numbers) -> PrintedTable:
    rows = [
        [f"{name}, % in the right cluster", f"{found['rates'][name]:.1f}", f"{rate:.1f}"]
        for name, rate in paper["rates"].items()
    ]
    rows.append(["chi-square", f"{found['chi_square']:.1f}", f"{paper['chi_square']:.0f}"])
    rows.append(["adjusted Rand index", f"{found['adjusted_rand']:.3f}", ""])
    return PrintedTable("Figure 2: rates", ["", "ours", "paper"], rows)


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
        made.append(_over(f"{title}: {CELL}", key, found[key], shown))
    areas = found["separability"]
    names = list(next(iter(areas.values())))
    rows = [[seed, *(f"{values[name]:.3f}" for name in names)] for seed, values in areas.items()]
    title = "Noisy against clean, labels known: area under the ROC curve"
    return [*made, PrintedTable(title, ["seed", *names], rows)]


def _spread(seeds: Numbers) -> list[PrintedTable]:
    """Summarise all seeds and linkages but 'single', which cuts off a few odd slices for every method."""
    values: dict[str, list[float]] = {}
    for scores in seeds.values():
        for name, row in scores.items():
            kept = [score["chi_square"] for linkage, score in row.items() if linkage != "single"]
            values.setdefault(name, []).extend(kept)
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


def _over(title: str, key: str, over: Numbers, shown: list[str]) -> PrintedTable:
    rows = [
        [value, name, *(_cell(row[linkage]) for linkage in shown)]
        for value, scores in over.items()
        for name, row in scores.items()
    ]
    return PrintedTable(title, [key, "method", *shown], rows)


def _cell(score: Numbers) -> str:
    return f"{score['chi_square']:.0f} ({score['smaller']})"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
