"""Eigenvalues of Gram matrices, and their verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import ArrayLike
from ..definiteness import Spectrum, spectrum
from ._classes import PALETTE
from ._display import Display
from ._gram import as_square


@dataclass(eq=False, repr=False)
class SpectrumDisplay(Display):
    """The eigenvalues of a Gram matrix, the largest first, and whether it is positive definite.

    Both signs have a logarithmic scale; the grey band holds what may be zero, of either sign (``tolerance``).

    Parameters
    ----------
    spectrum : kermes.definiteness.Spectrum

    Examples
    --------
    >>> from kermes import datasets, divergences, kernels, plot
    >>> X = datasets.load_digits()[:50].measures()
    >>> display = plot.SpectrumDisplay.from_measures(X, kernels.Exponential(divergences.Wasserstein(p=1), 20.0))
    >>> display.spectrum.verdict
    'indefinite'
    """

    spectrum: Spectrum

    @classmethod
    def from_matrix(cls, K: ArrayLike, ax: Any = None) -> SpectrumDisplay:
        """Draw the spectrum of a symmetric matrix, such as ``kernel(X)``."""
        return cls(spectrum(as_square(K, "K", "kernel(X)"))).plot(ax)

    @classmethod
    def from_measures(cls, X: Any, kernel: Any, ax: Any = None) -> SpectrumDisplay:
        """Draw the spectrum of ``kernel(X)``."""
        return cls.from_matrix(np.asarray(kernel(X)), ax)

    def plot(self, ax: Any = None) -> SpectrumDisplay:
        """Draw, on given axes or on a new figure."""
        ax = self._open(ax, 5.6, 3.8)
        found = self.spectrum
        values = found.eigenvalues[::-1]
        places = np.arange(1, len(values) + 1)
        zero = found.tolerance or 1e-16
        kinds = ((values > zero, PALETTE[0], "positive"), (np.abs(values) <= zero, "0.35", "0, to rounding"),
                 (values < -zero, PALETTE[1], "negative"))  # fmt: skip
        for chosen, colour, name in kinds:
            if chosen.any():
                ax.plot(places[chosen], values[chosen], "o", color=colour, markersize=3.5, label=name)
        ax.axhspan(-zero, zero, color="0.88", zorder=0, linewidth=0)
        ax.set_yscale("symlog", linthresh=zero, linscale=0.5)
        _ticks(ax, values, zero)
        ax.set(xlabel="number", ylabel="eigenvalue", xlim=(0.0, len(values) + 1))
        ax.set_title(f"{found.verdict}\nleast {found.min:.2g}, negative mass {found.negative_mass:.2%}", fontsize=10)
        ax.legend(frameon=False, fontsize=9)
        return self


def _ticks(ax: Any, values: Any, zero: float) -> None:
    """Mark a few decades on either side of zero; matplotlib would write every one of them, over each other."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    top = max(float(np.abs(values).max()), 10.0 * zero)
    low, high = int(np.ceil(np.log10(zero))) + 1, int(np.floor(np.log10(top)))
    step = max(1, -(-(high - low) // 5))
    powers = np.arange(high, low, -step)[::-1]
    positive = 10.0 ** powers.astype(float)
    negative = -positive[(positive <= 10.0 * -values.min())] if values.min() < -zero else np.zeros(0)
    ticks = np.concatenate([negative[::-1], [0.0], positive])
    ax.set_yticks(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    margin = 10.0**0.7
    ax.set_ylim(min(values.min() * margin, -10.0 * zero) if values.min() < -zero else -3.0 * zero, top * margin)
