"""How a collection of measures is made: from samples, histograms, images, tables and annotated cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from .._typing import ArrayLike, IndexArray
from ..exceptions import InvalidMeasureError
from . import _build
from ._packed import Packed


class Constructors:
    """What makes a collection of raw input; ``Measures`` adds all that is done with one."""

    def __init__(self, root: Packed = None, rows: IndexArray | None = None) -> None:  # type: ignore[assignment]
        if not isinstance(root, Packed):
            raise InvalidMeasureError(
                "Measures is not built directly; use Measures.from_samples, from_histograms, from_images or from_frame."
            )
        self._root = root
        self._rows = rows

    @classmethod
    def from_samples(cls, samples: Iterable[ArrayLike], weights: Iterable[ArrayLike] | None = None) -> Self:
        """Make one measure per array of points: bags, clouds, sequences of scalars.

        Parameters
        ----------
        samples : list of array of shape (n_i, d) or (n_i,)
            The points of each measure; scalars make measures on the line.
        weights : list of array of shape (n_i,), optional
            Non-negative masses of the points; 1 each by default. Points of weight 0 are dropped.

        Examples
        --------
        >>> from kermes import Measures
        >>> Measures.from_samples([[1.0, 2.0], [4.0]], weights=[[1, 3], [2]]).masses
        array([4., 2.])
        """
        return cls(_build.from_samples(samples, weights))

    @classmethod
    def from_histograms(cls, histograms: ArrayLike, support: ArrayLike) -> Self:
        """Make one measure per row of non-negative values over common bins.

        Parameters
        ----------
        histograms : array of shape (n, m)
            Mass in each bin; bins of mass 0 carry no atom.
        support : array of shape (m,) or (m, d)
            Position of each bin; positions must be distinct.
        """
        return cls(_build.from_histograms(histograms, support))

    @classmethod
    def from_images(
        cls,
        images: ArrayLike,
        threshold: float | None = None,
        binary: bool = False,
        spacing: str | float = "pixel",
    ) -> Self:
        """Make one measure per grey image: an atom at (row, column) for each pixel with ink.

        Parameters
        ----------
        images : array of shape (n, height, width)
            Grey values, 0 = no mass. Invert images whose background is bright.
        threshold : float, optional
            Keep only pixels brighter than this; 0 by default.
        binary : bool
            Give every kept pixel mass 1 instead of its grey value.
        spacing : 'pixel', 'unit' or float
            Unit of the coordinates: pixels, the longer side scaled to [0, 1], or a pixel pitch.
        """
        return cls(_build.from_images(images, threshold, binary, spacing))

    @classmethod
    def from_frame(cls, frame: Any, by: str, columns: str | Sequence[str], weights: str | None = None) -> Self:
        """Make one measure per group of a long table (one row per point).

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or anything that gives Arrow batches, such as a DuckDB relation
        by : str
            Column that says which measure a row belongs to. Rows may come in any order; groups keep the order of their
            first row, and their names are in :attr:`keys`.
        columns : str or list of str
            Coordinate columns. Columns of lists hold all points of a measure in one row: lists of numbers, one for each
            coordinate, or lists of points.
        weights : str, optional
            Column of non-negative masses; 1 each by default.

        Notes
        -----
        Rows are read in pieces and put where they belong: memory for the result and little more, no sort.

        Examples
        --------
        >>> import pandas as pd
        >>> from kermes import Measures
        >>> cells = pd.DataFrame({"patient": ["b", "a", "b"], "cd4": [1.0, 2.0, 3.0]})
        >>> X = Measures.from_frame(cells, by="patient", columns="cd4")
        >>> X.keys.tolist(), X.points.ravel().tolist()
        (['b', 'a'], [1.0, 3.0, 2.0])
        """
        from ._frame import from_frame

        return cls(from_frame(frame, by, columns, weights))

    @classmethod
    def from_anndata(
        cls, adata: Any, by: str, use: str = "X", genes: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Make one measure per donor (sample, patient ...) of annotated cells.

        Parameters
        ----------
        adata : AnnData
            In memory or backed; a backed one is read in pieces. Files without the package anndata:
            ``kermes.files.read("cells.h5ad", by=...)``.
        by : str
            Column of ``adata.obs`` that says which measure a cell belongs to; the names are in :attr:`keys`.
        use : str
            The points: 'X', a layer, or a key of ``obsm`` such as 'X_pca'.
        genes : list of str, optional
            Names of variables, for 'X' and layers; all by default. Sparse matrices are expanded a piece at a time.
        weights : str, optional
            Column of ``adata.obs`` with the mass of each cell; 1 each by default.

        Examples
        --------
        >>> X = Measures.from_anndata(adata, by="donor", use="X_pca")  # doctest: +SKIP
        """
        from ._anndata import from_anndata

        return cls(from_anndata(adata, by, use, genes, weights))
