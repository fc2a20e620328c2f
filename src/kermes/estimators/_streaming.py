"""Least-squares support vector machines on streams: features in, moments kept, the primal solution out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._checks import integer, positive
from .._estimator import MeasureEstimator, OrderedScore
from .._typing import AnyArray, FloatArray
from .._values import class_array
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..features import KernelFeatures
from ..measures import Measures, chunks
from . import _solve
from ._multiclass import CodedClassifier

#: Core samples of the default features.
CORE = 200


class Moments:
    """Moments of n vectors (r,): what a least-squares fit needs to know of them, whatever n is.

    Scatters are about the mean, and updated as by Chan, Golub and LeVeque (1979): no digits are lost to large means.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: FloatArray = np.zeros(size)
        self.scatter: FloatArray = np.zeros((size, size))

    def add(self, rows: FloatArray) -> None:
        """Add the vectors ``rows`` (m, r)."""
        if not len(rows):
            return
        mean = rows.mean(axis=0)
        centred = rows - mean
        gap, total = mean - self.mean, self.count + len(rows)
        self.scatter += centred.T @ centred + np.outer(gap, gap * (self.count * len(rows) / total))
        self.mean = self.mean + gap * (len(rows) / total)
        self.count = total

    @staticmethod
    def pool(parts: Iterable[Moments]) -> tuple[FloatArray, FloatArray]:
        """Return mean and scatter of all vectors of several moments."""
        parts = list(parts)
        counts, means = np.array([part.count for part in parts], dtype=np.float64), np.array([p.mean for p in parts])
        mean = counts @ means / counts.sum()
        gaps = means - mean
        scatter: FloatArray = (gaps.T * counts) @ gaps
        for part in parts:
            scatter += part.scatter
        return mean, scatter


class _Streaming(MeasureEstimator, ABC):
    """Features of batches, of which only moments are kept; weights are solved for when they are first asked for."""

    features: Any
    gamma: float
    chunk_size: int
    features_: Any
    _weights: tuple[FloatArray, FloatArray] | None

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features, (n_features, n_machines)."""
        return self._solution()[0]

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts, (n_machines,)."""
        return self._solution()[1]

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from all samples, a batch at a time."""
        self._learn(X, y, first=True)
        self._solution()
        return self

    @abstractmethod
    def _learn(self, X: Any, y: Any, first: bool) -> Any:
        """Add samples to the moments; ``first`` forgets those before."""

    def _solution(self) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self, "features_")
        if self._weights is None:
            self._weights = self._solve(positive(self.gamma, "gamma"))
        return self._weights

    @abstractmethod
    def _solve(self, gamma: float) -> tuple[FloatArray, FloatArray]:
        """Return weights (n_features, n_machines) and intercepts (n_machines,) from the moments."""

    def _start(self, X: Measures) -> int:
        """Fit the features on X and return how many there are."""
        default = KernelFeatures(n_core=min(CORE, len(X)), random_state=0)
        self.features_ = clone(default if self.features is None else self.features)
        self.features_.fit(X, None)
        return int(self.features_.transform(X[:1]).shape[1])

    def _outputs(self, X: Any) -> FloatArray:
        check_is_fitted(self, "features_")
        measures = self._read_measures(X, reset=False)
        coef, intercept = self._solution()
        return np.concatenate([F @ coef + intercept for (F,) in self._mapped(measures)])

    def _mapped(self, X: Measures, *y: AnyArray) -> Iterator[tuple[Any, ...]]:
        """Yield the features of a chunk of the samples at a time, and what belongs to it."""
        size = integer(self.chunk_size, "chunk_size", low=1)
        for part in chunks(X, *y, size=size):
            measures, *rest = part if y else (part,)
            yield np.asarray(self.features_.transform(measures), dtype=np.float64), *rest


@dataclass(eq=False, repr=False)
class StreamingLSSVMClassifier(CodedClassifier, _Streaming):
    r"""The classifier of ``LSSVMClassifier(solver="primal")``, learned from a stream.

    Each binary machine :math:`f(x) = w' \phi(x) + b` minimises
    :math:`|w|^2 + \gamma \sum_i (y_i - f(x_i))^2`. Of the samples only the mean and the scatter of the features of
    each class are kept: memory does not grow with their number, and the solution is that of all samples at once.

    Parameters
    ----------
    features : transformer of measures, optional
        ``KernelFeatures`` with up to 200 core samples by default. It is fitted on the X of ``fit``, or on the first
        batch of ``partial_fit``; scikit-learn's ``FrozenEstimator`` keeps one that is fitted already.
    gamma : float
        Weight of the squared errors.
    multiclass : 'ovo' or 'ovr'
        As in ``LSSVMClassifier``.
    chunk_size : int
        Samples mapped at a time.

    Attributes
    ----------
    features_ : transformer
        The fitted features.
    classes_, codes_, coef_, intercept_
        As in ``LSSVMClassifier``; after ``partial_fit`` the last two are solved for when first asked for.

    Notes
    -----
    *Cost*: :math:`O(l^2)` per sample for l features and :math:`O(l^3)` per problem at the end; :math:`l^2` numbers are
    kept for each class. The engine of a kernel remembers distances, up to 1 GiB; for streams give the kernel an
    ``Engine(memo=False)``.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import StreamingLSSVMClassifier, datasets
    >>> from kermes.features import SlicedFeatures
    >>> from kermes.measures import chunks
    >>> digits = datasets.load_digits()
    >>> model = StreamingLSSVMClassifier(SlicedFeatures(n_slices=20, n_quantiles=10), gamma=100.0)
    >>> for X, y in chunks(digits.images[:900], digits.target[:900], size=100):
    ...     model = model.partial_fit(X, y, classes=np.arange(10))
    >>> round(model.score(digits[900:].measures(), digits.target[900:]), 2)
    0.95
    """

    features: Any = None
    gamma: float = 1.0
    multiclass: str = "ovo"
    chunk_size: int = 1024

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> StreamingLSSVMClassifier:
        """Learn from one more batch of a stream.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        y : array of shape (n,)
        classes : array, optional
            All labels of the stream; needed in the first call.
        """
        first = not hasattr(self, "features_")
        if first and classes is None:
            raise InvalidParameterError(
                "`classes` must be passed to the first call of partial_fit: all labels there are."
            )
        if not first and classes is not None and not np.array_equal(_distinct(classes), self.classes_):
            raise InvalidParameterError(f"`classes` must be those of the first call, {self.classes_}; got {classes!r}.")
        return self._learn(X, y, first, classes)

    def _learn(self, X: Any, y: Any, first: bool, classes: Any = None) -> StreamingLSSVMClassifier:
        measures, y = self._read_labelled(X, y, reset=first, numeric=False)
        if first:
            check_classification_targets(y)
            positive(self.gamma, "gamma")
            self._set_classes(_distinct(y if classes is None else classes))
            n_features = self._start(measures)
            self._moments = [Moments(n_features) for _ in self.classes_]
        strangers = np.setdiff1d(y, self.classes_)
        if len(strangers):
            raise InvalidParameterError(f"`y` holds the label {strangers[0]!r}, which is not among `classes`.")
        for F, labels in self._mapped(measures, y):
            for moments, label in zip(self._moments, self.classes_, strict=True):
                moments.add(F[labels == label])
        self._weights = None
        return self

    def _solve(self, gamma: float) -> tuple[FloatArray, FloatArray]:
        """Solve each problem from the moments of the classes that take part in it."""
        empty = [str(label) for label, part in zip(self.classes_, self._moments, strict=True) if not part.count]
        if empty:
            raise UnsuitableDataError(f"there has been no sample of class {empty[0]} yet; every class needs one.")
        n_features = len(self._moments[0].mean)
        coef, intercept = np.empty((n_features, self.codes_.shape[1])), np.empty(self.codes_.shape[1])
        pooled: dict[tuple[int, ...], tuple[FloatArray, FloatArray]] = {}
        for p, code in enumerate(self.codes_.T):
            members = tuple(np.flatnonzero(code).tolist())
            parts = [self._moments[c] for c in members]
            if members not in pooled:
                pooled = {members: Moments.pool(parts)}
            mean, scatter = pooled[members]
            counts, targets = np.array([part.count for part in parts]), code[list(members)]
            level = counts @ targets / counts.sum()
            # sum_i (phi_i - mean) (y_i - level), by classes
            cross = sum(n * (t - level) * (part.mean - mean) for n, t, part in zip(counts, targets, parts, strict=True))
            w, b = _solve.from_moments(mean, scatter, np.asarray(cross)[:, None], np.array([level]), gamma)
            coef[:, p], intercept[p] = w[:, 0], b[0]
        return coef, intercept


@dataclass(eq=False, repr=False)
class StreamingLSSVMRegressor(OrderedScore, RegressorMixin, _Streaming):
    r"""The regression of ``LSSVMRegressor(solver="primal")``, learned from a stream.

    Minimises :math:`|w|^2 + \gamma \sum_i (y_i - w' \phi(x_i) - b)^2`, from the means and scatters of features and
    values: memory does not grow with the number of samples, and the solution is that of all samples at once.

    Parameters
    ----------
    features, gamma, chunk_size
        As in :class:`StreamingLSSVMClassifier`.

    Attributes
    ----------
    features_, coef_, intercept_
        As in :class:`StreamingLSSVMClassifier`, for one machine.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, StreamingLSSVMRegressor
    >>> from kermes.features import QuantileFeatures
    >>> rng = np.random.default_rng(0)
    >>> scale = rng.uniform(1, 2, size=300)
    >>> X = Measures.from_samples([rng.normal(0, s, size=200) for s in scale])
    >>> model = StreamingLSSVMRegressor(QuantileFeatures(20), gamma=10.0)
    >>> for start in (0, 100):
    ...     model = model.partial_fit(X[start : start + 100], scale[start : start + 100])
    >>> model.score(X[200:], scale[200:]) > 0.9
    True
    """

    features: Any = None
    gamma: float = 1.0
    chunk_size: int = 1024

    def partial_fit(self, X: Any, y: Any) -> StreamingLSSVMRegressor:
        """Learn from one more batch of a stream."""
        return self._learn(X, y, first=not hasattr(self, "features_"))

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted value of each sample."""
        return self._outputs(X)[:, 0]

    def _learn(self, X: Any, y: Any, first: bool) -> StreamingLSSVMRegressor:
        measures, y = self._read_labelled(X, y, reset=first, numeric=True)
        if first:
            positive(self.gamma, "gamma")
            self._moments = Moments(self._start(measures) + 1)
        for F, values in self._mapped(measures, y):
            self._moments.add(np.column_stack([F, values]))
        self._weights = None
        return self

    def _solve(self, gamma: float) -> tuple[FloatArray, FloatArray]:
        mean, scatter = self._moments.mean, self._moments.scatter
        return _solve.from_moments(mean[:-1], scatter[:-1, :-1], scatter[:-1, -1:], mean[-1:], gamma)


def _distinct(classes: Any) -> AnyArray:
    return np.unique(class_array(classes, "classes"))
