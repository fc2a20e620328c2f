"""Features of a semigroup mixture as a transformer."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._estimator import KernelEstimator
from .._typing import FloatArray
from ..exceptions import InvalidParameterError
from ..kernels import Bumps, SemigroupMixture
from ..measures import Measures

__all__ = ["MixtureFeatures"]


class MixtureFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
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
    n_features_in_ : int
        Dimension of the points.

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

    def __init__(
        self,
        kernel: SemigroupMixture | None = None,
        n_components: int = 100,
        width: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.width = width
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> MixtureFeatures:
        """Draw the bumps, or check the kernel.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        y : ignored
        """
        samples = self._read(X, reset=True)
        assert isinstance(samples, Measures)  # nothing is precomputed
        self.kernel_ = self._default(samples) if self.kernel is None else clone(self.kernel)
        self._n_features_out = self.kernel_.features(samples[:1]).shape[1]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of X, (len(X), number of functions)."""
        check_is_fitted(self)
        return self.kernel_.features(self._read(X, reset=False))  # type: ignore[no-any-return]

    def _default(self, X: Measures) -> SemigroupMixture:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return SemigroupMixture(Bumps.random(X, self.n_components, self.width, seed=seed))

    def _check_kernel(self) -> None:
        if self.kernel is not None and not isinstance(self.kernel, SemigroupMixture):
            raise InvalidParameterError(
                f"`kernel` must be a kernels.SemigroupMixture or None; got {self.kernel!r}. For other kernels use "
                "KernelFeatures."
            )
