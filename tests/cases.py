"""One list of divergences and one of kernels; every law runs over each of them."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.oracles import concentration, embeddings, entropic, exponential_families, gaussians, shannon, transport

from kermes import Measures, divergences, ground, kernels
from kermes.divergences import Divergence


@dataclass(frozen=True)
class Case:
    """A divergence, the dimensions it takes, its slow oracle and its value on two Dirac masses."""

    name: str
    divergence: Divergence
    oracle: Callable[[Any, Any], float]
    on_diracs: Callable[[Any, Any], float]
    dims: tuple[int, ...] = (1, 2, 5)
    atol: float = 1e-9


def distance(x, y):
    return float(np.linalg.norm(x - y))


def differ(x, y):
    return float(np.sqrt(2) * (x != y).any())


def _mmd_case(name, kernel, k, atol=1e-7):
    return Case(
        name,
        divergences.MMD(kernel),
        lambda mu, nu: embeddings.mmd(mu, nu, k),
        lambda x, y: np.sqrt(max(k(x, x) + k(y, y) - 2 * k(x, y), 0.0)),
        atol=atol,
    )


def _wasserstein_case(p, dims):
    return Case(
        f"wasserstein-p{p}",
        divergences.Wasserstein(p=p),
        lambda mu, nu: transport.wasserstein(mu, nu, p),
        distance,
        dims=dims,
    )


def _sliced_case(p):
    divergence = divergences.SlicedWasserstein(p=p, n_slices=7, seed=1)

    def on_diracs(x, y):
        return np.mean(np.abs(divergence.directions(len(x)) @ (x - y)) ** p) ** (1 / p)

    return Case(
        f"sliced-p{p}",
        divergence,
        lambda mu, nu: transport.sliced(mu, nu, p, divergence.directions(mu.dim)),
        on_diracs,
    )


def binary(x, y):
    return 1.5 * (transport.euclidean(x, y) > 0)


def torus(x, y):
    gap = np.abs(x[:, None] - y[None]) % 2.0
    return np.linalg.norm(np.minimum(gap, 2.0 - gap), axis=-1)


def _cost_case(name, cost, function, dims, p):
    return Case(
        name,
        divergences.Wasserstein(p=p, cost=cost),
        lambda mu, nu: transport.wasserstein(mu, nu, p, function),
        lambda x, y: function(x[None], y[None])[0, 0],
        dims=dims,
    )


DIVERGENCES = [
    *[_wasserstein_case(p, dims) for p, dims in [(1, (1, 2)), (1.5, (1,)), (2, (1, 2, 5)), (3, (1,))]],
    _cost_case("wasserstein-binary", ground.Binary(1.5), binary, (1, 2), 2),
    _cost_case("wasserstein-torus", ground.Torus(2.0), torus, (1, 2), 1),
    *[_sliced_case(p) for p in (1, 2, 3)],
    Case("euclidean", divergences.Euclidean(), embeddings.euclidean, differ),
    _mmd_case("mmd-linear", ground.Linear(), lambda x, y: x @ y),
    _mmd_case("mmd-gaussian", ground.Gaussian(sigma=0.8), lambda x, y: np.exp(-((x - y) @ (x - y)) / 1.28)),
    _mmd_case("mmd-polynomial", ground.Polynomial(2, 0.5, 0.3), lambda x, y: (0.3 * x @ y + 0.5) ** 2, atol=1e-6),
    _mmd_case("mmd-laplacian", ground.Laplacian(0.7), lambda x, y: np.exp(-0.7 * np.abs(x - y).sum())),
]


def _sinkhorn_case(value, cost, function, dims):
    divergence = divergences.Sinkhorn(2.0, cost=cost, value=value, tol=1e-10)
    root = 1 / divergence.power
    return Case(
        f"sinkhorn-{value}-{cost}",
        divergence,
        lambda mu, nu: max(entropic.value(mu, nu, function, 2.0, value), 0.0) ** root,
        lambda x, y: float(function(x[None], y[None])[0, 0]) ** root,
        dims=dims,
        atol=2e-5 if value == "debiased" else 1e-7,
    )


def squared(x, y):
    return transport.euclidean(x, y) ** 2


DIVERGENCES += [
    _sinkhorn_case("transport", "euclidean", transport.euclidean, (1, 2)),
    _sinkhorn_case("transport", "sqeuclidean", squared, (2, 5)),
    _sinkhorn_case("debiased", "sqeuclidean", squared, (1, 2)),
]


POINT_KERNELS = [
    ("linear", ground.Linear(), lambda x, y: x @ y),
    ("gaussian", ground.Gaussian(gamma=0.6), lambda x, y: np.exp(-0.6 * (x - y) @ (x - y))),
    ("polynomial", ground.Polynomial(2, 0.5, 0.3), lambda x, y: (0.3 * x @ y + 0.5) ** 2),
    ("laplacian", ground.Laplacian(0.7), lambda x, y: np.exp(-0.7 * np.abs(x - y).sum())),
]


def _feature_space_cases(name, kernel, k):
    """Divergences of moments in the feature space of a point kernel k."""

    def gap(x, y):
        return max(k(x, x) + k(y, y) - 2 * k(x, y), 0.0)

    def log_det(points, weights):
        return concentration.centred_log_det(points, weights, k, 0.05)

    yield Case(
        f"variance-{name}",
        divergences.GeneralizedVariance(0.05, kernel),
        lambda mu, nu: np.sqrt(max(concentration.jensen(mu, nu, log_det), 0.0)),
        lambda x, y: np.sqrt(0.5 * np.log1p(gap(x, y) / 4 / 0.05)),  # one direction, of variance gap / 4
        atol=2e-7,
    )
    yield Case(
        f"bhattacharyya-{name}",
        divergences.Bhattacharyya(kernel, 0.2),
        lambda mu, nu: gaussians.bhattacharyya(mu, nu, k, 0.2),
        lambda x, y: np.sqrt(gap(x, y) / (8 * 0.2)),
        atol=1e-6,
    )
    yield Case(
        f"gaussian-wasserstein-{name}",
        divergences.GaussianWasserstein(kernel),
        lambda mu, nu: gaussians.wasserstein(mu, nu, k),
        lambda x, y: np.sqrt(gap(x, y)),
        atol=2e-6,
    )
    yield Case(
        f"gaussian-kl-{name}",
        divergences.GaussianKL(kernel, reg=0.2),
        lambda mu, nu: gaussians.kl(mu, nu, k, 0.2),
        lambda x, y: np.sqrt(gap(x, y) / 0.2 / 2),
        atol=2e-6,
    )


DIVERGENCES += [case for kernel in POINT_KERNELS for case in _feature_space_cases(*kernel)]


def _family_case(name, family, entropy, dims, atol):
    def oracle(mu, nu):
        return np.sqrt(max(1.5 * exponential_families.jensen(mu, nu, entropy), 0.0))

    def on_diracs(x, y):
        return oracle(*Measures.from_samples([x[None], y[None]]))

    return Case(name, divergences.ExponentialFamily(family, beta=1.5), oracle, on_diracs, dims, atol)


DIVERGENCES += [
    _family_case(
        "family-degree-1",
        divergences.Family(1, -5.0, 6.0, intervals=32),
        exponential_families.truncated_exponentials(-5.0, 6.0),
        (1, 2),
        2e-6,
    ),
]


def _smoothed_case(sigma, dims):
    return Case(
        f"jensen-shannon-{sigma}",
        divergences.JensenShannon(smoothing=ground.Gaussian(sigma=sigma)),
        lambda mu, nu: shannon.smoothed(mu, nu, sigma),
        lambda x, y: np.sqrt(shannon.smoothed_diracs(distance(x, y) / sigma)),
        dims=dims,
        atol=1e-8,
    )


# The thousands of nodes in the plane take the interpreter a minute.
DIVERGENCES += [_smoothed_case(0.9, (1,) if os.environ.get("NUMBA_DISABLE_JIT") == "1" else (1, 2))]


@dataclass(frozen=True)
class KernelCase:
    """A kernel on measures, the dimensions it takes, and the parameter that may scale it without harm, if any."""

    name: str
    kernel: Any
    dims: tuple[int, ...] = field(default=(1, 2))
    scale: str | None = None


def _exponential_case(name, *args, dims=(1, 2), **options):
    return KernelCase(name, kernels.Exponential(*args, **options), dims, scale="length_scale")


KERNELS = [
    _exponential_case("exp-w2", divergences.Wasserstein(p=2), length_scale=0.7, dims=(1,)),
    _exponential_case("exp-w1-power1", divergences.Wasserstein(p=1), 0.7, power=1.0, dims=(1,)),
    _exponential_case("exp-sliced", divergences.SlicedWasserstein(n_slices=9), 0.5),
    _exponential_case("exp-euclidean", divergences.Euclidean(), 0.4, power=1.5),
    _exponential_case("exp-mmd", divergences.MMD(ground.Gaussian(sigma=1.0)), 0.5),
    _exponential_case("exp-fixed", divergences.MMD(ground.Gaussian(gamma=1.0)), 0.5, length_scale_bounds="fixed"),
    *(
        KernelCase(f"matern-{nu}", kernels.Matern(divergences.Wasserstein(), 0.6, nu), dims=(1,), scale="length_scale")
        for nu in (0.5, 1.5, 2.5)
    ),
    KernelCase("matern-sliced", kernels.Matern(divergences.SlicedWasserstein(n_slices=9), 0.5), scale="length_scale"),
    KernelCase("igv-line", kernels.IGV(0.1, power=0.3, power_bounds=(1e-2, 1e2)), dims=(1,), scale="power"),
    KernelCase("igv-linear", kernels.IGV(0.1)),
    KernelCase("igv-gaussian", kernels.IGV(0.01, ground.Gaussian(sigma=0.7))),
    KernelCase("igv-root", kernels.IGV(0.01, ground.Gaussian(sigma=0.7), power=0.5)),
    KernelCase("igv-as-in-the-paper", kernels.IGV(0.1, ground.Gaussian(sigma=0.7), normalized=False)),
    KernelCase("semigroup", kernels.Semigroup(divergences.GeneralizedVariance(0.2), t=3.0)),
    KernelCase(
        "semigroup-not-normalized",
        kernels.Semigroup(divergences.GeneralizedVariance(0.2), t=0.7, normalized=False),
        dims=(1,),
        scale="t",
    ),
]


def squared_norm(x):
    return (x**2).sum(axis=1)


def mass(x):
    return np.full(len(x), 0.3)


KERNELS += [
    KernelCase("bhattacharyya-linear", kernels.Bhattacharyya(ground.Linear(), 0.3)),
    KernelCase("bhattacharyya-gaussian", kernels.Bhattacharyya(ground.Gaussian(sigma=0.8), 0.05)),
    KernelCase("mixture", kernels.SemigroupMixture([squared_norm, mass], [0.5, 2.0])),
    KernelCase(
        "mixture-bumps", kernels.SemigroupMixture(kernels.Bumps(np.linspace(-1, 1, 9)[:, None], 0.4)), dims=(1,)
    ),
    KernelCase("entropy", kernels.Entropy(2.0, smoothing=ground.Gaussian(sigma=0.5)), scale="t"),
]


def each_dim(cases):
    """Return (case, dim) parameters with readable names for pytest."""
    pairs = [(case, dim) for case in cases for dim in case.dims]
    return {"argvalues": pairs, "ids": [f"{case.name}-d{dim}" for case, dim in pairs]}
