"""The nine rows of Table 1: each takes a split and returns its error on the test images."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from ... import Engine, LSSVMClassifierCV, divergences, ground, kernels, pairwise
from ...divergences import Divergence
from ...exceptions import IndefiniteKernelWarning
from .._paper import FloatArray
from .data import Part, Split

#: Euclidean distance of raw pixels: images are points of R^m, and the mean of a point is the point.
PIXELS = divergences.MMD(ground.Linear())


class Methods:
    """All methods on one split, sharing its distances: with the grids of ``config``, and a Wasserstein distance."""

    def __init__(self, config: dict[str, Any], divergence: Divergence) -> None:
        self.config = config
        self.divergence = divergence
        self.engine = Engine(memo=4 << 30)

    @property
    def rows(self) -> dict[str, Callable[[Split, int], float]]:
        """Methods by the names of Table 1; each takes a split and the number of core samples."""
        weighted: dict[str, Any] = {"grid": "gammas_reweighted", "reweighted": True}
        return {
            "W core+oos": partial(self._machine, solver="primal", use_core=True),
            "W core": partial(self._machine, solver="primal"),
            "W indefinite": partial(self._machine, solver="dual"),
            "RW core+oos": partial(self._machine, solver="primal", use_core=True, **weighted),
            "RW core": partial(self._machine, solver="primal", **weighted),
            "RW indefinite": partial(self._machine, solver="dual", **weighted),
            "W kNN": self._neighbours,
            "RBF": partial(self._machine, solver="dual", grid="gammas_pixels", on_pixels=True),
            "l2 kNN": partial(self._neighbours, on_pixels=True),
        }

    def _machine(
        self,
        split: Split,
        core: int,
        solver: str,
        use_core: bool = False,
        reweighted: bool = False,
        on_pixels: bool = False,
        grid: str = "gammas",
    ) -> float:
        divergence = PIXELS if on_pixels else self.divergence
        kernel: Any = kernels.Exponential(divergence, engine=self.engine)
        scales = self._grid("length_scales_pixels" if on_pixels else "length_scales")
        model = LSSVMClassifierCV(
            kernels.MassWeighted(kernel) if reweighted else kernel,
            length_scales=np.sqrt(scales / 2.0),
            gammas=self._grid(grid) / len(split.train.labels),
            solver=solver,
            n_core=core if use_core else None,
            random_state=0,
        )
        train, validation, test = (_side(part, on_pixels) for part in (split.train, split.validation, split.test))
        with warnings.catch_warnings():
            # Dropping the negative spectrum is what the rows "core" are about.
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            model.fit(train, split.train.labels, validation, split.validation.labels)
        return 1.0 - float(model.score(test, split.test.labels))

    def _neighbours(self, split: Split, core: int, on_pixels: bool = False) -> float:
        """Choose k on the validation images."""
        divergence = PIXELS if on_pixels else self.divergence
        train, validation, test = (_side(part, on_pixels) for part in (split.train, split.validation, split.test))
        among, seen, new = (
            pairwise(part, train, divergence=divergence, engine=self.engine) for part in (train, validation, test)
        )
        models = [
            KNeighborsClassifier(k, metric="precomputed").fit(among, split.train.labels)
            for k in self.config["neighbours"]
        ]
        best = max(models, key=lambda model: model.score(seen, split.validation.labels))
        return 1.0 - float(best.score(new, split.test.labels))

    def _grid(self, name: str) -> FloatArray:
        low, high, count = self.config[name]
        return np.logspace(low, high, count)


def _side(part: Part, on_pixels: bool) -> Any:
    return part.pixels if on_pixels else part.measures
