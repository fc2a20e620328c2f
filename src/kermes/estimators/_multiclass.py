"""Code words and sigmoids: several classes as binary problems, and outputs as a class or as probabilities again."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .._checks import choice
from .._estimator import OrderedScore
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import UnsuitableDataError

#: Probabilities of binary problems are kept away from 0 and 1 by this much where they are coupled.
EDGE = 1e-9


class CodedClassifier(OrderedScore, ClassifierMixin):
    """Classifier made of binary machines: a subclass gives their outputs, this class the labels."""

    classes_: AnyArray
    codes_: FloatArray
    multiclass: str
    #: What a subclass has: a method that returns the outputs of :meth:`binary_decisions` for samples X.
    _outputs: Any

    def _set_classes(self, classes: AnyArray) -> None:
        """Set ``classes_`` and ``codes_``."""
        choice(self.multiclass, "multiclass", ["ovo", "ovr"])
        if len(classes) < 2:
            raise UnsuitableDataError(
                f"{type(self).__name__} needs samples of at least two classes; `y` holds one class only, "
                f"{classes[0]!s}. Add samples of another class."
            )
        self.classes_, self.codes_ = classes, code_words(len(classes), self.multiclass)

    def _encode(self, y: AnyArray, used: AnyArray) -> IndexArray:
        """Set the classes to those of the samples in use, and return the class number of every sample."""
        check_classification_targets(y)
        self._set_classes(np.unique(y[used]))
        return np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)

    def binary_decisions(self, X: Any) -> FloatArray:
        """Return the output of each binary machine, (len(X), n_problems); its sign is the decision."""
        return np.asarray(self._outputs(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return one score per class, (len(X), n_classes), or for two classes the output, (len(X),).

        One-versus-one scores are the number of won problems plus a term in (-1/3, 1/3) that breaks ties by margins.
        """
        return self.combine(self.binary_decisions(X))

    def combine(self, outputs: FloatArray) -> FloatArray:
        """Return the scores of ``decision_function`` for outputs of the binary machines, (n, n_problems)."""
        return decode(outputs, self.codes_, self.multiclass)

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted label of each sample."""
        return self._label(self.decision_function(X))

    def _label(self, scores: FloatArray) -> AnyArray:
        winners = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[winners])


def code_words(n_classes: int, scheme: str) -> FloatArray:
    """Return the target of each class in each binary problem, (n_classes, n_problems), in {-1, 0, 1}.

    0 = the class takes no part. Two classes make one problem. One-versus-one has a problem for each pair i < j in
    lexicographic order, with class j positive; one-versus-rest one for each class.
    """
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    if scheme == "ovr":
        return 2.0 * np.eye(n_classes) - 1.0
    first, second = np.triu_indices(n_classes, 1)
    codes = np.zeros((n_classes, len(first)))
    problems = np.arange(len(first))
    codes[first, problems] = -1.0
    codes[second, problems] = 1.0
    return codes


def decode(outputs: FloatArray, codes: FloatArray, scheme: str) -> FloatArray:
    """Return one score per class, (n, n_classes), the largest for the predicted class; (n,) for two classes.

    One-versus-one: the number of agreements of sign(outputs) with the code word, that is n_classes - 1 minus the
    Hamming distance, plus a term in (-1/3, 1/3) increasing in the summed margins, which breaks ties.
    """
    if len(codes) == 2:
        return outputs[:, 0]
    if scheme == "ovr":
        return outputs
    signs = np.where(outputs > 0, 1.0, -1.0)
    # Among the n_classes - 1 problems of a class, agreements minus disagreements is signs . code.
    agreements = (signs @ codes.T + len(codes) - 1) / 2.0
    margins = outputs @ codes.T
    return np.asarray(agreements + margins / (3.0 * (np.abs(margins) + 1.0)))


def fit_sigmoids(outputs: FloatArray, targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (a, b) of the sigmoid 1 / (1 + exp(-a f - b)) of each machine, (n_problems, 2).

    ``outputs`` (n, p) are those of machines that did not see the sample, ``targets`` -1, 1, or 0 for samples that take
    no part, ``weights`` (n,) positive.
    """
    problems = zip(outputs.T, targets.T, strict=True)
    return np.array([_sigmoid(f[t != 0], t[t != 0] > 0, weights[t != 0]) for f, t in problems])


def _sigmoid(outputs: FloatArray, positive: AnyArray, weights: FloatArray) -> FloatArray:
    """Maximise the likelihood of Platt (2000): targets are a little off 0 and 1, so that a maximum exists."""
    scale = max(float(np.abs(outputs).max()), 1e-300)
    f = outputs / scale
    weights = weights * len(weights) / weights.sum()
    ahead, behind = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (ahead + 1.0) / (ahead + 2.0), 1.0 / (behind + 2.0))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        z = theta[0] * f + theta[1]
        gap = weights * (expit(z) - target)
        value = -float(weights @ (target * log_expit(z) + (1.0 - target) * log_expit(-z)))
        return value, np.array([gap @ f, gap.sum()])

    start = np.array([0.0, np.log((ahead + 1.0) / (behind + 1.0))])
    # A machine that is worse than a guess on samples it did not see says nothing, rather than the opposite.
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)])
    return np.array([found.x[0] / scale, found.x[1]])


def probabilities(outputs: FloatArray, sigmoids: FloatArray, codes: FloatArray) -> FloatArray:
    """Return the probabilities (n, n_classes) from outputs (n, n_problems) of the machines with these code words."""
    ahead = expit(outputs * sigmoids[:, 0] + sigmoids[:, 1])
    if len(codes) == 2:
        return np.column_stack([1.0 - ahead[:, 0], ahead[:, 0]])
    if codes.all():  # one class against the rest
        ahead = np.maximum(ahead, EDGE)
        return np.asarray(ahead / ahead.sum(axis=1, keepdims=True))
    return _coupled(np.clip(ahead, EDGE, 1.0 - EDGE), codes)


def _coupled(ahead: FloatArray, codes: FloatArray) -> FloatArray:
    r"""Minimise :math:`\sum_{i < j} (r_{ji} p_i - r_{ij} p_j)^2` over probabilities p: Wu, Lin and Weng (2004).

    ``r_ij`` estimates P(i | i or j); ``ahead`` has those of the second class of each pair.
    """
    n, k = len(ahead), len(codes)
    first, second = np.triu_indices(k, 1)
    r = np.zeros((n, k, k))
    r[:, second, first], r[:, first, second] = ahead, 1.0 - ahead
    Q = -r * r.transpose(0, 2, 1)
    Q[:, np.arange(k), np.arange(k)] = (r**2).sum(axis=1)  # sum over j of r_ji^2
    bordered = np.zeros((n, k + 1, k + 1))
    bordered[:, :k, :k] = Q
    bordered[:, :k, k] = bordered[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(bordered, right)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
