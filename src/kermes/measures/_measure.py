"""One measure of a collection."""

from __future__ import annotations

from typing import Any

from .._quantities import counted
from .._typing import FloatArray
from ..exceptions import InvalidMeasureError
from ._packed import Packed, Support


class Measure:
    """One measure: atoms at ``points`` with positive ``weights``.

    Deliberately opaque: it has no length and no array form, so that scikit-learn, NumPy and pandas
    carry it around as an object. It remembers the collection and row it came from, so that a list of
    them turns back into a view without copying; two are equal if they are the same row of equal
    collections.

    Examples
    --------
    >>> from kermes import Measures
    >>> Measures.from_samples([[0.0, 1.0, 5.0]])[0]
    Measure(3 atoms in dimension 1, mass 3)
    """

    __slots__ = ("_root", "_row")

    def __init__(self, root: Packed, row: int) -> None:
        self._root = root
        self._row = row

    @property
    def points(self) -> FloatArray:
        """Positions of the atoms, (n_atoms, dim)."""
        return self._root.points[self._atoms]

    @property
    def weights(self) -> FloatArray:
        """Masses of the atoms, (n_atoms,); all positive."""
        return self._root.weights[self._atoms]

    @property
    def mass(self) -> float:
        """Total mass."""
        return float(self.weights.sum())

    @property
    def dim(self) -> int:
        """Dimension of the points."""
        return int(self._root.points.shape[1])

    @property
    def support(self) -> Support | None:
        """The finite set of points that all measures of its collection share (bins, pixels), or None."""
        return self._root.support

    @property
    def key(self) -> Any:
        """Name of the measure (the group of a table), or None."""
        return None if self._root.keys is None else self._root.keys[self._row]

    @property
    def _atoms(self) -> slice:
        return slice(self._root.offsets[self._row], self._root.offsets[self._row + 1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Measure):
            return NotImplemented
        same = self._root is other._root or self._root.fingerprint == other._root.fingerprint
        return same and self._row == other._row

    def __hash__(self) -> int:
        return hash((len(self._root), self._row))

    def __reduce__(self) -> tuple[Any, ...]:
        return Measure, (self._root, self._row)

    def __float__(self) -> float:
        """Refuse; what makes numbers of an object array of measures gets here."""
        raise InvalidMeasureError(
            "a measure is not a number, and an object array of measures is not an array of numbers. scikit-learn makes "
            "numbers of object arrays in self-training and one-vs-one: pass it a data frame of one column, "
            "X.to_series().to_frame()."
        )

    def __repr__(self) -> str:
        return f"Measure({counted(len(self.weights), 'atom')} in dimension {self.dim}, mass {self.mass:g})"
