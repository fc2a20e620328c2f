"""Kernels on several columns of a table: measures beside numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from .._checks import choice
from .._typing import FloatArray
from ..exceptions import InvalidParameterError
from ..measures._mixed import Key, Mixed, Want, as_mixed
from ._base import CompoundKernel, is_kernel

#: A dimension above all that occur: what is proved there is proved in every smaller one.
ANY_DIM = 10**6

Keys: TypeAlias = Key | tuple[Key, ...]


class Columns(CompoundKernel):
    r"""Sum or product of kernels, each on columns of its own: measures beside numbers.

    .. math:: k(x, y) = \sum_c k_c(x_c, y_c) \qquad \text{or} \qquad \prod_c k_c(x_c, y_c)

    A sum lets every column have an effect of its own (an additive model); a product asks samples to be alike in all
    columns, so that the effect of one may depend on another.

    Parameters
    ----------
    kernels : dict
        A kernel for each column, by name; by number (0, 1, ...) where samples are an array. Kernels on measures take a
        column of measures, scikit-learn's kernels on vectors (``RBF()``) a column of numbers, or several:
        ``("age", "weight"): RBF([10.0, 5.0])``.
    combine : 'sum' or 'product'

    Notes
    -----
    *Positive definite* if all kernels are: sums and products of positive definite kernels are. Give each part its own
    variance, ``ConstantKernel() * ...``, where the sum is fitted by marginal likelihood. Hyperparameters are those of
    the parts in turn, called ``<column>__<name>``; searches reach them by these names.

    Samples are a pandas or polars frame, or a dict of columns; ``LSSVMClassifier``, ``LSSVMRegressor``,
    ``MeasureGPRegressor``, ``KernelMatrix``, ``KernelFeatures`` and scikit-learn's ``SVC`` take them. scikit-learn's
    Gaussian processes drop the names of a frame: pass them ``kernel.read(frame)``. For kernel ridge without an
    intercept use ``make_pipeline(KernelMatrix(kernel), KernelRidge(kernel="precomputed"))``.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from kermes import Measures, divergences, kernels
    >>> cells = Measures.from_samples([[0.0, 1.0], [2.0, 3.0]])
    >>> k = kernels.Columns({"cells": kernels.Exponential(divergences.Wasserstein(), 2.0), "age": RBF(10.0)}, "product")
    >>> k({"cells": cells, "age": [30.0, 50.0]}).round(3)
    array([[1.   , 0.082],
           [0.082, 1.   ]])
    """

    engine = None

    def __init__(self, kernels: Mapping[Keys, Any], combine: str = "sum") -> None:
        self.kernels = kernels
        self.combine = combine

    def read(self, X: Any) -> Mixed:
        """Return the columns of the kernel, checked: samples that every estimator passes on to the kernel."""
        if not isinstance(self.kernels, Mapping) or not self.kernels:
            raise InvalidParameterError(
                f"`kernels` must map one column or more to kernels, such as {{'cells': k, 'age': RBF()}}; got "
                f"{self.kernels!r}."
            )
        wanted: dict[str, Want] = {}
        for key, kernel in self.kernels.items():
            if not is_kernel(kernel):
                raise InvalidParameterError(
                    f"`kernels` must hold kernels; {key!r} has {kernel!r}. Use kernels.Exponential(divergence) for "
                    "measures, sklearn.gaussian_process.kernels.RBF() for numbers."
                )
            columns = key if isinstance(key, tuple) else (key,)
            if len(columns) > 1 and not kernel.requires_vector_input:
                raise InvalidParameterError(f"`kernels` takes measures from one column; {kernel!r} has {key!r}.")
            wanted[_label(key)] = Want(columns, bool(kernel.requires_vector_input))
        return as_mixed(X, wanted)

    def _read(self, X: Any, name: str) -> Mixed:
        return self.read(X)

    def _gram(self, X: Mixed, Y: Mixed | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        multiply = choice(self.combine, "combine", ["sum", "product"]) == "product"
        if Y is not None:
            _require_same_names(X, Y)
        parts = [
            kernel(X.columns[label], None if Y is None else Y.columns[label], gradient)
            for label, kernel in self._parts.items()
        ]
        grams = [part[0] if gradient else part for part in parts]
        K = np.asarray(reduce(np.multiply if multiply else np.add, grams))
        if not gradient:
            return K, None
        gradients = [part[1] for part in parts]
        if multiply:  # by the product of the other parts
            others = [reduce(np.multiply, grams[:i] + grams[i + 1 :], np.ones_like(K)) for i in range(len(grams))]
            gradients = [own * other[:, :, None] for own, other in zip(gradients, others, strict=True)]
        return K, np.concatenate(gradients, axis=2)

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X."""
        samples = self.read(X)
        parts = [kernel.diag(samples.columns[label]) for label, kernel in self._parts.items()]
        return np.asarray(reduce(np.multiply if self.combine == "product" else np.add, parts))

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return True if all parts are proved positive definite in every dimension; None if unknown."""
        return True if all(_proved(kernel) for kernel in self.kernels.values()) else None

    @property
    def _parts(self) -> dict[str, Any]:
        return {_label(key): kernel for key, kernel in self.kernels.items()}

    def set_params(self, **params: Any) -> Columns:
        """Set parameters by name; ``<column>__<name>`` those of a part."""
        self.kernels, self.combine = params.pop("kernels", self.kernels), params.pop("combine", self.combine)
        parts = self._parts
        for name, value in params.items():
            label = next((label for label in parts if name.startswith(f"{label}__")), None)
            if label is None:
                raise InvalidParameterError(
                    f"Columns has no parameter {name!r}; its parameters are {', '.join(map(repr, self.get_params()))}."
                )
            parts[label].set_params(**{name.removeprefix(f"{label}__"): value})
        return self

    def __sklearn_clone__(self) -> Columns:
        return Columns({key: clone(kernel, safe=False) for key, kernel in self.kernels.items()}, self.combine)

    def __getstate__(self) -> dict[str, Any]:
        """Return lists: keys of a dict in a model file are strings."""
        return {"columns": list(self.kernels), "parts": list(self.kernels.values()), "combine": self.combine}

    def __setstate__(self, state: dict[str, Any]) -> None:
        keys = [tuple(key) if isinstance(key, (list, tuple)) else key for key in state["columns"]]
        Columns.__init__(self, dict(zip(keys, state["parts"], strict=True)), state["combine"])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.kernels, self.combine) == (other.kernels, other.combine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = ", ".join(f"{key!r}: {kernel!r}" for key, kernel in self.kernels.items())
        return f"Columns({{{parts}}}, {self.combine!r})"


def columns_of(kernel: Any) -> Columns | None:
    """Return the kernel on columns that a kernel is, or is made of; None if there is none."""
    if isinstance(kernel, Columns):
        return kernel
    if not is_kernel(kernel):
        return None
    return next((part for part in kernel.get_params().values() if isinstance(part, Columns)), None)


def _require_same_names(X: Mixed, Y: Mixed) -> None:
    """Refuse frames in which columns that the kernel numbers have other names."""
    for label in X.names.keys() & Y.names.keys():
        if X.names[label] != Y.names[label]:
            raise InvalidParameterError(
                f"the kernel is on column {label} by number, which is {', '.join(X.names[label])!r} in `X` and "
                f"{', '.join(Y.names[label])!r} in `Y` (or the training samples). Pass the columns in the same order, "
                "or name them in the kernel."
            )


def _label(key: Keys) -> str:
    return "_".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _proved(kernel: Any) -> bool:
    claim = getattr(kernel, "is_positive_definite", None)
    if claim is not None:
        return claim(ANY_DIM) is True
    parts = [getattr(kernel, name) for name in ("k1", "k2", "kernel") if hasattr(kernel, name)]
    return all(map(_proved, parts)) if parts else type(kernel).__module__.startswith("sklearn.")
