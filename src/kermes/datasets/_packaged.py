"""Real measures that ship inside other packages, which the extra ``data`` installs and which are not imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import choice, missing, needed, real
from .._foreign import decoding, read_bytes, require_file
from .._typing import AnyArray, FloatArray
from ..core import ragged
from ..exceptions import InvalidFileError
from ..measures import Measures
from ..measures._build import pack


@dataclass(frozen=True, eq=False, repr=False)
class LabelledMeasures:
    """Measures with labels, and groups where samples belong together.

    Parameters
    ----------
    measures : Measures
    target : ndarray of shape (n,)
        Class numbers.
    classes : tuple of str
        Name of each class.
    groups : ndarray of shape (n,) or None
        What samples share besides their class (a session, a plate, a cell line), for the ``groups`` of splits.
    columns : tuple of str
        Names of the coordinates.
    """

    measures: Measures
    target: AnyArray
    classes: tuple[str, ...]
    groups: AnyArray | None
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        parts = [f"{len(self)} measures in dimension {self.measures.dim}", f"{len(self.classes)} classes"]
        if self.groups is not None:
            parts.append(f"{len(np.unique(self.groups))} groups")
        return f"LabelledMeasures({', '.join(parts)})"

    def __getitem__(self, key: Any) -> LabelledMeasures:
        """Return the measures of a slice, mask or index array."""
        groups = None if self.groups is None else self.groups[key]
        return LabelledMeasures(self.measures[key], self.target[key], self.classes, groups, self.columns)


def labelled(
    clouds: Sequence[FloatArray],
    labels: Sequence[str],
    columns: Sequence[str],
    groups: Sequence[str] | None = None,
    weights: Sequence[FloatArray] | None = None,
    keys: Sequence[str] | None = None,
) -> LabelledMeasures:
    """Return one measure for each cloud; classes are in the order of their names."""
    classes, target = np.unique(np.asarray(labels), return_inverse=True)
    points = np.concatenate(clouds)
    packed = pack(
        points,
        np.ones(len(points)) if weights is None else np.concatenate(weights),
        ragged.offsets_of(np.array([len(cloud) for cloud in clouds], dtype=np.int64)),
        keys=None if keys is None else np.asarray(keys),
        copy=False,
    )
    shared = None if groups is None else np.asarray(groups)
    return LabelledMeasures(Measures(packed), target, tuple(map(str, classes)), shared, tuple(columns))


def package_folder(package: str, inside: str, path: str | os.PathLike[str] | None, what: str) -> Path:
    """Return ``path``, or else a folder of an installed package, which is found without being imported."""
    if path is not None:
        return Path(path)
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise missing(package, "data", f"Loading {what}")
    folder = Path(spec.submodule_search_locations[0], inside)
    if not folder.is_dir():
        raise InvalidFileError(
            f"the installed package {package} has no folder {inside!r}, which held {what} in the version that kermes "
            "knows; install that one: pip install 'kermes[data]'"
        )
    return folder


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
    if not len(outlines) == len(treatments) == len(lines):
        raise InvalidFileError(
            f"the files in {os.fspath(folder)!r} do not belong together: they hold {len(outlines)} outlines, "
            f"{len(treatments)} treatments, {len(lines)} lines."
        )
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


def load_vowels(path: str | os.PathLike[str] | None = None, split: str = "train") -> LabelledMeasures:
    """Return the data set JapaneseVowels: nine speakers say two vowels, 270 times to train and 370 times to test.

    A measure is an utterance: 7 to 29 frames of twelve coefficients of a linear prediction of the sound, whose order is
    forgotten. Classes are the speakers, 1 to 9.

    Parameters
    ----------
    path : path, optional
        Folder with ``JapaneseVowels_TRAIN.ts`` and ``JapaneseVowels_TEST.ts``. By default that of the package aeon
        (``pip install 'kermes[data]'``), whose licence is BSD 3-Clause; the files name the UCI archive as their source.
    split : 'train' or 'test'

    References
    ----------
    M. Kudo, J. Toyama and M. Shimbo, "Multidimensional curve classification using passing-through regions", Pattern
    Recognition Letters 20 (1999).

    Examples
    --------
    >>> from kermes import datasets
    >>> vowels = datasets.load_vowels()  # doctest: +SKIP
    LabelledMeasures(270 measures in dimension 12, 9 classes)
    """
    return _series("JapaneseVowels", path, split, [f"coefficient{i}" for i in range(1, 13)])


def load_appliances(path: str | os.PathLike[str] | None = None, split: str = "train") -> LabelledMeasures:
    """Return the data set ACSF1: the power that ten kinds of appliances take, 100 series to train and 100 to test.

    A measure is a series: 1460 readings on the line, whose order is forgotten. Each series was brought to mean 0 and
    standard deviation 1 by those who published it, so that neither carries information. Classes are the kinds, 0 to 9.

    Parameters
    ----------
    path : path, optional
        Folder with ``ACSF1_TRAIN.ts`` and ``ACSF1_TEST.ts``. By default that of the package aeon
        (``pip install 'kermes[data]'``), whose licence is BSD 3-Clause. aeon announces that version 1.7 will no longer
        have them.
    split : 'train' or 'test'

    References
    ----------
    C. Gisler et al., "Appliance consumption signature database and recognition test protocols", WoSSPA (2013).

    Examples
    --------
    >>> from kermes import datasets
    >>> appliances = datasets.load_appliances()  # doctest: +SKIP
    LabelledMeasures(100 measures in dimension 1, 10 classes)
    """
    return _series("ACSF1", path, split, ["power"])


def _series(name: str, path: str | os.PathLike[str] | None, split: str, columns: list[str]) -> LabelledMeasures:
    """Read the lines of a file, ``values:...:values:label``, one list of values for each coordinate."""
    part = choice(split, "split", ["train", "test"]).upper()
    file = package_folder("aeon", f"datasets/data/{name}", path, f"the data set {name}") / f"{name}_{part}.ts"
    clouds, labels = [], []
    with decoding(file, "a file of series"):
        _, found, body = read_bytes(file).decode("utf-8").partition("@data")
        if not found:
            raise ValueError("it has no line @data")
        for line in body.split():
            *channels, label = line.split(":")
            clouds.append(np.array([channel.split(",") for channel in channels], dtype=np.float64).T)
            labels.append(label)
            if clouds[-1].ndim != 2 or clouds[-1].shape[1] != len(columns):
                raise ValueError(f"line {len(labels)} after @data has {len(channels)} channels, not {len(columns)}")
    return labelled(clouds, labels, columns)


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
