"""Code words: how several classes become binary problems, and outputs become a class again."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .._checks import choice
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import UnsuitableDataError

SCHEMES = ("ovo", "ovr")


class CodedClassifier(ClassifierMixin):
    """Classifier made of binary machines: a subclass gives their outputs, this class the labels."""

    classes_: AnyArray
    codes_: FloatArray
    multiclass: str

    def _set_classes(self, classes: AnyArray) -> None:
        """Set ``classes_`` and ``codes_``."""
        choice(self.multiclass, "multiclass", SCHEMES)
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

    @abstractmethod
    def binary_decisions(self, X: Any) -> FloatArray:
        """Return the output of each binary machine, (len(X), n_problems); its sign is the decision."""

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
