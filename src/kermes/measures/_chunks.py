"""Measures a chunk at a time: from a folder, an array on disk, or a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import integer, require_order
from .._typing import AnyArray
from ..exceptions import InvalidMeasureError, InvalidParameterError
from ._collection import Measures


def chunks(
    source: Measures | AnyArray | str | PathLike[str],
    y: Any = None,
    *,
    size: int = 1024,
    make: Callable[[AnyArray], Measures] | None = None,
) -> Iterator[Any]:
    """Yield measures in chunks, so that no more than one chunk is in memory.

    Parameters
    ----------
    source : Measures, array or path
        - ``Measures``: slices of it;
        - array of n samples, such as ``np.load("images.npy", mmap_mode="r")``: each chunk is read and handed to
          ``make``;
        - path of a folder: its files ``*.npz`` written by ``Measures.save``, in the order of their names.
    y : array of shape (n,), optional
        Labels. Chunks then come as pairs ``(X, y)``.
    size : int
        Measures in a chunk, at most.
    make : function, optional
        From samples to measures; ``Measures.from_images`` for three dimensions and ``Measures.from_samples`` for
        others by default. The bins of histograms must be given:
        ``lambda rows: Measures.from_histograms(rows, bins)``.

    Yields
    ------
    Measures, or a pair of Measures and an array of labels

    Examples
    --------
    >>> import numpy as np
    >>> from kermes.measures import chunks
    >>> images = np.random.default_rng(0).random((5, 4, 4))
    >>> [len(X) for X in chunks(images, size=2)]
    [2, 2, 1]
    >>> next(chunks(images, y=np.arange(5), size=2))
    (Measures(2 measures in dimension 2, 16 atoms, on 4 x 4 pixels), array([0, 1]))
    """
    integer(size, "size", low=1)
    require_order(source, "source", y=y)
    parts = _parts(source, size, make)
    return parts if y is None else _labelled(parts, np.asarray(y))


def _parts(source: Any, size: int, make: Callable[[AnyArray], Measures] | None) -> Iterator[Measures]:
    if isinstance(source, (str, PathLike)):
        files = sorted(Path(source).glob("*.npz"))
        if not files:
            raise InvalidMeasureError(f"there is no file *.npz in {str(source)!r}. Write chunks with Measures.save.")
        return (part for X in map(Measures.load, files) for part in _parts(X, size, None))
    if isinstance(source, Measures):
        return (source[start : start + size] for start in range(0, len(source), size))
    if not isinstance(source, np.ndarray) or source.ndim < 2:
        raise InvalidParameterError(
            "`source` must be Measures, an array of samples such as np.load(path, mmap_mode='r'), or the path of a "
            f"folder; got {type(source).__name__}."
        )
    build = make or (Measures.from_images if source.ndim == 3 else Measures.from_samples)
    return (build(np.asarray(source[start : start + size])) for start in range(0, len(source), size))


def _labelled(parts: Iterator[Measures], y: AnyArray) -> Iterator[tuple[Measures, AnyArray]]:
    start = 0
    for X in parts:
        labels = y[start : start + len(X)]
        if len(labels) < len(X):
            raise InvalidParameterError(f"`y` has {len(y)} labels, and there are more measures than that.")
        yield X, labels
        start += len(X)
    if start < len(y):
        raise InvalidParameterError(f"`y` has {len(y)} labels, but there are {start} measures only.")
