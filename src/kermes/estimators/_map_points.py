"""Any scikit-learn transformer, applied to the points of measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._checks import choice, require_order
from .._estimator import MeasureEstimator
from ..exceptions import InvalidParameterError
from ..measures import Measures


@dataclass(eq=False, repr=False)
class MapPoints(TransformerMixin, MeasureEstimator):
    r"""Apply a transformer of vectors to the points of measures; weights stay.

    .. math:: \sum_i w_i \delta_{x_i} \mapsto \sum_i w_i \delta_{T(x_i)}

    The transformer T (``StandardScaler()``, ``PCA(2)``, a pipeline of both...) is fitted on the atoms of all training
    measures together.

    Parameters
    ----------
    transformer : scikit-learn transformer
        It is cloned. Its parameters are searched as ``mappoints__transformer__n_components`` and the like.
    weighting : 'auto', 'mass', 'measure' or 'atom'
        What an atom counts for in the fit: its mass; its share in the mass of its measure, so that each measure counts
        the same; or 1. 'auto': its mass if the transformer takes ``sample_weight``, 1 if not.

    Attributes
    ----------
    transformer_ : transformer
        The fitted one.

    Notes
    -----
    Targets are passed on, each repeated for the atoms of its measure, so that supervised transformers work too.
    The result is :class:`Measures` also for a 2-D array, whose rows are Dirac masses; ``set_output`` does nothing,
    since measures are not a table. Equal input gives equal bits, so that the engine remembers distances between
    transformed measures too: a grid search over what follows this step pays each pair once per fold. *Cost*: that of
    the transformer on the atoms, or on the support that histograms and images share.

    See Also
    --------
    Measures.map_points : a fixed function.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kermes import LSSVMClassifier, MapPoints, Measures
    >>> X = Measures.from_samples([[[0.0, 900.0], [1.0, 100.0]], [[0.2, 300.0]], [[7.0, 400.0]], [[8.0, 100.0]]])
    >>> model = make_pipeline(MapPoints(StandardScaler()), LSSVMClassifier(gamma=10.0))
    >>> model.fit(X, ["left", "left", "right", "right"]).predict(X)
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    transformer: Any
    weighting: str = "auto"

    def fit(self, X: Any, y: Any = None) -> MapPoints:
        """Fit the transformer on the atoms of all measures.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        y : array of shape (n,), optional
            Targets of the measures, for supervised transformers.
        """
        weighting = choice(self.weighting, "weighting", ["auto", "mass", "measure", "atom"])
        if not (hasattr(self.transformer, "fit") and hasattr(self.transformer, "transform")):
            raise InvalidParameterError(
                f"`transformer` must be a scikit-learn transformer such as StandardScaler(); got {self.transformer!r}. "
                "For a plain function use FunctionTransformer(function)."
            )
        able = has_fit_parameter(self.transformer, "sample_weight")
        if weighting in ("mass", "measure") and not able:
            raise InvalidParameterError(
                f"`weighting` must be 'auto' or 'atom' for {type(self.transformer).__name__}, whose fit takes no "
                f"sample_weight; got {weighting!r}."
            )
        measures = self._read_measures(X, reset=True)
        weights = measures.probabilities if weighting == "measure" else measures.weights
        # The heaviest atom has a mass near 1: scikit-learn takes sums of weights for numbers of samples, and from 1e15
        # on every coordinate for constant. A power of two rounds nothing.
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
        options = {"sample_weight": weights} if able and weighting != "atom" else {}
        if y is not None:
            require_order(X, y=y)
            check_consistent_length(measures, y)
            y = np.repeat(np.asarray(y), measures.sizes, axis=0)
        transformer = clone(self.transformer)
        if hasattr(transformer, "set_output"):
            transformer.set_output(transform="default")  # points are an array, whatever the global setting
        try:
            self.transformer_ = transformer.fit(measures.points.copy(), y, **options)
        except ValueError as error:
            # With some parameters a transformer may refuse weights, as bins of equal width do before scikit-learn 1.7.
            if weighting != "auto" or "sample_weight" not in str(error):
                raise
            self.transformer_ = transformer.fit(measures.points.copy(), y)
        return self

    def transform(self, X: Any) -> Measures:
        """Return the measures with transformed points."""
        check_is_fitted(self)
        return self._read_measures(X, reset=False).map_points(self.transformer_.transform)

    def set_output(self, *, transform: str | None = None) -> MapPoints:
        """Do nothing: the output is always measures."""
        return self
