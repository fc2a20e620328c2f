"""``Measures``: what scikit-learn sees and slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, overload

import numpy as np

from .._checks import as_numbers, choice, integer, needed, real, require_order
from .._quantities import counted
from .._typing import AnyArray, FloatArray, IndexArray
from .._values import refuse_masked
from ..core import ragged
from ..exceptions import InvalidMeasureError, InvalidParameterError
from . import _build
from ._constructors import Constructors
from ._measure import Measure
from ._packed import Packed, Support, objects, twin_numbers


class Measures(Constructors):
    """A collection of n measures on R^dim, packed into three arrays.

    Make one with :meth:`from_samples`, :meth:`from_histograms`, :meth:`from_images` or
    :meth:`from_frame`. Indexing with a slice, mask or index array gives a *view*: it shares the data
    and remembers which rows of the root collection it holds, so that an engine never computes a
    distance between the same two measures twice.

    Collections are immutable. They have ``shape == (n,)`` and behave as an array of samples in
    ``train_test_split``, ``GridSearchCV``, ``cross_val_score``, ``shuffle`` and ``Pipeline``.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures
    >>> X = Measures.from_samples([np.zeros((3, 2)), np.ones((5, 2))])
    >>> X
    Measures(2 measures in dimension 2, 3 to 5 atoms)
    >>> X.masses
    array([3., 5.])
    >>> X[[1]]
    Measures(1 measure in dimension 2, 5 atoms)
    """

    @classmethod
    def concatenate(cls, collections: Iterable[Measures]) -> Measures:
        """Join collections of measures on one space, in order.

        Views of one collection give a view of it, and nothing is copied. Others are packed anew: a support that all
        share is kept, and so are keys that all have, equal ones too (:meth:`with_keys` names them apart); the engine
        does not know distances within them any more.

        Examples
        --------
        >>> from kermes import Measures
        >>> X = Measures.from_samples([[0.0, 1.0], [2.0]])
        >>> Measures.concatenate([X, Measures.from_samples([[5.0, 6.0, 7.0]])])
        Measures(3 measures in dimension 1, 1 to 3 atoms)
        """
        parts = list(collections)
        if not parts or not all(isinstance(part, Measures) for part in parts):
            got = ", ".join(sorted({type(part).__name__ for part in parts})) or "none"
            raise InvalidMeasureError(f"`collections` must be a list of one or more Measures; got {got}.")
        if all(part._root is parts[0]._root for part in parts):
            return cls(parts[0]._root, np.concatenate([part.rows for part in parts]))
        return cls(_build.concatenate([part._packed for part in parts]))

    # -- what it holds --------------------------------------------------------------------------

    @cached_property
    def _packed(self) -> Packed:
        return self._root if self._rows is None else self._root.take(self._rows)

    @property
    def points(self) -> FloatArray:
        """All atoms, (n_atoms_in_all, dim), read-only; measure i owns ``offsets[i]:offsets[i+1]``."""
        return self._packed.points

    @property
    def weights(self) -> FloatArray:
        """Masses of all atoms, read-only; all positive, not normalised."""
        return self._packed.weights

    @property
    def offsets(self) -> IndexArray:
        """Where each measure starts in ``points`` and ``weights``, (n + 1,), read-only."""
        return self._packed.offsets

    @property
    def atoms(self) -> IndexArray | None:
        """Index of every atom in ``support.points``, or None when no support is shared."""
        return self._packed.atoms

    @property
    def support(self) -> Support | None:
        """The finite set of points all measures share (bins, pixels), or None."""
        return self._root.support

    @property
    def keys(self) -> AnyArray | None:
        """Names of the measures (the groups of a table), or None."""
        return self._packed.keys

    @property
    def masses(self) -> FloatArray:
        """Total mass of each measure, (n,)."""
        return ragged.segment_sums(self.weights, self.offsets)

    @property
    def probabilities(self) -> FloatArray:
        """Weights of all atoms divided by the mass of their measure."""
        return self.weights / np.repeat(self.masses, self.sizes)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether the atoms of each measure are equally heavy."""
        return bool((self.weights == np.repeat(self.weights[self.offsets[:-1]], self.sizes)).all())

    @property
    def sizes(self) -> IndexArray:
        """Number of atoms of each measure, (n,)."""
        sizes = np.diff(self._root.offsets)
        return sizes if self._rows is None else sizes[self._rows]

    @property
    def dim(self) -> int:
        """Dimension of the points."""
        return int(self._root.points.shape[1])

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``: scikit-learn indexes whatever has a shape like an array."""
        return (len(self),)

    @property
    def fingerprint(self) -> str:
        """Digest of the root collection's content; with :attr:`rows` it identifies every measure."""
        return self._root.fingerprint

    @property
    def rows(self) -> IndexArray:
        """Rows of the root collection that this view holds, (n,)."""
        return np.arange(len(self._root)) if self._rows is None else self._rows

    def shares_support(self, other: Measures) -> bool:
        """Whether both collections number the atoms of one and the same support."""
        return self.support is not None and other.support is not None and self.support.equals(other.support)

    def expectation(self, values: FloatArray) -> FloatArray:
        """Return the mean of ``values`` (one row per atom, r columns) under each measure, (n, r).

        Rows are in the order of :attr:`points`; one value per atom, (N,), gives one mean per measure, (n,).
        """
        values = as_numbers(values, "values")
        if values.ndim not in (1, 2) or len(values) != len(self.points):
            raise InvalidParameterError(
                f"`values` must have one row for each of the {len(self.points)} atoms of this collection, in the order "
                f"of its points; got an array of shape {values.shape}."
            )
        weighted = values * (self.probabilities if values.ndim == 1 else self.probabilities[:, None])
        return np.asarray(np.add.reduceat(weighted, self.offsets[:-1], axis=0))

    def twins(self, other: Measures) -> tuple[IndexArray, IndexArray]:
        """Return numbers for the measures of both collections, equal where they are the same probability measure.

        The order of atoms, repeated atoms, the sign of 0 and the total mass do not matter; probabilities are compared
        up to 1e-12 of their value, which is rounding.
        """
        if other._packed is self._packed:
            (numbers,) = twin_numbers(self._packed)
            return numbers, numbers
        left, right = twin_numbers(self._packed, other._packed)
        return left, right

    def merged(self) -> Measures:
        """Return the measures with atoms of one measure at the same point added up; the first one stays."""
        packed = _build.merge_repeated(self._packed)
        return self if packed is self._packed else Measures(packed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Give model files the rows of a view only, not the collection it was sliced from."""
        return Measures, (self._packed,)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the same for another process, which is sent their names: rows of the root collection."""
        if self._rows is None:
            return Measures, (self._root,)
        return Measures, (self._packed.named(self._root.identify(), self._rows),)

    # -- container ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._root) if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[Measure]:
        return (Measure(self._root, int(row)) for row in self.rows)

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Measure: ...
    @overload
    def __getitem__(self, key: Any) -> Measures: ...
    def __getitem__(self, key: Any) -> Measure | Measures:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:  # X[index, ...] is scikit-learn's way
                raise IndexError(f"Measures have one axis; got the index {key!r}. Use a list for several measures.")
            key = key[0]
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise IndexError(f"index {key} is out of range for {len(self)} measures")
            return Measure(self._root, int(self.rows[key]))
        if not isinstance(key, slice):
            key = self._index_array(key)
        rows = self.rows[key]
        if not len(rows):
            raise InvalidMeasureError(
                f"the selection {key!r} holds none of the {len(self)} measures; a collection needs one or more."
            )
        return Measures(self._root, rows)

    def _index_array(self, key: Any) -> AnyArray:
        refuse_masked(key, "index", error=IndexError)
        index = np.asarray(key)
        if index.ndim == 1 and not len(index):
            return np.zeros(0, dtype=np.int64)
        if index.ndim != 1 or index.dtype.kind not in "biu":
            by_name = (
                ". By names: X[np.isin(X.keys, names)]" if index.dtype.kind in "UO" and self.keys is not None else ""
            )
            raise IndexError(
                f"Measures take an integer, a slice, a mask or a 1-D array of integers; got {type(key).__name__} "
                f"of shape {index.shape} and dtype {index.dtype}{by_name}"
            )
        if index.dtype.kind == "b" and len(index) != len(self):
            raise IndexError(f"the mask has {len(index)} entries for {len(self)} measures")
        return index

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return an object array of measures: the form in which scikit-learn carries them."""
        if dtype is not None and np.dtype(dtype) != object:
            raise InvalidMeasureError(
                "Measures have no numeric array form; pass them to a kermes kernel or estimator, or use "
                "`pairwise(X, divergence=...)` to get a matrix."
            )
        return objects(self)

    # -- derived collections --------------------------------------------------------------------

    def subsample(self, n: int, seed: int = 0, how: str = "random") -> Measures:
        """Keep at most ``n`` distinct atoms of each measure; atoms at the same point are merged first.

        The draw of a measure depends on ``seed`` and on its row in the root collection only, so slicing and
        subsampling commute. ``how`` is 'random' (uniformly without replacement, with their weights) or 'spread': one
        atom from each of ``n`` cells of about equal mass, with the mass of its cell; nearer to the measure, most of
        all in few dimensions, and integrals keep their expectation. See also :meth:`quantize`.
        """
        from ._thinning import thinned

        spread = choice(how, "how", ["random", "spread"]) == "spread"
        n, seed = integer(n, "n", low=1), integer(seed, "seed", low=0)
        return Measures(thinned(_build.merge_repeated(self._packed), self.rows, n, seed, spread))

    def quantize(self, n_atoms: int, seed: int = 0) -> Measures:
        r"""Replace measures by at most ``n_atoms`` atoms of their own: means of k-means cells, with their masses.

        With c(x) the mean of the cell of x, :math:`W_2(\mu, Q\mu)^2 \leq \int |x - c(x)|^2 d\mu`, which k-means makes
        small. Means are kept, variances shrink by that much; measures with no more atoms stay as they are. The atoms
        depend on ``seed`` and on the row in the root collection only. *Cost*: for m atoms, k-means on at most
        128 ``n_atoms`` of them and m ``n_atoms`` distances. :class:`kermes.features.Codebook` has atoms that all
        measures share.

        Examples
        --------
        >>> from kermes import Measures
        >>> Q = Measures.from_samples([[0.0, 1.0, 10.0, 12.0, 11.0]]).quantize(2)
        >>> Q.points.ravel(), Q.weights
        (array([ 0.5, 11. ]), array([2., 3.]))
        """
        from ._quantize import quantize

        n_atoms, seed = integer(n_atoms, "n_atoms", low=1), integer(seed, "seed", low=0)
        return Measures(quantize(self._packed, self.rows, n_atoms, seed))

    def map_points(self, function: Callable[[FloatArray], Any]) -> Measures:
        """Return the measures with every atom at ``function(points)``, and the same weights.

        Parameters
        ----------
        function : callable
            Takes points (m, dim) and returns as many points (m, d), each a function of its own row. A shared support
            moves along, unless two of its points meet; pixels become bins.

        See Also
        --------
        kermes.MapPoints : the same as a step of a pipeline, with a transformer that is fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from kermes import Measures
        >>> Measures.from_samples([[1.0, 10.0], [100.0]]).map_points(np.log10).points.ravel()
        array([0., 1., 2.])
        """
        return Measures(_build.move(self._packed, function))

    def mixed_with(self, rho: Any, weight: float) -> Measures:
        r"""Return :math:`\lambda \mu / |\mu| + (1 - \lambda) \rho / |\rho|` for every measure, with the weight lambda.

        One measure :math:`\rho` that spreads in all directions regularises what takes covariances or densities of
        measures with few atoms (section 4.2 of "Semigroup kernels on measures"), since means of such mixtures are
        mixtures of the means. Masses become 1. *Cost*: the atoms of rho once more for each measure.

        Examples
        --------
        >>> from kermes import Measures
        >>> X = Measures.from_samples([[0.0], [3.0]]).mixed_with(Measures.from_samples([[-1.0, 1.0]]), weight=0.5)
        >>> X.points.ravel(), X.weights
        (array([ 0., -1.,  1.,  3., -1.,  1.]), array([0.5 , 0.25, 0.25, 0.5 , 0.25, 0.25]))
        """
        from ._convert import as_measures

        weight = real(weight, "weight", low=0.0, high=1.0, open_low=True)
        return Measures(_build.mix(self._packed, as_measures(rho, "rho")._packed, weight))

    def with_keys(self, keys: Any) -> Measures:
        """Return the measures under other names, which are :attr:`keys` then; None takes their names away.

        Measures of one name, such as wells of two plates or the repeated rows of a bootstrap, would be one measure in a
        long table: :meth:`to_frame` and ``files.write`` refuse them. A view becomes a collection of its own.

        Examples
        --------
        >>> import pandas as pd
        >>> from kermes import Measures
        >>> wells = pd.DataFrame({"well": ["A1", "A2"], "x": [0.0, 1.0]})
        >>> plates = [Measures.from_frame(wells, by="well", columns="x") for _ in range(2)]
        >>> X = Measures.concatenate([X.with_keys([f"{i}-{key}" for key in X.keys]) for i, X in enumerate(plates)])
        >>> X.keys.tolist()
        ['0-A1', '0-A2', '1-A1', '1-A2']
        """
        require_order(self, keys=keys)
        return Measures(_build.renamed(self._packed, keys))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the collection to an ``.npz`` file of plain arrays (no pickle inside)."""
        from ._io import save

        save(self._packed, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Measures:
        """Read a collection written by :meth:`save`; the content is checked again."""
        from ._io import load

        return cls(load(path))

    def to_series(self, index: Any = None, name: str | None = None) -> Any:
        """Return a pandas Series of the measures, a column for data frames beside ordinary columns.

        Parameters
        ----------
        index : array-like, optional
            Labels of the rows; :attr:`keys` by default, or 0, 1, ...
        name : str, optional

        Examples
        --------
        >>> from kermes import Measures
        >>> frame = Measures.from_samples([[0.0, 1.0], [2.0]]).to_series(name="cells").to_frame()
        >>> frame.assign(age=[31, 58])
                                             cells  age
        0  Measure(2 atoms in dimension 1, mass 2)   31
        1   Measure(1 atom in dimension 1, mass 1)   58
        """
        pd = needed("pandas", "frames", "A column of measures in a data frame")
        from ._pandas import MeasureArray

        return pd.Series(MeasureArray.of(self), index=self.keys if index is None else index, name=name)

    def to_frame(self, columns: Sequence[str] | None = None, *, by: str = "measure", library: str = "pandas") -> Any:
        """Return a long table, one row per atom: the name of its measure, its coordinates and its weight.

        Parameters
        ----------
        columns : list of str, optional
            Names of the coordinates; x0, x1, ... by default, and row, column for pixels.
        by : str
            Name of the column of the measures: their :attr:`keys`, all different, or their numbers.
        library : 'pandas', 'polars' or 'pyarrow'

        Examples
        --------
        >>> from kermes import Measures
        >>> Measures.from_samples([[1.0, 2.0], [4.0]]).to_frame(["cd4"])
           measure  cd4  weight
        0        0  1.0     1.0
        1        0  2.0     1.0
        2        1  4.0     1.0
        """
        from ._frame import to_frame

        return to_frame(self._packed, columns, by, library)

    # -- display --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        n, low, high = len(self), self.sizes.min(), self.sizes.max()
        atoms = counted(low, "atom") if low == high else f"{low} to {high} atoms"
        place = "" if self.support is None else f", {len(self.support.points)} common bins"
        if self.support is not None and self.support.shape is not None:
            place = ", on {} x {} pixels".format(*self.support.shape)
        return f"Measures({counted(n, 'measure')} in dimension {self.dim}, {atoms}{place})"

    def _repr_html_(self) -> str:
        from ._html import collection_html

        return collection_html(self)
