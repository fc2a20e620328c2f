"""Simulated CT slices of heads, with and without dental metal."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from ...exceptions import InvalidParameterError, KermesError
from ...files import whole
from .._paper import AnyArray, FloatArray
from .phantom import BOTTOM, FIELD, TOP, Head, draw_head, paint_slice
from .scanner import reconstruct
from .teeth import draw_restoration

VERSION = 1  # of the simulation; a change of the pictures needs a new one, so that no old file is read
PATIENCE = 40  # tries per scan to give or take metal until the numbers fit


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
    path = _cache_folder() / f"dental-ct-v{VERSION}-{n_scans}-{n_slices}-{n_noisy}-{size}-{seed}.npz"
    slices = _read(path)
    if slices is None:
        slices = _simulate(n_scans, n_slices, n_noisy, size, seed)
        with whole(path) as fresh, open(fresh, "wb") as file:
            np.savez_compressed(file, **vars(slices))
    return slices


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
    for i in track(range(n_slices), "CT slices", console=console, transient=True, disable=not console.is_terminal):
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
