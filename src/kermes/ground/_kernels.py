"""Point kernels: positive definite similarities between points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .._checks import as_symmetric, integer, positive, real
from .._frozen import FrozenArray
from .._typing import ArrayLike, FloatArray, IndexArray
from ..core import ground_codes
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ._base import FromFunction, Ground


class PointKernel(Ground):
    """Base of the point kernels; one of your own defines ``between(x, y)``, positive definite.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from kermes import ground
    >>> @dataclass(frozen=True)
    ... class Cosine(ground.PointKernel):
    ...     def between(self, x, y):
    ...         return (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    >>> Cosine()([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]])
    array([[1., 0.]])
    """

    #: Whether the mean embedding is known to be injective, so that MMD is a metric.
    characteristic: ClassVar[bool] = False
    _noun: ClassVar[str] = "point kernel"
    _block: ClassVar[str] = "kernel_block"

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return k(x_i, x_i) for points x (n, d)."""
        parts = np.array_split(x, max(1, len(x) // 64))
        return np.concatenate([np.diagonal(self(part, part)) for part in parts])


@dataclass(frozen=True)
class Linear(PointKernel):
    """``k(x, y) = <x, y>``."""

    code: ClassVar[Any] = ground_codes.LINEAR

    def diagonal(self, x: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("ik,ik->i", x, x))


@dataclass(frozen=True)
class Gaussian(PointKernel):
    """``k(x, y) = exp(-|x - y|^2 / (2 sigma^2)) = exp(-gamma |x - y|^2)``.

    Parameters
    ----------
    sigma, gamma : float
        Give exactly one. ``sigma`` is a length in the units of the points; gamma = 1 / (2 sigma^2).
    """

    sigma: float | None = None
    gamma: float | None = None
    code: ClassVar[Any] = ground_codes.GAUSSIAN
    characteristic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (self.sigma is None) == (self.gamma is None):
            raise InvalidParameterError(
                "ground.Gaussian takes exactly one of `sigma` (a length) and `gamma` (= 1 / (2 sigma^2))."
            )
        if self.sigma is not None:
            positive(self.sigma, "sigma")
            real(self.sigma, "sigma", low=1e-150, high=1e150, remedy="Its square must be a number; scale the points.")
        if self.gamma is not None:
            positive(self.gamma, "gamma")

    @property
    def rate(self) -> float:
        """The factor gamma of the squared distance in the exponent."""
        if self.gamma is not None:
            return float(self.gamma)
        assert self.sigma is not None  # by __post_init__
        return 0.5 / float(self.sigma) ** 2

    @property
    def params(self) -> FloatArray:
        return np.array([self.rate])

    def diagonal(self, x: FloatArray) -> FloatArray:
        return np.ones(len(x))


@dataclass(frozen=True)
class Polynomial(PointKernel):
    """``k(x, y) = (gamma <x, y> + coef0)^degree``, as scikit-learn's ``polynomial_kernel``.

    Parameters
    ----------
    degree : int
    coef0 : float
        At least 0, which keeps the kernel positive definite.
    gamma : float
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float = 1.0
    code: ClassVar[Any] = ground_codes.POLYNOMIAL

    def __post_init__(self) -> None:
        integer(self.degree, "degree", low=1)
        real(self.coef0, "coef0", low=0.0, remedy="A negative value makes the kernel indefinite.")
        positive(self.gamma, "gamma")

    @property
    def params(self) -> FloatArray:
        return np.array([self.gamma, self.coef0, self.degree], dtype=np.float64)

    def diagonal(self, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # as in compiled values: divergences refuse what is not finite
            return np.asarray((self.gamma * np.einsum("ik,ik->i", x, x) + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Laplacian(PointKernel):
    """``k(x, y) = exp(-gamma |x - y|_1)``, as scikit-learn's ``laplacian_kernel``.

    Parameters
    ----------
    gamma : float
    """

    gamma: float = 1.0
    code: ClassVar[Any] = ground_codes.LAPLACIAN
    characteristic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self.gamma, "gamma")

    @property
    def params(self) -> FloatArray:
        return np.array([float(self.gamma)])

    def diagonal(self, x: FloatArray) -> FloatArray:
        return np.ones(len(x))


@dataclass(frozen=True)
class KernelFunction(FromFunction, PointKernel):
    """A point kernel from a function.

    Parameters
    ----------
    function : callable
        Of points x (n, d) and y (m, d), or compiled, of two points: as in :class:`CostFunction`.
    """


@dataclass(frozen=True)
class Table(PointKernel):
    r"""A point kernel on a finite set, by its Gram matrix: ``k(i, j) = K[i, j]``.

    Points are the numbers 0, 1, ..., m - 1 of the elements: ``Measures.from_histograms(H, support=np.arange(m))``, or
    ``Measures.from_samples`` of such numbers. Elements need be no vectors: words, amino acids, subtrees, anything with
    a positive definite kernel ("Semigroup kernels on measures", Theorem 7, holds for any set with one).

    Parameters
    ----------
    values : array of shape (m, m)
        Finite, symmetric, positive semidefinite up to rounding. Kept as a read-only table that compares by content.

    Notes
    -----
    The mean embedding is injective, and MMD a metric, if the matrix has full rank. *Cost*: one eigendecomposition to
    check the matrix; at most 2048 different elements in the measures of a call, unless the rank is low.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, ground, pairwise
    >>> words = ["cat", "cats", "dog"]
    >>> K = [[len(set(a) & set(b)) for b in words] for a in words]  # letters in common
    >>> X = Measures.from_histograms([[2, 0, 0], [0, 1, 0], [0, 0, 1]], support=np.arange(3))
    >>> pairwise(X, divergence=divergences.MMD(ground.Table(K)), squared=True)
    array([[0., 1., 6.],
           [1., 0., 7.],
           [6., 7., 0.]])
    """

    values: ArrayLike
    _noun: ClassVar[str] = "kernel matrix"

    def __post_init__(self) -> None:
        if not isinstance(self.values, FrozenArray):
            object.__setattr__(self, "values", FrozenArray(_positive_semidefinite(self.values)))

    @property
    def characteristic(self) -> bool:  # type: ignore[override]
        """Whether the matrix has full rank."""
        assert isinstance(self.values, FrozenArray)  # by __post_init__
        return _has_full_rank(self.values)

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(self.values)[np.ix_(self._numbers(x), self._numbers(y))]

    def diagonal(self, x: FloatArray) -> FloatArray:
        return np.asarray(np.diagonal(np.asarray(self.values))[self._numbers(x)])

    def _numbers(self, points: FloatArray) -> IndexArray:
        m = len(np.asarray(self.values))
        wrong = np.flatnonzero(~((points == np.floor(points)) & (points >= 0) & (points < m)).all(axis=1))
        if points.shape[1] != 1 or len(wrong):
            got = f"the point {points[wrong[0]].tolist()}" if len(wrong) else f"points of dimension {points.shape[1]}"
            raise UnsuitableDataError(
                f"a kernel matrix of {m} elements needs measures on the numbers 0 to {m - 1}; got {got}. Make them "
                f"with Measures.from_histograms(H, support=np.arange({m})), or from_samples of such numbers."
            )
        return np.asarray(points[:, 0], dtype=np.int64)


@lru_cache(maxsize=16)
def _has_full_rank(values: FrozenArray) -> bool:
    spectrum = np.linalg.eigvalsh(np.asarray(values))
    return bool(spectrum[0] > 1e-12 * spectrum[-1])


def _positive_semidefinite(values: ArrayLike) -> FloatArray:
    """Return a kernel matrix, symmetric to the last bit, or say what is wrong."""
    table = as_symmetric(values, "values", "", tolerance=1e-9)
    spectrum = np.linalg.eigvalsh(table)
    if spectrum[0] < -1e-9 * np.abs(spectrum).max():
        raise InvalidParameterError(
            f"`values` must be a positive semidefinite matrix; its smallest eigenvalue is {spectrum[0]:.3g}, its "
            f"largest {spectrum[-1]:.3g}. Use definiteness.repair(K, how='clip'), or exp(-D**2) if these are distances."
        )
    return table


def as_point_kernel(ground: Any) -> PointKernel:
    """Return a point kernel, or the point kernel that a function of two arrays of points is."""
    if isinstance(ground, PointKernel):
        return ground
    if callable(ground) and not isinstance(ground, (Ground, type)):
        return KernelFunction(ground)
    raise InvalidParameterError(
        f"`ground` must be a point kernel such as ground.Gaussian(sigma=1.0), or a function of two arrays of points; "
        f"got {ground!r}."
    )
