"""From the values of tiles, d**power, to distances or their squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..divergences import Divergence
from ..exceptions import NumericalError


class Scale(NamedTuple):
    """What has to be known of a divergence: its power, whether values below 0 are meant, its name."""

    power: float
    signed: bool
    name: str

    @classmethod
    def of(cls, divergence: Divergence) -> Scale:
        """Return the scale of a divergence."""
        return cls(float(divergence.power), bool(divergence.signed), repr(divergence))

    def distances(
        self,
        values: FloatArray,
        squared: bool,
        rows: IndexArray | None = None,
        cols: IndexArray | None = None,
    ) -> FloatArray:
        """Return d, or d**2, in place of d**power; ``rows`` and ``cols`` say which measures the values are of."""
        exponent = (2.0 if squared else 1.0) / self.power
        if not self.signed:
            np.maximum(values, 0.0, out=values)  # rounding
        elif exponent != 1.0 and values.size and values.min() < 0:
            i, j = np.argwhere(values < 0)[0]
            x, y = (i if rows is None else rows[i]), (j if cols is None else cols[j])
            as_it_is = f"; squared={self.power == 2.0} returns it as it is" if self.power in (1.0, 2.0) else ""
            raise NumericalError(
                f"{self.name} is negative, {values[i, j]:.3g}, for `X[{x}]` and `Y[{y}]`, which no distance is. Use "
                f"another value or parameter of the divergence{as_it_is}."
            )
        if exponent != 1.0:
            values **= exponent  # for 0.5 and 2 the square root and the square, correctly rounded
        return values
