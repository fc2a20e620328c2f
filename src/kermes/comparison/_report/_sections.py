"""Sections of a report: each takes numbers and returns HTML.

Those on the classes (do they differ, where, what is typical of each) are extras: each is ``None`` where the data do not
suit it, and :func:`attempt` drops one that fails.
"""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, TypeVar

import numpy as np
from sklearn.metrics import confusion_matrix

from ..._quantities import among, duration
from ..._typing import AnyArray, FloatArray, IndexArray
from ...definiteness import Spectrum
from ...divergences import Sinkhorn, SlicedWasserstein
from ...inference import barycenter, dispersion, permanova
from ...inspection import difference
from ...measures import Measures
from ...measures._html import thumbnails
from ...plot._display import CLASS_PALETTE
from .._result import Row
from ._charts import data_uri, difference_chart, heat, regression_chart, sample_map, spectrum_chart

MOST_CLASSES = 30
Made = TypeVar("Made")
PERMUTATIONS = 999
#: Classes that are shown at most, images of a class that are averaged, and iterations of a barycentre.
MOST_MEMBERS, MOST_IMAGES, ITERATIONS = 12, 30, 50
#: Multiplications that barycentres may take: about a second.
MOST_WORK = 2e9
#: Points of clouds that are averaged at most, and directions in which their atoms are moved.
MOST_ATOMS, SLICES = 50_000, 30
#: Entropy of a barycentre as a part of the largest cost: as sharp as products without logarithms allow.
BLUR = 1 / 200
NESTED = "The groups of the validation lie within classes: one centroid for each of them is permuted. "
CROSSED = "Labels are permuted within the groups of the validation. "


def leaderboard(entries: Sequence[Row], score: str) -> str:
    """Return the candidates, the best first, and below them those that failed or were left out."""
    high = max((entry.mean for entry in entries if entry.mean is not None), default=1.0)
    rows = "".join(_row(entry, rank, high) for rank, entry in enumerate(entries, 1))
    head = _cells("#", "candidate", escape(score), "", "distances", "fits", "kernel", "remark", tag="th")
    return f'<div class="wide"><table class="leaderboard"><tr>{head}</tr>{rows}</table></div>'


def _row(entry: Row, rank: int, high: float) -> str:
    if entry.mean is None:
        return (
            f'<tr class="failed"><td></td><td>{escape(entry.name)}</td>'
            f'<td colspan="6" class="note">{escape(entry.status)}: {escape(entry.remark)}</td></tr>'
        )
    share = max(entry.mean, 0.0) / high if high > 0 else 0.0
    bar = f'<div class="bar"><i style="width:{100 * share:.0f}%"></i></div>'
    times = [duration(seconds) if seconds else "" for seconds in (entry.distance_seconds, entry.fit_seconds)]
    score = f"{entry.mean:.3f} ± {entry.std:.3f}"
    cells = _cells(str(rank), escape(entry.name), score, bar, *times, escape(entry.definiteness))
    return f'<tr class="{"best" if rank == 1 else ""}">{cells}<td class="note">{escape(entry.remark)}</td></tr>'


def _cells(*cells: str, tag: str = "td") -> str:
    """Return cells of the leaderboard, whose columns 0, 2, 4 and 5 are numbers."""
    kinds = [' class="number"' if i in (0, 2, 4, 5) else "" for i in range(len(cells))]
    return "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))


def confusion(y: AnyArray, predicted: AnyArray) -> str:
    """Return the table of true (rows) against predicted (columns) classes."""
    classes, codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    if len(classes) > MOST_CLASSES:
        return f'<p class="note">{len(classes)} classes: too many for a table.</p>'
    table = np.zeros((len(classes), len(classes)), dtype=np.intp)
    np.add.at(table, (codes[: len(y)], codes[len(y) :]), 1)
    names = [escape(str(name)) for name in classes]
    head = "<th></th>" + "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(
        f"<tr><th>{name}</th>" + "".join(_cell(n, line.sum(), i == j) for j, n in enumerate(line)) + "</tr>"
        for i, (name, line) in enumerate(zip(names, table, strict=True))
    )
    right = np.trace(table) / table.sum()
    return (
        f"<p>{right:.1%} right; a row is a true class, a column what was predicted.</p>"
        f'<div class="wide"><table class="confusion"><tr>{head}</tr>{rows}</table></div>'
    )


def _cell(count: int, of: int, diagonal: bool) -> str:
    if not count:
        return "<td></td>"
    alpha = (0.12 + 0.5 * count / of) if diagonal else 0
    weight = "" if diagonal else ' class="wrong"'
    return f'<td{weight} style="background:rgba(var(--shade),{alpha:.2f})">{count}</td>'


def regression(y: FloatArray, predicted: FloatArray) -> str:
    """Return the chart of predictions against targets."""
    error = float(np.sqrt(np.mean((y - predicted) ** 2)))
    return (
        f"<p>Root mean squared error {error:.3g}; the standard deviation of the targets is {y.std():.3g}.</p>"
        f"{regression_chart(y, predicted)}"
    )


def heat_map(D: FloatArray, order: IndexArray, names: Sequence[str], divergence: str) -> str:
    """Return the distances in the order of a clustering, with both samples and their distance on hover."""
    top = float(D.max()) or 1.0
    shown = D[np.ix_(order, order)] / top
    values = base64.b64encode((shown * 255).round().astype(np.uint8).tobytes()).decode()
    labels = escape(json.dumps([names[i] for i in order]))
    return (
        f'<figure><img class="heat" alt="Distances between samples" src="{data_uri(heat(shown))}" '
        f'data-values="{values}" data-names="{labels}" data-top="{top!r}">'
        f"<figcaption>{escape(divergence)}, ordered so that near samples stand together; dark: 0, bright: {top:.3g}."
        "</figcaption></figure>"
    )


def spectrum(report: Spectrum) -> str:
    """Return the eigenvalues and the verdict."""
    meaning = "Every learner that needs a positive semidefinite matrix may use it."
    if report.verdict == "indefinite":
        meaning = (
            "Least-squares machines, nearest neighbours and clustering do not mind; Gaussian processes do. "
            "A shorter length scale, or definiteness.repair, makes it positive semidefinite."
        )
    return f"<p>{escape(repr(report))}. {meaning}</p>{spectrum_chart(report.eigenvalues)}"


def class_map(plane: FloatArray, y: AnyArray, captions: Sequence[str], wrong: AnyArray) -> str:
    """Return the map of the samples, a colour for each class; a number besides where there are more than colours."""
    classes, codes = np.unique(y, return_inverse=True)
    # On dark paper the style sheet has brighter ones for the colours that would vanish.
    palette = [f"var(--class-{c}, {colour})" for c, colour in enumerate(CLASS_PALETTE)]
    colours = [palette[c % len(palette)] for c in codes]
    names = [str(name) for name in classes]
    short = max(map(len, names)) <= 2  # fits into a dot
    numbered = not short and len(names) > len(palette)
    marks = names if short else [str(c + 1) if numbered else "" for c in range(len(names))]
    legend = "".join(
        f'<span><b style="background:{palette[c % len(palette)]}"></b>{f"{c + 1}: " * numbered}{escape(name)}</span>'
        for c, name in enumerate(names[:MOST_CLASSES])
    )
    return f'<div class="legend">{legend}</div>{sample_map(plane, colours, [marks[c] for c in codes], captions, wrong)}'


def value_map(plane: FloatArray, y: FloatArray, captions: Sequence[str]) -> str:
    """Return the map of the samples, coloured by their targets."""
    extent = float(np.ptp(y)) or 1.0
    colours = ["rgb({},{},{})".format(*rgb) for rgb in heat((y - y.min()) / extent)]
    low, high = (among(end, y.min(), y.max()) for end in (y.min(), y.max()))
    note = f'<p class="note">Colour: the target, from dark ({low}) to bright ({high}).</p>'
    return note + sample_map(plane, colours, [""] * len(y), captions, np.zeros(len(y), dtype=bool))


def neighbours(D: FloatArray, near: IndexArray, captions: Sequence[str], pictures: Sequence[str]) -> str:
    """Return rows of pictures: a sample and its nearest, with their distances; ``near`` has a row for each."""
    out, k = "", near.shape[1]
    for place, row in enumerate(near):
        below = ["&nbsp;", *(f"{D[row[0], j]:.3g}" for j in row[1:])]
        own = slice(place * k, (place + 1) * k)
        out += _figures(pictures[own], captions[own], below)
    return out


def attempt(make: Callable[..., Made | None], *args: Any) -> Made | None:
    """Return what a function makes, or None if it fails: nobody should lose a report to an extra."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(*args)
        except Exception:
            return None


def do_they_differ(D: FloatArray, y: AnyArray, groups: AnyArray | None, divergence: str) -> str | None:
    """Return both tests on the distances; samples of one group are not independent, and are kept together."""
    if min(np.unique(y, return_counts=True)[1]) < 2:
        return None
    options: dict[str, Any] = {"n_permutations": PERMUTATIONS, "random_state": 0}
    if groups is not None:
        options["units" if _nested(y, groups) else "blocks"] = groups
    run: dict[str, Callable[..., Any]] = {"centres (PERMANOVA)": permanova, "spread (dispersion)": dispersion}
    tests = {name: test(D, y, "precomputed", **options) for name, test in run.items()}
    head = '<th>of the classes</th><th class="number">F</th><th class="number">R²</th><th class="number">p</th>'
    rows = "".join(
        f'<tr><td>{name}</td><td class="number">{test.statistic:.3g}</td><td class="number">{test.effect_size:.3f}</td>'
        f'<td class="number">{test.p_value:.3g}</td></tr>'
        for name, test in tests.items()
    )
    how = "" if groups is None else NESTED if _nested(y, groups) else CROSSED
    return (
        f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'
        f'<p class="note">On {escape(divergence)}, {len(y)} samples, at most {PERMUTATIONS} permutations. {how}'
        "This distance was chosen because it predicts these very labels, so both p-values are optimistic: to draw a "
        "conclusion, name a distance beforehand and test new samples (kermes test). Centres that differ together with "
        "spread may be a matter of spread alone.</p>"
    )


def where_they_differ(
    X: Measures,
    y: AnyArray,
    predicted: AnyArray,
    D: FloatArray,
    groups: AnyArray | None,
    columns: Sequence[str] = (),
    units: FloatArray | None = None,
) -> str | None:
    """Return the chart of the difference of two classes: of the two that are most often confused, if there are more.

    Points are compared in ``units`` of each coordinate, and drawn as they are.
    """
    if groups is not None and _nested(y, groups):  # no unit of permutation that pixels or points could have
        return None
    pair = _confused(y, predicted, D)
    rows = np.isin(y, pair)
    compared = X[rows] if units is None else X[rows].map_points(lambda points: points / units)
    found = difference(
        compared, y[rows], n_points=400, n_permutations=PERMUTATIONS, random_state=0,
        blocks=None if groups is None else groups[rows],
    )  # fmt: skip
    found = found if units is None else found.scaled(units)
    first, second = (escape(str(name)) for name in found.groups)
    two = len(np.unique(y)) == 2
    which = "" if two else " (of all pairs of classes the hardest to tell apart)"
    along = X.dim > 2 and found.shape is None  # then the chart shows coordinates
    places, more = ("coordinates", "larger") if along else ("places", "more")
    axes = zip(("Across", "upwards"), columns, strict=False) if found.shape is None and not along else ()
    named = ", ".join(f"{axis}: {escape(name)}" for axis, name in axes)
    named += ". " if named else ""
    part = found.coordinates
    out = part.scores > part.bands if along else found.significant
    p = float(part.p_values.min()) if along else found.p_value
    return (
        f"<p>{second} minus {first}{which}: {np.count_nonzero(out)} of {len(out)} {places} leave the 95 % band of "
        f"chance, p = {p:.3g}.</p>{difference_chart(found, columns)}"
        f'<p class="note">{named}Orange: {more} in {second}; blue: {more} in {first}; pale: within the band, which '
        f"holds for all {places} together. No distance takes part in this"
        f"{', and nothing was chosen' if two else '; the pair was chosen by its errors and distances'}.</p>"
    )


def typical(X: Measures, y: AnyArray, D: FloatArray, caption: Callable[[int], str]) -> str | None:
    """Return the medoid of each class, and its barycentre if that can be drawn and takes a moment only."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > MOST_MEMBERS:
        return None
    members = [np.flatnonzero(codes == c) for c in range(len(classes))]
    medoids = [int(rows[np.argmin([D[i, rows].sum() for i in rows])]) for rows in members]
    pictures = thumbnails(X[medoids])
    html = _figures(pictures, [caption(i) for i in medoids])
    note = "The sample of each class whose distances to the others of its class have the smallest sum"
    if means := attempt(_barycentres, X, members):
        html += _figures(means, [f"mean of {name}" for name in classes])
        kind = "sliced" if X.support is None or X.support.shape is None else "debiased entropic"
        note += f"; below, the {kind} barycentre of up to {MOST_IMAGES} samples of each class"
    return f'{html}<p class="note">{note}.</p>'


def _barycentres(X: Measures, members: Sequence[IndexArray]) -> list[str] | None:
    """Return pictures of the barycentres of classes of images, or of clouds on the line or in the plane."""
    chosen = [rows[np.unique(np.linspace(0, len(rows) - 1, MOST_IMAGES).round().astype(int))] for rows in members]
    parts = [X[rows] for rows in chosen]
    if X.support is None or X.support.shape is None:
        if X.dim > 2 or sum(len(part.points) for part in parts) > MOST_ATOMS:
            return None
        options: dict[str, Any] = {"divergence": SlicedWasserstein(n_slices=SLICES), "random_state": 0}
        clouds = [barycenter(part, max_iter=ITERATIONS, **options) for part in parts]
        return thumbnails(Measures.concatenate(clouds))  # in one frame
    h, w = X.support.shape
    if sum(map(len, chosen)) * 4.0 * h * w * (h + w) * ITERATIONS > MOST_WORK:
        return None
    largest = float((np.ptp(X.support.points, axis=0) ** 2).sum())
    divergence = Sinkhorn(epsilon=BLUR * largest, value="debiased")
    means = [barycenter(part, divergence=divergence, max_iter=ITERATIONS) for part in parts]
    return [thumbnails(mean)[0] for mean in means]


def _figures(pictures: Sequence[str], captions: Sequence[str], below: Sequence[str] = ()) -> str:
    """Return a row of pictures with their captions, and what stands below those."""
    lines = [f"<br>{line}" for line in below] or [""] * len(captions)
    figures = (
        f"<figure>{picture}<figcaption>{escape(caption)}{line}</figcaption></figure>"
        for picture, caption, line in zip(pictures, captions, lines, strict=True)
    )
    return f'<div class="{"row" if below else "row even"}">{"".join(figures)}</div>'


def _nested(y: AnyArray, groups: AnyArray) -> bool:
    """Return whether every group is of one class."""
    return all(len(np.unique(y[groups == group])) == 1 for group in np.unique(groups))


def _confused(y: AnyArray, predicted: AnyArray, D: FloatArray) -> AnyArray:
    """Return the two classes that are most often confused; of equals, the two that are nearest on average."""
    classes = np.unique(y)
    counts = confusion_matrix(y, predicted, labels=classes)
    near = np.array([[D[np.ix_(y == a, y == b)].mean() for b in classes] for a in classes])
    closeness = counts + counts.T + 0.5 * (1.0 - near / (near.max() or 1.0))
    closeness[np.tril_indices(len(classes))] = -1.0
    return np.asarray(classes[list(np.unravel_index(closeness.argmax(), closeness.shape))])
