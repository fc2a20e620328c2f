"""Mixtures of all measures of a collection with one measure."""

from __future__ import annotations

import numpy as np

from ..core import ragged
from ..exceptions import InvalidMeasureError
from ._packed import Packed


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
