"""Features of a semigroup mixture as a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._estimator import MeasureEstimator
from .._typing import FloatArray
from ..exceptions import InvalidParameterError
from ..kernels import Bumps, SemigroupMixture


@dataclass(eq=False, repr=False)
class MixtureFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MeasureEstimator):
    r"""Exact features of a semigroup mixture, linear in the number of measures.

    .. math:: \phi_i(\mu) = \sqrt{w_i} \, \exp\left(-\mu[f_i]\right), \qquad
              \langle \phi(\mu), \phi(\nu) \rangle = k(\mu, \nu)

    Parameters
    ----------
    kernel : SemigroupMixture, optional
        By default equally weighted Gaussian bumps at atoms of the training measures (``kernels.Bumps.random``).
    n_components : int
        How many bumps, if no kernel is given.
    width : float, optional
        Their width; a quarter of the spread of the centres by default.
    random_state : int, RandomState or None
        Seed of their draw.

    Attributes
    ----------
    kernel_ : SemigroupMixture
        The kernel in use.

    Notes
    -----
    Masses are kept. *Cost*: the functions at every atom, nothing quadratic.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from kermes import MixtureFeatures, datasets
    >>> digits = datasets.load_digits()
    >>> X, y = digits.measures(), digits.target
    >>> model = make_pipeline(MixtureFeatures(random_state=0), LogisticRegression(C=1e3, max_iter=1000))
    >>> round(model.fit(X[:900], y[:900]).score(X[900:], y[900:]), 2)
    0.92
    """

    kernel: SemigroupMixture | None = None
    n_components: int = 100
    width: float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> MixtureFeatures:
        """Draw the bumps, or check the kernel."""
        if self.kernel is not None and not isinstance(self.kernel, SemigroupMixture):
            raise InvalidParameterError(
                f"`kernel` must be a kernels.SemigroupMixture or None; got {self.kernel!r}. For other kernels use "
                "KernelFeatures."
            )
        samples = self._read_measures(X, reset=True)
        self.kernel_ = clone(self.kernel, safe=False)
        if self.kernel is None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            self.kernel_ = SemigroupMixture(Bumps.random(samples, self.n_components, self.width, seed=seed))
        self._n_features_out = self.kernel_.features(samples[:1]).shape[1]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of X, (len(X), number of functions)."""
        check_is_fitted(self)
        return self.kernel_.features(self._read_measures(X, reset=False))  # type: ignore[no-any-return]
