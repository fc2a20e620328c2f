"""The papers behind kermes, one folder each, through the public names of kermes only.

A folder holds ``run.py`` with a :class:`~kermes.papers.Paper` named ``PAPER``, ``config.toml`` with all sizes and
grids, ``expected.json`` with the published numbers and the ones measured here, and everything that only this
reproduction needs: ``kwd`` simulates CT slices and measures their texture, ``gpm`` has test functions on the simplex,
the theorems, the procedure of the authors and the random numbers of R. ``kermes reproduce KEY`` runs it.
``_paper`` says what a reproduction is, ``_digits`` has what the semigroup papers share. Start reading at ``_paper``.
"""

from __future__ import annotations

import importlib

from .._names import public_dir
from ._paper import Paper

__all__ = ["KEYS", "Paper", "get_paper"]
__dir__ = public_dir(__all__)

#: Papers that can be reproduced, with their titles.
KEYS = {
    "gpm": "Gaussian process regression over discrete probability measures (Candelieri, Ponti, Archetti, 2022)",
    "kwd": "Kernel Wasserstein distance (Oh, Pouryahya, Iyer, Apte, Tannenbaum, Deasy, 2019)",
    "skfs": "Semigroup kernels on finite sets (Cuturi, Vert, 2004)",
    "skm": "Semigroup kernels on measures (Cuturi, Fukumizu, Vert, 2005)",
    "wek": "Wasserstein exponential kernels (De Plaen, Fanuel, Suykens, 2020)",
}


def get_paper(key: str) -> Paper:
    """Return a paper by its key."""
    paper: Paper = importlib.import_module(f"kermes.papers.{key}.run").PAPER
    return paper
