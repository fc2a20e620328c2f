"""The papers behind kermes, one folder each, through the public API only.

A folder holds ``run.py`` with a function ``reproduce(size, folder)``, ``config.toml`` with all sizes and grids, and
``expected.json`` with the published numbers and the ones measured here. ``kermes reproduce KEY`` runs it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["KEYS", "load"]

#: Papers that can be reproduced, with their titles.
KEYS = {
    "gpm": "Gaussian process regression over discrete probability measures (Candelieri, Ponti, Archetti, 2022)",
    "kwd": "Kernel Wasserstein distance (Oh, Pouryahya, Iyer, Apte, Tannenbaum, Deasy, 2019)",
    "skfs": "Semigroup kernels on finite sets (Cuturi, Vert, 2004)",
    "skm": "Semigroup kernels on measures (Cuturi, Fukumizu, Vert, 2005)",
    "wek": "Wasserstein exponential kernels (De Plaen, Fanuel, Suykens, 2020)",
}


def load(key: str) -> ModuleType:
    """Return the module of a paper, which has ``reproduce(size, folder)``."""
    return importlib.import_module(f"kermes.papers.{key}.run")
