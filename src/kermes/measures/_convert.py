"""``as_measures``: the one edge where anything a user may pass becomes ``Measures``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray
from ..exceptions import InvalidMeasureError
from . import _build
from ._collection import Measures
from ._measure import Measure


def as_measures(X: Any, name: str = "X") -> Measures:
    """Return ``X`` as :class:`Measures`.

    Parameters
    ----------
    X : Measures, array or list
        - ``Measures``: returned as it is;
        - object array or list of ``Measure``: a view of their collection, nothing copied;
        - 2-D array of numbers (n, d): n Dirac masses, so that estimators of ordinary vectors work;
        - list of 2-D arrays (n_i, d): one measure each.
    name : str
        What to call the argument in errors.

    Notes
    -----
    Anything that could be read in two ways is refused with the constructor to use instead.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes.measures import as_measures
    >>> as_measures(np.eye(2))
    Measures(2 measures in dimension 2, 1 atom)
    """
    if isinstance(X, Measures):
        return X
    if isinstance(X, Measure):
        raise InvalidMeasureError(f"`{name}` is a single measure; pass a collection, such as `X[[i]]`.")
    if hasattr(X, "columns"):  # rows of coordinates, as scikit-learn reads tables
        X = np.asarray(X)
        if X.dtype.kind not in "biuf":
            raise InvalidMeasureError(
                f"`{name}` is a table with columns that are not numbers. For a long table with one row per point use "
                "Measures.from_frame(frame, by=..., columns=[...])."
            )
    if isinstance(X, (list, tuple)) and len(X) and all(isinstance(x, np.ndarray) and x.ndim == 2 for x in X):
        return Measures.from_samples(X)
    if isinstance(X, (list, tuple)) and len(X) and all(isinstance(x, np.ndarray) and x.ndim == 1 for x in X):
        raise InvalidMeasureError(
            f"`{name}` is a list of 1-D arrays, which could be points or measures on the line. Use "
            f"Measures.from_samples({name}) for measures on the line, np.array({name}) for points."
        )
    return _from_array(X, name)


def _from_array(X: Any, name: str) -> Measures:
    try:
        array = np.asarray(X)
    except ValueError:
        raise InvalidMeasureError(
            f"`{name}` is a ragged list; use Measures.from_samples with one array of points per measure."
        ) from None
    if array.dtype == object:
        return _from_objects(array, name)
    if array.dtype.kind not in "biuf":
        raise InvalidMeasureError(f"`{name}` must hold numbers or measures; got dtype {array.dtype}.")
    if array.ndim != 2 or not array.size:
        remedy = {
            1: "Reshape your data: X.reshape(-1, 1) for n points on the line, or use Measures.from_samples.",
            3: "Use Measures.from_images for images, Measures.from_samples for point clouds.",
        }.get(array.ndim, "")
        raise InvalidMeasureError(
            f"`{name}` must be Measures, or a 2-D array with one point per row; got an array of shape "
            f"{array.shape}. {remedy}".rstrip()
        )
    return Measures(_build.from_points(array))


def _from_objects(array: AnyArray, name: str) -> Measures:
    members = array.ravel()
    strangers = [i for i, member in enumerate(members) if not isinstance(member, Measure)]
    if array.ndim != 1 or strangers or not len(members):
        what = f"entry {strangers[0]} is a {type(members[strangers[0]]).__name__}" if strangers else f"{array.shape}"
        raise InvalidMeasureError(
            f"`{name}` is an object array that does not hold measures ({what}). Use Measures.from_samples with "
            "one array of points per measure."
        )
    root = members[0]._root
    if all(member._root is root for member in members):
        return Measures(root, np.array([member._row for member in members], dtype=np.int64))
    # Measures of several collections: no common root to remember, so they are packed anew.
    return Measures.from_samples([m.points for m in members], [m.weights for m in members])
