"""The only place that names scikit-learn's ``Kernel``."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Literal, overload

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from .._frozen import HoldsFrozen, with_inner
from .._typing import FloatArray
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..measures import Measures, as_measures


def number(value: object) -> str:
    """Return a number with three digits; what is not a number as it is, since a wrong parameter must print too."""
    return f"{value:.3g}" if isinstance(value, Real) else repr(value)


def takes_measures(kernel: object) -> bool:
    """Whether ``kernel`` is a scikit-learn kernel on measures, or sums and products of such."""
    return is_kernel(kernel) and not kernel.requires_vector_input  # type: ignore[attr-defined]


def is_kernel(thing: object) -> bool:
    """Whether it is a scikit-learn kernel, on measures or on vectors."""
    return isinstance(thing, Kernel)


class MeasureKernel(HoldsFrozen, Kernel):  # type: ignore[misc]
    """Base of the kernels on measures.

    They are scikit-learn kernels: ``SVC(kernel=k)``, ``GaussianProcessRegressor(kernel=k)``, sums and
    products with ``ConstantKernel`` and ``WhiteKernel``, and ``kernel__<parameter>`` in searches work
    on ``Measures``. Distances are remembered by the engine; every Gram matrix is a fresh array.
    """

    engine: Engine | None

    @overload
    def __call__(self, X: Any, Y: Any = None, eval_gradient: Literal[False] = False) -> FloatArray: ...
    @overload
    def __call__(self, X: Any, Y: Any = None, *, eval_gradient: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def __call__(self, X: Any, Y: Any, eval_gradient: bool) -> FloatArray | tuple[FloatArray, FloatArray]: ...
    def __call__(
        self, X: Any, Y: Any = None, eval_gradient: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the Gram matrix of X and Y, with its gradient in ``theta`` on request.

        Parameters
        ----------
        X, Y : Measures, or anything ``as_measures`` takes
            Y is X by default.
        eval_gradient : bool
            Only without Y.

        Returns
        -------
        K : ndarray of shape (len(X), len(Y))
        gradient : ndarray of shape (len(X), len(X), n_dims)
            Derivatives in the logarithms of the hyperparameters that are not fixed.
        """
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        left = self._read(X, "X")
        right = None if Y is None else left if Y is X else self._read(Y, "Y")
        K, gradient = self._gram(left, right, eval_gradient and not all(h.fixed for h in self.hyperparameters))
        if not eval_gradient:
            return K
        return K, np.empty((*K.shape, 0)) if gradient is None else gradient

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of a divergence or ground, ``<name>__<inner>``."""
        params: dict[str, Any] = super().get_params(deep=False)
        return with_inner(params) if deep else params

    def _read(self, X: Any, name: str) -> Any:
        """Return samples as :meth:`_gram` takes them, checked."""
        return as_measures(X, name)

    @abstractmethod
    def _gram(self, X: Any, Y: Any, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        """Return the Gram matrix; with ``gradient`` (then Y is None) also its derivatives (n, n, n_dims), else None.

        Y = None is not the same as X: ``WhiteKernel`` is noise on the former only.
        """

    def _squares(self, X: Measures, Y: Measures | None, divergence: Divergence) -> FloatArray:
        """Return d^2 between all measures, a fresh array."""
        return np.asarray(pairwise(X, Y, divergence=divergence, engine=self.engine, squared=True))

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return whether the kernel is proved positive definite on R^dim; None if unknown."""
        return None

    @property
    def requires_vector_input(self) -> bool:
        """False: scikit-learn passes the measures through untouched."""
        return False

    def is_stationary(self) -> bool:
        """Return False: measures have no translation that the kernel could ignore."""
        return False

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X: ones, unless a kernel says otherwise."""
        return np.ones(len(as_measures(X)))


class CompoundKernel(MeasureKernel):
    """Base of the kernels made of others: their hyperparameters, called ``<part>__<name>``, in turn."""

    @property
    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """The other kernels, by the names that parameters of theirs begin with."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with ``deep`` those of the parts as ``<part>__<name>``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for label, kernel in self._parts.items():
                params.update((f"{label}__{name}", value) for name, value in kernel.get_params().items())
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Those of the parts, named ``<part>__<name>``."""
        return [
            Hyperparameter(f"{label}__{inner.name}", inner.value_type, inner.bounds, inner.n_elements)
            for label, kernel in self._parts.items()
            for inner in kernel.hyperparameters
        ]

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free hyperparameters of the parts."""
        return np.concatenate([kernel.theta for kernel in self._parts.values()])

    @theta.setter
    def theta(self, theta: FloatArray) -> None:
        start = 0
        for kernel in self._parts.values():
            if kernel.n_dims:
                kernel.theta = theta[start : start + kernel.n_dims]
            start += kernel.n_dims

    @property
    def bounds(self) -> FloatArray:
        """Bounds of ``theta``, (n_dims, 2)."""
        return np.vstack([kernel.bounds for kernel in self._parts.values() if kernel.n_dims] or [np.empty((0, 2))])
