"""Mixtures of semicharacters: kernels that are an explicit feature map, linear in their number; Gaussian bumps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._checks import integer, positive
from .._scales import unit_of
from .._typing import ArrayLike, FloatArray
from .._values import as_floats
from ..exceptions import InvalidParameterError, NumericalError, UnsuitableDataError
from ..ground import Gaussian
from ..measures import Measures, as_measures
from ..measures._thinning import draw_points
from ._base import MeasureKernel

#: Largest -mu[f] whose exponential is multiplied with another without overflow.
LARGEST = 300.0
#: Functions of points (n, d): a list of them, (n,) values each, or all of them in one call, (n, s).
Functions: TypeAlias = Sequence[Callable[[FloatArray], ArrayLike]] | Callable[[FloatArray], ArrayLike]


@dataclass(eq=False, repr=False)
class SemigroupMixture(MeasureKernel):
    r"""Semigroup kernel that is a mixture of exponentials of integrals.

    .. math:: k(\mu, \nu) = \varphi(\mu + \nu), \qquad
              \varphi(\mu) = \sum_i w_i \exp\left(-\mu[f_i]\right), \qquad \mu[f] = \int f \, d\mu

    with functions :math:`f_i` of a point and weights :math:`w_i \ge 0`: each f asks how much mass lies where it is
    large. Masses are kept: twice the mass is not the same measure.

    Parameters
    ----------
    functions : list of callable, or callable
        Each takes points (n, d) and returns n values, of any sign. One callable that returns (n, s) values stands for
        s functions, such as :class:`Bumps`.
    weights : array of shape (s,), optional
        Non-negative; 1 / s each by default.

    Notes
    -----
    *Positive definite* on all finite measures, whatever their masses: :math:`\exp(-\mu[f])` turns sums of measures into
    products, and mixtures of such functions are positive definite (Theorem 10 and Corollary 12 of "Semigroup kernels on
    measures"). It is bounded if all functions are at least 0; measures with :math:`\mu[f_i]` below -300 are refused
    before an exponential overflows. The kernel is the inner product of :meth:`features`, so that linear models need no
    Gram matrix: see ``MixtureFeatures``.
    *Cost*: one call of each function on all atoms, then s products per pair. Masses count: for clouds of many points
    exp(-mu[f]) all but vanishes. Divide the weights by a typical mass, or use ``Bumps.random``, which does.

    A kernel with a lambda among its functions cannot be pickled, as any object with one; functions defined in a module
    can.

    Examples
    --------
    >>> from kermes import Measures, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0]])
    >>> kernel = kernels.SemigroupMixture([lambda x: x[:, 0], lambda x: (x[:, 0] - 1) ** 2])
    >>> kernel.features(X).round(3)
    array([[0.26 , 0.26 ],
           [0.096, 0.26 ]])
    >>> kernel(X).round(3)
    array([[0.135, 0.093],
           [0.093, 0.077]])
    """

    functions: Functions
    weights: ArrayLike | None = None

    def features(self, X: Any) -> FloatArray:
        r"""Return the features :math:`\sqrt{w_i} \exp(-\mu[f_i])`, (len(X), s); their inner products are the kernel."""
        measures = as_measures(X)
        values = self._values(measures)
        integrals = measures.expectation(values) * measures.masses[:, None]
        if (integrals < -LARGEST).any():
            owner, i = np.argwhere(integrals < -LARGEST)[0]
            raise NumericalError(
                f"the integral of `functions[{i}]` over measure {owner} is {integrals[owner, i]:.3g}, and the "
                f"exponential of minus that too large; it must be -{LARGEST:g} or more. Scale the function down, or "
                "use one that is at least 0."
            )
        return np.asarray(np.sqrt(self._weights(values.shape[1])) * np.exp(-integrals))

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        left = self.features(X)
        right = left if Y is None else self.features(Y)
        # einsum adds in one order for every entry: slices and transposes of a Gram matrix agree to the last bit.
        return np.einsum("is,js->ij", left, right), None

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X: squared norms of the features."""
        return np.asarray((self.features(X) ** 2).sum(axis=1))

    def is_positive_definite(self, dim: int) -> bool:
        """Return True: an inner product of features."""
        return True

    def _values(self, X: Measures) -> FloatArray:
        """Return f_i at every atom, (n_atoms, s), checked."""
        if callable(self.functions):
            values = _called(self.functions, "functions", X.points, 2)
        else:
            functions = list(self.functions)
            if not functions:
                raise InvalidParameterError("`functions` must hold one function or more; got none.")
            columns = [_called(f, f"functions[{i}]", X.points, 1) for i, f in enumerate(functions)]
            values = np.stack(columns, axis=1)
        wrong = ~np.isfinite(values)
        if wrong.any():
            atom, i = np.argwhere(wrong)[0]
            owner = int(np.searchsorted(X.offsets, atom, side="right")) - 1
            raise UnsuitableDataError(
                f"`functions[{i}]` must be finite at every atom; it is {values[atom, i]:g} at the point "
                f"{X.points[atom].tolist()} of measure {owner}. Use a function that is finite wherever there is mass."
            )
        return values

    def _weights(self, n_functions: int) -> FloatArray:
        if self.weights is None:
            return np.full(n_functions, 1.0 / n_functions)
        weights = as_floats(self.weights, "weights")
        if weights.shape != (n_functions,):
            raise InvalidParameterError(
                f"`weights` must hold one number for each of the {n_functions} functions; got shape {weights.shape}."
            )
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise InvalidParameterError(
                f"`weights` must be finite and at least 0, or the kernel is not positive definite; weights[{i}] is "
                f"{weights[i]:g}."
            )
        return weights

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        same = self.functions is other.functions or _listed(self.functions) == _listed(other.functions)
        weights = np.asarray(self.weights, dtype=object), np.asarray(other.weights, dtype=object)
        return bool(same) and np.array_equal(*weights)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if callable(self.functions):
            return f"SemigroupMixture({self.functions!r})"
        return f"SemigroupMixture({len(list(self.functions))} functions)"


def _listed(functions: Functions) -> Any:
    return functions if callable(functions) else list(functions)


def _called(function: Any, name: str, points: FloatArray, ndim: int) -> FloatArray:
    """Return the values of a function at the points: (n,), or (n, s) for ``ndim`` 2."""
    if not callable(function):
        raise InvalidParameterError(f"`{name}` must be a function of points (n, d); got {function!r}.")
    values = as_floats(function(points), f"{name}(points)")
    if values.ndim != ndim or len(values) != len(points) or not values.size:
        shape = "(n,)" if ndim == 1 else "(n, s)"
        raise InvalidParameterError(
            f"`{name}` must return an array of shape {shape} for points of shape (n, d); got {values.shape} for "
            f"{points.shape}. Functions take all points at once, such as lambda x: x[:, 0] ** 2."
        )
    return values


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
        self.centres = np.array(as_floats(centres, "centres"))
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
        centres = draw_points(measures, integer(n, "n", low=1), np.random.default_rng(seed))
        if width is None:
            centred = centres - centres.mean(axis=0)
            size = unit_of(centred)
            spread = size * float(np.sqrt(((centred / size) ** 2).sum(axis=1).mean()))
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
