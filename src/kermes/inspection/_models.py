"""Models: which training measures a prediction comes from, and leave-one-out predictions of Gaussian processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special
from sklearn.utils.validation import check_is_fitted

from .._checks import as_numbers, integer, require_order
from .._quantities import counted
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..estimators import LSSVMClassifier, LSSVMClassifierCV, LSSVMRegressor
from ..estimators._measure_gp import target_units
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measure


class Largest(NamedTuple):
    """The largest contributions, of either sign: training ``rows`` (k,) and signed ``values`` (k,), largest first."""

    rows: IndexArray
    values: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    r"""The terms of the outputs of least-squares machines.

    Parameters
    ----------
    values : ndarray of shape (n, n_support, n_problems)
        The terms :math:`\alpha_i k(x, x_i)`: positive ones count for the positive class of the problem (or for a
        larger value in regression), negative ones against it.
    intercept : ndarray of shape (n_problems,)
    support : ndarray of shape (n_support,)
        Rows of the training measures :math:`x_i` in the training set.
    problems : list of (negative, positive)
        The classes of each binary problem; None stands for all others, and for regression.
    winners : ndarray of shape (n,)
        The problem that decided each prediction: the winner against the second best class.
    """

    values: FloatArray
    intercept: FloatArray
    support: IndexArray
    problems: list[tuple[Any, Any]]
    winners: IndexArray

    @property
    def decision(self) -> FloatArray:
        """The outputs of the machines, (n, n_problems): the sums of the terms, and the intercepts."""
        return np.asarray(self.values.sum(axis=1) + self.intercept)

    def top(self, sample: int = 0, k: int = 5, problem: int | None = None) -> Largest:
        """Return the k training measures with the largest terms, of either sign, for one sample.

        ``problem`` is the number of the binary problem; by default the one that decided.
        """
        problem = int(self.winners[sample]) if problem is None else problem
        terms = self.values[sample, :, problem]
        order = np.argsort(-np.abs(terms), kind="stable")[: integer(k, "k", low=1)]
        return Largest(self.support[order], terms[order])

    def __repr__(self) -> str:
        n, m, p = self.values.shape
        return f"Contributions({n} samples, {m} training measures, {counted(p, 'problem')})"


def contributions(model: Any, X: Any) -> Contributions:
    r"""Return what each training measure adds to the outputs of a least-squares support vector machine.

    .. math:: f(x) = \sum_i \alpha_i \, k(x, x_i) + b

    Parameters
    ----------
    model : fitted LSSVMClassifier, LSSVMRegressor, or LSSVMClassifierCV with ``solver='dual'``
        A primal machine is such a sum over its core samples.
    X : Measure, Measures, or anything ``as_measures`` takes
        What is predicted; rows of the Gram matrix if the kernel is precomputed.

    Notes
    -----
    The :math:`\alpha_i` have the sign of the class as in :class:`~kermes.LSSVMClassifier`, so that the term of a
    measure is :math:`|\alpha_i| y_i k(x, x_i)` where :math:`\alpha_i y_i \ge 0`. A least-squares machine also has
    measures with :math:`\alpha_i y_i < 0`: those that lie beyond the margin pull back. *Cost*: the kernel against the
    training measures; ``n * n_support * n_problems`` numbers.

    Examples
    --------
    >>> from kermes import LSSVMClassifier, Measures, inspection
    >>> X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [4.0, 5.0], [5.0]])
    >>> model = LSSVMClassifier().fit(X, ["low", "low", "high", "high"])
    >>> new = Measures.from_samples([[0.4, 0.9]])
    >>> found = inspection.contributions(model, new)
    >>> found.problems
    [('high', 'low')]
    >>> found.top(k=2).rows
    array([1, 0])
    >>> bool(abs(found.decision[0, 0] - model.decision_function(new)[0]) < 1e-12)
    True
    """
    if not isinstance(model, (LSSVMClassifier, LSSVMRegressor, LSSVMClassifierCV)):
        raise InvalidParameterError(
            f"`model` must be a fitted LSSVMClassifier, LSSVMRegressor or LSSVMClassifierCV; got {model!r}. For a "
            "pipeline, pass its last step and the transformed measures."
        )
    check_is_fitted(model)
    samples = [X] if isinstance(X, Measure) else X
    values, support = model.terms(samples)
    intercept = np.asarray(model.intercept_)
    if isinstance(model, LSSVMRegressor):
        return Contributions(values, intercept, support, [(None, None)], np.zeros(len(values), dtype=np.int64))
    winners = _deciding(model.combine(values.sum(axis=1) + intercept), model.codes_)

    def one(members: AnyArray) -> Any:
        """Return the class on one side of a problem; None for several."""
        return model.classes_[members].tolist()[0] if np.count_nonzero(members) == 1 else None

    problems = [(one(column < 0), one(column > 0)) for column in model.codes_.T]
    return Contributions(values, intercept, support, problems, winners)


def _deciding(scores: FloatArray, codes: FloatArray) -> IndexArray:
    """Return the problem that has the winner on one side and the second best class on the other."""
    if len(codes) == 2:
        return np.zeros(len(scores), dtype=np.int64)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    apart = codes[best[:, 0]] * codes[best[:, 1]]  # -1 where the problem separates them
    # One-versus-rest separates them twice; the winner's own machine, where it is positive, is meant.
    return np.asarray((apart - 0.5 * (codes[best[:, 0]] > 0)).argmin(axis=1), dtype=np.int64)


@dataclass(frozen=True)
class LeaveOneOut:
    """Predictions of each training target from all others.

    Parameters
    ----------
    targets, means, stds : ndarray of shape (n,)
        The targets, and mean and standard deviation predicted for them, in units of the targets.
    """

    targets: FloatArray
    means: FloatArray
    stds: FloatArray

    def __post_init__(self) -> None:
        require_order(self.targets, "targets", means=self.means, stds=self.stds)
        for name in ("targets", "means", "stds"):
            object.__setattr__(self, name, as_numbers(getattr(self, name), name))
        shapes = self.targets.shape, self.means.shape, self.stds.shape
        if len(set(shapes)) > 1 or self.targets.ndim != 1 or not len(self.targets):
            raise InvalidParameterError(
                "`targets`, `means` and `stds` must be arrays of one and the same shape (n,); got shapes "
                f"{', '.join(map(str, shapes))}. Use .ravel() on columns."
            )
        if not (self.stds >= 0).all():
            i = int(np.flatnonzero(~(self.stds >= 0))[0])
            raise InvalidParameterError(f"`stds` must be at least 0; entry {i} is {self.stds[i]}.")

    @property
    def residuals(self) -> FloatArray:
        """Standardised errors, (n,): like draws of a standard normal if the process is right."""
        return (self.targets - self.means) / self.stds

    @property
    def log_densities(self) -> FloatArray:
        """Logarithms of the predictive densities at the targets, (n,); their sum compares models."""
        return np.asarray(-0.5 * self.residuals**2 - np.log(self.stds) - 0.5 * np.log(2 * np.pi))

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.mean((self.targets - self.means) ** 2)))

    def coverage(self, levels: ArrayLike = (0.5, 0.8, 0.9, 0.95)) -> FloatArray:
        """Return the share of targets inside the central intervals of the given probabilities.

        Calibrated processes have shares near the levels; for n targets they scatter by
        ``sqrt(level * (1 - level) / n)`` or so.
        """
        asked = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if asked.ndim != 1 or not ((asked > 0) & (asked < 1)).all():
            raise InvalidParameterError(f"`levels` must be probabilities between 0 and 1; got {levels!r}.")
        widths = special.ndtri(0.5 + asked / 2)
        return np.asarray((np.abs(self.residuals)[None] <= widths[:, None]).mean(axis=1))

    def __repr__(self) -> str:
        half, most = self.coverage((0.5, 0.9))
        return (
            f"LeaveOneOut({len(self.targets)} targets, RMSE {self.rmse:.2g}, mean log density "
            f"{self.log_densities.mean():.2f}; {half:.0%} in 50%, {most:.0%} in 90%)"
        )


def leave_one_out(gp: Any) -> LeaveOneOut:
    r"""Return what a fitted Gaussian process predicts for each training target without having seen it.

    .. math:: \mu_{-i} = y_i - \frac{[K^{-1} y]_i}{[K^{-1}]_{ii}}, \qquad \sigma_{-i}^2 = \frac{1}{[K^{-1}]_{ii}}

    with the kernel matrix K, noise included, so that these are predictions of observations.

    Parameters
    ----------
    gp : fitted GaussianProcessRegressor, MeasureGPRegressor or EquivalentWassersteinGP
        With one output.

    Notes
    -----
    Equal to refitting without each sample at fixed hyperparameters and with the targets standardised as they
    are. Hyperparameters have seen all targets, so a little optimism remains. *Cost*: :math:`O(n^3)`, once.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import EquivalentWassersteinGP, Measures, inspection
    >>> a = np.linspace(0.05, 0.95, 19)
    >>> X = Measures.from_histograms(np.column_stack([a, 1 - a]), support=[0.0, 1.0])
    >>> y = np.sin(6 * a) + np.random.default_rng(0).normal(0, 0.1, 19)
    >>> inspection.leave_one_out(EquivalentWassersteinGP(random_state=0).fit(X, y))
    LeaveOneOut(19 targets, RMSE 0.087, mean log density 1.01; 47% in 50%, 89% in 90%)
    """
    gp = getattr(gp, "gp_", gp)
    if not hasattr(gp, "L_"):
        raise InvalidParameterError(
            "`gp` must be a fitted Gaussian process regressor, such as MeasureGPRegressor(kernel).fit(X, y); got "
            f"{gp!r}."
        )
    y = np.asarray(gp.y_train_, dtype=np.float64)
    if y.ndim > 1 and y.shape[1] > 1:
        raise UnsuitableDataError(f"leave-one-out takes one output; `gp` has {y.shape[1]}. Fit one process for each.")
    if len(y) < 2:
        raise UnsuitableDataError("leave-one-out needs at least two training samples; got one.")
    # The diagonal of K^-1 = L^-T L^-1: squared columns of L^-1.
    inverse = linalg.solve_triangular(gp.L_, np.eye(len(y)), lower=True, check_finite=False)
    precision = np.einsum("ij,ij->j", inverse, inverse)
    y = y.ravel()
    means = y - np.ravel(gp.alpha_) / precision
    shift, scale = target_units(gp)
    return LeaveOneOut(shift + scale * y, shift + scale * means, scale / np.sqrt(precision))
