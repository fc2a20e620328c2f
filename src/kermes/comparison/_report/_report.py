"""``Report``: what was found out about a collection, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..._atomic import whole
from ..._typing import AnyArray, FloatArray, IndexArray
from ...clustering import HierarchicalClustering
from ...definiteness import spectrum
from ...inspection import data_map
from ...measures import Measures
from ...measures._html import thumbnails
from . import _classes as classes
from . import _sections as sections

if TYPE_CHECKING:
    from .._result import Row


#: Rows and columns of the gallery of neighbours.
GALLERY = (8, 6)


class Section(NamedTuple):
    """A heading with its anchor, and what stands below it."""

    title: str
    html: str

    @property
    def anchor(self) -> str:
        """The name by which the page links to the section."""
        return "-".join(self.title.lower().rstrip("?").split())


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

    def html(self) -> str:
        """Return the page."""
        lead = f"{self.X!r}, {self._targets()}. Best: {self.entries[0].name}." if self.entries else repr(self.X)
        parts = [
            Section("Leaderboard", sections.leaderboard(self.entries, self.score)),
            Section(
                "Model",
                f"<p><code>{escape(self.model)}</code></p>" + sections.code(*filter(None, [self.code, self.command])),
            ),
            Section("Predictions", self._predictions()),
            *self._classes(),
            *self._pictures(),
        ]
        if self.gram is not None:
            parts.append(Section("Definiteness", sections.spectrum(spectrum(self.gram))))
        parts.append(Section("How it was computed", sections.facts(self.facts)))
        return page(self.title, lead, parts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; a file of that name is replaced when the new one is complete."""
        page = self.html()
        with whole(path) as part:
            part.write_text(page, encoding="utf-8", errors="backslashreplace")  # names of files may be no text
        return Path(path)

    def _targets(self) -> str:
        if self.task == "classification":
            return f"{len(np.unique(self.y))} classes"
        return f"targets from {self.y.min():.3g} to {self.y.max():.3g}"

    def _predictions(self) -> str:
        draw = sections.confusion if self.task == "classification" else sections.regression
        note = '<p class="note">Each sample was predicted by a model that had not seen it.</p>'
        return draw(self.y, self.predicted) + note

    def _classes(self) -> list[Section]:
        """Return the sections on classes for which the data are suitable, from the samples that are drawn."""
        if self.task != "classification" or len(np.unique(self.y)) < 2:
            return []
        shown = self._shown()
        X, y, D = self.X[shown], self.y[shown], self.distances[np.ix_(shown, shown)]
        groups = None if self.groups is None else self.groups[shown]
        captions = [self._caption(i) for i in shown]
        found = {
            "Do the classes differ?": classes.attempt(classes.do_they_differ, D, y, groups, self.divergence),
            "Where they differ": classes.attempt(classes.where_they_differ, X, y, self.predicted[shown], D, groups),
            "Typical members": classes.attempt(classes.typical, X, y, D, captions),
        }
        return [Section(title, html) for title, html in found.items() if html is not None]

    def _pictures(self) -> list[Section]:
        """Return the sections that draw samples: map, heat map, neighbours."""
        shown = self._shown()
        X, y, D = self.X[shown], self.y[shown], self.distances[np.ix_(shown, shown)]
        wrong = self._wrong()[shown]
        captions = [self._caption(i) for i in shown]
        plane = data_map(D, "precomputed")
        tree = HierarchicalClustering("precomputed", n_clusters=1, optimal_ordering=True).fit(D)
        if self.task == "classification":
            map_html = sections.class_map(plane.coordinates, y, captions, wrong)
            first, rings = "wrong predictions", "Wrongly predicted: with a ring. "
        else:
            map_html, first, rings = sections.value_map(plane.coordinates, y, captions), "the largest errors", ""
        note = (
            f'<p class="note">Classical scaling: two coordinates keep {plane.explained or 0:.0%} of the geometry '
            f"(stress {plane.stress:.2f}). {rings}Hover or touch to see a sample.</p>"
        )
        if len(shown) < len(self.X):
            note += f'<p class="note">{len(shown)} of {len(self.X)} samples are drawn.</p>'
        return [
            Section("Map of the samples", map_html + note + sections.sample_pictures(X)),
            Section("Distances", sections.heat_map(D, tree.leaves_, captions, self.divergence)),
            Section(
                "Nearest neighbours",
                f'<p class="note">A sample, and those nearest to it; {first} come first.</p>'
                + sections.neighbours(D, _gallery(wrong), captions, thumbnails(X), GALLERY[1]),
            ),
        ]

    def _shown(self) -> IndexArray:
        n = len(self.X)
        return np.unique(np.linspace(0, n - 1, min(n, self.most_samples)).round().astype(np.intp))

    def _wrong(self) -> AnyArray:
        """Return which samples were misclassified; of a regression, the tenth with the largest errors."""
        if self.task == "classification":
            return np.asarray(self.y != self.predicted)
        error = np.abs(self.y - self.predicted)
        return np.asarray(error > np.quantile(error, 0.9))

    def _caption(self, i: int) -> str:
        key = self.X[int(i)].key
        name = f"{i if key is None else key}: {_short(self.y[i])}"
        if self.task == "regression":
            return f"{name}, predicted {_short(self.predicted[i])}"
        return name if self.y[i] == self.predicted[i] else f"{name}, taken for {_short(self.predicted[i])}"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


def _gallery(wrong: AnyArray) -> IndexArray:
    """Return the samples of the gallery: wrong ones for the first half, others spread evenly."""
    bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    bad = bad[: max(GALLERY[0] // 2, GALLERY[0] - len(good))]
    rest = min(GALLERY[0] - len(bad), len(good))
    return np.concatenate([bad, good[np.linspace(0, len(good) - 1, rest).round().astype(np.intp)]]).astype(np.intp)


def page(title: str, lead: str, sections: list[Section]) -> str:
    """Return the whole HTML file."""
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in sections)
    body = "".join(
        f'<section id="{section.anchor}"><details open><summary><h2>{escape(section.title)}</h2></summary>'
        f"{section.html}</details></section>\n"
        for section in sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # no request for an icon
        f"<title>{escape(title)}</title>\n<style>\n{_file('style.css')}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p><nav>{links}</nav></header>\n'
        f'{body}<div id="tip" role="tooltip"></div>\n<script>\n{_file("script.js")}</script>\n</body>\n</html>\n'
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
