"""The slices as measures: simulated CT slices, and the 25 texture features of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import minmax_scale

from ... import Measures
from .._paper import AnyArray, FloatArray, Numbers, Run
from .dental import Slices, make_dental_ct
from .texture import texture_features

#: Names of slices without and with metal.
CLASSES = ("clean", "noisy")


@dataclass(frozen=True)
class Textures:
    """The features of each slice (n, 25), each scaled to [0, 1] over the set; whether it has metal; its scan."""

    features: FloatArray
    noisy: AnyArray
    scan: AnyArray

    def measures(self) -> Measures:
        """Return each slice as 25 atoms of equal weight on the line: which feature a number is, is forgotten."""
        return Measures.from_samples(self.features[:, :, np.newaxis])

    @property
    def labels(self) -> AnyArray:
        """Return the class of each slice by name."""
        return np.where(self.noisy, CLASSES[1], CLASSES[0])


def simulate(sizes: Numbers, seed: int) -> Slices:
    """Return the slices of a seed; the simulation keeps them in its cache."""
    return make_dental_ct(**sizes["slices"], seed=seed)


def read_textures(run: Run, seed: int, cut: Sequence[float] | None = None) -> Textures:
    """Return the features of the slices of a seed, from their file if they are there.

    ``cut`` are two percentiles of each slice at which its grey values are cut off.
    """

    def compute() -> Numbers:
        slices = simulate(run.sizes, seed)
        images = slices.images if cut is None else _cut(slices.images, cut)
        what = repr(slices) if cut is None else f"grey values cut at {cut[0]:g} and {cut[1]:g} %"
        run.say(f"seed {seed}: {what}")
        return {
            "features": texture_features(images).tolist(),
            "noisy": slices.noisy.tolist(),
            "scan": slices.scan.tolist(),
        }

    name = f"textures-{seed}" + ("" if cut is None else f"-{cut[0]:g}-{cut[1]:g}")
    kept = run.keep(name, {"slices": run.sizes["slices"], "seed": seed, "cut": cut}, compute)
    return Textures(minmax_scale(np.array(kept["features"])), np.array(kept["noisy"]), np.array(kept["scan"]))


def _cut(images: AnyArray, percentiles: Sequence[float]) -> FloatArray:
    low, high = np.percentile(images, percentiles, axis=(1, 2), keepdims=True)
    return np.clip(images, low, high)
