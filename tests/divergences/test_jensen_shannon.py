"""Jensen-Shannon: histograms against SciPy and exact sums, smoothed clouds against closed forms, estimated errors."""

import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import jensenshannon
from tests.oracles import shannon

from kermes import Engine, Measures, divergences, ground, kernels, pairwise
from kermes.divergences import JensenShannon, _histograms, _jensen_shannon
from kermes.divergences._jensen_shannon import Limits
from kermes.exceptions import ConvergenceWarning, InvalidParameterError, UnsuitableDataError

ENGINE = Engine("serial", memo=False)
compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too many nodes for the interpreter")


@dataclass(frozen=True)
class Limited(JensenShannon):
    """With other limits, or a layout that is not the cheaper one."""

    limits: Limits | None = None
    dense_factor: float = 1.0

    def route(self, X, Y):
        if self.smoothing is None:
            return _histograms.histogram_route(X, Y, self.dense_factor)
        return _jensen_shannon.smoothing_route(X, Y, self.sigma, self.limits)


def distances(X, Y=None, smoothing=None, limits=None, **options):
    divergence = JensenShannon(smoothing) if limits is None else Limited(smoothing, limits)
    return pairwise(X, Y, divergence=divergence, engine=ENGINE, **options)


def gaussian(sigma):
    return ground.Gaussian(sigma=sigma)


@pytest.fixture(params=["dense", "sparse"])
def layout(request):
    """A divergence that takes one of the layouts."""
    return Limited(dense_factor=math.inf if request.param == "dense" else 0.0)


def measured(X, Y=None, divergence=None, **options):
    return pairwise(X, Y, divergence=divergence, engine=ENGINE, **options)


# -- histograms ---------------------------------------------------------------------------------


def test_agrees_with_scipy(layout):
    rng = np.random.default_rng(0)
    H = rng.random((9, 31)) * (rng.random((9, 31)) < 0.6) + np.eye(9, 31)
    H[3] *= 1e-9
    H[4] *= 1e9
    X = Measures.from_histograms(H, np.arange(31))
    assert type(layout.route(X, X)) is (_histograms.Dense if layout.dense_factor else _histograms.Sparse)
    expected = [[jensenshannon(p, q) for q in H] for p in H]
    assert_allclose(measured(X, divergence=layout), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(measured(X[:4], X[2:], layout), np.array(expected)[:4, 2:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("spread", [10**9, 10**6, 10**3, 2])
def test_nearly_equal_histograms_keep_their_relative_accuracy(layout, spread):
    """Weights are whole numbers that add up to 2^40: probabilities and differences are exact."""
    rng = np.random.default_rng(0)
    base = np.full(16, 2**36)
    moves = rng.integers(1, spread + 1, size=8)
    other = base + np.concatenate([moves, -moves])
    J = Fraction(0)
    for p, q in zip(base.tolist(), other.tolist(), strict=True):
        x = Fraction(p - q, p + q)
        J += Fraction(p + q, 2**42) * sum(x ** (2 * n) / (n * (2 * n - 1)) for n in range(1, 6))
    X = Measures.from_histograms([base, other], np.arange(16))
    assert_allclose(measured(X, divergence=layout)[0, 1], math.sqrt(J), rtol=1e-12)


def test_new_mass_of_a_nearly_equal_histogram_counts(layout):
    X = Measures.from_histograms([[1.0, 0.0], [1.0, 1e-12]], [0.0, 1.0])
    assert_allclose(measured(X, divergence=layout, squared=True)[0, 1], 0.5e-12 * math.log(2), rtol=1e-9)


def test_closed_forms(layout):
    X = Measures.from_histograms([[1, 0, 0, 0], [0, 0, 0, 7], [1, 1, 0, 0], [2, 2, 0, 0]], np.arange(4))
    J = measured(X, divergence=layout, squared=True)
    assert_allclose(J[0, 1], math.log(2), rtol=1e-15)
    assert_allclose(J[0, 2], shannon.entropy([0.75, 0.25]) - math.log(2) / 2, rtol=1e-14)
    assert J[2, 3] == 0.0


def test_concentration_is_the_entropy(layout):
    H = np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 4.0], [0.0, 5.0, 0.0]])
    X = Measures.from_histograms(H, np.arange(3))
    assert_allclose(layout.concentration(X), [shannon.entropy(h / h.sum()) for h in H], atol=1e-15)
    both = -np.log(kernels.Semigroup(layout, normalized=False)(X))
    mixed = [[shannon.entropy((p / p.sum() + q / q.sum()) / 2) for q in H] for p in H]
    assert_allclose(both, mixed, atol=1e-14)


def test_bins_of_tiny_mass():
    H = np.array([[1.0, 1e-250, 0.0], [1.0, 0.0, 1e-250], [1e-310, 1.0, 0.0]])
    J = distances(Measures.from_histograms(H, np.arange(3)), squared=True)
    assert np.isfinite(J).all()
    assert_allclose(J[0, 1], 1e-250 * math.log(2), rtol=1e-12)
    assert_allclose(J[0, 2], math.log(2), rtol=1e-15)


def test_whole_numbers_are_categories():
    samples = [[3, 5, 5, 8], [5, 3], [1, 2]]
    X = Measures.from_samples(samples)
    expected = [[shannon.js(mu, nu) for nu in X] for mu in X]
    assert_allclose(distances(X), expected, atol=1e-14)
    merged = Measures.from_samples([[8, 3, 5], [3, 5], [2, 1]], [[1, 1, 2], [1, 1], [1, 1]])
    assert_allclose(distances(X, merged), expected, atol=1e-14)


def test_images_and_subsamples_keep_their_pixels():
    X = Measures.from_images(np.random.default_rng(0).integers(0, 3, size=(5, 4, 4)) + np.eye(4, dtype=int))
    few = X.subsample(3)
    assert_allclose(distances(X, few), [[shannon.js(mu, nu) for nu in few] for mu in X], atol=1e-14)


def test_refuses_what_has_no_entropy():
    clouds = Measures.from_samples([[0.0, 0.5], [1.0, 2.0]])
    with pytest.raises(UnsuitableDataError, match=r"shared support.*smoothing=ground.Gaussian\(sigma="):
        distances(clouds)
    coarse = Measures.from_histograms(np.ones((2, 3)), np.arange(3))
    fine = Measures.from_histograms(np.ones((2, 3)), np.arange(3) / 2)
    with pytest.raises(UnsuitableDataError, match=r"different supports where a shared support is needed.*smoothing="):
        distances(coarse, fine)
    with pytest.raises(UnsuitableDataError, match="`Y` has points of its own where a shared support is needed"):
        distances(coarse, Measures.from_samples([[0, 1]]))
    assert distances(coarse, fine, gaussian(1.0)).shape == (2, 2)


@pytest.mark.parametrize("smoothing", [1.0, "gaussian", ground.Laplacian(1.0), ground.Linear()])
def test_smoothing_is_gaussian(smoothing):
    with pytest.raises(InvalidParameterError, match=r"`smoothing` must be None or a Gaussian"):
        JensenShannon(smoothing)


# -- smoothed clouds ----------------------------------------------------------------------------

RADII = [0.0, 1e-3, 0.1, 1.0, 3.0, 5.0, 8.0, 14.0]


@compiled
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("along", ["axis", "diagonal"])
def test_two_diracs_on_the_lattice(dim, along):
    direction = np.ones(dim) / math.sqrt(dim) if along == "diagonal" else np.eye(dim)[0]
    points = 0.3 * np.array(RADII)[:, None] * direction + 7.0
    J, info = distances(points, smoothing=gaussian(0.3), squared=True, return_info=True)
    expected = [shannon.smoothed_diracs(r) for r in RADII]
    assert_allclose(J[0], expected, rtol=0, atol={1: 5e-10, 2: 1e-8, 3: 1e-7}[dim])
    assert_allclose(J[0, 1], expected[1], rtol=1e-8)
    assert (np.abs(J[0] - expected)[1:] <= info.error[0, 1:]).all()
    assert info.error.max() < 1e-6
    assert info.n_unconverged == 0


@compiled
@pytest.mark.parametrize("dim", [4, 9])
def test_two_diracs_on_sobol_points(dim):
    points = 2.0 * np.array(RADII)[:, None] * np.eye(dim)[1] - 5.0
    J, info = distances(points, smoothing=gaussian(2.0), squared=True, return_info=True)
    expected = [shannon.smoothed_diracs(r) for r in RADII]
    assert_allclose(J[0], expected, atol=5e-3)
    assert info.error.max() < 5e-3
    assert (np.abs(J[0] - expected)[1:] <= 6 * info.error[0, 1:]).all()


@pytest.mark.parametrize("dim", [1, 2, pytest.param(3, marks=compiled), pytest.param(6, marks=compiled)])
def test_entropy_of_a_smoothed_dirac(dim):
    h = JensenShannon(gaussian(0.2)).concentration(Measures.from_samples([np.full((2, dim), 4.0)]))
    assert_allclose(h, dim / 2 * math.log(2 * math.pi * math.e * 0.04), atol=1e-8 if dim <= 3 else 2e-2)


@compiled
def test_the_lattice_is_fine_enough():
    """Random mixtures along the direction that is worst for each lattice; errors as estimated, 4e-7 at most."""
    rng = np.random.default_rng(0)
    for dim, n in ((1, 60), (2, 40), (3, 8)):
        sizes = rng.integers(1, 5, size=n)
        points = [rng.uniform(0, 12, size=(size, 1)) * np.ones(dim) / math.sqrt(dim) for size in sizes]
        X = Measures.from_samples(points, [np.exp(rng.uniform(-8, 0, size=size)) for size in sizes])
        _, info = distances(X, smoothing=gaussian(1.0), return_info=True)
        assert info.error.max() < 4e-7


@compiled
def test_estimated_errors_hold(clouds):
    X = clouds(5, 2)
    J, info = distances(X, smoothing=gaussian(0.4), squared=True, return_info=True)
    expected = np.array([[shannon.smoothed(mu, nu, 0.4) ** 2 for nu in X] for mu in X])
    assert info.error.shape == J.shape
    assert (np.abs(J - expected) <= info.error + 1e-12).all()
    _, exact = pairwise(X, divergence=divergences.GaussianWasserstein(), return_info=True)
    assert exact.error is None
    threads = Engine(workers=2, tile=3, memo=False)
    _, other = pairwise(X, divergence=JensenShannon(gaussian(0.4)), engine=threads, return_info=True)
    assert_array_equal(other.error, info.error)


@compiled
@pytest.mark.parametrize("dim", [4, 6, 8])
@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_estimated_errors_hold_beyond_three_dimensions(dim, spread):
    """Atoms on a line: along all other directions both densities are the same Gaussian, so J is an integral on it."""
    rng = np.random.default_rng(dim)
    direction = rng.normal(size=dim)
    direction /= np.linalg.norm(direction)
    line = [spread * rng.normal(size=(size, 1)) for size in rng.integers(1, 4, size=12)]
    J, info = distances(
        Measures.from_samples([x * direction for x in line]), smoothing=gaussian(0.4), squared=True, return_info=True
    )
    on_line = Measures.from_samples(line)
    expected = np.array([[shannon.smoothed(mu, nu, 0.4) ** 2 for nu in on_line] for mu in on_line])
    assert (np.abs(J - expected) <= info.error + 1e-12).all()
    assert (info.error <= 5e-3).all()


def test_far_apart_is_ln_2():
    X = Measures.from_samples([[[0.0, 0.0]], [[1e7, -3e6], [1e7, 3e6]], [[-1e7, 2e5]]])
    J = distances(X, smoothing=gaussian(1.0), squared=True)
    assert_allclose(J[np.triu_indices(3, 1)], math.log(2), rtol=1e-12)


@pytest.mark.parametrize("dim", [1, pytest.param(2, marks=compiled), pytest.param(4, marks=compiled)])
def test_a_common_shift_does_not_matter(dim, clouds):
    limits = Limits(sobol=1.0, powers=(11, 11))
    X = clouds(5, dim)
    shifted = Measures.from_samples([m.points + 512.0 for m in X], [m.weights for m in X])
    expected = distances(X, smoothing=gaussian(0.7), limits=limits)
    assert_allclose(distances(shifted, smoothing=gaussian(0.7), limits=limits), expected, atol=1e-9)


@compiled
def test_sobol_values_do_not_depend_on_the_order_or_the_splitting_of_atoms(clouds):
    X = clouds(5, 5)
    split = Measures.from_samples([np.repeat(m.points[::-1], 2, axis=0) for m in X],
                                  [np.repeat(m.weights[::-1] / 2, 2) for m in X])  # fmt: skip
    assert_allclose(distances(split, smoothing=gaussian(1.0)), distances(X, smoothing=gaussian(1.0)), atol=1e-9)


@compiled
def test_a_lattice_beyond_the_memory_gives_way_to_sobol_points(clouds):
    X = clouds(6, 2)
    lattice = distances(X, smoothing=gaussian(0.4), squared=True)
    assert isinstance(JensenShannon(gaussian(0.4)).route(X, X), _jensen_shannon.Lattice)
    entries = JensenShannon(gaussian(0.4)).route(X, X).prepare(X).layout.values.size
    small = Limited(gaussian(0.4), Limits(entries=entries - 1))
    assert isinstance(small.route(X, X), _jensen_shannon.Sobol)
    with pytest.warns(ConvergenceWarning, match="did not reach"):  # 4096 points are too few to be sure of 5e-3
        assert_allclose(measured(X, divergence=small, squared=True), lattice, atol=5e-3)


def test_what_fits_is_counted_in_entries(clouds):
    X = clouds(6, 2)
    lattice = JensenShannon(gaussian(0.4)).route(X, X)
    entries = lattice.prepare(X).layout.values.size
    for limit, fits in ((entries, True), (entries - 1, False), (300, False)):
        assert lattice.fits([X], limit) is fits
    endless = np.broadcast_to(0, 1 << 31)  # more blocks than numbers of 64 bits
    assert replace(lattice, axes=[endless, endless]).fits([X], entries) is False


@pytest.mark.parametrize("route", ["lattice", pytest.param("sobol", marks=compiled)])
def test_unconverged_pairs_are_counted(route, clouds):
    X = clouds(4, 1) if route == "lattice" else clouds(4, 4)
    limits = Limits(lattice=1e-12, sobol=1e-12, powers=(8, 8))
    with pytest.warns(ConvergenceWarning, match="did not reach their tolerance"):
        _, info = distances(X, smoothing=gaussian(0.3), limits=limits, return_info=True)
    assert 0 < info.n_unconverged <= 12
    assert_array_equal(info.status == 1, info.status.T == 1)


def test_crude_nodes_still_give_a_negative_definite_divergence(clouds):
    X = clouds(12, 5)
    J = distances(X, smoothing=gaussian(1.0), limits=Limits(sobol=1.0, powers=(6, 6)), squared=True)
    centre = np.eye(12) - 1 / 12
    assert np.linalg.eigvalsh(-centre @ J @ centre).min() > -1e-12
    assert J.max() <= math.log(2) * (1 + 1e-12)


def test_gamma_is_another_name_of_sigma():
    X = Measures.from_samples([[0.0, 1.0], [0.5]])
    by_gamma = distances(X, smoothing=ground.Gaussian(gamma=1 / (2 * 0.8**2)))
    assert_allclose(by_gamma, distances(X, smoothing=gaussian(0.8)), rtol=1e-12)


def test_refuses_a_sigma_below_the_rounding_of_the_points():
    X = Measures.from_samples([[1e9], [1e9 + 1.0]])
    with pytest.raises(UnsuitableDataError, match=r"`smoothing`.*subtract a common centre"):
        distances(X, smoothing=gaussian(1e-6))


@compiled
def test_hostile_clouds():
    """One atom, repeated atoms, weights of very different sizes, a measure far from all others."""
    X = Measures.from_samples([[0.0], [0.0, 0.0, 1.0], [0.3, 2.0], [1e6], [0.0, 1e6]],
                              [[1e-300], [1e200, 1e190, 1.0], [1e-12, 1.0], [1.0], [1.0, 1e-15]])  # fmt: skip
    J = distances(X, smoothing=gaussian(0.5), squared=True)
    assert np.isfinite(J).all()
    assert_allclose(J[0, 1], 0.0, atol=1e-9)
    assert_allclose(J[0, 3], math.log(2), rtol=1e-9)
    assert_allclose(J[0, 2], shannon.smoothed_diracs(4.0), atol=1e-9)
    assert_allclose(J[0, 4], 0.0, atol=1e-9)
