"""From raw input to packed arrays: every rule about what a measure is lives here.

Each function returns a :class:`Packed` or raises :class:`InvalidMeasureError` naming the measure,
the rule and the remedy. Atoms of weight zero are dropped; nothing else is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._checks import as_labels, positive, row_number
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from .._values import column_names, refuse_masked, refuse_rounded
from ..core import ragged
from ..exceptions import InvalidMeasureError, InvalidParameterError
from ._packed import Packed, Support


def from_samples(samples: Iterable[ArrayLike], weights: Iterable[ArrayLike] | None) -> Packed:
    """Pack a ragged list of (n_i, d) arrays, or (n_i,) arrays for d = 1."""
    listed = _as_sequence(samples, "samples")
    _require_same_columns(listed)
    clouds = [_cloud(cloud, i) for i, cloud in enumerate(listed)]
    if not clouds:
        raise InvalidMeasureError("`samples` must hold at least one measure; got none.")
    dim = clouds[0].shape[1]
    for i, cloud in enumerate(clouds):
        if cloud.shape[1] != dim:
            raise InvalidMeasureError(
                f"measure {i} has points of dimension {cloud.shape[1]}, measure 0 of dimension {dim}; all "
                "measures of a collection must share one dimension. Pad or drop columns."
            )
    sizes = np.array([len(cloud) for cloud in clouds], dtype=np.int64)
    offsets = ragged.offsets_of(sizes)
    packed_weights = np.ones(offsets[-1]) if weights is None else _pack_weights(weights, sizes)
    return pack(np.concatenate(clouds), packed_weights, offsets)


def from_histograms(histograms: ArrayLike, support: ArrayLike) -> Packed:
    """Pack the rows of a non-negative (n, m) array over the bins ``support``, (m,) or (m, d)."""
    values = _numeric(histograms, "histograms")
    bins = _numeric(support, "support")
    bins = bins[:, None] if bins.ndim == 1 else bins
    if values.ndim != 2 or not len(values):
        raise InvalidMeasureError(
            f"`histograms` must have shape (n, m) with n >= 1; got {values.shape}. "
            "For a single histogram pass `histogram[None, :]`."
        )
    if bins.ndim != 2 or len(bins) != values.shape[1]:
        raise InvalidMeasureError(
            f"`support` must have shape ({values.shape[1]},) or ({values.shape[1]}, d), one point for each of "
            f"the {values.shape[1]} bins; got {np.shape(support)}. Of bin edges take the midpoints: "
            "(edges[1:] + edges[:-1]) / 2."
        )
    for bad in _not_finite(bins)[:1]:
        raise InvalidMeasureError(f"point {bad} of `support` is not finite; give every bin a finite position.")
    refuse_repeated(bins)
    return _pack_dense(values, Support(np.ascontiguousarray(bins)), "histogram")


def from_images(images: ArrayLike, threshold: float | None, binary: bool, spacing: str | float) -> Packed:
    """Pack grey images (n, h, w): one atom for each pixel brighter than ``threshold`` (default 0)."""
    grey = _numeric(images, "images")
    if grey.ndim != 3 or min(grey.shape) == 0:
        raise InvalidMeasureError(
            f"`images` must have shape (n, height, width); got {grey.shape}. For one image pass "
            "`image[None]`; for channels, `images[:, 0]` or `images.mean(axis=-1)`; for flat rows, "
            "`rows.reshape(n, height, width)`."
        )
    n, height, width = grey.shape
    step = _spacing(spacing, height, width)
    values = grey.reshape(n, height * width)
    if threshold is not None:
        _refuse_bad_weights(values, lambda flat: f"image {flat // values.shape[1]}")
        values = np.where(values > threshold, values, 0.0)
        blank = np.flatnonzero(~values.any(axis=1))
        if len(blank):
            raise InvalidMeasureError(
                f"image {blank[0]} has no pixel brighter than the threshold {threshold:g} ({len(blank)} such in all); "
                "every measure needs an atom. Lower the threshold, or remove those images."
            )
    if binary:
        values = np.where(values > 0, 1.0, values)  # keeps NaN and negative values visible to the check
    return _pack_dense(values, Support.grid((height, width), step), "image")


def from_points(points: FloatArray) -> Packed:
    """Pack the rows of a 2-D array as Dirac masses."""
    for bad in _not_finite(points)[:1]:
        raise InvalidMeasureError(
            f"{row_number(bad)} of `X` contains NaN or infinity; coordinates must be finite. Drop or impute it."
        )
    n = len(points)
    return Packed(np.array(points, dtype=np.float64, order="C"), np.ones(n), np.arange(n + 1))


def pack(
    points: FloatArray,
    weights: FloatArray,
    offsets: IndexArray,
    support: Support | None = None,
    atoms: IndexArray | None = None,
    keys: AnyArray | None = None,
    what: str = "measure",
    copy: bool = True,
) -> Packed:
    """Check packed arrays, drop atoms of weight zero, and wrap them. ``what`` names a row in errors.

    Arrays that nobody else holds are taken over with ``copy=False``.
    """
    owner = ragged.owners(offsets)

    def name(i: Any) -> str:
        return f"{what} {i}" if keys is None else f"{what} {i} ({keys[i]!s})"

    for atom in _not_finite(points)[:1]:
        raise InvalidMeasureError(
            f"{name(owner[atom])} has a point with NaN or infinite coordinates, {points[atom]}; coordinates "
            "must be finite. Drop or impute that point."
        )
    _refuse_bad_weights(weights, lambda atom: name(owner[atom]))
    keep = weights > 0
    if not keep.all():
        points, weights = points[keep], weights[keep]
        atoms = None if atoms is None else atoms[keep]
        offsets = ragged.compress(keep, offsets)
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        raise InvalidMeasureError(
            f"{name(empty[0])} has no mass ({len(empty)} such in all); every measure needs at least one "
            "atom of positive weight. Remove the empty rows first."
        )
    with np.errstate(over="ignore"):
        heavy = np.flatnonzero(~np.isfinite(ragged.segment_sums(weights, offsets)))
    if len(heavy):
        raise InvalidMeasureError(
            f"{name(heavy[0])} has an infinite mass; its weights add up to more than 1e308. Scale them."
        )
    own = True if copy else None
    return Packed(
        np.array(points, dtype=np.float64, order="C", copy=own),
        np.array(weights, dtype=np.float64, copy=own),
        np.array(offsets, dtype=np.int64, copy=own),
        support,
        None if atoms is None else np.array(atoms, dtype=np.int64),
        keys,
    )


def concatenate(parts: Sequence[Packed]) -> Packed:
    """Join packed collections; a support (a grid too), and names of one kind, are kept if all have them."""
    first = parts[0]
    for i, part in enumerate(parts):
        if part.points.shape[1] != first.points.shape[1]:
            raise InvalidMeasureError(
                f"collection {i} has points of dimension {part.points.shape[1]}, collection 0 of dimension "
                f"{first.points.shape[1]}; measures of one collection must share one dimension. Pad or drop columns."
            )
    supports, atoms, keys = ([getattr(part, name) for part in parts] for name in ("support", "atoms", "keys"))
    shared = all(s is not None and first.support is not None and s.equals(first.support) for s in supports)
    grid = shared and all((s.shape, s.spacing) == (supports[0].shape, supports[0].spacing) for s in supports)
    named = all(k is not None and first.keys is not None and k.dtype.kind == first.keys.dtype.kind for k in keys)
    return Packed(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.weights for part in parts]),
        ragged.offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        supports[0] if grid else Support(supports[0].points) if shared else None,
        np.concatenate(atoms) if shared else None,
        np.concatenate(keys) if named else None,
    )


def renamed(packed: Packed, keys: Any) -> Packed:
    """Give the measures other names, or none."""
    if keys is None:
        return replace(packed, keys=None)
    distinct, codes = as_labels(keys, "keys", len(packed))
    names = distinct[codes]
    return replace(packed, keys=names if names.dtype.kind in "biufUSMm" else names.astype(str))


def move(packed: Packed, function: Callable[[FloatArray], Any]) -> Packed:
    """Put every atom at ``function(points)``; a shared support moves along, unless two of its points meet."""
    support, atoms = packed.support, packed.atoms
    if support is not None and atoms is not None:
        bins = _moved(function, support.points)
        points = bins[atoms]
        distinct = len(np.unique(bins, axis=0)) == len(bins)
        support, atoms = (Support(bins), atoms) if distinct else (None, None)
    else:
        points = _moved(function, packed.points)
    return pack(points, packed.weights, packed.offsets, support, atoms, packed.keys)


def _moved(function: Callable[[FloatArray], Any], points: FloatArray) -> FloatArray:
    moved = function(points.copy())  # functions that work in place must not reach the collection
    moved = _numeric(moved.toarray() if hasattr(moved, "toarray") else moved, "function(points)")
    if moved.ndim != 2 or len(moved) != len(points) or not moved.shape[1]:
        raise InvalidMeasureError(
            f"the function of points must return one point for each of the {len(points)} it gets, an array of shape "
            f"({len(points)}, d); got shape {moved.shape}."
        )
    return np.ascontiguousarray(moved)


def mix(packed: Packed, rho: Packed, weight: float) -> Packed:
    """Return weight mu + (1 - weight) rho for every mu, all normalised: the atoms of both, one after another."""
    if len(rho) != 1:
        raise InvalidMeasureError(f"`rho` must be one measure; got {len(rho)}. Select one of them, such as rho[:1].")
    if rho.points.shape[1] != packed.points.shape[1]:
        raise InvalidMeasureError(
            f"`rho` has points of dimension {rho.points.shape[1]}, the measures have points of dimension "
            f"{packed.points.shape[1]}; mixtures need one common dimension."
        )
    n, m, size = len(packed), len(packed.points), len(rho.points) if weight < 1.0 else 0  # no atoms without mass
    owner = np.concatenate([ragged.owners(packed.offsets), np.repeat(np.arange(n), size)])
    order = np.argsort(owner, kind="stable")
    own = packed.weights / np.add.reduceat(packed.weights, packed.offsets[:-1])[owner[:m]]
    shared = (rho.weights / rho.weights.sum())[:size]
    points = np.concatenate([packed.points, np.tile(rho.points[:size], (n, 1))])[order]
    weights = np.concatenate([weight * own, np.tile((1.0 - weight) * shared, n)])[order]
    return Packed(points, weights, ragged.offsets_of(np.diff(packed.offsets) + size), keys=packed.keys)


def merge_repeated(packed: Packed) -> Packed:
    """Add up the weights of atoms of one measure that sit at the same point; the first one stays."""
    owner = ragged.owners(packed.offsets)
    labelled = np.column_stack([owner, packed.points])
    _, first, inverse = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(owner):
        return packed
    weights = np.bincount(inverse.ravel(), weights=packed.weights)
    order = np.argsort(first)
    kept = first[order]
    offsets = ragged.offsets_of(np.bincount(owner[kept], minlength=len(packed)))
    return replace(packed.part(kept, offsets), weights=np.asarray(weights[order], dtype=np.float64))


def _pack_dense(values: FloatArray, support: Support, what: str) -> Packed:
    """Pack the positive entries of (n, m) values over the m points of ``support``."""
    _refuse_bad_weights(values, lambda flat: f"{what} {flat // values.shape[1]}")
    row, atoms = np.nonzero(values)
    offsets = ragged.offsets_of(np.bincount(row, minlength=len(values)))
    return pack(support.points[atoms], values[row, atoms], offsets, support, atoms, what=what)


def _require_same_columns(samples: Sequence[Any]) -> None:
    """Refuse frames that name their coordinates differently, or in another order."""
    named = [(i, names) for i, cloud in enumerate(samples) if (names := column_names(cloud)) is not None]
    for i, names in named:
        if names != named[0][1]:
            first, known = named[0]
            raise InvalidMeasureError(
                f"measure {i} has the columns {', '.join(names)}, measure {first} has "
                f"{', '.join(known)}; the coordinates of all measures must be the same, in the same order. "
                "Select the columns of each frame; arrays, such as frame.to_numpy(), are taken as they are."
            )


def _cloud(cloud: ArrayLike, i: int) -> FloatArray:
    points = _numeric(cloud, f"samples[{i}]")
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] == 0:
        raise InvalidMeasureError(
            f"measure {i} has shape {np.shape(cloud)}; each sample must be an array of shape (n_points, dim), "
            "or (n_points,) for scalars."
        )
    if not len(points):
        raise InvalidMeasureError(
            f"measure {i} has no points; every measure needs at least one. Remove the empty rows first."
        )
    return points


def _pack_weights(weights: Iterable[ArrayLike], sizes: IndexArray) -> FloatArray:
    listed = [_numeric(w, f"weights[{i}]") for i, w in enumerate(_as_sequence(weights, "weights"))]
    if len(listed) != len(sizes):
        raise InvalidMeasureError(f"`weights` must hold one array per measure ({len(sizes)}); got {len(listed)}.")
    for i, (w, size) in enumerate(zip(listed, sizes, strict=True)):
        if w.shape != (size,):
            raise InvalidMeasureError(
                f"measure {i} has {size} points but weights of shape {w.shape}; give one weight per point."
            )
    return np.concatenate(listed)


def _numeric(values: ArrayLike, name: str) -> FloatArray:
    """Return a float64 array, or explain why the input is not one."""
    refuse_masked(values, name, "Drop them, or give them weight 0.", InvalidMeasureError)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidMeasureError(f"`{name}` is ragged or not an array ({error}); rows must agree in length.") from None
    if array.dtype.kind not in "biuf":
        raise InvalidMeasureError(
            f"`{name}` must be an array of real numbers; got {type(values).__name__} with dtype {array.dtype}."
        )
    refuse_rounded(array, f"`{name}`", InvalidMeasureError)
    return array.astype(np.float64)


def _as_sequence(values: Any, name: str) -> Sequence[Any]:
    if isinstance(values, (str, bytes, dict)) or hasattr(values, "columns") or not isinstance(values, Iterable):
        remedy = "Use list(d.values())." if isinstance(values, dict) else ""
        remedy = "Use Measures.from_frame for a long table." if hasattr(values, "columns") else remedy
        raise InvalidMeasureError(
            f"`{name}` must be a list with one array per measure; got {type(values).__name__}. {remedy}".rstrip()
        )
    return list(values)


def _not_finite(points: FloatArray) -> IndexArray:
    finite = np.isfinite(points)
    return np.empty(0, dtype=np.int64) if finite.all() else np.flatnonzero(~finite.all(axis=1))  # row by row is slow


def _refuse_bad_weights(values: FloatArray, owner: Callable[[int], str]) -> None:
    """Refuse weights that are not finite or negative; ``owner`` names the measure of an entry."""
    flat = values.ravel()
    for bad in np.flatnonzero(~np.isfinite(flat))[:1]:
        raise InvalidMeasureError(
            f"{owner(bad)} has a weight that is NaN or infinite; weights must be finite. "
            "Replace missing weights by 0 to drop the atom."
        )
    for bad in np.flatnonzero(flat < 0)[:1]:
        raise InvalidMeasureError(
            f"{owner(bad)} has the negative weight {flat[bad]:g}; weights must be >= 0. "
            "Clip or shift the values if a negative mass has no meaning."
        )


def refuse_repeated(bins: FloatArray) -> None:
    _, first, inverse = np.unique(bins, axis=0, return_index=True, return_inverse=True)
    original = first[inverse.ravel()]
    for bad in np.flatnonzero(original != np.arange(len(bins)))[:1]:
        raise InvalidMeasureError(
            f"points {original[bad]} and {bad} of `support` coincide; bins must be distinct. "
            "Add the columns of equal bins."
        )


def _spacing(spacing: str | float, height: int, width: int) -> float:
    if spacing == "pixel":
        return 1.0
    if spacing == "unit":
        return 1.0 / max(max(height, width) - 1, 1)
    if isinstance(spacing, str):
        raise InvalidParameterError(f"`spacing` must be 'pixel', 'unit' or a positive number; got {spacing!r}.")
    return positive(spacing, "spacing")
