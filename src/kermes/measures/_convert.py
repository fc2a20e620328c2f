"""``as_measures``: the one edge where anything a user may pass becomes ``Measures``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray
from .._values import refuse_masked, refuse_rounded
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
        - object array (n,) or (n, 1), list, Series or one-column table of ``Measure``: a view of their collection,
          nothing copied;
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
        if X.dtype.kind not in "biuf" and not _is_column(X):
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
    refuse_masked(X, name, "Drop them, or fill them in.", InvalidMeasureError)
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
    refuse_rounded(array, f"`{name}`", InvalidMeasureError)
    return Measures(_build.from_points(array))


def _from_objects(array: AnyArray, name: str) -> Measures:
    members = array.ravel()
    column = array.shape in ((len(members),), (len(members), 1))
    strangers = [i for i, member in enumerate(members) if not isinstance(member, Measure)]
    if not column or strangers or not len(members):
        what = f"entry {strangers[0]} is a {type(members[strangers[0]]).__name__}" if strangers else f"{array.shape}"
        raise InvalidMeasureError(
            f"`{name}` is an object array that does not hold measures ({what}). Use Measures.from_samples with "
            "one array of points per measure."
        )
    roots = {id(member._root): member._root for member in members}
    rows = np.array([member._row for member in members], dtype=np.int64)
    if len(roots) == 1:
        return Measures(members[0]._root, rows)
    # Measures of several collections: those used of each are packed anew, once each.
    owner = np.array([id(member._root) for member in members])
    place, parts, start = np.empty(len(members), dtype=np.int64), [], 0
    for key, root in roots.items():
        used, position = np.unique(rows[owner == key], return_inverse=True)
        place[owner == key] = start + position
        parts.append(Measures(root, used))
        start += len(used)
    return Measures.concatenate(parts)[place]


def holds_measures(X: Any) -> bool:
    """Whether X is a collection of measures rather than an array of numbers."""
    if isinstance(X, Measures):
        return True
    if isinstance(X, (list, tuple)) and len(X):
        return isinstance(X[0], Measure) or (isinstance(X[0], np.ndarray) and X[0].ndim == 2)
    if isinstance(X, np.ndarray):
        return _is_column(X)
    if len(getattr(X, "columns", ())) == 1 or (hasattr(X, "to_numpy") and len(np.shape(X)) == 1):  # table, Series
        return _is_column(np.asarray(X))
    return False


def _is_column(array: AnyArray) -> bool:
    """Whether an array is one column of objects that starts with a measure."""
    column = array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)
    return array.dtype == object and column and len(array) > 0 and isinstance(array.flat[0], Measure)
