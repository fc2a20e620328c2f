"""Outlines of cancer cells and signals of muscles, from the package geomstats (MIT licence)."""

from __future__ import annotations

import os

import numpy as np

from .._foreign import decoding, read_bytes
from .._typing import FloatArray
from ._labelled import LabelledMeasures, labelled, package_folder, same_length

ELECTRODES = tuple(f"electrode{i}" for i in range(8))


def load_cells(path: str | os.PathLike[str] | None = None, align: bool = True) -> LabelledMeasures:
    """Return the outlines of 650 cancer cells of mice, treated with one of two drugs or not.

    A measure spreads its mass evenly along the outline of one cell: each of its 20 to 1759 points has half the length
    of both segments that meet there, so that the mass of a measure is the length of the outline, in pixels. Classes are
    the treatments: none (control, 318 cells), cytochalasin D (cytd, 175), jasplakinolide (jasp, 157), which disturb the
    skeleton of cells. Groups are the cell lines, dunn (392) and dlm8 (258), the more aggressive one.

    Parameters
    ----------
    path : path, optional
        Folder with ``cells.txt``, ``treatments.txt`` and ``cell_lines.txt``. By default that of the package geomstats
        (``pip install 'kermes[data]'``), whose licence is MIT.
    align : bool
        Move the centre of each outline to 0 and turn its longest axis along the first coordinate, third moments
        positive. Otherwise cells are where they lay under the microscope, which says nothing of their shape.

    Examples
    --------
    >>> from kermes import datasets
    >>> cells = datasets.load_cells()  # doctest: +SKIP
    LabelledMeasures(650 measures in dimension 2, 3 classes, 2 groups)
    """
    folder = package_folder("geomstats", "datasets/data/cells", path, "outlines of cells")
    file = folder / "cells.txt"
    with decoding(file, "a file of outlines"):
        blocks = read_bytes(file).decode("ascii").strip().split("\n\n")
        outlines = [np.array(block.split(), dtype=np.float64).reshape(-1, 2) for block in blocks]
    treatments, lines = ((folder / name).read_text().split() for name in ("treatments.txt", "cell_lines.txt"))
    same_length(folder, outlines=len(outlines), treatments=len(treatments), lines=len(lines))
    weights = [_lengths(outline) for outline in outlines]
    if align:
        outlines = [_aligned(outline, w) for outline, w in zip(outlines, weights, strict=True)]
    return labelled(outlines, treatments, ("x", "y"), groups=lines, weights=weights)


def load_muscles(path: str | os.PathLike[str] | None = None) -> LabelledMeasures:
    """Return 120 recordings of eight electrodes on a forearm, while the hand makes one of five signs.

    A measure is a recording of 25 seconds: about 6,100 readings in 0 to 255, whose order is forgotten. The mean is near
    127 whatever the hand does; the sign is in how the readings vary. Classes are the signs ok, paper, rest, rock and
    scissors, 24 recordings each. Groups are the four sessions, two of each of two people (mg_s1, mg_s2, rr_s1, rr_s2).

    Parameters
    ----------
    path : path, optional
        Folder with ``emg.csv``. By default that of the package geomstats (``pip install 'kermes[data]'``), whose
        licence is MIT.

    Examples
    --------
    >>> from kermes import datasets
    >>> muscles = datasets.load_muscles()  # doctest: +SKIP
    LabelledMeasures(120 measures in dimension 8, 5 classes, 4 groups)
    """
    file = package_folder("geomstats", "datasets/data/emg", path, "signals of muscles") / "emg.csv"
    row = [("time", np.int64), ("signal", np.float64, len(ELECTRODES)), ("label", "U8"), ("session", "U8")]
    with decoding(file, "a table of signals"):
        rows = np.loadtxt(file, row, delimiter=",", skiprows=1, ndmin=1)
        changes = (rows["label"][1:] != rows["label"][:-1]) | (rows["session"][1:] != rows["session"][:-1])
        first = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return labelled(
        np.split(rows["signal"], first[1:]), rows["label"][first], ELECTRODES, groups=rows["session"][first]
    )


def _lengths(outline: FloatArray) -> FloatArray:
    """Return half the length of both segments of a closed outline that meet at each point."""
    segments = np.linalg.norm(np.roll(outline, -1, axis=0) - outline, axis=1)
    return np.asarray((segments + np.roll(segments, 1)) / 2)


def _aligned(outline: FloatArray, weights: FloatArray) -> FloatArray:
    centred = outline - weights @ outline / weights.sum()
    _, axes = np.linalg.eigh((centred.T * weights) @ centred)
    turned = centred @ axes[:, ::-1]  # the longest axis first
    return np.asarray(turned * np.where(weights @ turned**3 < 0, -1.0, 1.0))
