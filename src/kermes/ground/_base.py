"""What costs and point kernels have in common: functions of two arrays of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._frozen import Frozen
from .._typing import ArrayLike, FloatArray
from .._values import as_floats
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measures


class Ground(Frozen):
    """Base of costs and point kernels: frozen values that compare and hash by their parameters.

    The built-in ones are compiled, and known to the cores by their ``code``. One of your own subclasses
    :class:`~kermes.ground.Cost` or :class:`~kermes.ground.PointKernel` itself, not a compiled one, and defines
    :meth:`between`; its values are tabulated for the cores.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a subclass of a compiled one with values of its own: cores would go on with those of its base."""
        super().__init_subclass__(**options)
        compiled = next((base for base in cls.__mro__[1:] if vars(base).get("code") is not None), None)
        own = [name for name in ("between", "diagonal", "__call__", "pick", "table") if name in vars(cls)]
        if compiled is not None and own and "code" not in vars(cls):
            raise TypeError(
                f"{cls.__name__} defines {own[0]}, but compiled code knows the values of {compiled.__name__} and would "
                "use them. Subclass ground.Cost or ground.PointKernel instead, or pass a function."
            )

    #: What errors call it.
    _noun: ClassVar[str] = "function of two points"
    #: The core of :mod:`kermes.core.points` that fills compiled values, by name: it is imported when first called.
    _block: ClassVar[str]
    #: Integer by which compiled cores know this function; None: they take its values from a table.
    code: ClassVar[Any] = None

    @property
    def params(self) -> FloatArray:
        """Parameters for the compiled cores."""
        return np.zeros(1)

    @property
    def size(self) -> int | None:
        """Number of points of the one support on which values are given; None: values between any points."""
        return None

    def __call__(self, x: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Return the (n, m) values between points x (n, d) and y (m, d); y is x by default."""
        a = _points(x, "x")
        b = a if y is None else _points(y, "y")
        if a.shape[1] != b.shape[1]:
            raise InvalidParameterError(f"`x` has dimension {a.shape[1]}, `y` dimension {b.shape[1]}; they must agree.")
        values = self.between(a, b)
        return values if self.code is not None else self._checked(values, (len(a), len(b)))

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the (n, m) values between points x (n, d) and y (m, d); what a subclass of your own defines."""
        if self.code is None:
            raise TypeError(f"{type(self).__name__} must define between(x, y), the (n, m) values between points.")
        from ..core import points

        values = np.empty((len(x), len(y)))
        getattr(points, self._block)(self.code, self.params, _copied(x.T), _copied(y.T), values)
        return values

    def table(self, points: FloatArray) -> FloatArray:
        """Return the (m, m) values between the points of a support; refuse those that are not symmetric."""
        table = self(points, points)
        if self.code is not None:
            return table
        gap = np.abs(table - table.T)
        if gap.max() > 1e-9 * np.abs(table).max():
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            raise InvalidParameterError(
                f"the {self._noun} {self!r} must be symmetric; between points {i} and {j} of the support it is "
                f"{table[i, j]:g} one way and {table[j, i]:g} the other. Take the mean of both."
            )
        return np.asarray(0.5 * (table + table.T))  # to the last bit

    def pick(self, points: FloatArray, rows: Any, cols: Any) -> FloatArray:
        """Return the values between points of a support, given by their numbers."""
        return self(points[rows], points[cols])

    def check(self, X: Measures) -> None:
        """Raise :class:`~kermes.exceptions.UnsuitableDataError` for measures with atoms that have no values."""
        if self.size is None:
            return
        if X.support is None:
            raise UnsuitableDataError(
                f"a {self._noun} needs measures on a shared support; make them with Measures.from_histograms or "
                "from_images."
            )
        if len(X.support.points) != self.size:
            raise UnsuitableDataError(
                f"the {self._noun} is {self.size} x {self.size}, but the measures share a support of "
                f"{len(X.support.points)} points; give one row and column per point."
            )

    def _checked(self, values: Any, shape: tuple[int, int]) -> FloatArray:
        """Return the values of a function that is not ours, or say what is wrong with them."""
        array: FloatArray = np.asarray(as_floats(values, f"{self!r}(x, y)"), order="C")
        if array.shape != shape:
            raise InvalidParameterError(
                f"the {self._noun} {self!r} must return an array of shape (n, m) for n and m points; for {shape[0]} "
                f"and {shape[1]} points its shape is {array.shape}. A function of two single points works if it is "
                "compiled by numba.njit."
            )
        if not np.isfinite(array).all():
            i, j = np.argwhere(~np.isfinite(array))[0]
            raise InvalidParameterError(
                f"the {self._noun} {self!r} must return finite numbers; between x[{i}] and y[{j}] it is {array[i, j]}."
            )
        return array


@dataclass(frozen=True)
class FromFunction(Ground):
    """Base of those from a function of two arrays of points, or from one compiled by Numba, which takes two points."""

    function: Callable[..., Any]

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        if not hasattr(self.function, "py_func"):
            return self.function(x, y)  # type: ignore[no-any-return]
        from ..core.points import pair_block

        values = np.empty((len(x), len(y)))
        pair_block(self.function, np.array(x, order="C"), np.array(y, order="C"), values)
        return values


def _copied(points: FloatArray) -> FloatArray:
    """Return a contiguous copy, as cores make them: a view that is read only would be compiled for anew."""
    return np.array(points, order="C")


def _points(points: ArrayLike, name: str) -> FloatArray:
    """Return points (n, d) or (n,) as (n, d)."""
    array = as_floats(points, name)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2:
        raise InvalidParameterError(f"`{name}` must be points of shape (n, d) or (n,); got {array.shape}.")
    return array
