"""The page of a comparison: one HTML file that fetches nothing.

Here are the report, its sections in order, and the way from a comparison to it · ``_sections`` numbers to HTML ·
``_charts`` pictures · ``_code`` a model as code; the frame of the page has ``style.css`` and ``script.js``.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..._atomic import whole
from ..._estimator import default_divergence
from ..._quantities import among, duration
from ..._typing import AnyArray, FloatArray, IndexArray
from ...clustering import HierarchicalClustering
from ...definiteness import spectrum
from ...divergences import Divergence
from ...engine import pairwise
from ...exceptions import InvalidParameterError
from ...inspection import data_map
from ...measures import Measures
from ...measures._html import thumbnails
from .._result import Comparison, OutOfFold, Row
from .._search import gram_of
from . import _sections as sections
from ._code import describe, expression, source_code

#: Rows and columns of the gallery of neighbours.
GALLERY = (8, 6)


@dataclass(frozen=True)
class Report:
    """A leaderboard with what stands behind its first line, as one self-contained HTML file.

    Parameters
    ----------
    X : Measures
        The samples.
    y : ndarray of shape (n,)
        Their labels or targets.
    predicted : ndarray of shape (n,)
        Predictions for samples that were left out of the fit.
    distances : ndarray of shape (n, n)
        Distances behind the best candidate.
    divergence : str
        What these distances are.
    entries : sequence of Row
        The leaderboard, the best first.
    task : 'classification' or 'regression'
        Whether y are labels.
    score : str
        What the leaderboard counts.
    model, code, command : str
        The best model, and how to get it again: from Python and from the command line.
    gram : ndarray of shape (n, n), optional
        Kernel matrix whose spectrum is shown.
    facts : mapping of str to str
        Timings, status, versions.
    title : str
        Heading of the page.
    most_samples : int
        Samples that are drawn at most, spread evenly; 600 pictures are a few megabytes.
    groups : ndarray of shape (n,), optional
        Groups of samples that the validation kept together.
    columns : sequence of str
        Names of the coordinates, if they have any.
    numbers : ndarray of shape (n,), optional
        Row numbers of the samples in the data, if these are not all of them.
    left_out : pair of ndarrays, optional
        Truth and prediction of each time that a sample was left out, if that was more than once.
    units : ndarray of shape (d,), optional
        By which coordinates were divided before distances were computed.

    Notes
    -----
    The page fetches nothing, so that it can be mailed and kept.
    """

    X: Measures
    y: AnyArray
    predicted: AnyArray
    distances: FloatArray
    divergence: str
    entries: Sequence[Row]
    task: Literal["classification", "regression"]
    score: str
    model: str
    code: str
    command: str = ""
    gram: FloatArray | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    title: str = "kermes: which kernel?"
    most_samples: int = 600
    groups: AnyArray | None = None
    columns: Sequence[str] = ()
    numbers: IndexArray | None = None
    left_out: tuple[AnyArray, AnyArray] | None = None
    units: FloatArray | None = None

    def html(self) -> str:
        """Return the page."""
        pairs, one = self.left_out or (self.y, self.predicted), "most frequent"
        if self.task == "classification":
            targets, predictions = f"{len(np.unique(self.y))} classes", sections.confusion(*pairs)
        else:
            ends = self.y.min(), self.y.max()
            targets = "targets from {} to {}".format(*(among(end, *ends) for end in ends))
            predictions, one = sections.regression(*pairs), "mean"
        lead = f"{self.X!r}, {targets}. Best: {self.entries[0].name}." if self.entries else repr(self.X)
        button = '<button class="copy" type="button">copy</button>'
        blocks = (f"<pre><code>{escape(text)}</code>{button}</pre>" for text in (self.code, self.command) if text)
        note = "Each sample was predicted by a model that had not seen it."
        if self.left_out is not None:
            note = (
                f"{len(pairs[0])} predictions of {len(self.y)} samples, each by a model that had not seen the sample; "
                f"below, a sample has its {one} prediction."
            )
        parts = {
            "Leaderboard": sections.leaderboard(self.entries, self.score),
            "Model": f"<p><code>{escape(self.model)}</code></p>{''.join(blocks)}",
            "Predictions": f'{predictions}<p class="note">{note}</p>',
            **self._classes(),
            **self._pictures(),
        }
        if self.gram is not None:
            parts["Definiteness"] = sections.spectrum(spectrum(self.gram))
        rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self.facts.items())
        parts["How it was computed"] = f'<div class="wide"><table class="facts">{rows}</table></div>'
        return page(self.title, lead, parts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; a file of that name is replaced when the new one is complete."""
        page = self.html()
        with whole(path) as part:
            part.write_text(page, encoding="utf-8", errors="backslashreplace")  # names of files may be no text
        return Path(path)

    def _classes(self) -> dict[str, str]:
        """Return the sections on classes for which the data are suitable; tests are of the samples that are drawn."""
        if self.task != "classification" or len(np.unique(self.y)) < 2:
            return {}
        shown, X, y, D, _ = self._shown()
        groups = None if self.groups is None else self.groups[shown]
        where = partial(sections.where_they_differ, columns=self.columns, units=self.units)
        found = {
            "Do the classes differ?": sections.attempt(sections.do_they_differ, D, y, groups, self.divergence),
            "Where they differ": sections.attempt(where, X, y, self.predicted[shown], D, groups),
            "Typical members": sections.attempt(sections.typical, self.X, self.y, self.distances, self._caption),
        }
        return {title: html for title, html in found.items() if html is not None}

    def _pictures(self) -> dict[str, str]:
        """Return the sections that draw samples: map, heat map, neighbours."""
        shown, X, y, D, captions = self._shown()
        plane = data_map(D, "precomputed")
        tree = HierarchicalClustering("precomputed", n_clusters=1, optimal_ordering=True).fit(D)
        if self.task == "classification":
            wrong = np.asarray(self.y != self.predicted)
            bad = np.flatnonzero(wrong)
            map_html = sections.class_map(plane.coordinates, y, captions, wrong[shown])
            first, rings = "wrong predictions", "Wrongly predicted: with a ring. "
        else:  # the tenth with the largest errors
            error = np.abs(self.y - self.predicted)
            bad = np.argsort(-error, kind="stable")[: np.count_nonzero(error > np.quantile(error, 0.9))]
            map_html, first, rings = sections.value_map(plane.coordinates, y, captions), "the largest errors", ""
        note = (
            f'<p class="note">Classical scaling: two coordinates keep {plane.explained or 0:.0%} of the geometry '
            f"(stress {plane.stress:.2f}). {rings}Hover or touch to see a sample.</p>"
        )
        if len(shown) < len(self.X):
            note += f'<p class="note">{len(shown)} of {len(self.X)} samples are drawn.</p>'
        pictures = thumbnails(X)
        hidden = "".join(f'<div id="sample-{i}">{svg}</div>' for i, svg in enumerate(pictures))  # for hovering
        nearest = _nearest(self.distances, _gallery(bad, len(self.X)))  # among all samples
        named, drawn = [self._caption(i) for i in nearest.ravel()], thumbnails(self.X[nearest.ravel()])
        near = sections.neighbours(self.distances, nearest, named, drawn)
        return {
            "Map of the samples": f"{map_html}{note}<div hidden>{hidden}</div>",
            "Distances": sections.heat_map(D, tree.leaves_, captions, self.divergence),
            "Nearest neighbours": f'<p class="note">A sample, and those nearest to it; {first} come first.</p>{near}',
        }

    def _shown(self) -> tuple[IndexArray, Measures, AnyArray, FloatArray, list[str]]:
        """Return the rows of the samples that are drawn; the samples, their targets, distances and captions."""
        n = len(self.X)
        rows = np.unique(np.linspace(0, n - 1, min(n, self.most_samples)).round().astype(np.intp))
        captions = [self._caption(i) for i in rows]
        return rows, self.X[rows], self.y[rows], self.distances[np.ix_(rows, rows)], captions

    def _caption(self, i: int | np.integer) -> str:
        key, both = self.X[int(i)].key, (self.y[i], self.predicted[i])
        ends = (self.y.min(), self.y.max()) if self.task == "regression" else None
        truth, guess = (str(v) if ends is None else among(v, *ends) for v in both)
        number = i if self.numbers is None else self.numbers[i]
        name = f"{number if key is None else key}: {truth}"
        if self.task == "regression":
            return f"{name}, predicted {guess}"
        return name if self.y[i] == self.predicted[i] else f"{name}, taken for {guess}"


def _gallery(bad: IndexArray, n: int) -> IndexArray:
    """Return the samples of the gallery, of n: bad ones for the first half, in their order, others spread evenly."""
    good = np.setdiff1d(np.arange(n), bad)
    bad = bad[: max(GALLERY[0] // 2, GALLERY[0] - len(good))]
    rest = min(GALLERY[0] - len(bad), len(good))
    return np.concatenate([bad, good[np.linspace(0, len(good) - 1, rest).round().astype(np.intp)]]).astype(np.intp)


def _nearest(D: FloatArray, rows: IndexArray) -> IndexArray:
    """Return the samples, and those nearest to each: a row for each."""
    near = ([j for j in np.argsort(D[i], kind="stable") if j != i][: GALLERY[1]] for i in rows)
    return np.array([[i, *others] for i, others in zip(rows, near, strict=True)], dtype=np.intp)


def page(title: str, lead: str, sections: Mapping[str, str]) -> str:
    """Return the whole HTML file; sections are by their headings."""
    anchors = {heading: "-".join(heading.lower().rstrip("?").split()) for heading in sections}
    links = "".join(f'<a href="#{anchor}">{escape(heading)}</a>' for heading, anchor in anchors.items())
    body = "".join(
        f'<section id="{anchors[heading]}"><details open><summary><h2>{escape(heading)}</h2></summary>'
        f"{html}</details></section>\n"
        for heading, html in sections.items()
    )
    style, script = (
        resources.files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "script.js")
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # no request for an icon
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p><nav>{links}</nav></header>\n'
        f'{body}<div id="tip" role="tooltip"></div>\n<script>\n{script}</script>\n</body>\n</html>\n'
    )


def comparison_report(found: Comparison, command: str = "", columns: Sequence[str] = ()) -> Report:
    """Return the report of a comparison whose best candidate was fitted; ``command`` is how it was called."""
    if len(columns) not in (0, found.X.dim):
        raise InvalidParameterError(
            f"`columns` must hold {found.X.dim} names, one for each coordinate; got {len(columns)}."
        )
    best, model = found.rows[0], found.best_
    left_out = found.out_of_fold(best.name)
    rows, predicted = _one_each(left_out, found.task)
    gram, distances, divergence = _matrices(found, rows)
    n = len(found.X)
    never = "" if len(rows) == n else f"; {n - len(rows)} samples were never left out, and are not on this page"
    ok = sum(row.status == "ok" for row in found.rows)
    seconds = sum(row.fit_seconds for row in found.rows)
    warned = sorted({warning for row in found.rows for warning in row.warnings})
    versions = [f"{name} {version(name)}" for name in ("kermes", "scikit-learn", "numpy")]
    facts = {
        "samples": f"{n}, {n * (n - 1) // 2:,} pairs; each pair of a distance was computed once",
        "validation": f"{len(found.folds)} outer folds; settings searched on {found.inner_cv} inner folds of each"
        + never,
        "candidates": f"{ok} of {len(found.rows)} finished",
        "time": f"searches and fits {duration(seconds)}; distances: see the leaderboard",
        "convergence": "; ".join(warned) or "no warning",
        "seed": str(found.random_state),
        "versions": f"{', '.join(versions)}, Python {platform.python_version()}",
    }
    return Report(
        X=found.X[rows],
        y=found.y[rows],
        predicted=predicted,
        distances=distances,
        divergence=divergence,
        entries=found.rows,
        task=found.task,  # type: ignore[arg-type]
        score="R²" if found.scoring == "r2" else found.scoring,
        model=describe(model),
        code=source_code(model),
        command=command,
        gram=gram,
        groups=None if found.groups is None else np.asarray(found.groups)[rows],
        facts=facts,
        columns=columns,
        numbers=rows,
        left_out=None if len(rows) == len(left_out.rows) else (left_out.truth, left_out.predicted),
        units=_units_of(model),
    )


def _units_of(model: Any) -> FloatArray | None:
    """Return the units in which a model takes coordinates, if scaling them is its first step; None otherwise."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    scaler = getattr(getattr(model, "preprocessing_", None), "transformer_", None)
    if not isinstance(scaler, (MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)):
        return None
    zero = np.zeros((1, scaler.n_features_in_))
    return np.ravel(scaler.inverse_transform(zero + 1.0) - scaler.inverse_transform(zero))


def _one_each(left_out: OutOfFold, task: str) -> tuple[IndexArray, AnyArray]:
    """Return the samples that were left out, each once, and one prediction of each: the most frequent, or the mean.

    With folds of one's own a sample may be left out several times, or never.
    """
    rows, places = np.unique(left_out.rows, return_inverse=True)
    if task == "regression":
        return rows, np.bincount(places, left_out.predicted) / np.bincount(places)
    labels, codes = np.unique(left_out.predicted, return_inverse=True)
    counts = np.zeros((len(rows), len(labels)), dtype=np.intp)
    np.add.at(counts, (places, codes), 1)
    return rows, labels[counts.argmax(axis=1)]


def _matrices(found: Comparison, rows: IndexArray) -> tuple[FloatArray | None, FloatArray, str]:
    """Return the Gram matrix of the best candidate if it has one, distances behind it, and what these are."""
    model, square, gram = found.best_, np.ix_(rows, rows), None
    if model.kernel_ is not None:
        gram = gram_of(model.kernel_, model.source_, found._matrix, model.X_fit_)[square]
    if gram is not None and not isinstance(model.source_, Divergence):
        diagonal = np.diagonal(gram)
        distances = np.sqrt(np.maximum(diagonal[:, None] + diagonal[None] - 2.0 * gram, 0.0))
        np.fill_diagonal(distances, 0.0)
        return gram, distances, f"distances in the feature space of {expression(model.source_)}"
    row = next((row for row in found.rows if row.status == "ok" and row.candidate.divergences), None)
    if row is None:  # estimators on measures: a distance that suits all of them
        divergence = default_divergence()
        return gram, pairwise(model.X_fit_, divergence=divergence, engine=found.engine)[square], expression(divergence)
    chosen = [setting["source"] for setting in row.chosen]
    return gram, found.distances(row.name)[square], expression(max(chosen, key=chosen.count))
