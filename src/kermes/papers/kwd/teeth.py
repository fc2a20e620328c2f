"""Teeth along two arches, and the metal in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._paper import FloatArray

SLICE = 2.5  # thickness of a slice in mm
#: Width along the arch and depth across it in mm, from the middle incisor to the third molar.
_WIDTHS = np.array([7.5, 6.5, 7.5, 7.0, 7.0, 10.0, 10.0, 9.0])
_DEPTHS = np.array([6.5, 6.0, 8.0, 9.0, 9.0, 10.5, 10.5, 10.0])
CROWN, ROOT = 8.0, 20.0  # how far crown and root reach from the occlusal surface, mm
DENSITIES = {"amalgam": 11.5, "gold": 15.5, "titanium": 4.5}  # of metals, in g / cm^3
_TOO_THIN = 0.2  # the share of a slice below which metal is left out of it


@dataclass(frozen=True)
class Tooth:
    """A tooth: centre and half axes in mm, angle of the axis along the arch, and the level of its occlusal surface.

    ``resin`` is the density, as bone, of a tooth-coloured filling; 0 for none. It is bright, but no metal.
    """

    x: float
    y: float
    along: float
    across: float
    angle: float
    upper: bool
    surface: float
    resin: float

    def share(self, z: float, start: float, stop: float) -> float:
        """Return the share of the slice centred at z that lies between two distances from the occlusal surface."""
        low, high = self.surface + start, self.surface + stop
        if not self.upper:
            low, high = self.surface - stop, self.surface - start
        return float(max(0.0, min(z + SLICE / 2, high) - max(z - SLICE / 2, low)) / SLICE)


@dataclass(frozen=True)
class Restoration:
    """Metal in a tooth: an elliptic cylinder, hollow for crowns.

    Half axes are those of the tooth times ``scale``; ``hollow`` is the share of them that is not metal.
    """

    tooth: Tooth
    material: str
    scale: float
    hollow: float
    start: float
    stop: float

    def share(self, z: float) -> float:
        """Return the share of the slice at z that the metal fills in depth; 0 when it hardly enters it."""
        share = self.tooth.share(z, self.start, self.stop)
        return share if share >= _TOO_THIN else 0.0


def draw_teeth(rng: np.random.Generator, arch: tuple[float, float, float], gap: float) -> tuple[Tooth, ...]:
    """Draw the teeth of both jaws; some are missing.

    ``arch``: half width, half length and base of the half ellipse of the lower teeth; ``gap``: how far the mouth is
    open; all in mm.
    """
    lost, filled = rng.beta(1.0, 6.0), rng.beta(1.0, 4.0)
    teeth = []
    for upper in (False, True):
        width, length, base = arch
        wider = 1.04 if upper else 1.0
        for x, y, angle, kind in _places(width * wider, length * wider, base):
            if rng.random() < (0.5 if kind == 7 else lost):
                continue
            size = rng.uniform(0.9, 1.08)
            along, across = size * _WIDTHS[kind] / 2, size * _DEPTHS[kind] / 2
            surface = (gap / 2 if upper else -gap / 2) + rng.normal(0.0, 0.4)
            angle += rng.normal(0.0, 0.08)
            resin = rng.uniform(2.2, 3.6) if kind > 2 and rng.random() < filled else 0.0
            teeth.append(Tooth(x, y, along, across, angle, upper, surface, resin))
    return tuple(teeth)


def _places(width: float, length: float, base: float) -> list[tuple[float, float, float, int]]:
    """Return centre, direction and kind of sixteen teeth side by side on a half ellipse."""
    turn = np.linspace(-0.75, np.pi + 0.75, 721)
    x, y = width * np.cos(turn), base + length * np.sin(turn)
    run = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    run -= run[len(run) // 2]  # measured from the midline
    middles = np.cumsum(_WIDTHS) - _WIDTHS / 2
    places = []
    for side in (-1.0, 1.0):
        for kind, middle in enumerate(side * middles):
            at = np.interp(middle, run, turn)
            angle = np.arctan2(length * np.cos(at), -width * np.sin(at))
            places.append((float(width * np.cos(at)), float(base + length * np.sin(at)), float(angle), kind))
    return places


def draw_restoration(rng: np.random.Generator, teeth: tuple[Tooth, ...]) -> Restoration:
    """Draw a filling, crown, implant or post in one of the teeth; large teeth are restored more often."""
    sizes: FloatArray = np.array([tooth.along * tooth.across for tooth in teeth]) ** 2
    tooth = teeth[rng.choice(len(teeth), p=sizes / sizes.sum())]
    kind = rng.choice(["filling", "crown", "implant", "post"], p=[0.56, 0.26, 0.08, 0.10])
    if kind == "filling":
        return Restoration(tooth, "amalgam", rng.uniform(0.15, 0.65), 0.0, 0.0, rng.uniform(1.5, 5.0))
    if kind == "crown":
        material = "gold" if rng.random() < 0.7 else "titanium"
        return Restoration(tooth, material, 1.0, rng.uniform(0.7, 0.9), 0.0, rng.uniform(5.0, 7.5))
    if kind == "implant":
        return Restoration(
            tooth, "titanium", rng.uniform(0.4, 0.5), 0.0, rng.uniform(2.0, 7.0), rng.uniform(15.0, 18.0)
        )
    return Restoration(tooth, "gold", rng.uniform(0.12, 0.2), 0.0, rng.uniform(3.0, 5.0), rng.uniform(9.0, 14.0))
