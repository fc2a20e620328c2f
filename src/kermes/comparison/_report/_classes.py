"""Sections on the classes of a report: do they differ, where, and what is typical of each.

They are extras: each is ``None`` where the data do not suit it, and :func:`attempt` drops one that fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, TypeVar

import numpy as np
from sklearn.metrics import confusion_matrix

from ..._typing import AnyArray, FloatArray, IndexArray
from ...divergences import Sinkhorn, SlicedWasserstein
from ...inference import barycenter, dispersion, permanova
from ...inspection import difference
from ...measures import Measures
from ...measures._html import thumbnails
from ._charts import difference_chart

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
    held: dict[str, Any] = {}
    if groups is not None:
        held = {"units" if _nested(y, groups) else "blocks": groups}
    tests = {
        "centres (PERMANOVA)": permanova(D, y, "precomputed", n_permutations=PERMUTATIONS, random_state=0, **held),
        "spread (dispersion)": dispersion(D, y, "precomputed", n_permutations=PERMUTATIONS, random_state=0, **held),
    }
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
    X: Measures, y: AnyArray, predicted: AnyArray, D: FloatArray, groups: AnyArray | None
) -> str | None:
    """Return the chart of the difference of two classes: of the two that are most often confused, if there are more."""
    if groups is not None and _nested(y, groups):  # no unit of permutation that pixels or points could have
        return None
    pair = _confused(y, predicted, D)
    rows = np.isin(y, pair)
    found = difference(
        X[rows], y[rows], n_points=400, n_permutations=PERMUTATIONS, random_state=0,
        blocks=None if groups is None else groups[rows],
    )  # fmt: skip
    first, second = (escape(str(name)) for name in found.groups)
    two = len(np.unique(y)) == 2
    which = "" if two else " (of all pairs of classes the hardest to tell apart)"
    along = X.dim > 2 and found.shape is None  # then the chart shows coordinates
    places, more = ("coordinates", "larger") if along else ("places", "more")
    part = found.coordinates
    out = part.scores > part.bands if along else found.significant
    p = float(part.p_values.min()) if along else found.p_value
    return (
        f"<p>{second} minus {first}{which}: {np.count_nonzero(out)} of {len(out)} {places} leave the 95 % band of "
        f"chance, p = {p:.3g}.</p>{difference_chart(found)}"
        f'<p class="note">Orange: {more} in {second}; blue: {more} in {first}; pale: within the band, which holds for '
        f"all {places} together. No distance takes part in this"
        f"{', and nothing was chosen' if two else '; the pair was chosen by its errors and distances'}.</p>"
    )


def typical(X: Measures, y: AnyArray, D: FloatArray, captions: Sequence[str]) -> str | None:
    """Return the medoid of each class, and its barycentre if that can be drawn and takes a moment only."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > MOST_MEMBERS:
        return None
    members = [np.flatnonzero(codes == c) for c in range(len(classes))]
    medoids = [int(rows[D[np.ix_(rows, rows)].sum(axis=1).argmin()]) for rows in members]
    pictures = thumbnails(X[medoids])
    html = _row(pictures, [captions[i] for i in medoids])
    note = "The sample of each class whose distances to the others of its class have the smallest sum"
    if means := attempt(_barycentres, X, members):
        html += _row(means, [f"mean of {name}" for name in classes])
        kind = "sliced" if X.support is None or X.support.shape is None else "debiased entropic"
        note += f"; below, the {kind} barycentre of up to {MOST_IMAGES} samples of each class"
    return f'{html}<p class="note">{note}.</p>'


def _barycentres(X: Measures, members: Sequence[IndexArray]) -> list[str] | None:
    """Return pictures of the barycentres of classes of images, or of clouds on the line or in the plane."""
    chosen = [rows[np.unique(np.linspace(0, len(rows) - 1, MOST_IMAGES).round().astype(int))] for rows in members]
    if X.support is None or X.support.shape is None:
        return _moved_atoms([X[rows] for rows in chosen])
    h, w = X.support.shape
    if sum(map(len, chosen)) * 4.0 * h * w * (h + w) * ITERATIONS > MOST_WORK:
        return None
    largest = float((np.ptp(X.support.points, axis=0) ** 2).sum())
    divergence = Sinkhorn(epsilon=BLUR * largest, value="debiased")
    means = [barycenter(X[rows], divergence=divergence, max_iter=ITERATIONS) for rows in chosen]
    return [thumbnails(mean)[0] for mean in means]


def _moved_atoms(classes: Sequence[Measures]) -> list[str] | None:
    """Return pictures of the sliced barycentres of clouds, in one frame."""
    if classes[0].dim > 2 or sum(len(X.points) for X in classes) > MOST_ATOMS:
        return None
    sliced = SlicedWasserstein(n_slices=SLICES)
    means = [barycenter(X, divergence=sliced, max_iter=ITERATIONS, random_state=0) for X in classes]
    return thumbnails(Measures.concatenate(means))


def _row(pictures: Sequence[str], captions: Sequence[str]) -> str:
    figures = (
        f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
        for picture, caption in zip(pictures, captions, strict=True)
    )
    return f'<div class="row even">{"".join(figures)}</div>'


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
