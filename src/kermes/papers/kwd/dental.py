"""Simulated CT slices of heads, with and without dental metal, and the scanner that makes them.

The scanner projects at several energies, counts photons, and reconstructs by filtered back-projection. The mass
attenuation coefficients are those of Hubbell and Seltzer, *Tables of X-ray mass attenuation coefficients*, NIST
standard reference database 126, rounded.
"""

from __future__ import annotations

import importlib
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from ...exceptions import InvalidParameterError, KermesError, MissingDependencyError
from ...files import whole
from .._paper import AnyArray, FloatArray
from .phantom import BOTTOM, FIELD, TOP, Head, circle, draw_head, paint_slice
from .teeth import draw_restoration

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
VERSION = 1  # of the simulation; a change of the pictures needs a new one, so that no old file is read
PATIENCE = 40  # tries per scan to give or take metal until the numbers fit
# Depth of water in cm, and what the scanner reads behind it. Negative depths keep the noise of air unbiased.
_DEPTH = np.linspace(-3.0, 120.0, 4096)
_BEHIND_WATER = -np.log(np.exp(-np.outer(_DEPTH, MATERIALS["water"])) @ SPECTRUM)


def reconstruct(
    maps: Mapping[str, AnyArray], pixel: float, photons: float, rng: np.random.Generator
) -> NDArray[np.int16]:
    """Return the image that the scanner makes of a slice, in Hounsfield units.

    ``maps`` hold the density in g / cm^3 of some of the ``MATERIALS``, (size, size), zero outside ``circle(size)``.
    A ``pixel`` is so many cm wide, and ``photons`` reach a reading of the detector through air.
    """
    from scipy.ndimage import convolve1d

    transform = scikit_image("transform")
    size = len(next(iter(maps.values())))
    angles = np.linspace(0.0, 180.0, round(VIEWS_PER_PIXEL * size), endpoint=False)
    # Line integrals are linear: one transform per material serves all energies.
    lengths = {
        name: pixel * transform.radon(np.asarray(density, dtype=np.float32), angles, circle=True)
        for name, density in maps.items()
        if np.any(density)
    }
    transmitted = np.zeros((size, len(angles)))
    for energy, share in enumerate(SPECTRUM):  # Beer-Lambert
        depth = sum((MATERIALS[name][energy] * length for name, length in lengths.items()), np.zeros_like(transmitted))
        transmitted += share * np.exp(-depth)
    transmitted = convolve1d(transmitted, FOCUS, axis=0, mode="nearest")
    counted = rng.poisson(photons * transmitted) + rng.normal(0.0, ELECTRONIC_NOISE, size=transmitted.shape)
    transmission = np.maximum(counted, STARVED) / photons
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


@dataclass(frozen=True, eq=False, repr=False)
class Slices:
    """CT slices, the label of each, and where it comes from."""

    #: (n, size, size), int16. Hounsfield units: -1000 in air, 0 in water; cut off at -1024 and 3071, and -1024 outside
    #: the field of view. The front of the head is at the top.
    images: AnyArray
    #: Whether there is metal in the slice.
    noisy: AnyArray
    #: Number of the scan.
    scan: AnyArray
    #: Height of the slice in mm above the plane where the teeth meet.
    level: AnyArray

    def __len__(self) -> int:
        return len(self.noisy)

    def __repr__(self) -> str:
        height, width = self.images.shape[1:]
        scans = len(np.unique(self.scan))
        return f"Slices({len(self)} of {height} x {width} pixels from {scans} scans, {self.noisy.sum()} noisy)"


def make_dental_ct(
    n_scans: int = 44, n_slices: int = 1164, n_noisy: int = 276, size: int = 128, seed: int = 0, cache: bool = True
) -> Slices:
    """Simulate CT slices of heads, some of them with the artefacts of dental metal.

    **These are not patients.** The slices that the paper `kwd` clusters are private; these stand in for them, in the
    same numbers. Every head is a phantom of ellipses with random sizes, and every image is what a simple scanner would
    make of it. Conclusions about tissue or about real scanners cannot be drawn from them.

    A head has skin, fat, muscle, bone, brain, airways and sinuses, vessels with or without contrast agent, often a
    tumour, two rows of teeth with gaps and tooth-coloured fillings, and in most heads fillings, crowns, implants and
    posts of amalgam, gold alloy or titanium. A slice 2.5 mm thick is projected at five energies (Beer-Lambert over a
    spectrum of 120 kV), photons are counted, readings without photons are set to a floor, the logarithm is corrected
    for beam hardening in water only, and the slice is reconstructed by filtered back-projection. Streaks come from
    that, not from drawing.

    Of ``n_scans`` heads, each with its own anatomy, teeth and dose, ``n_slices`` are taken in turn at random levels
    between hyoid bone and orbits, ``n_noisy`` of them with metal (the label is whether metal is there, not how the
    image looks), of ``size`` pixels in 256 mm. They are in order of scan and level. With ``cache`` they are kept in a
    file of ``$KERMES_CACHE``, or ``.cache/kermes`` in the home folder, and read from there the next time.

    Examples
    --------
    >>> from kermes.papers.kwd.dental import make_dental_ct
    >>> make_dental_ct(n_scans=2, n_slices=3, n_noisy=1, size=32, cache=False)
    Slices(3 of 32 x 32 pixels from 2 scans, 1 noisy)
    """
    lowest = {"n_scans": (n_scans, 1), "n_slices": (n_slices, 1), "n_noisy": (n_noisy, 0), "size": (size, 16)}
    for name, (value, low) in lowest.items():
        if value < low:
            raise InvalidParameterError(f"`{name}` must be an integer of at least {low}; got {value!r}.")
    if n_noisy > n_slices:
        raise InvalidParameterError(f"`n_noisy` must be at most `n_slices` = {n_slices}; got {n_noisy}.")
    if not cache:
        return _simulate(n_scans, n_slices, n_noisy, size, seed)
    path = _cache_folder() / _file_name(n_scans, n_slices, n_noisy, size, seed)
    slices = _read(path)
    if slices is None:
        slices = _simulate(n_scans, n_slices, n_noisy, size, seed)
        with whole(path) as fresh, open(fresh, "wb") as file:
            np.savez_compressed(file, **vars(slices))
    return slices


def is_simulated(n_scans: int, n_slices: int, n_noisy: int, size: int, seed: int) -> bool:
    """Return whether the cache has a file of these slices."""
    return (_cache_folder() / _file_name(n_scans, n_slices, n_noisy, size, seed)).exists()


def _file_name(n_scans: int, n_slices: int, n_noisy: int, size: int, seed: int) -> str:
    return f"dental-ct-v{VERSION}-{n_scans}-{n_slices}-{n_noisy}-{size}-{seed}.npz"


def _simulate(n_scans: int, n_slices: int, n_noisy: int, size: int, seed: int) -> Slices:
    rng = np.random.default_rng(seed)
    # More levels than slices, so that metal need not come out in exact numbers by itself.
    levels = np.linspace(BOTTOM, TOP, int(np.ceil(1.3 * n_slices / n_scans)) + 6)
    heads = [draw_head(rng) for _ in range(n_scans)]
    noisy = _fit_metal(heads, levels, n_slices, n_noisy, rng)
    chosen = np.sort(np.concatenate([_in_turn(noisy, n_noisy, rng), _in_turn(~noisy, n_slices - n_noisy, rng)]))
    scan, level = np.divmod(chosen, len(levels))
    images = np.empty((n_slices, size, size), dtype=np.int16)
    console = Console(stderr=True)
    numbers: Iterable[int] = range(n_slices)
    if console.is_terminal:  # rich before 14.3 ends a disabled bar with a newline
        numbers = track(numbers, "CT slices", total=n_slices, console=console, transient=True)
    for i in numbers:
        head = heads[scan[i]]
        maps = paint_slice(head, levels[level[i]], size)
        photons = np.random.default_rng([seed, chosen[i]])  # a stream of its own: no slice depends on another
        images[i] = reconstruct(maps, FIELD / size / 10.0, head.photons, photons)
    return Slices(images, noisy.ravel()[chosen], scan, levels[level])


def _fit_metal(
    heads: list[Head], levels: FloatArray, n_slices: int, n_noisy: int, rng: np.random.Generator
) -> AnyArray:
    """Give or take restorations, in place, until enough levels have metal and enough have none; return which have."""
    noisy = np.array([[head.has_metal(z) for z in levels] for head in heads])
    for _ in range(PATIENCE * len(heads)):
        short = noisy.sum() < n_noisy
        if not short and (~noisy).sum() >= n_slices - n_noisy:
            return noisy
        i = rng.integers(len(heads))
        head = heads[i]
        if short and head.teeth:
            heads[i] = replace(head, restorations=(*head.restorations, draw_restoration(rng, head.teeth)))
        elif not short:
            heads[i] = replace(head, restorations=head.restorations[:-1])
        noisy[i] = [heads[i].has_metal(z) for z in levels]
    raise InvalidParameterError(
        f"`n_noisy` must be a number of slices that have teeth in them; {n_noisy} of {n_slices} slices in "
        f"{len(heads)} scans are too many: a third is possible. Ask for fewer noisy slices, or for more clean ones."
    )


def _in_turn(candidates: AnyArray, n: int, rng: np.random.Generator) -> AnyArray:
    """Return n of the candidates (scans x levels, flat indices): one of each scan, then a second one, and so on."""
    order = rng.permuted(np.tile(np.arange(float(candidates.shape[1])), (len(candidates), 1)), axis=1)
    order = np.where(candidates, order, np.inf)
    turn = np.argsort(np.argsort(order, axis=1), axis=1) + rng.random(size=(len(candidates), 1))
    turn = np.where(candidates, turn, np.inf)
    return np.asarray(np.argsort(turn, axis=None, kind="stable")[:n])


def _cache_folder() -> Path:
    folder = Path(os.environ.get("KERMES_CACHE", "~/.cache/kermes")).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:  # said before minutes of work, not after
        raise KermesError(
            f"the cache {os.fspath(folder)!r} must be a folder that can be written to. Set KERMES_CACHE to another "
            "one, or pass cache=False."
        )
    return folder


def _read(path: Path) -> Slices | None:
    """Return the slices in a file; None if it is not there or damaged."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return Slices(file["images"], file["noisy"], file["scan"], file["level"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
