"""The benchmark of the semigroup papers: samples of pixels, hard-margin machines, kept results."""

import numpy as np
import pytest

from kermes import datasets
from kermes.papers import _digits
from kermes.papers._paper import Run


@pytest.fixture
def images(small_digits):
    return _digits.first_of_each(20)


def test_first_of_each_is_balanced_and_in_order(images):
    assert np.bincount(images.target).tolist() == [20] * 3
    assert images.target[:6].tolist() == [0, 1, 2, 0, 1, 2]  # the order of the data, not by class


def test_samples_are_distinct_black_pixels(images):
    drawn = _digits.sample(images, 8, [3, 5], seed=0)
    black = (images.images > 8).reshape(60, -1)
    assert (drawn.pixels <= black).all()
    assert np.array_equal(np.unique(drawn.pixels.sum(axis=1)), [3, 4, 5])
    assert np.array_equal(drawn.measures.sizes, drawn.pixels.sum(axis=1))
    assert np.array_equal(drawn.measures.masses, drawn.measures.sizes)
    assert drawn.measures.points.max() <= 1.0
    pixels = np.zeros_like(drawn.pixels)
    pixels[np.repeat(np.arange(60), drawn.measures.sizes), drawn.measures.atoms] = 1.0
    assert np.array_equal(pixels, drawn.pixels)


def test_images_with_few_pixels_give_all_of_them(images):
    drawn = _digits.sample(images, 8, [64], seed=0)
    assert np.array_equal(drawn.pixels, (images.images > 8).reshape(60, -1))


def test_samples_depend_on_the_seed_only(images):
    first, again, other = (_digits.sample(images, 8, [4], seed) for seed in ((4, 0), (4, 0), (4, 1)))
    assert np.array_equal(first.pixels, again.pixels)
    assert not np.array_equal(first.pixels, other.pixels)


def test_every_pixel_is_drawn_equally_often():
    image = datasets.Images(np.full((3000, 2, 2), 9.0), np.zeros(3000, dtype=int), ("0",))
    share = _digits.sample(image, 8, [1], seed=0).pixels.mean(axis=0)
    assert np.abs(share - 0.25).max() < 0.03  # four standard deviations


def test_errors_of_a_perfect_a_useless_and_a_tiny_kernel():
    labels = np.repeat(np.arange(3), 12)
    same = (labels[:, None] == labels).astype(float)
    assert _digits.errors(same + np.eye(36), labels, splits=2) == [0.0, 0.0]
    assert _digits.errors(1e-30 * (same + np.eye(36)), labels, splits=1) == [0.0]
    noise = np.random.default_rng(0).normal(size=(36, 40))
    assert min(_digits.errors(noise @ noise.T, labels, splits=3)) > 30.0


def test_errors_are_those_of_a_machine_for_each_class():
    """The slow way: ten scores per test image, by hand."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 10)
    points = rng.normal(size=(30, 2)) + labels[:, None]
    K = np.exp(-0.5 * ((points[:, None] - points) ** 2).sum(axis=-1))
    wrong = 0
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(K, labels):
        scores = [
            SVC(kernel="precomputed", C=1e8)
            .fit(K[np.ix_(train, train)], labels[train] == c)
            .decision_function(K[np.ix_(test, train)])
            for c in range(3)
        ]
        wrong += int((np.argmax(scores, axis=0) != labels[test]).sum())
    assert wrong > 0
    assert _digits.errors(K, labels, splits=1) == [pytest.approx(100 * wrong / 30)]


def test_forms_of_igv_differ_by_their_diagonal_and_power(images):
    drawn = _digits.sample(images[:6], 8, [5], seed=0)
    grams = _digits.igv_grams(drawn.measures, eta=0.01, sigma=0.2)
    root = np.sqrt(np.diagonal(grams["k-IGV"]))
    np.testing.assert_allclose(grams["k-IGV"] / np.outer(root, root), grams["k-IGV normalised"], rtol=1e-9)
    np.testing.assert_allclose(grams["k-IGV normalised, root"] ** 2, grams["k-IGV normalised"], rtol=1e-9)


def test_results_are_kept_for_each_sampling_and_column(images, tmp_path):
    said = []
    run = Run({}, {}, {}, tmp_path, said.append)
    sizes = {"images": 3, "threshold": 8, "points": [3, 4], "samplings": 2, "splits": 2}

    def grams(drawn):
        return {"overlap": drawn.pixels @ drawn.pixels.T}

    found = _digits.against_points(run, "curve", sizes, grams)
    assert found["mean"].keys() == {"overlap"}
    assert list(found["mean"]["overlap"]) == ["3", "4"]
    assert len(said) == 4
    assert _digits.against_points(run, "curve", sizes | {"points": [4]}, grams)["mean"] == {
        "overlap": {"4": found["mean"]["overlap"]["4"]}
    }
    assert len(said) == 4
    grid = {"images": 3, "threshold": 8, "points": [3, 5], "splits": 2, "etas": [0.01, 0.1], "sigmas": [0.1, 0.3, 0.5]}
    cells = _digits.surface(run, "surface", grid)
    assert np.shape(cells["mean"]["k-IGV"]) == (2, 3)
    best = cells["best"]["k-IGV"]
    i, j = grid["etas"].index(best["eta"]), grid["sigmas"].index(best["sigma"])
    assert best["error"] == cells["mean"]["k-IGV"][i][j] == np.min(cells["mean"]["k-IGV"])
    assert len(said) == 7
    assert _digits.surface(run, "surface", grid) == cells
    assert len(said) == 7
