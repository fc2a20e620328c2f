"""A simulated CT scanner: polychromatic projection, photon noise and starvation, filtered back-projection.

The mass attenuation coefficients are those of Hubbell and Seltzer, *Tables of X-ray mass attenuation coefficients*,
NIST standard reference database 126, rounded.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import MissingDependencyError
from .._paper import AnyArray, FloatArray

#: Energies of 40, 50, 60, 80 and 100 keV stand for the spectrum of a filtered 120 kV tube: the share of the signal.
SPECTRUM = np.array([0.12, 0.25, 0.30, 0.22, 0.11])

#: Mass attenuation in cm^2 / g at the energies above.
_ELEMENTS: dict[str, FloatArray] = {
    "Ti": np.array([2.21, 1.21, 0.766, 0.405, 0.272]),
    "Cu": np.array([4.86, 2.61, 1.59, 0.763, 0.458]),
    "Ag": np.array([17.2, 9.44, 5.77, 2.65, 1.47]),
    "Sn": np.array([19.4, 10.7, 6.56, 3.03, 1.68]),
    "Au": np.array([13.0, 7.26, 4.53, 2.19, 5.16]),  # the K edges of gold and mercury lie between 80 and 100 keV
    "Hg": np.array([13.4, 7.50, 4.68, 2.26, 5.28]),
}


def _alloy(**shares: float) -> FloatArray:
    return np.asarray(sum(share * _ELEMENTS[name] for name, share in shares.items()))


#: What a phantom is made of: maps of density in g / cm^3 of each of these.
MATERIALS: dict[str, FloatArray] = {
    "water": np.array([0.268, 0.227, 0.206, 0.184, 0.171]),
    "bone": np.array([0.666, 0.424, 0.315, 0.223, 0.186]),  # cortical bone, ICRU 44
    "amalgam": _alloy(Hg=0.50, Ag=0.30, Sn=0.15, Cu=0.05),
    "gold": _alloy(Au=0.75, Ag=0.125, Cu=0.125),
    "titanium": _alloy(Ti=1.0),
}

VIEWS_PER_PIXEL = 1.4  # views of half a turn for each pixel of the width; pi / 2 would be complete sampling
ELECTRONIC_NOISE = 5.0  # standard deviation of a reading, in photons
STARVED = 10.0  # the lowest reading that the logarithm gets, in photons
FOCUS = np.array([0.15, 0.7, 0.15])  # the focal spot spreads a ray over the neighbouring readings
LOWEST, HIGHEST = -1024, 3071  # the twelve bits in which scanners store Hounsfield units


def circle(size: int) -> NDArray[np.bool_]:
    """Return the mask of the field of view, the disc in which scikit-image's transforms work."""
    axis = np.arange(size) - size // 2
    return np.asarray(axis[:, None] ** 2 + axis[None, :] ** 2 < (size // 2) ** 2)


def reconstruct(
    maps: Mapping[str, AnyArray], pixel: float, photons: float, rng: np.random.Generator
) -> NDArray[np.int16]:
    """Return the image that the scanner makes of a slice, in Hounsfield units.

    ``maps`` hold the density in g / cm^3 of some of the ``MATERIALS``, (size, size), zero outside ``circle(size)``.
    A ``pixel`` is so many cm wide, and ``photons`` reach a reading of the detector through air.
    """
    transform = scikit_image("transform")
    size = len(next(iter(maps.values())))
    angles = np.linspace(0.0, 180.0, round(VIEWS_PER_PIXEL * size), endpoint=False)
    # Line integrals are linear: one transform per material serves all energies.
    lengths = {
        name: pixel * transform.radon(np.asarray(density, dtype=np.float32), angles, circle=True)
        for name, density in maps.items()
        if np.any(density)
    }
    transmission = _readings(lengths, photons, rng, (size, len(angles))) / photons
    # The depth of water with this transmission: corrects beam hardening in water, not in bone or metal.
    water = np.interp(-np.log(transmission), _BEHIND_WATER, _DEPTH)
    readings = water.astype(np.float32) / pixel
    image = transform.iradon(readings, angles, filter_name="cosine", circle=True, output_size=size)
    # The reconstruction is the density of water that would attenuate alike: 1 in water, 0 in air.
    hounsfield: NDArray[np.int16] = np.clip(np.rint(1000.0 * (image - 1.0)), LOWEST, HIGHEST).astype(np.int16)
    hounsfield[~circle(size)] = LOWEST
    return hounsfield


def scikit_image(module: str) -> Any:
    """Return a module of scikit-image, which is an extra."""
    try:
        return importlib.import_module(f"skimage.{module}")
    except ImportError:
        raise MissingDependencyError(
            "The paper `kwd` needs the package scikit-image, which is not installed. Install it with: pip install "
            "'kermes[image]'"
        ) from None


def _readings(
    lengths: Mapping[str, AnyArray], photons: float, rng: np.random.Generator, shape: tuple[int, int]
) -> FloatArray:
    """Beer-Lambert over the spectrum, counted."""
    from scipy.ndimage import convolve1d

    transmitted = np.zeros(shape)
    for energy, share in enumerate(SPECTRUM):
        depth = sum((MATERIALS[name][energy] * length for name, length in lengths.items()), np.zeros(shape))
        transmitted += share * np.exp(-depth)
    transmitted = convolve1d(transmitted, FOCUS, axis=0, mode="nearest")
    counted = rng.poisson(photons * transmitted) + rng.normal(0.0, ELECTRONIC_NOISE, size=shape)
    return np.asarray(np.maximum(counted, STARVED))


# Depth of water in cm, and what the scanner reads behind it. Negative depths keep the noise of air unbiased.
_DEPTH = np.linspace(-3.0, 120.0, 4096)
_BEHIND_WATER = -np.log(np.exp(-np.outer(_DEPTH, MATERIALS["water"])) @ SPECTRUM)
