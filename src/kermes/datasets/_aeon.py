"""Spoken vowels and the power that appliances take, from the package aeon (BSD 3-Clause licence)."""

from __future__ import annotations

import os

import numpy as np

from .._checks import choice
from .._foreign import decoding, read_bytes
from ._labelled import LabelledMeasures, labelled, package_folder


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
    standard deviation 1 by those who published it, so that neither tells anything. Classes are the kinds, 0 to 9.

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
