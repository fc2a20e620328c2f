"""A parametric head: what lies where in an axial slice, as maps of density.

Lengths are in mm. x grows to the right of the image, y to the front, and the level z upwards from the plane where the
teeth meet. The sizes are those of an adult, rounded; nothing is measured on a patient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._paper import AnyArray, FloatArray
from .teeth import CROWN, DENSITIES, ROOT, Restoration, Tooth, draw_restoration, draw_teeth

FIELD = 256.0  # width of the field of view
BOTTOM, TOP = -40.0, 50.0  # levels of a scan: from the hyoid bone to the orbits
FAT, MUSCLE, BRAIN, FLUID = 0.93, 1.05, 1.035, 1.01  # density in g / cm^3, as water
CORTICAL, SPONGY, DENTIN, ENAMEL = 1.75, 0.45, 1.6, 2.5  # density in g / cm^3, as cortical bone


@dataclass(frozen=True)
class Head:
    """One patient on one scanner: the anatomy, the position, the teeth and their metal.

    Width, length, bone, neck, airway and sinus are relative to an average head; fat is the thickness under the skin;
    contrast is the density of contrast agent in the vessels, as bone; gap is how far the mouth is open; a tumour has
    x, y, level and radius.
    """

    width: float
    length: float
    fat: float
    bone: float
    neck: float
    airway: float
    sinus: float
    contrast: float
    skew: float
    tilt: float
    shift: tuple[float, float]
    jaw: tuple[float, float, float]
    gap: float
    tumour: tuple[float, float, float, float] | None
    waves: FloatArray
    photons: float
    teeth: tuple[Tooth, ...]
    restorations: tuple[Restoration, ...]

    def has_metal(self, z: float) -> bool:
        """Return whether metal lies in the slice at level z."""
        return any(restoration.share(z) > 0.0 for restoration in self.restorations)


def draw_head(rng: np.random.Generator) -> Head:
    """Draw a patient: anatomy, position and teeth; one in eight has no metal at all."""
    width, length = rng.normal(1.0, 0.045, size=2)
    jaw = (29.0 * rng.normal(width, 0.04), 45.0 * rng.normal(length, 0.04), 33.0)
    gap = rng.choice([0.5, rng.uniform(4.0, 12.0)], p=[0.7, 0.3])  # some hold a bite block
    teeth = draw_teeth(rng, jaw, gap)
    count = 0 if rng.random() < 0.12 or not teeth else 1 + rng.geometric(0.2)
    side = rng.choice([-1, 1])
    mass = (side * rng.uniform(12.0, 40.0), rng.uniform(-25.0, 25.0), *rng.uniform([-35.0, 6.0], [15.0, 17.0]))
    # Plane waves whose sum is the texture of muscle and fat: wave vector, phase.
    lengths = rng.uniform(14.0, 60.0, size=12)
    directions = rng.normal(size=(12, 3))
    vectors = 2 * np.pi * directions / np.linalg.norm(directions, axis=1, keepdims=True) / lengths[:, None]
    return Head(
        width=width,
        length=length,
        fat=rng.gamma(4.0, 1.2) + 1.5,
        bone=rng.normal(1.0, 0.08),
        neck=rng.normal(1.0, 0.08),
        airway=rng.uniform(0.6, 1.3),
        sinus=rng.uniform(0.7, 1.15),
        contrast=rng.choice([0.0, rng.uniform(0.05, 0.16)], p=[0.3, 0.7]),
        skew=rng.normal(0.0, 0.02),
        tilt=rng.normal(0.0, 0.06),
        shift=(rng.normal(0.0, 4.0), rng.normal(0.0, 4.0)),
        jaw=jaw,
        gap=gap,
        tumour=mass if rng.random() < 0.7 else None,
        waves=np.column_stack([vectors, rng.uniform(0.0, 2 * np.pi, size=12)]),
        photons=10.0 ** rng.uniform(5.0, 5.6),
        teeth=teeth,
        restorations=tuple(draw_restoration(rng, teeth) for _ in range(count)),
    )


def circle(size: int) -> AnyArray:
    """Return the mask of the field of view, the disc in which scikit-image's transforms work."""
    axis = np.arange(size) - size // 2
    return np.asarray(axis[:, None] ** 2 + axis[None, :] ** 2 < (size // 2) ** 2)


class Canvas:
    """Maps of density on which shapes replace each other with smooth edges, in the frame of the head."""

    def __init__(self, head: Head, size: int) -> None:
        axis = (np.arange(size) - size // 2) * (FIELD / size)
        x, y = axis[None, :] - head.shift[0], -axis[:, None] - head.shift[1]
        cos, sin = np.cos(head.tilt), np.sin(head.tilt)
        self.x: FloatArray = cos * x + sin * y
        self.y: FloatArray = cos * y - sin * x
        self.x = self.x * (1.0 + head.skew * np.sign(self.x))
        self.pixel = FIELD / size
        self.maps: dict[str, FloatArray] = {name: np.zeros((size, size)) for name in ("water", "bone")}

    def ellipse(self, x: float, y: float, a: float, b: float, angle: float = 0.0) -> FloatArray:
        """Return the share of each pixel in an ellipse with half axes a (along the angle) and b."""
        if min(a, b) <= 0.0:
            return np.zeros_like(self.x)
        cos, sin = np.cos(angle), np.sin(angle)
        u, v = self.x - x, self.y - y
        p, q = (cos * u + sin * v) / a, (cos * v - sin * u) / b
        radius = np.sqrt(p * p + q * q)
        # First-order signed distance to the ellipse.
        steepness = np.sqrt((p / a) ** 2 + (q / b) ** 2) + 1e-9
        distance = (radius - 1.0) * radius / steepness
        distance[radius < 1e-6] = -min(a, b)
        cover = np.clip(0.5 - distance / self.pixel, 0.0, 1.0)
        # The smooth edge makes shapes thinner than a pixel too large: a post would have too much metal.
        area = cover.sum() * self.pixel**2
        return np.asarray(cover * min(1.0, np.pi * a * b / area) if area > 0.0 else cover)

    def front(self, y: float) -> FloatArray:
        """Return the share of each pixel in front of y."""
        return np.clip(0.5 + (self.y - y) / self.pixel, 0.0, 1.0)

    def paint(self, cover: FloatArray, water: float | FloatArray, bone: float = 0.0) -> None:
        """Replace what is there by a mixture, as far as ``cover`` goes."""
        for name, density in (("water", water), ("bone", bone)):
            self.maps[name] += cover * (density - self.maps[name])

    def implant(self, cover: FloatArray, material: str, density: float) -> None:
        """Replace what is there by metal."""
        for old in self.maps.values():
            old -= cover * old
        self.maps.setdefault(material, np.zeros_like(cover))
        self.maps[material] += cover * density


def paint_slice(head: Head, z: float, size: int) -> dict[str, FloatArray]:
    """Return the maps of density of a slice, zero outside the field of view, for ``dental.reconstruct``."""
    canvas = Canvas(head, size)
    for part in (_body, _spine, _skull, _airways, _midface, _jaws, _teeth, _metal):  # later ones replace earlier ones
        part(canvas, head, z)
    return {name: np.where(circle(size), density, 0.0) for name, density in canvas.maps.items()}


def _rise(z: float, low: float, high: float) -> float:
    """Return a smooth step from 0 below ``low`` to 1 above ``high``."""
    t = min(max((z - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


def _between(z: float, low: float, high: float, soft: float = 4.0) -> float:
    """Return 1 between two levels, 0 outside, smooth over ``soft``."""
    return _rise(z, low - soft / 2, low + soft / 2) * (1.0 - _rise(z, high - soft / 2, high + soft / 2))


def _waves(canvas: Canvas, head: Head, z: float) -> FloatArray:
    """Return a smooth random field of variance one that goes on from slice to slice."""
    field = np.zeros_like(canvas.x)
    for kx, ky, kz, phase in head.waves:
        field += np.cos(kx * canvas.x + ky * canvas.y + kz * z + phase)
    return np.asarray(field * np.sqrt(2.0 / len(head.waves)))


def _outline(canvas: Canvas, head: Head, z: float, inset: float) -> FloatArray:
    """Return the head without a layer of thickness ``inset``: the back, the face, and the nose."""
    up = _rise(z, -25.0, 30.0)
    a = 58.0 * head.neck * (1 - up) + 77.0 * head.width * up
    b = 56.0 * head.neck * (1 - up) + 66.0 * head.length * up
    back = canvas.ellipse(0.0, -30.0 * head.length, a - inset, b - inset)
    chin = 0.45 + 0.55 * _rise(z, -46.0, -12.0)
    face = canvas.ellipse(0.0, 20.0 * head.length, 66.0 * head.width * chin - inset, 70.0 * head.length * chin - inset)
    nose = _between(z, 12.0, 46.0, 14.0)
    bridge = canvas.ellipse(0.0, 88.0 * head.length, 13.0 * nose - inset, 20.0 * nose - inset)
    return np.maximum(np.maximum(back, face), bridge)


def _body(canvas: Canvas, head: Head, z: float) -> None:
    canvas.paint(_band(canvas, 98.0, 104.0, -6.0, 4.0) * (1.0 - canvas.front(-60.0)), 0.35)  # the head rest
    canvas.paint(_outline(canvas, head, z, 0.0), 1.07)  # skin
    canvas.paint(_outline(canvas, head, z, 1.5), FAT)
    field = _waves(canvas, head, z)
    # Fat lies along the level set 0 of the field, between bundles of muscle; fat patients have more of it.
    seams = np.clip(1.4 - np.abs(field) / (0.04 * head.fat), 0.0, 1.0)
    muscle = (MUSCLE + 0.008 * field) * (1.0 - seams) + FAT * seams
    canvas.paint(_outline(canvas, head, z, 1.5 + head.fat), muscle)
    for side in (-1.0, 1.0):
        gland = _between(z, -25.0, 18.0, 8.0) * canvas.ellipse(side * 54.0, -8.0, 9.0, 17.0)
        canvas.paint(gland, 0.98)
        for x, y, radius in ((30.0, -20.0, 3.4), (36.0, -26.0, 5.0)):  # carotid artery and jugular vein
            canvas.paint(canvas.ellipse(side * x, y, radius, radius), 1.05, head.contrast)
    if head.tumour is not None:
        x, y, level, radius = head.tumour
        reach = np.sqrt(max(0.0, 1.0 - ((z - level) / (1.3 * radius)) ** 2))
        canvas.paint(canvas.ellipse(x, y, radius * reach, 0.8 * radius * reach), 1.06, 0.25 * head.contrast)


def _spine(canvas: Canvas, head: Head, z: float) -> None:
    present = 1.0 - _rise(z, 14.0, 22.0)
    if present == 0.0:
        return
    cycle = 0.5 + 0.5 * np.cos(2 * np.pi * z / 17.0 + head.waves[0, 3])  # a vertebra every 17 mm
    cortical, spongy = CORTICAL * head.bone * present, SPONGY * head.bone * present
    parts = [(0.0, -38.0, 10.0 + cycle, 8.0 + cycle, 0.0), (0.0, -76.0, 3.0, 9.0 * cycle, 0.0)]
    parts += [(side * 17.0, -43.0, 6.0 + 3.0 * cycle, 4.5, side * 0.2) for side in (-1.0, 1.0)]
    parts += [(side * 15.0, -56.0, 8.0, 3.0 + 1.5 * cycle, -side * 0.9) for side in (-1.0, 1.0)]
    for x, y, a, b, angle in parts:
        canvas.paint(canvas.ellipse(x, y, a, b, angle), 0.2, cortical)
        canvas.paint(canvas.ellipse(x, y, a - 1.6, b - 1.6, angle), 0.8, spongy)
    canvas.paint(canvas.ellipse(0.0, -56.0, 11.0, 8.5), FLUID)
    canvas.paint(canvas.ellipse(0.0, -56.0, 6.5, 4.5), BRAIN)  # the cord


def _skull(canvas: Canvas, head: Head, z: float) -> None:
    present = _rise(z, 12.0, 20.0)
    if present == 0.0:
        return
    grown = _rise(z, 12.0, 52.0)
    y = -45.0 + 33.0 * grown
    a, b = 66.0 * head.width * (0.62 + 0.38 * grown), head.length * (42.0 + 38.0 * grown)
    cortical = CORTICAL * head.bone * present
    canvas.paint(canvas.ellipse(0.0, y, a + 2.0, b + 2.0), 0.2, cortical)
    canvas.paint(canvas.ellipse(0.0, y, a, b), 0.7, 0.5 * cortical)
    canvas.paint(canvas.ellipse(0.0, y, a - 2.5, b - 2.5), 0.2, cortical)
    canvas.paint(canvas.ellipse(0.0, y, a - 4.5, b - 4.5), BRAIN + 0.004 * _waves(canvas, head, 3.0 * z))
    base = _between(z, 14.0, 36.0, 6.0)
    cells = np.clip(0.5 + 1.5 * _waves(canvas, head, 9.0 * z), 0.0, 1.0)
    for side in (-1.0, 1.0):  # the petrous bones, with the air cells of the mastoid behind the ear
        petrous = base * canvas.ellipse(side * 36.0, -28.0, 25.0, 9.0, -side * 0.6)
        canvas.paint(petrous, 0.2, 0.95 * CORTICAL * head.bone)
        canvas.paint(base * canvas.ellipse(side * 50.0, -40.0, 9.0, 11.0) * cells, 0.1, 0.1)
    canvas.paint(base * canvas.ellipse(0.0, -12.0, 13.0, 9.0), 0.6, 0.7 * head.bone)  # the clivus


def _airways(canvas: Canvas, head: Head, z: float) -> None:
    throat = 1.0 - _rise(z, 26.0, 34.0)
    low = 1.0 - _rise(z, -36.0, -18.0)
    wave = 1.0 + 0.3 * np.sin(z / 9.0 + head.waves[1, 3])
    a, b = head.airway * (13.0 - 3.0 * low) * wave, head.airway * (5.0 + 6.0 * low) * wave
    canvas.paint(throat * canvas.ellipse(0.0, -10.0 + 12.0 * low, a, b), 0.0)
    hyoid = _between(z, -37.0, -30.0)
    canvas.paint(hyoid * _band(canvas, 19.5, 24.0, 8.0, 3.5) * canvas.front(6.0), 0.3, 1.2 * head.bone)


def _midface(canvas: Canvas, head: Head, z: float) -> None:
    sinus, orbit = _between(z, 17.0, 40.0, 8.0), _rise(z, 36.0, 44.0)
    if sinus == orbit == 0.0:
        return
    wall = 0.9 * CORTICAL * head.bone
    for side in (-1.0, 1.0):
        a, b = 15.0 * head.sinus * sinus, 17.0 * head.sinus * sinus
        canvas.paint(sinus * canvas.ellipse(side * 26.0, 48.0, a + 1.5, b + 1.5), 0.2, wall)
        canvas.paint(sinus * canvas.ellipse(side * 26.0, 48.0, a, b), 0.0)
        canvas.paint(sinus * canvas.ellipse(side * 56.0, 36.0, 3.0, 20.0, side * 0.25), 0.2, wall)  # zygomatic arch
        canvas.paint(orbit * canvas.ellipse(side * 31.0, 52.0, 19.0, 25.0, side * 0.25), 0.2, wall)
        canvas.paint(orbit * canvas.ellipse(side * 31.0, 54.0, 17.0, 25.0, side * 0.25), FAT)
        canvas.paint(orbit * canvas.ellipse(side * 31.0, 40.0, 2.5, 14.0, side * 0.35), MUSCLE)  # optic nerve
        canvas.paint(orbit * canvas.ellipse(side * 31.0, 66.0, 12.0, 12.0), FLUID)
        canvas.paint(orbit * canvas.ellipse(side * 31.0, 75.0, 4.5, 2.0), 1.1)  # lens
    nose = _rise(z, 17.0, 22.0)
    canvas.paint(nose * canvas.ellipse(0.0, 52.0, 13.0, 30.0), 0.2, wall)
    canvas.paint(nose * canvas.ellipse(0.0, 53.0, 11.5, 29.0), 0.0)
    for side in (-1.0, 1.0):
        canvas.paint(nose * canvas.ellipse(side * 6.5, 46.0, 2.8, 17.0), 1.03, 0.1)  # turbinates
    canvas.paint(nose * canvas.ellipse(0.0, 54.0, 1.0, 28.0), 0.7, 0.5)  # septum


def _band(canvas: Canvas, x: float, length: float, base: float, thickness: float) -> FloatArray:
    """Return a band of the given thickness along an ellipse around (0, base)."""
    half = thickness / 2
    outer, inner = (canvas.ellipse(0.0, base, x + h, length + h) for h in (half, -half))
    return np.clip(outer - inner, 0.0, 1.0)


def _jaws(canvas: Canvas, head: Head, z: float) -> None:
    width, length, base = head.jaw
    cortical, spongy = CORTICAL * head.bone, 1.2 * SPONGY * head.bone
    tongue = _between(z, -22.0, 9.0, 8.0) * canvas.ellipse(0.0, base + 4.0, width - 4.0, length - 8.0)
    canvas.paint(tongue, 1.05 + 0.006 * _waves(canvas, head, z))
    mouth = _between(z, 1.0, 10.0) * canvas.ellipse(0.0, base + 12.0, 15.0, 3.0 + 0.6 * head.gap)
    canvas.paint(mouth, 0.0)
    lower = _between(z, -31.0, -8.0 - head.gap / 2)
    upper = _between(z, 8.0 + head.gap / 2, 18.0)
    back = base - 22.0 + 2.2 * max(0.0, -18.0 - z)  # low slices meet the chin only
    for present, wide, front in ((lower, 1.3, back), (upper, 1.08, base - 12.0)):
        shape = present * canvas.front(front)
        canvas.paint(shape * _band(canvas, wide * width, length, base, 12.0), 0.2, cortical)
        canvas.paint(shape * _band(canvas, wide * width, length, base, 8.0), 0.7, spongy)
    palate = canvas.ellipse(0.0, base + 4.0, width, length - 4.0)
    canvas.paint(_between(z, 13.5, 17.0) * palate, 0.6, 0.35 * cortical)
    ramus = _between(z, -16.0, 26.0, 8.0)
    for side in (-1.0, 1.0):
        x, y = side * 1.55 * width, base - 26.0 - 0.35 * z
        canvas.paint(ramus * canvas.ellipse(x, y, 5.5, 15.0, side * 0.12), 0.2, cortical)
        canvas.paint(ramus * canvas.ellipse(x, y, 2.6, 11.0, side * 0.12), 0.7, spongy)


def _teeth(canvas: Canvas, head: Head, z: float) -> None:
    for tooth in head.teeth:
        crown, root = tooth.share(z, 0.0, CROWN), tooth.share(z, CROWN, ROOT)
        if root > 0.0:
            canvas.paint(root * _inner(canvas, tooth, 0.6), 0.2, DENTIN)
        if crown > 0.0:
            canvas.paint(crown * _inner(canvas, tooth, 1.0), 0.0, ENAMEL)
            canvas.paint(crown * _inner(canvas, tooth, 0.68), 0.2, DENTIN)
            canvas.paint(crown * _inner(canvas, tooth, 0.2), MUSCLE)  # pulp
            if tooth.resin > 0.0:
                canvas.paint(crown * _inner(canvas, tooth, 0.6), 0.0, tooth.resin)


def _metal(canvas: Canvas, head: Head, z: float) -> None:
    for restoration in head.restorations:
        share = restoration.share(z)
        if share > 0.0:
            cover = _inner(canvas, restoration.tooth, restoration.scale)
            if restoration.hollow > 0.0:
                hollow = _inner(canvas, restoration.tooth, restoration.scale * restoration.hollow)
                cover = np.clip(cover - hollow, 0.0, 1.0)
            canvas.implant(share * cover, restoration.material, DENSITIES[restoration.material])


def _inner(canvas: Canvas, tooth: Tooth, scale: float) -> FloatArray:
    return canvas.ellipse(tooth.x, tooth.y, scale * tooth.along, scale * tooth.across, tooth.angle)
