"""A ready-made family of functions for mixtures: Gaussian bumps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import integer, positive
from .._typing import ArrayLike, FloatArray
from ..exceptions import InvalidParameterError
from ..ground import Gaussian
from ..measures import as_measures


class Bumps:
    r"""Gaussian bumps, one around each centre: functions for :class:`SemigroupMixture`.

    .. math:: f_i(x) = h \exp\left(-\frac{|x - c_i|^2}{2 \sigma^2}\right)

    so that :math:`\mu[f_i]` is h times the mass near :math:`c_i`.

    Parameters
    ----------
    centres : array of shape (s, d)
        Where the bumps are.
    width : float
        The length :math:`\sigma`.
    height : float
        The value h at the centre. The greater, the less mass near a centre makes a difference.

    Examples
    --------
    >>> from kermes import Measures, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [3.0]])
    >>> kernels.SemigroupMixture(kernels.Bumps([[0.0], [3.0]], width=1.0)).features(X).round(3)
    array([[0.142, 0.611],
           [0.699, 0.26 ]])
    """

    def __init__(self, centres: ArrayLike, width: float, height: float = 1.0) -> None:
        self.centres = np.array(centres, dtype=np.float64)
        if self.centres.ndim != 2 or not self.centres.size or not np.isfinite(self.centres).all():
            raise InvalidParameterError(
                f"`centres` must be finite points of shape (s, d); got shape {self.centres.shape}."
            )
        self.centres.flags.writeable = False
        self.width = positive(width, "width")
        self.height = positive(height, "height")

    @classmethod
    def random(
        cls, X: Any, n: int = 100, width: float | None = None, height: float | None = None, seed: Any = 0
    ) -> Bumps:
        r"""Put bumps at atoms of X: first a measure is drawn, then one of its atoms by weight.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        n : int
            How many.
        width : float, optional
            A quarter of the root mean square distance of the centres from their mean by default.
        height : float, optional
            By default such that :math:`\mu[f]` is 1 on average over X and the bumps: features are neither all near 1
            nor all near 0, whatever the masses.
        seed : int, SeedSequence or Generator
            Of the draw.
        """
        measures = as_measures(X)
        n = integer(n, "n", low=1)
        rng = np.random.default_rng(seed)
        drawn = rng.integers(len(measures), size=n)
        # Inversion: measure i owns the stretch [i, i + 1) of the cumulated probabilities.
        cumulated = np.cumsum(measures.probabilities)
        atoms = np.searchsorted(cumulated, drawn + rng.random(n), side="right")
        atoms = np.clip(atoms, measures.offsets[drawn], measures.offsets[drawn + 1] - 1)  # rounding
        centres = measures.points[atoms]
        if width is None:
            spread = float(np.sqrt(((centres - centres.mean(axis=0)) ** 2).sum(axis=1).mean()))
            width = spread / 4 if spread > 0 else 1.0
        if height is None:
            unit = cls(centres, width)
            height = 1.0 / float((measures.expectation(unit(measures.points)) * measures.masses[:, None]).mean())
        return cls(centres, width, height)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the bumps at points (n, d), as (n, s)."""
        return self.height * Gaussian(sigma=self.width)(points, self.centres)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bumps) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.centres.shape, self.centres.tobytes(), self.width, self.height

    def __repr__(self) -> str:
        return f"Bumps(<{len(self.centres)} centres>, width={self.width:.3g}, height={self.height:.3g})"
