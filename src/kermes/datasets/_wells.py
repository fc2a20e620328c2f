"""Wells of a flow cytometer, from the package FlowCytometryTools (MIT licence)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._checks import needed, real
from .._foreign import decoding, require_file
from .._typing import FloatArray
from ..exceptions import InvalidFileError
from ._labelled import LabelledMeasures, labelled, package_folder


def load_wells(
    path: str | os.PathLike[str] | None = None,
    columns: Sequence[str] = ("V2-A", "Y2-A", "B1-A"),
    cofactor: float = 150.0,
) -> LabelledMeasures:
    """Return eleven wells of a flow cytometer, 10,000 cells each, on the scale of arcsinh.

    A measure is a well. Classes are the fluorescent proteins of its cells by the name of the file: cyan (CFP, 2 wells),
    red (RFP, 3), yellow (YFP, 2), or a mixture (Mixed, 4). Groups are the plates: the mixtures are on one of their own,
    measured on another day, so that plate and class cannot be told apart there. Far too few wells for an accuracy that
    means anything; enough to see real cells.

    Parameters
    ----------
    path : path, optional
        Folder with the folders ``Plate01`` and ``Plate02`` of FCS files. By default that of the package
        FlowCytometryTools (``pip install 'kermes[data]'``), whose licence is MIT.
    columns : sequence of str
        Channels; by default the areas of violet, yellow and blue excitation.
    cofactor : float
        Coordinates are ``arcsinh(x / cofactor)``.

    Examples
    --------
    >>> from kermes import datasets
    >>> wells = datasets.load_wells()  # doctest: +SKIP
    LabelledMeasures(11 measures in dimension 3, 4 classes, 2 groups)
    """
    scale = real(cofactor, "cofactor", low=0, open_low=True)
    folder = package_folder("FlowCytometryTools", "tests/data", path, "wells")
    files = sorted(folder.glob("Plate0[12]/*.fcs"))
    if not files:
        raise FileNotFoundError(f"there is no FCS file in the folders Plate01 and Plate02 of {os.fspath(folder)!r}")
    return labelled(
        [np.arcsinh(_cells(file, columns) / scale) for file in files],
        [file.name.split("_")[0] for file in files],
        columns,
        groups=[file.parent.name for file in files],
        keys=[file.stem for file in files],
    )


def _cells(path: Path, columns: Sequence[str]) -> FloatArray:
    """Return the cells of a file in some of its channels. ``kermes.files`` reads the FCS files of users."""
    flowio = needed("flowio", "data", "Reading FCS files")
    require_file(path)
    with decoding(path, "an FCS file"), open(path, "rb") as file:
        flow = flowio.FlowData(file)
        known = list(flow.pnn_labels)
        for name in columns:
            if name not in known:
                raise InvalidFileError(f"{path.name} has no channel {name!r}; it has {', '.join(known)}.")
        return np.asarray(flow.as_array(preprocess=True)[:, [known.index(name) for name in columns]], dtype=np.float64)
