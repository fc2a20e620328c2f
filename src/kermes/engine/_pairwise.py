"""``pairwise``: the distances between all measures of two collections."""

from __future__ import annotations

from typing import Any, Literal, cast, overload

from .._typing import FloatArray
from ..divergences import Divergence
from ..exceptions import InvalidParameterError
from ..measures import as_measures
from ._engine import DEFAULT, Engine, Info
from ._scale import Scale
from ._stored import StoredDistances

__all__ = ["pairwise", "require_divergence"]


@overload
def pairwise(
    X: Any, Y: Any = ..., *, divergence: Divergence, engine: Engine | None = ..., squared: bool = ...,
    return_info: Literal[False] = ...,
) -> FloatArray: ...  # fmt: skip
@overload
def pairwise(
    X: Any, Y: Any = ..., *, divergence: Divergence, engine: Engine | None = ..., squared: bool = ...,
    return_info: Literal[True],
) -> tuple[FloatArray, Info]: ...  # fmt: skip
def pairwise(
    X: Any,
    Y: Any = None,
    *,
    divergence: Divergence | None = None,
    engine: Engine | None = None,
    squared: bool = False,
    return_info: bool = False,
) -> FloatArray | tuple[FloatArray, Info]:
    """Return the distances between all measures of X and Y.

    Parameters
    ----------
    X, Y : Measures, or anything ``as_measures`` takes
        Y is X by default; then each pair is computed once and the diagonal is 0.
    divergence : Divergence
        Which distance, such as ``divergences.Wasserstein(p=2)``.
    engine : Engine, optional
        How to compute it.
    squared : bool
        Return squared distances.
    return_info : bool
        Also return an :class:`Info`: status of each pair, pairs evaluated, seconds, and estimated errors where values
        are integrals.

    Returns
    -------
    ndarray of shape (len(X), len(Y)), a fresh array
        :class:`~kermes.engine.StoredDistances`, which stay on disk, if the engine has a store.
        With ``return_info``, a tuple of it and the info.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[0.0, 2.0], [1.0, 3.0]])
    >>> pairwise(X, divergence=divergences.Wasserstein(p=2))
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(Y, Divergence):
        raise InvalidParameterError(f"`Y` must be measures; got {Y!r}. Write pairwise(X, divergence=...).")
    if engine is not None and not isinstance(engine, Engine):
        raise InvalidParameterError(f"`engine` must be an Engine, such as Engine('serial'); got {engine!r}.")
    divergence = require_divergence(divergence)
    left = as_measures(X, "X")
    right = left if Y is None or Y is X else as_measures(Y, "Y")
    values, info = (engine or DEFAULT).evaluate(divergence, left, right)
    distances: FloatArray
    if isinstance(values, StoredDistances):  # for the type checker an array: it is indexed and converted like one
        distances = cast(FloatArray, values.squared if squared else values)
    else:
        distances = Scale.of(divergence).distances(values, squared)
    return (distances, info) if return_info else distances


def require_divergence(divergence: Any) -> Divergence:
    """Return a divergence, and refuse what is none."""
    if isinstance(divergence, Divergence):
        return divergence
    raise InvalidParameterError(
        f"`divergence` must be a divergence object such as divergences.Wasserstein(p=2); got {divergence!r}."
    )
