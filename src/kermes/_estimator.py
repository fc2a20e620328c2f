"""What estimators, feature maps and clusterings share: reading samples, and the kernel or distance in use."""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from ._checks import as_symmetric, require_order
from ._frozen import HoldsFrozen
from ._scales import median_distance
from ._typing import AnyArray, FloatArray, IndexArray
from ._values import as_targets, refuse_masked
from .divergences import Divergence, SlicedWasserstein
from .engine import pairwise
from .exceptions import InvalidParameterError, UnsuitableDataError
from .kernels import Exponential
from .kernels._base import takes_measures
from .kernels._columns import columns_of
from .measures import Measure, Measures, as_measures
from .measures._convert import holds_measures
from .measures._mixed import Mixed

#: Measures, or rows of a precomputed Gram matrix.
Samples: TypeAlias = Measures | FloatArray
#: Also measures beside numbers, where kernels are on columns.
KernelSamples: TypeAlias = Samples | Mixed


class MeasureEstimator(HoldsFrozen, BaseEstimator):
    """Base of all estimators: reads samples as measures, and keeps the dimension of their points."""

    @property
    def _precomputed(self) -> bool:
        """Whether X is a matrix of kernel values or distances."""
        return any(isinstance(getattr(self, name, None), str) for name in ("kernel", "divergence"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _read_measures(self, X: Any, *, reset: bool, name: str = "X", y: Any = None) -> Measures:
        """Return X as measures, rows of a 2-D array as Dirac masses; with ``reset`` they are training samples.

        ``y`` is what comes with them and goes on to the next step of a pipeline: its order is checked.
        """
        if isinstance(X, Measure):
            as_measures(X, name)  # says what to pass instead
        if holds_measures(X):
            measures = as_measures(X)
            require_order_of(X, measures, y=y)
            return self._remember_dim(measures, reset, name)
        require_order(X, y=y)
        refuse_masked(X, name)
        return as_measures(validate_data(self, X, reset=reset, dtype=np.float64))

    def _resolve_divergence(self, others: str = "or None", remedy: str = "") -> Any:
        """Return the parameter ``divergence``, sliced Wasserstein if it is None; refuse all but ``others``."""
        given = self.divergence  # type: ignore[attr-defined]
        if given is None:
            return default_divergence()
        if isinstance(given, Divergence) or (isinstance(given, str) and repr(given) in others):
            return given
        if isinstance(given, numbers.Integral) and "n_clusters" in self.get_params(deep=False):
            remedy = f" The divergence comes first: {type(self).__name__}(divergence, {given})."
        raise InvalidParameterError(
            f"`divergence` must be a divergence such as divergences.Wasserstein(p=2), {others}; got {given!r}.{remedy}"
        )

    def _read_labelled(
        self, X: Any, y: Any, *, numeric: bool, reset: bool = True, several: bool = False
    ) -> tuple[Any, AnyArray]:
        """Return checked training samples and targets; ``several`` allows a column of targets for each output."""
        if not holds_measures(X):
            array, y = self._read_array(X, y, numeric, reset, several)
            return as_measures(array), y
        measures = as_measures(X)
        require_order_of(X, measures, y=y)
        return self._remember_dim(measures, reset), self._read_targets(y, measures, numeric, several)

    def _read_array(self, X: Any, y: Any, numeric: bool, reset: bool, several: bool) -> tuple[FloatArray, AnyArray]:
        """Return a checked array, of points or a Gram matrix, and targets."""
        require_order(X, y=y)
        refuse_masked(X, "X")
        options = {"dtype": np.float64, "y_numeric": numeric, "multi_output": several}
        array, y = validate_data(self, X, as_targets(y, numeric), reset=reset, **options)
        return array, y

    def _read_targets(self, y: Any, samples: Any, numeric: bool, several: bool) -> AnyArray:
        """Return checked targets of samples that scikit-learn does not check."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = as_targets(y, numeric)
        y = np.asarray(y) if several and np.ndim(y) == 2 else column_or_1d(y, warn=True)
        if numeric:
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(samples, y)
        return np.asarray(y)

    def _remember_dim(self, measures: Measures, reset: bool, name: str = "X") -> Measures:
        """Set or check the dimension of the points: n Dirac masses are n rows of ``dim`` features."""
        if reset:
            self.n_features_in_ = measures.dim
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif measures.dim != self.n_features_in_:
            raise UnsuitableDataError(
                f"`{name}` has points of dimension {measures.dim}, the training measures of dimension "
                f"{self.n_features_in_}. Pass measures on the same space."
            )
        return measures


class OrderedScore:
    """Before a mixin of scikit-learn that scores predictions: labels in another order than the samples are refused."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return scikit-learn's score of the predictions for X: accuracy of labels, R^2 of numbers."""
        require_order(X, y=y, sample_weight=sample_weight)
        if is_regressor(self):
            as_targets(y, numeric=True)  # R^2 divides by their squared deviations
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]


class KernelEstimator(MeasureEstimator):
    """Base of the estimators with a ``kernel`` parameter: a kernel on measures, None or 'precomputed'.

    After :meth:`_bind` the estimator has ``kernel_`` (the kernel in use), ``support_`` (rows of the training set it is
    evaluated against) and ``X_fit_`` (these samples, or their Gram matrix if precomputed).
    """

    kernel: Any
    kernel_: Any
    support_: IndexArray
    X_fit_: Any

    def _read(self, X: Any, *, reset: bool, name: str = "X", y: Any = None) -> KernelSamples:
        """Return checked samples; with ``reset`` they are training samples and set ``n_features_in_``.

        The order of ``y`` is checked as in :meth:`_read_measures`.
        """
        self._check_kernel()
        columns = columns_of(self.kernel)
        if columns is not None:
            samples = columns.read(X)
            require_order_of(X, samples, y=y)
            return self._remember_columns(samples, reset)
        if not self._precomputed or isinstance(X, Measure):
            return self._read_measures(X, reset=reset, name=name, y=y)
        require_order(X, y=y)
        refuse_masked(X, name)
        rows = validate_data(self, X, reset=reset, dtype=np.float64)
        return as_symmetric(rows, "X") if reset else rows

    def _read_labelled(
        self, X: Any, y: Any, *, numeric: bool, reset: bool = True, several: bool = False
    ) -> tuple[KernelSamples, AnyArray]:
        self._check_kernel()
        columns = columns_of(self.kernel)
        if columns is not None:
            samples = self._remember_columns(columns.read(X), reset)
            require_order_of(X, samples, y=y)
            return samples, self._read_targets(y, samples, numeric, several)
        if not self._precomputed:
            return super()._read_labelled(X, y, numeric=numeric, reset=reset, several=several)
        K, y = self._read_array(X, y, numeric, reset, several)
        return as_symmetric(K, "X"), y

    def _remember_columns(self, samples: Mixed, reset: bool) -> Mixed:
        if reset:
            self.n_features_in_ = len(samples.columns)
        return samples

    def _bind(self, samples: KernelSamples, support: IndexArray) -> None:
        """Resolve the kernel and keep the training samples ``support``."""
        self.support_ = support
        self.X_fit_ = select(samples, support)
        default = self.kernel is None and isinstance(self.X_fit_, Measures)
        self.kernel_ = default_kernel(self.X_fit_) if default else clone(self.kernel, safe=False)

    def _gram_fit(self) -> FloatArray:
        """Return the Gram matrix of the kept training samples."""
        return np.asarray(self.X_fit_ if self._precomputed else self.kernel_(self.X_fit_))

    def _gram(self, samples: KernelSamples) -> FloatArray:
        """Return the kernel between new samples and the kept training samples."""
        if self._precomputed:
            return np.asarray(samples)[:, self.support_]
        return np.asarray(self.kernel_(samples, self.X_fit_))

    def _check_kernel(self) -> None:
        if self.kernel is None or self.kernel == "precomputed" or takes_measures(self.kernel):
            return
        remedy = ""
        if isinstance(self.kernel, Divergence):
            remedy = f" Write kernels.Exponential({self.kernel!r})."
        elif isinstance(self.kernel, numbers.Real):
            remedy = f" The kernel comes first; name what {self.kernel!r} is for."
        raise InvalidParameterError(
            f"`kernel` must be a kernel on measures such as kernels.Exponential(divergence), None or 'precomputed'; "
            f"got {self.kernel!r}.{remedy}"
        )


def require_order_of(X: Any, samples: Any, called: str = "X", /, **given: Any) -> None:
    """Refuse what is given with X in another order than that of X, which its index says, or the samples read from it.

    A series of measures may have an index of its own, a list of measures has the keys of their collection.
    """
    for named in [X] if samples is X else [X, samples]:
        require_order(named, called, **given)


def select(samples: KernelSamples, rows: IndexArray) -> KernelSamples:
    """Return the samples ``rows``: a view of measures, rows and columns of a Gram matrix."""
    return samples[rows] if isinstance(samples, (Measures, Mixed)) else samples[np.ix_(rows, rows)]


def default_divergence(given: Any = None) -> Any:
    """Return the given one; else the sliced Wasserstein distance, of negative type on measures of any dimension."""
    return SlicedWasserstein() if given is None else given


def default_kernel(X: Measures) -> Exponential:
    """Return the squared-exponential kernel of the sliced Wasserstein distance, at the median distance in X.

    The kernel is positive definite. The median is over distinct positive distances, so that repeating a sample does
    not change the kernel; 1 if all measures are equal. Bounds are around it, so that units of the points do not matter.
    """
    divergence = default_divergence()
    median = median_distance(np.unique(pairwise(X, divergence=divergence)))
    return Exponential(divergence, length_scale=median, length_scale_bounds=(1e-5 * median, 1e5 * median))
