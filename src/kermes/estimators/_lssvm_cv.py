"""Selection of (length_scale, gamma) for each binary problem of an LS-SVM classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._estimator import KernelEstimator, require_order_of
from .._linalg import ONE_THREAD
from .._typing import FloatArray, IndexArray
from .._values import as_targets
from ..core.eigenvalues import negative_mass
from ..engine import DEFAULT, Engine
from ..engine._executors import run
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..features._kernel import draw_core, feature_map, warn_negative_mass
from ..measures import Measures
from . import _solve
from ._lssvm import check_solver
from ._multiclass import CodedClassifier


@dataclass(frozen=True)
class _Map:
    """What a machine sees of a sample: kernel values at the anchors, or features made of them."""

    kernel: Any
    anchors: Measures
    components: FloatArray | None = None
    negative_mass: float = 0.0

    def __call__(self, X: Measures | None) -> FloatArray:
        """Return the rows of X; of the training samples, which are the anchors, if X is None."""
        K: FloatArray = self.kernel(self.anchors) if X is None else self.kernel(X, self.anchors)
        return K if self.components is None else K @ self.components.T


#: Training samples with their labels, and validation samples with theirs; without these, leave-one-out on the former.
_Split: TypeAlias = tuple[Measures, IndexArray] | tuple[Measures, IndexArray, Measures, IndexArray]


@dataclass(eq=False, repr=False)
class LSSVMClassifierCV(CodedClassifier, KernelEstimator):
    r"""LS-SVM classifier with length scale and gamma chosen for each binary problem.

    Parameters
    ----------
    kernel : kernel on measures with one ``length_scale``, or None
        Such as ``Exponential(divergence)`` or ``MassWeighted(Exponential(divergence))``; its own length scale only
        sets the default grid. None: as in :class:`LSSVMClassifier`.
    length_scales : array, optional
        Length scales to try; by default nine from a tenth to ten times the kernel's.
    gammas : array, optional
        Values of gamma to try; by default :math:`10^{-2}, 10^{-1}, \dots, 10^8`.
    cv : int, splitter, iterable or None
        How to validate if ``fit`` gets no validation set. None: leave-one-out, in closed form.
    solver, n_core, multiclass, tol, random_state
        As in :class:`LSSVMClassifier`.

    Attributes
    ----------
    classes_, codes_, intercept_
        As in :class:`LSSVMClassifier`.
    length_scale_, gamma_ : ndarray of shape (n_problems,)
        What was chosen for each problem.
    errors_ : ndarray of shape (n_problems, n_length_scales, n_gammas)
        Share of wrong signs in validation.
    losses_ : ndarray, likewise
        Mean squared residual in validation; it decides between equal errors, then the earlier grid point does.
    length_scales_, gammas_ : ndarray
        The grids.

    Notes
    -----
    Every pair of measures is evaluated once, as long as the engine's memo has room for them: nine bytes per pair of the
    rows in use, and slices of one collection count as one square. *Cost*: one eigendecomposition per
    length scale and binary problem, shared by all gammas; for the primal solver one feature map per length scale,
    shared by all problems; then one solution per problem. The primal solver warns if the feature map of a chosen length
    scale leaves out over 5 % of the spectrum.

    Leave-one-out is pessimistic for few, balanced samples: without the one left out, the intercept leans to the other
    class; prefer ``cv=5`` there. For the primal solver it takes the feature map as given.

    Examples
    --------
    >>> from kermes import LSSVMClassifierCV, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [4.0, 5.0], [5.0], [9.0], [8.5]])
    >>> model = LSSVMClassifierCV(kernels.Exponential(divergences.Wasserstein()), length_scales=[0.1, 1.0])
    >>> model.fit(X, [0, 0, 1, 1, 2, 2]).length_scale_
    array([1., 1., 1.])
    """

    kernel: Any = None
    length_scales: Any = None
    gammas: Any = None
    cv: Any = None
    solver: str = "dual"
    n_core: int | None = None
    multiclass: str = "ovo"
    tol: float = 1e-6
    random_state: Any = None

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> LSSVMClassifierCV:
        """Choose length scales and gammas, then fit all machines on X.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        y : array of shape (n,)
        X_val, y_val : like X and y, optional
            Validation set, with a sample of each class at least. It is used for the choice only. Take slices of one
            collection for X and X_val, so that distances are remembered.
        """
        samples, labels = self._start(X, y)
        kept = self._choose(samples, self._splits(samples, labels, X_val, y_val))
        self._refit(samples, self.codes_[labels], kept)
        return self

    def _outputs(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        samples = self._read_measures(X, reset=False)
        outputs = np.empty((len(samples), len(self.intercept_)))
        for view, problems, coef in self._machines:
            outputs[:, problems] = view(samples) @ coef + self.intercept_[problems]
        return outputs

    def terms(self, X: Any) -> tuple[FloatArray, IndexArray]:
        """Return the terms of the outputs and the rows of their samples, as ``LSSVMClassifier.terms`` (dual)."""
        check_is_fitted(self)
        if self.solver != "dual":
            raise InvalidParameterError("the terms of an LSSVMClassifierCV exist for solver='dual' only.")
        samples = self._read_measures(X, reset=False)
        values = np.empty((len(samples), len(self.support_), len(self.intercept_)))
        for view, problems, coef in self._machines:
            values[:, :, problems] = view(samples)[:, :, np.newaxis] * coef
        return values, self.support_

    def _start(self, X: Any, y: Any) -> tuple[Measures, IndexArray]:
        check_solver(self.solver, self.n_core)
        if self._precomputed:
            raise InvalidParameterError(
                "`kernel` must have a length_scale to choose; got 'precomputed'. Use kernels.Exponential with "
                "divergences.Precomputed(D)."
            )
        samples, y = self._read_labelled(X, y, numeric=False)
        assert isinstance(samples, Measures)
        labels = self._encode(y, np.ones(len(y), dtype=bool))
        self._bind(samples, np.arange(len(samples)))
        # One draw of the core samples for all length scales, whatever kind of random state was given.
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        scale = self.kernel_.get_params()[_length_scale_name(self.kernel_)]
        self.length_scales_ = _grid(self.length_scales, "length_scales", scale * np.geomspace(0.1, 10.0, 9))
        self.gammas_ = _grid(self.gammas, "gammas", np.logspace(-2, 8, 11))
        return samples, labels

    def _splits(self, X: Measures, labels: IndexArray, X_val: Any, y_val: Any) -> list[_Split]:
        if (X_val is None) != (y_val is None):
            raise InvalidParameterError("`X_val` and `y_val` must be given together; one of them is None.")
        if X_val is not None and self.cv is not None:
            raise InvalidParameterError("`cv` must be None when a validation set is given; it would not be used.")
        if X_val is not None:
            validation = self._read_measures(X_val, reset=False, name="X_val")
            require_order_of(X_val, validation, "X_val", y_val=y_val)
            return [(X, labels, validation, self._validation_labels(validation, y_val))]
        if self.cv is None:
            return [(X, labels)]
        folds = list(check_cv(self.cv, labels, classifier=True).split(np.zeros(len(labels)), labels))
        for rows in [train for train, _ in folds] + [np.concatenate([test for _, test in folds])]:
            absent = np.setdiff1d(np.arange(len(self.classes_)), labels[rows])
            if len(absent):
                raise UnsuitableDataError(
                    f"the folds of `cv` leave class {self.classes_[absent[0]]!r} out of a training set, or out of all "
                    "test sets. Use stratified folds, fewer of them, or cv=None for leave-one-out."
                )
        return [(X[train], labels[train], X[test], labels[test]) for train, test in folds]

    def _validation_labels(self, X_val: Measures, y_val: Any) -> IndexArray:
        y_val = column_or_1d(as_targets(y_val, numeric=False, name="y_val"), warn=True)
        check_consistent_length(X_val, y_val)
        strangers = np.setdiff1d(y_val, self.classes_)
        if len(strangers):
            raise UnsuitableDataError(f"`y_val` has the class {strangers[0]!r}, which `y` lacks. Remove such samples.")
        absent = np.setdiff1d(self.classes_, y_val)
        if len(absent):
            raise UnsuitableDataError(
                f"`y_val` has no sample of class {absent[0]!r}; each binary problem is validated on its own classes. "
                "Add such samples, or use cv instead of a validation set."
            )
        return np.asarray(np.searchsorted(self.classes_, y_val))

    def _choose(self, X: Measures, splits: list[_Split]) -> dict[float, _Map]:
        """Fill ``errors_`` and ``losses_``, and choose the best of the grid for each problem.

        Returns the maps of the chosen length scales where the split trains on all of X: a feature map is an
        eigendecomposition. Those of scales that no problem prefers any more are dropped on the way.
        """
        shape = (self.codes_.shape[1], len(self.length_scales_), len(self.gammas_))
        wrong, squares, counts = np.zeros(shape), np.zeros(shape), np.zeros((shape[0], 1, 1))
        kept: dict[float, _Map] = {}
        for split in splits:
            counts[:, 0, 0] += (self.codes_[split[-1]] != 0).sum(axis=0)  # who takes part, of those judged
            for k, scale in enumerate(self.length_scales_):
                view = self._view(split[0], scale)
                for p, (misses, loss) in enumerate(self._validate(view, *split)):
                    wrong[p, k] += misses
                    squares[p, k] += loss
                if split[0] is X:  # the only split, then
                    best, _ = _best_of(wrong[:, : k + 1], squares[:, : k + 1])
                    chosen = {float(s) for s in self.length_scales_[best]}
                    kept = {s: v for s, v in (kept | {float(scale): view}).items() if s in chosen}
        # A singular system has no finite outputs: its loss excludes it.
        usable = np.isfinite(squares)
        self.errors_ = np.where(usable, wrong / counts, 1.0)
        self.losses_ = np.where(usable, squares / counts, np.inf)
        scales, gammas = _best_of(wrong, squares)
        self.length_scale_, self.gamma_ = self.length_scales_[scales], self.gammas_[gammas]
        return kept

    def _validate(
        self, view: _Map, X: Measures, labels: IndexArray, X_val: Any = None, labels_val: Any = None
    ) -> list[tuple[IndexArray, FloatArray]]:
        """Return the number of wrong signs and the summed squared residuals of each problem, for every gamma."""
        matrix = view(None if self.solver == "dual" else X)
        validation = None if X_val is None else view(X_val)
        targets = self.codes_[labels]
        dual = self.solver == "dual"

        def factorise(rows: IndexArray) -> _solve.DualFactor | _solve.PrimalFactor:
            return _solve.DualFactor(matrix[np.ix_(rows, rows)]) if dual else _solve.PrimalFactor(matrix[rows])

        # Problems with the same samples (one-versus-rest) share one factorisation.
        common = factorise(np.arange(len(matrix))) if self.codes_.all() else None

        found: list[Any] = [None] * self.codes_.shape[1]

        def judge(p: int) -> None:
            rows = np.flatnonzero(targets[:, p])
            path = (common or factorise(rows)).path(targets[rows, p], self.gammas_)
            if validation is None:
                found[p] = _misfit(path.leave_one_out(), targets[rows, p])
                return
            expected = self.codes_[labels_val, p]
            judged = np.flatnonzero(expected)
            seen = validation[np.ix_(judged, rows)] if dual else validation[judged]
            found[p] = _misfit(path.outputs(seen), expected[judged])

        with ONE_THREAD:
            run(judge, range(len(found)), min(self._engine().n_threads, len(found)))
        return found

    def _engine(self) -> Engine:
        """Return the engine of the kernel: who computes its distances judges the binary problems too."""
        named = [value for name, value in self.kernel_.get_params().items() if name.split("__")[-1] == "engine"]
        return next((engine for engine in named if engine is not None), DEFAULT)

    def _refit(self, X: Measures, targets: FloatArray, kept: dict[float, _Map]) -> None:
        """Fit every problem at its own length scale and gamma; problems of one length scale share its Gram matrix."""
        method = _solve.dual if self.solver == "dual" else _solve.primal
        self.intercept_ = np.empty(targets.shape[1])
        self._machines: list[tuple[_Map, IndexArray, FloatArray]] = []
        for scale in np.unique(self.length_scale_):
            view = kept[float(scale)] if float(scale) in kept else self._view(X, scale)
            matrix = view(None if self.solver == "dual" else X)
            problems = np.flatnonzero(self.length_scale_ == scale)
            coef = np.empty((matrix.shape[1], len(problems)))
            for column, p in enumerate(problems):
                ridge = np.full(len(targets), 1.0 / self.gamma_[p])
                coef[:, column], self.intercept_[p] = _solve.binary(method, matrix, targets[:, p], ridge)
            self._machines.append((view, problems, coef))
        if self.solver == "primal":
            warn_negative_mass(max(view.negative_mass for view, _, _ in self._machines))

    def _view(self, X: Measures, length_scale: float) -> _Map:
        kernel = clone(self.kernel_).set_params(**{_length_scale_name(self.kernel_): float(length_scale)})
        if self.solver == "dual":
            return _Map(kernel, X)
        anchors = X[draw_core(len(X), self.n_core, self._seed)]
        components, eigenvalues = feature_map(kernel(anchors), self.tol, None)
        return _Map(kernel, anchors, components, negative_mass(eigenvalues))


def _best_of(wrong: FloatArray, squares: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Return length scale and gamma of each problem by their numbers: fewest wrong signs, then least squares.

    What has no finite squares comes last, and the earlier of two equals first.
    """
    usable = np.isfinite(squares)
    wrong, squares = np.where(usable, wrong, np.inf), np.where(usable, squares, np.inf)
    best = [np.lexsort((s.ravel(), w.ravel()))[0] for w, s in zip(wrong, squares, strict=True)]
    scales, gammas = np.unravel_index(best, squares.shape[1:])
    return np.asarray(scales), np.asarray(gammas)


def _misfit(outputs: FloatArray, targets: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Return the number of wrong signs and the sum of squared residuals in each column of outputs."""
    wrong = np.count_nonzero((outputs > 0) != (targets > 0)[:, np.newaxis], axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        return wrong, ((outputs - targets[:, np.newaxis]) ** 2).sum(axis=0)


def _length_scale_name(kernel: Any) -> str:
    """Return the one parameter of the kernel that is a length scale, such as ``kernel__length_scale``."""
    names = [name for name in kernel.get_params() if name.split("__")[-1] == "length_scale"]
    if len(names) != 1:
        raise InvalidParameterError(
            f"`kernel` must have exactly one parameter length_scale to choose; {kernel!r} has "
            f"{', '.join(names) or 'none'}. Use "
            "GridSearchCV with LSSVMClassifier for other kernels."
        )
    return str(names[0])


def _grid(values: Any, name: str, default: FloatArray) -> FloatArray:
    if values is None:
        return default
    grid: FloatArray = np.array(values, dtype=np.float64)
    if grid.ndim != 1 or not len(grid) or not (np.isfinite(grid) & (grid > 0)).all():
        raise InvalidParameterError(f"`{name}` must be a 1-D array of finite numbers greater than 0; got {values!r}.")
    return grid
