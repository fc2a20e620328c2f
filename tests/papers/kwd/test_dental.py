import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kermes.exceptions import InvalidParameterError, KermesError, MissingDependencyError
from kermes.papers.kwd import dental
from kermes.papers.kwd.dental import MATERIALS, make_dental_ct, reconstruct
from kermes.papers.kwd.phantom import BOTTOM, FIELD, TOP, Canvas, circle, draw_head, paint_slice
from kermes.papers.kwd.teeth import Restoration

SMALL = {"n_scans": 2, "n_slices": 6, "n_noisy": 2, "size": 48}
METALS = set(MATERIALS) - {"water", "bone"}


@pytest.fixture(scope="module")
def small():
    return make_dental_ct(**SMALL, cache=False)


def test_counts_shapes_and_order(small):
    assert repr(small) == "Slices(6 of 48 x 48 pixels from 2 scans, 2 noisy)"
    assert small.images.shape == (6, 48, 48)
    assert small.images.dtype == np.int16
    assert small.noisy.sum() == 2
    assert_array_equal(np.lexsort((small.level, small.scan)), range(6))
    assert small.level.min() >= BOTTOM
    assert small.level.max() <= TOP
    assert small.images.min() == -1024


def test_the_seed_decides(small):
    again = make_dental_ct(**SMALL, cache=False)
    for name in ("images", "noisy", "scan", "level"):
        assert_array_equal(getattr(again, name), getattr(small, name))
    assert np.any(make_dental_ct(**SMALL, seed=1, cache=False).images != small.images)


@pytest.mark.parametrize(
    ("n_scans", "n_slices", "n_noisy"), [(1, 1, 0), (1, 1, 1), (3, 30, 0), (3, 30, 8), (20, 25, 9)]
)
def test_labels_are_the_metal_in_the_slice(monkeypatch, n_scans, n_slices, n_noisy):
    seen = []

    def paint(*args):
        seen.append(paint_slice(*args))
        return seen[-1]

    monkeypatch.setattr(dental, "paint_slice", paint)
    monkeypatch.setattr(dental, "reconstruct", lambda *args: 0)
    slices = make_dental_ct(n_scans, n_slices, n_noisy, size=16, cache=False)
    assert slices.noisy.sum() == n_noisy
    assert len(slices) == n_slices
    assert_array_equal([bool(METALS & set(maps)) for maps in seen], slices.noisy)
    if n_slices - n_noisy >= n_scans:
        assert len(np.unique(slices.scan)) == n_scans


def test_the_numbers_of_the_paper_are_possible():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        levels = np.linspace(BOTTOM, TOP, 41)
        noisy = dental._fit_metal([draw_head(rng) for _ in range(44)], levels, 1164, 276, rng)
        assert noisy.sum() >= 276
        assert (~noisy).sum() >= 888


def test_impossible_numbers():
    with pytest.raises(InvalidParameterError, match="`n_noisy` must be at most `n_slices` = 3; got 4"):
        make_dental_ct(n_scans=1, n_slices=3, n_noisy=4, cache=False)
    with pytest.raises(InvalidParameterError, match=r"100 of 100 slices in 2 scans are too many"):
        make_dental_ct(n_scans=2, n_slices=100, n_noisy=100, size=16, cache=False)
    with pytest.raises(InvalidParameterError, match="`size` must be an integer of at least 16"):
        make_dental_ct(size=8, cache=False)


def test_cache(tmp_path, monkeypatch, small):
    monkeypatch.setenv("KERMES_CACHE", str(tmp_path / "deep" / "folder"))
    first = make_dental_ct(**SMALL)
    (file,) = (tmp_path / "deep" / "folder").iterdir()  # and no temporary file
    assert_array_equal(first.images, small.images)
    with monkeypatch.context() as patch:
        patch.setattr(dental, "_simulate", None)  # not called
        second = make_dental_ct(**SMALL)
    for name in ("images", "noisy", "scan", "level"):
        assert_array_equal(getattr(second, name), getattr(small, name))
        assert getattr(second, name).dtype == getattr(small, name).dtype
    file.write_bytes(file.read_bytes()[:1000])  # damaged
    assert_array_equal(make_dental_ct(**SMALL).images, small.images)
    assert len(list(file.parent.iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_said_first(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERMES_CACHE", str(tmp_path / "file"))
    with pytest.raises(KermesError, match="Set KERMES_CACHE to another one, or pass cache=False"):
        make_dental_ct()


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch, small):
    monkeypatch.setenv("KERMES_CACHE", str(tmp_path))
    monkeypatch.setattr(dental, "_simulate", lambda *sizes: small)
    monkeypatch.setattr(np, "savez_compressed", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_dental_ct(**SMALL)
    assert list(tmp_path.iterdir()) == []


def test_needs_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.transform", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[image\]"):
        make_dental_ct(**SMALL, cache=False)


def test_quiet_in_a_pipe(capfd):
    make_dental_ct(1, 1, 0, size=16, cache=False)
    assert capfd.readouterr() == ("", "")


# The scanner.


def disc(size=64, radius=8.0):
    """A disc of water of 16 cm in a field of 25.6 cm, the distance from the middle in cm, and the width of a pixel."""
    axis = (np.arange(size) - size // 2) * 25.6 / size
    distance = np.hypot(axis[:, None], axis[None])
    return np.where(distance < radius, 1.0, 0.0), distance, 25.6 / size


def test_water_is_zero_and_air_is_minus_a_thousand():
    water, distance, pixel = disc()
    image = reconstruct({"water": water}, pixel, 1e6, np.random.default_rng(0))
    # Coarse pixels and the focal spot shift water by a few units; without the correction water
    # would be at -16 near the edge and at -31 in the middle.
    assert abs(image[distance < 7.0].mean()) < 10.0
    assert abs(image[distance < 2.0].mean() - image[(distance > 5.0) & (distance < 7.0)].mean()) < 8.0
    assert abs(image[(distance > 9.0) & (distance < 12.0)].mean() + 1000.0) < 5.0
    assert (image[~circle(64)] == -1024).all()


def test_densities_become_hounsfield_units():
    water, distance, pixel = disc()
    fat = reconstruct({"water": 0.93 * water}, pixel, 1e7, np.random.default_rng(0))
    assert fat[distance < 7.0].mean() == pytest.approx(-70.0, abs=8.0)
    core = distance < 1.5
    bone = reconstruct({"water": water * ~core, "bone": 1.0 * core}, pixel, 1e7, np.random.default_rng(0))
    # Behind 16 cm of water the spectrum lies between 60 and 80 keV, and so does the ratio of bone to water.
    soft, hard = (1000.0 * (MATERIALS["bone"][e] / MATERIALS["water"][e] - 1.0) for e in (2, 3))
    assert hard < bone[distance < 1.0].mean() < soft


def test_more_photons_less_noise():
    water, distance, pixel = disc()
    noise = []
    for photons in (1e4, 1e5, 1e6):
        a, b = (reconstruct({"water": water}, pixel, photons, np.random.default_rng(seed)) for seed in (0, 1))
        noise.append((a - b)[distance < 6.0].std())
    # Ten times the photons: the square root of ten less noise, and the electronic noise matters less too.
    assert noise[0] > 2.5 * noise[1] > 2.5 * 2.5 * noise[2]


def streaks(maps, seed=0):
    """Mean square of what metal adds to the image, away from the metal; the noise of photons is in both."""
    size = len(maps["water"])
    images = [
        reconstruct(m, 25.6 / size, 2e5, np.random.default_rng(seed)).astype(float)
        for m in (maps, {"water": maps["water"], "bone": maps["bone"]})
    ]
    metal = sum((maps[name] for name in METALS & set(maps)), np.zeros((size, size))) > 0.0
    y, x = np.nonzero(metal)
    axis = np.arange(size)
    reach = np.min([np.hypot(axis[:, None] - v, axis[None] - u) for v, u in zip(y, x, strict=True)], axis=0)
    return np.mean((images[0] - images[1])[(reach > 3) & circle(size)] ** 2)


def test_metal_makes_streaks_and_gold_more_than_titanium():
    head = draw_head(np.random.default_rng(3))
    molar = max(head.teeth, key=lambda tooth: tooth.along * tooth.across)
    z = molar.surface + (2.0 if molar.upper else -2.0)
    energy = {}
    for material in ("gold", "titanium"):
        crown = Restoration(molar, material, 1.0, 0.7, 0.0, 6.0)
        energy[material] = streaks(paint_slice(replace(head, restorations=(crown,)), z, 64))
    post = Restoration(molar, "titanium", 0.15, 0.0, 0.0, 6.0)
    energy["small"] = streaks(paint_slice(replace(head, restorations=(post,)), z, 64))
    assert energy["gold"] > 10.0 * energy["titanium"] > 10.0 * energy["small"]
    assert energy["gold"] > 30.0**2  # Hounsfield units: visible


# The phantom.


@pytest.mark.parametrize("seed", range(3))
def test_phantom_is_a_head_at_every_level(seed):
    head = draw_head(np.random.default_rng(seed))
    for z in np.linspace(BOTTOM, TOP, 13):
        maps = paint_slice(head, z, 64)
        assert set(maps) - METALS == {"water", "bone"}
        for density in maps.values():
            assert density.min() >= -1e-12
            assert not density[~circle(64)].any()
        assert maps["water"].max() < 1.3
        assert maps["bone"].max() > 0.5
        area = np.count_nonzero(sum(maps.values()) > 0.6) * (FIELD / 64) ** 2 / 100  # cm^2
        assert 80.0 < area < 320.0


@pytest.mark.parametrize("radius", [0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("size", [64, 128])
def test_shapes_keep_their_area(radius, size):
    canvas = Canvas(replace(draw_head(np.random.default_rng(0)), skew=0.0), size)
    for x, y in np.random.default_rng(1).uniform(-20.0, 20.0, size=(5, 2)):
        area = canvas.ellipse(x, y, radius, 1.5 * radius, 0.3).sum() * (FIELD / size) ** 2
        # A shape may fall between the pixels in part, but is never too large.
        assert 0.6 * np.pi * 1.5 * radius**2 < area < 1.02 * np.pi * 1.5 * radius**2


def test_metal_is_painted_where_it_is_said_to_be():
    heads = [draw_head(np.random.default_rng(seed)) for seed in range(6)]
    assert any(head.restorations for head in heads)
    for head in heads:
        for z in np.linspace(-12.0, 12.0, 9):
            maps = paint_slice(head, z, 32)
            assert any(maps[name].sum() > 0.0 for name in METALS & set(maps)) == head.has_metal(z)


def test_heads_differ():
    heads = [draw_head(np.random.default_rng(seed)) for seed in range(40)]
    clean = sum(not head.restorations for head in heads)
    assert 1 <= clean <= 15
    assert {r.material for head in heads for r in head.restorations} == METALS
    assert len({len(head.teeth) for head in heads}) > 5
    assert np.std([head.width for head in heads]) > 0.02


def test_a_head_without_teeth_gets_no_metal():
    head = replace(draw_head(np.random.default_rng(0)), teeth=(), restorations=())
    levels = np.linspace(BOTTOM, TOP, 20)
    with pytest.raises(InvalidParameterError, match="too many"):
        dental._fit_metal([head], levels, 10, 3, np.random.default_rng(0))
