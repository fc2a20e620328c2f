"""Barycentres against closed forms, linear programs, plain loops and POT."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist
from tests.oracles import barycenters

from kermes import Measures, datasets, divergences, ground, pairwise
from kermes.divergences import MMD, Euclidean, GaussianWasserstein, Sinkhorn, SlicedWasserstein, Wasserstein
from kermes.exceptions import ConvergenceWarning, InvalidParameterError, UnsuitableDataError
from kermes.inference import _barycenter_entropic as entropic
from kermes.inference import barycenter
from kermes.inference._barycenter_free import moments

LINE = [Wasserstein(p=1), Wasserstein(p=1.5), Wasserstein(p=2), Wasserstein(p=3), SlicedWasserstein(p=2)]


def scalars(seed=0, n=6, high=7):
    rng = np.random.default_rng(seed)
    clouds = [rng.normal(size=rng.integers(1, high)) + i for i in range(n)]
    return Measures.from_samples(clouds, [rng.uniform(0.1, 1.0, len(cloud)) for cloud in clouds])


def clouds(seed=0, n=5, dim=2, low=3, high=9):
    rng = np.random.default_rng(seed)
    return Measures.from_samples(
        [rng.normal(size=(rng.integers(low, high), dim)) @ rng.normal(size=(dim, dim)) + i for i in range(n)]
    )


def images(n=4, side=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, side, side)) * (rng.uniform(size=(n, side, side)) < 0.4) + 1e-3 * np.eye(side)


def objective(X, mean, divergence, weights, power):
    return float(weights @ pairwise(X, mean, divergence=divergence)[:, 0] ** power)


def dense(X, i=0):
    """Return the weights of measure i on all points of the support."""
    part = slice(X.offsets[i], X.offsets[i + 1])
    return np.bincount(X.atoms[part], X.weights[part], len(X.support.points))


# -- the line ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", LINE, ids=str)
def test_no_change_of_atoms_or_weights_on_the_line_is_better(divergence):
    X, rng = scalars(), np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(len(X)))
    mean = barycenter(X, weights, divergence)
    power = divergence.p
    least = objective(X, mean, divergence, weights, power)
    for size in (1e-4, 1e-2, 1.0):  # rounding aside
        moved = mean.points + size * rng.normal(size=mean.points.shape)
        assert objective(X, Measures.from_samples([moved], [mean.weights]), divergence, weights, power) >= least * (
            1 - 1e-12
        )
    for member in range(len(X)):
        assert objective(X, X[[member]], divergence, weights, power) >= least * (1 - 1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_the_line_against_a_linear_program(p):
    """On an integer grid the median stays on the grid; means of two measures are on the grid of halves."""
    rng = np.random.default_rng(2)
    H = rng.integers(0, 4, size=(2, 6)) + np.eye(6, dtype=int)[:2]
    X, weights = Measures.from_histograms(H, np.arange(6.0)), np.array([0.5, 0.5])
    points = np.arange(0.0, 5.5, 0.5)
    padded = np.zeros((2, len(points)))
    padded[:, ::2] = H / H.sum(axis=1, keepdims=True)
    value, _ = barycenters.fixed_support(np.abs(points[:, None] - points) ** p, padded, weights)
    divergence = Wasserstein(p=p)
    mean = barycenter(X, weights, divergence)
    assert_allclose(objective(X, mean, divergence, weights, p), value, rtol=1e-10)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 10])
def test_one_measure_is_its_own_barycenter_on_the_line(p):
    """A rounding of its weights by 1e-14 would be 0.002 of W_5."""
    X = scalars()
    for i in range(len(X)):
        weights = np.arange(len(X)) == i
        assert pairwise(barycenter(X, weights, Wasserstein(p=p)), X[[i]], divergence=Wasserstein(p=p)) <= 1e-13


def test_means_of_quantiles_by_hand():
    X = Measures.from_samples([[0.0, 2.0], [4.0, 10.0]])
    mean = barycenter(X, divergence=Wasserstein(p=2))
    assert_array_equal(mean.points.ravel(), [2.0, 6.0])
    assert_allclose(mean.masses, [1.0])
    third = barycenter(Measures.from_samples([[0.0], [1.0], [9.0]]), [1, 1, 1], Wasserstein(p=1))
    assert_array_equal(third.points, [[1.0]])
    assert_allclose(barycenter(Measures.from_samples([[0.0], [9.0]]), None, Wasserstein(p=1)).points, [[4.5]])


def test_equal_cells_on_the_line():
    X = scalars()
    mean = barycenter(X, divergence=Wasserstein(p=2), n_atoms=400)
    assert mean.sizes[0] <= 400
    assert pairwise(mean, barycenter(X, divergence=Wasserstein(p=2)), divergence=Wasserstein(p=2))[0, 0] < 0.05
    with pytest.raises(InvalidParameterError, match="`n_atoms` must be None for the exact"):
        barycenter(X, divergence=Wasserstein(p=1), n_atoms=3)


# -- Gaussians --------------------------------------------------------------------------------------------------------


def test_gaussians_against_pot():
    ot = pytest.importorskip("ot")
    X, weights = clouds(3, n=6, dim=3, low=5), np.array([1, 2, 3, 1, 1, 2]) / 10
    mean, info = barycenter(X, weights, GaussianWasserstein(), return_info=True)
    assert info.converged
    m, C = moments(X)
    (found_m,), (found_C,) = moments(mean)
    theirs_m, theirs_C = ot.gaussian.bures_wasserstein_barycenter(m, C, weights, num_iter=1000, eps=1e-12)
    assert_allclose(found_m, np.ravel(theirs_m), atol=1e-12)
    assert_allclose(found_C, theirs_C, atol=1e-7)
    fixed = sum(w * sqrtm(sqrtm(found_C) @ S @ sqrtm(found_C)).real for w, S in zip(weights, C, strict=True))
    assert_allclose(fixed, found_C, atol=1e-7)  # the fixed-point equation


def test_gaussians_on_the_line_and_singular_ones():
    X = scalars(4)
    mean = barycenter(X, divergence=GaussianWasserstein())
    m, C = moments(X)
    assert_allclose(moments(mean)[0].ravel(), m.mean(axis=0))
    assert_allclose(np.sqrt(moments(mean)[1].ravel()), np.sqrt(C.ravel()).mean(), rtol=1e-9)
    points = barycenter(np.array([[0.0, 1.0], [2.0, 3.0]]), divergence=GaussianWasserstein())
    assert_allclose(points.points, [[1.0, 2.0]])  # Dirac masses: no covariance at all
    flat = Measures.from_samples([[[0.0, 0.0], [2.0, 0.0]], [[0.0, 4.0], [6.0, 4.0]]])
    found = barycenter(flat, divergence=GaussianWasserstein())
    assert_allclose(moments(found)[1][0], [[4.0, 0.0], [0.0, 0.0]], atol=1e-12)


# -- atoms that move --------------------------------------------------------------------------------------------------


def test_free_support_against_pot():
    ot = pytest.importorskip("ot")
    X = clouds(5, n=4)
    start = np.random.default_rng(0).normal(size=(6, 2))
    mean = barycenter(X, divergence=Wasserstein(p=2), init=Measures.from_samples([start]))
    theirs = ot.lp.free_support_barycenter(
        [x.points for x in X], [x.weights / x.mass for x in X], start, numItermax=500, stopThr=1e-15
    )
    assert_allclose(mean.points, theirs, atol=1e-9)


def test_free_support_of_translates_is_the_translate():
    """Translates of a cloud: the barycentre is the cloud at the mean shift, from any of them."""
    cloud, shifts = np.random.default_rng(6).normal(size=(7, 3)), np.array([[0.0, 0, 0], [3, 0, 0], [0, 6, 3]])
    X = Measures.from_samples([cloud + shift for shift in shifts])
    for divergence in (Wasserstein(p=2), SlicedWasserstein(p=2, n_slices=40)):
        mean, info = barycenter(X, divergence=divergence, init=X[1], return_info=True)
        assert_allclose(mean.points, cloud + shifts.mean(axis=0), atol=1e-9)
        assert info.converged


@pytest.mark.parametrize("divergence", [Wasserstein(p=2), SlicedWasserstein(n_slices=30)], ids=str)
def test_every_iteration_of_moving_atoms_lowers_the_sum(divergence):
    X = clouds(7, n=5)
    weights, mean = np.array([0.1, 0.3, 0.2, 0.2, 0.2]), None
    sums = []
    for _ in range(6):
        options = {"random_state": 3, "n_atoms": 9} if mean is None else {"init": mean}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mean = barycenter(X, weights, divergence, max_iter=1, **options)
        sums.append(objective(X, mean, divergence, weights, 2))
    assert (np.diff(sums) <= 1e-9 * sums[0]).all()
    assert sums[-1] < sums[0]


def test_default_atoms_and_seeds():
    X = clouds(8, n=5)
    first, second = (barycenter(X, random_state=4) for _ in range(2))
    assert_array_equal(first.points, second.points)
    assert first.sizes[0] == round(float(np.median(X.sizes)))
    few = barycenter(Measures.from_samples([[[0.0, 0.0]], [[2.0, 2.0]]]), n_atoms=3, random_state=0)
    assert_allclose(few.points, np.ones((3, 2)), atol=1e-12)


# -- entropic ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["transport", "debiased"])
@pytest.mark.parametrize("epsilon", [0.3, 0.02])
def test_entropic_on_pixels_against_plain_loops(value, epsilon):
    X = Measures.from_images(images(), spacing="unit")
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    debiased = value == "debiased"  # which may sharpen for ever: sums of divergences are compared
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mean, info = barycenter(
            X, weights, Sinkhorn(epsilon, value=value), tol=1e-9, max_iter=200 if debiased else 2000, return_info=True
        )
    assert info.converged is not (debiased and epsilon == 0.3)
    points = X.support.points
    measures = np.array([dense(X, i) / X.masses[i] for i in range(len(X))])
    wanted = barycenters.entropic(cdist(points, points, "sqeuclidean"), measures, weights, epsilon,
                                  debiased, 100 if debiased else 400)  # fmt: skip
    if debiased:
        exact = Sinkhorn(epsilon, value=value, tol=1e-9, max_iter=100_000)
        loops = Measures.from_images(wanted.reshape(1, 6, 6), spacing="unit")
        least, theirs = (objective(X, b, exact, weights, 2) for b in (mean, loops))
        assert 0.97 * theirs < least < theirs
    else:
        assert_allclose(dense(mean), wanted / wanted.sum(), atol=1e-8)
    assert mean.support.shape == (6, 6)
    assert mean.shares_support(X)


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4]])
@pytest.mark.parametrize("epsilon", [0.05, 0.03])  # with equal weights the latter must slow down to converge
def test_scalings_and_logarithms_agree(debiased, weights, epsilon):
    X = Measures.from_images(images(side=4), spacing="unit")
    w = np.full(4, 0.25) if weights is None else np.array(weights) / 10
    problem = entropic.Problem(X, w)
    _, axes, a = entropic._layout(problem, Sinkhorn(epsilon))
    left, right = (solve(axes, a, w, debiased, 1e-7, 500) for solve in (entropic.scaling, entropic.log_domain))
    assert left is not None  # the scalings stayed in range
    assert left[1].converged
    assert right[1].converged
    assert_allclose(left[0], right[0], atol=1e-6)


def test_steps_are_shortened_where_errors_grow():
    pace = entropic.Pace()
    for error in (1.0, 0.5, 0.6, 0.5, 0.5):
        pace.look(error)
    assert pace.level == 2
    pace.look(0.5)  # the fourth that is no better
    assert pace.level == 1
    pace.look(1.1)  # twice as far
    assert pace.level == 0
    pace.look(3.0)
    assert pace.level == 0


def test_small_epsilon_goes_to_the_log_domain():
    X = Measures.from_histograms(np.eye(5)[[0, 4]], np.arange(5.0) * 10)
    mean, info = barycenter(X, divergence=Sinkhorn(0.5), return_info=True)
    assert info.converged
    assert_allclose(dense(mean), [0, 0, 1, 0, 0], atol=1e-6)


def test_entropic_on_tables_and_other_supports():
    rng = np.random.default_rng(9)
    X = Measures.from_histograms(rng.uniform(size=(3, 7)), np.sort(rng.normal(size=7)))
    for cost in ("euclidean", "cityblock", np.abs(np.subtract.outer(range(7), range(7)))):
        divergence = Sinkhorn(0.5, cost=cost, tol=1e-8)
        mean = barycenter(X, divergence=divergence)
        C = divergence.cost.table(X.support.points)
        measures = np.array([dense(X, i) / X.masses[i] for i in range(len(X))])
        wanted = barycenters.entropic(C, measures, np.full(3, 1 / 3), 0.5, False, 300)
        assert_allclose(dense(mean), wanted / wanted.sum(), atol=1e-6)
    places = np.linspace(-3, 3, 12)
    on_places = barycenter(X, divergence=Sinkhorn(0.1), support=places)
    assert len(on_places.support.points) == 12
    exact = barycenter(X, divergence=Wasserstein(p=2))
    assert_allclose(on_places.expectation(on_places.points), exact.expectation(exact.points), atol=0.1)
    free = barycenter(clouds(1), divergence=Sinkhorn(1.0))  # all atoms
    assert free.support is not None


def test_debiased_is_sharper_and_pots():
    ot = pytest.importorskip("ot")
    digits = datasets.load_digits()
    pictures = digits.images[digits.target == 3][:20]
    X = Measures.from_images(pictures, spacing="unit")
    found = {}
    for value, theirs in (("transport", ot.bregman.convolutional_barycenter2d),
                          ("debiased", ot.bregman.convolutional_barycenter2d_debiased)):  # fmt: skip
        mean = barycenter(X, divergence=Sinkhorn(0.02, value=value), tol=1e-3 if value == "debiased" else 1e-7)
        scaled = pictures / pictures.sum(axis=(1, 2), keepdims=True)
        wanted = theirs(scaled, 0.02, numItermax=500, stopThr=1e-9, warn=False)
        found[value] = dense(mean)
        gap = np.abs(found[value] - wanted.ravel() / wanted.sum()).sum()
        assert gap < (0.2 if value == "debiased" else 1e-6)  # the debiased one sharpens for ever
    entropy = {value: -(mass[mass > 0] * np.log(mass[mass > 0])).sum() for value, mass in found.items()}
    assert entropy["debiased"] < entropy["transport"]


def test_debiased_barycentre_of_copies_is_the_measure():
    X = Measures.from_images(np.repeat(images(1), 3, axis=0), spacing="unit")
    mean = barycenter(X, divergence=Sinkhorn(0.02, value="debiased"), tol=1e-4)
    blurred = barycenter(X, divergence=Sinkhorn(0.02))
    wanted = dense(X, 0) / X.masses[0]
    assert np.abs(dense(mean) - wanted).sum() < 0.1 * np.abs(dense(blurred, 0) - wanted).sum()


# -- mixtures ---------------------------------------------------------------------------------------------------------


def test_mixtures():
    X = Measures.from_images(images())
    mean = barycenter(X, [0, 1, 1, 0], Euclidean())
    wanted = sum(dense(X, i) / X.masses[i] for i in (1, 2)) / 2
    assert_allclose(dense(mean), wanted)
    Y, weights = clouds(2), np.array([0.5, 0.2, 0.1, 0.1, 0.1])
    divergence = MMD(ground.Gaussian(sigma=1.0))
    mixed = barycenter(Y, weights, divergence)
    D = pairwise(Y, divergence=divergence, squared=True)
    # sum_i w_i d(mu_i, mean)^2 = half of the mean squared distance of two members, as in every Hilbert space
    assert_allclose(objective(Y, mixed, divergence, weights, 2), 0.5 * weights @ D @ weights, rtol=1e-10)


# -- laws and bad input -----------------------------------------------------------------------------------------------

ALL = [Wasserstein(p=2), SlicedWasserstein(n_slices=20), GaussianWasserstein(), Sinkhorn(0.5), Euclidean(),
       MMD(ground.Gaussian(sigma=1.0))]  # fmt: skip


@pytest.mark.parametrize("divergence", ALL, ids=lambda d: type(d).__name__)
def test_one_probability_measure_that_does_not_care_for_masses(divergence):
    X = clouds(11)
    heavy = Measures.from_samples([x.points for x in X], [3.0 * x.weights for x in X])
    mean, same = (barycenter(Z, divergence=divergence, random_state=0) for Z in (X, heavy))
    assert len(mean) == 1
    assert mean.dim == X.dim
    assert_allclose(mean.masses, [1.0])
    assert_allclose(mean.points, same.points, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1e100])
@pytest.mark.parametrize("divergence", [*ALL[:3], Wasserstein(p=1)], ids=str)
def test_scales(divergence, scale):
    X = scalars(3) if divergence == Wasserstein(p=1) else clouds(12)
    mean = barycenter(X, divergence=divergence, random_state=1)
    scaled = barycenter(X.map_points(lambda points: scale * points), divergence=divergence, random_state=1)
    assert_allclose(scaled.points, scale * mean.points, rtol=1e-6, atol=1e-6 * scale)


def test_bad_input():
    X = clouds()
    with pytest.raises(InvalidParameterError, match="`divergence` must be Wasserstein"):
        barycenter(X, divergence=divergences.GaussianKL())
    with pytest.raises(InvalidParameterError, match="`divergence` must be Wasserstein"):
        barycenter(X, divergence="wasserstein")
    with pytest.raises(InvalidParameterError, match="`divergence` must be Wasserstein"):
        barycenter(X, divergence=Wasserstein(cost="binary"))
    with pytest.raises(InvalidParameterError, match="needs `ground`"):
        barycenter(X, divergence=GaussianWasserstein(ground.Gaussian(sigma=1.0)))
    with pytest.raises(InvalidParameterError, match="needs squared distances"):
        barycenter(X, divergence=Wasserstein(p=1))
    with pytest.raises(InvalidParameterError, match="needs squared distances"):
        barycenter(X, divergence=SlicedWasserstein(p=1))
    for weights in ([1, 2], [-1, 1, 1, 1, 1], [0] * 5, [np.nan] * 5, "many"):
        with pytest.raises(InvalidParameterError, match="`weights` must hold 5 finite"):
            barycenter(X, weights)
    with pytest.raises(InvalidParameterError, match="`support` must be None"):
        barycenter(X, divergence=Wasserstein(), support=[[0.0, 0.0]])
    with pytest.raises(InvalidParameterError, match="options it takes: none"):
        barycenter(X, divergence=Euclidean(), tol=1.0)
    with pytest.raises(InvalidParameterError, match="`max_iter`, `tol`"):
        barycenter(X, divergence=GaussianWasserstein(), n_atoms=3)
    with pytest.raises(InvalidParameterError, match="`n_atoms` must be None if `init`"):
        barycenter(X, n_atoms=3, init=X[0])
    with pytest.raises(InvalidParameterError, match="distinct finite points"):
        barycenter(X, divergence=Sinkhorn(1.0), support=[[0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(UnsuitableDataError, match="`init` must be one measure"):
        barycenter(X, init=X[:2])
    with pytest.raises(InvalidParameterError, match="equally heavy"):
        barycenter(X, init=Measures.from_samples([[[0.0, 1.0], [1.0, 1.0]]], [[1, 2]]))
    with pytest.raises(UnsuitableDataError, match="more than 2048"):
        barycenter(Measures.from_samples([np.random.default_rng(0).normal(size=(2100, 2))]), divergence=Sinkhorn(1.0))
    with pytest.warns(ConvergenceWarning, match="Increase `max_iter`"):
        barycenter(X, max_iter=1, tol=1e-9, random_state=0)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 4])
def test_points_whose_difference_overflows(p):
    X = Measures.from_samples([[0.0], [1e308], [-1e308]])
    assert_allclose(barycenter(X, divergence=Wasserstein(p)).points, 0.0, atol=1e293)
