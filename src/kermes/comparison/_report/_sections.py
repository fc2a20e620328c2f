"""Sections of a report: each takes numbers and returns HTML."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..._quantities import duration
from ..._typing import AnyArray, FloatArray, IndexArray
from ...definiteness import Spectrum
from ...measures import Measures
from ...measures._html import thumbnails
from ...plot._display import CLASS_PALETTE
from ._charts import data_uri, heat, regression_chart, sample_map, spectrum_chart

if TYPE_CHECKING:
    from .._result import Row

MOST_CLASSES = 30


def leaderboard(entries: Sequence[Row], score: str) -> str:
    """Return the candidates, the best first, and below them those that failed or were left out."""
    high = max((entry.mean for entry in entries if entry.mean is not None), default=1.0)
    rows = "".join(_row(entry, rank, high) for rank, entry in enumerate(entries, 1))
    head = (
        '<th class="number">#</th><th>candidate</th>'
        f'<th class="number">{escape(score)}</th><th></th><th class="number">distances</th>'
        '<th class="number">fits</th><th>kernel</th><th>remark</th>'
    )
    return f'<div class="wide"><table class="leaderboard"><tr>{head}</tr>{rows}</table></div>'


def _row(entry: Row, rank: int, high: float) -> str:
    if entry.mean is None:
        return (
            f'<tr class="failed"><td></td><td>{escape(entry.name)}</td>'
            f'<td colspan="6" class="note">{escape(entry.status)}: {escape(entry.remark)}</td></tr>'
        )
    share = max(entry.mean, 0.0) / high if high > 0 else 0.0
    bar = f'<div class="bar"><i style="width:{100 * share:.0f}%"></i></div>'
    cells = (
        f'<td class="number">{rank}</td><td>{escape(entry.name)}</td>'
        f'<td class="number">{entry.mean:.3f} ± {entry.std:.3f}</td><td>{bar}</td>'
        f'<td class="number">{_seconds(entry.distance_seconds)}</td>'
        f'<td class="number">{_seconds(entry.fit_seconds)}</td>'
        f'<td>{escape(entry.definiteness)}</td><td class="note">{escape(entry.remark)}</td>'
    )
    return f'<tr class="{"best" if rank == 1 else ""}">{cells}</tr>'


def _seconds(seconds: float) -> str:
    return duration(seconds) if seconds else ""


def code(*blocks: str) -> str:
    """Return blocks of text to be copied."""
    return "".join(
        f'<pre><code>{escape(block)}</code><button class="copy" type="button">copy</button></pre>' for block in blocks
    )


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


def sample_pictures(X: Measures) -> str:
    """Return a hidden picture of each sample, for hovering."""
    pictures = "".join(f'<div id="sample-{i}">{svg}</div>' for i, svg in enumerate(thumbnails(X)))
    return f"<div hidden>{pictures}</div>"


def class_map(plane: FloatArray, y: AnyArray, captions: Sequence[str], wrong: AnyArray) -> str:
    """Return the map of the samples, a colour for each class."""
    classes, codes = np.unique(y, return_inverse=True)
    # On dark paper the style sheet has brighter ones for the colours that would vanish.
    palette = [f"var(--class-{c}, {colour})" for c, colour in enumerate(CLASS_PALETTE)]
    colours = [palette[c % len(palette)] for c in codes]
    legend = "".join(
        f'<span><b style="background:{palette[c % len(palette)]}"></b>{escape(str(name))}</span>'
        for c, name in enumerate(classes[:MOST_CLASSES])
    )
    names = [str(name) for name in y]
    marks = names if max(map(len, names)) <= 2 else [""] * len(y)  # short names fit into a dot
    return f'<div class="legend">{legend}</div>{sample_map(plane, colours, marks, captions, wrong)}'


def value_map(plane: FloatArray, y: FloatArray, captions: Sequence[str]) -> str:
    """Return the map of the samples, coloured by their targets."""
    extent = float(np.ptp(y)) or 1.0
    colours = ["rgb({},{},{})".format(*rgb) for rgb in heat((y - y.min()) / extent)]
    note = f'<p class="note">Colour: the target, from dark ({y.min():.3g}) to bright ({y.max():.3g}).</p>'
    return note + sample_map(plane, colours, [""] * len(y), captions, np.zeros(len(y), dtype=bool))


def neighbours(D: FloatArray, rows: IndexArray, captions: Sequence[str], pictures: Sequence[str], k: int) -> str:
    """Return rows of pictures: a sample and its k nearest, with their distances."""
    out = []
    for i in rows:
        near = [j for j in np.argsort(D[i], kind="stable") if j != i][:k]
        figures = [f"<figure>{pictures[i]}<figcaption>{escape(captions[i])}<br>&nbsp;</figcaption></figure>"]
        figures += [
            f"<figure>{pictures[j]}<figcaption>{escape(captions[j])}<br>{D[i, j]:.3g}</figcaption></figure>"
            for j in near
        ]
        out.append(f'<div class="row">{"".join(figures)}</div>')
    return "".join(out)


def facts(items: Mapping[str, str]) -> str:
    """Return names and values as a table."""
    rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in items.items())
    return f'<div class="wide"><table class="facts">{rows}</table></div>'
