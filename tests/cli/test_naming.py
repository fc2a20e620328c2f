import inspect

import numpy as np
import pytest

from kermes import Measures, divergences, ground, kernels
from kermes.cli import _naming as naming
from kermes.divergences import Divergence
from kermes.exceptions import InvalidParameterError

X = Measures.from_samples(np.random.default_rng(0).normal(size=(5, 6, 1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wasserstein", divergences.Wasserstein()),
        ("wasserstein:p=1", divergences.Wasserstein(p=1)),
        ("wasserstein:p=1,cost=torus,period=24", divergences.Wasserstein(p=1, cost=ground.Torus(24))),
        ("wasserstein:cost=binary", divergences.Wasserstein(cost=ground.Binary())),
        ("sinkhorn:epsilon=0.4,cost=euclidean", divergences.Sinkhorn(0.4, cost=ground.Euclidean())),
        ("sinkhorn: epsilon=4e-1 , value=debiased", divergences.Sinkhorn(0.4, value="debiased")),
        ("mmd:sigma=2", divergences.MMD(ground.Gaussian(sigma=2))),
        ("mmd:gamma=2", divergences.MMD(ground.Gaussian(gamma=2))),
        ("mmd:ground=laplacian,gamma=2", divergences.MMD(ground.Laplacian(2))),
        ("mmd:ground=linear", divergences.MMD(ground.Linear())),
        ("mmd:degree=2,coef0=0.5", divergences.MMD(ground.Polynomial(2, 0.5))),
        ("jensen-shannon", divergences.JensenShannon()),
        ("jensen-shannon:sigma=0.5", divergences.JensenShannon(ground.Gaussian(sigma=0.5))),
        ("gaussian-wasserstein", divergences.GaussianWasserstein()),
        ("kernel-kl:sigma=1,reg=0.2", divergences.GaussianKL(ground.Gaussian(sigma=1), reg=0.2)),
        ("exponential-family:family=multinomial", divergences.ExponentialFamily("multinomial")),
        ("sliced:n_slices=7,seed=3", divergences.SlicedWasserstein(n_slices=7, seed=3)),
    ],
)
def test_divergences_by_name(text, expected):
    assert naming.divergence(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sliced", kernels.Exponential(divergences.SlicedWasserstein())),
        ("mmd:sigma=2,length_scale=0.3", kernels.Exponential(divergences.MMD(ground.Gaussian(sigma=2)), 0.3)),
        ("wasserstein:p=1,power=1", kernels.Exponential(divergences.Wasserstein(1), power=1)),
        ("igv:eta=0.1", kernels.IGV(0.1)),
        ("kigv:eta=0.01,sigma=0.1,power=0.5", kernels.IGV(0.01, ground.Gaussian(sigma=0.1), power=0.5)),
        ("entropy:t=2,normalized=false", kernels.Entropy(2, normalized=False)),
        ("exponential-family:beta=2,t=0.5", kernels.Semigroup(divergences.ExponentialFamily(beta=2), t=0.5)),
        ("bhattacharyya:eta=1,sigma=2", kernels.Bhattacharyya(ground.Gaussian(sigma=2), 1)),
    ],
)
def test_kernels_by_name(text, expected):
    assert repr(naming.kernel(text)) == repr(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sinkhron:epsilon=1", r"got 'sinkhron'\. Did you mean 'sinkhorn'\?"),
        ("sinkhorn:epsilo=1", r"parameter of sinkhorn.*Did you mean 'epsilon'\?"),
        ("sinkhorn", "sinkhorn needs the parameter epsilon, such as sinkhorn:epsilon=0.4"),
        ("sinkhorn:epsilon=zero", r"`epsilon` must be a finite number greater than 0; got 'zero'"),
        ("sinkhorn:epsilon", "must have the form parameter=value"),
        ("sinkhorn:=1", "must have the form parameter=value"),
        ("sinkhorn:epsilon=1,epsilon=2", "given twice"),
        ("mmd", "mmd needs a point kernel, such as mmd:sigma=2"),
        ("mmd:sigma=1,degree=2", "no ground has the parameters"),
        ("mmd:sigma=1,gamma=2", "exactly one of `sigma`"),
        ("mmd:ground=linear,sigma=1", "parameter of ground=linear"),
        ("mmd:ground=gausian,sigma=1", r"Did you mean 'gaussian'\?"),
        ("kernel-wasserstein", "kernel-wasserstein needs a point kernel"),
        ("", "`divergence` must be one of"),
        ("sliced:length_scale=1", "parameter of sliced"),
        ("sliced:engine=1", "parameter of sliced"),
    ],
)
def test_mistakes_in_divergences_are_explained(text, message):
    with pytest.raises(InvalidParameterError, match=message):
        naming.divergence(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slized", r"`kernel` must be one of .*Did you mean 'sliced'\?"),
        ("sliced:lengthscale=1", r"Did you mean 'length_scale'\?"),
        ("sliced:t=1", "parameters of Jensen differences"),
        ("variance:eta=1,t=1,length_scale=2", "parameters of Jensen differences"),
        ("igv:eta=1,t=1", "parameter of igv"),
    ],
)
def test_mistakes_in_kernels_are_explained(text, message):
    with pytest.raises(InvalidParameterError, match=message):
        naming.kernel(text)


@pytest.mark.parametrize(("kind", "entry"), list(naming.entries()), ids=lambda item: getattr(item, "name", item))
def test_every_example_works_and_every_default_is_true(kind, entry):
    made = getattr(naming, kind)(entry.example)
    assert naming.kernel(entry.example)(X).shape == (5, 5)
    assert isinstance(made, entry.cls)
    assert entry.summary.endswith(".")
    given = naming.parse(entry.example).options
    for name, default in entry.parameters.items():
        if name not in given and default is not inspect.Parameter.empty and name not in naming.OBJECTS:
            assert getattr(made, name) == default


def test_every_divergence_and_kernel_has_a_name_or_needs_an_object():
    named = {entry.cls for _, entry in naming.entries()}
    needs_objects = {"Precomputed", "JensenDifference", "Bhattacharyya", "Jensen", "Divergence"}
    for name in divergences.__all__:
        thing = getattr(divergences, name)
        if isinstance(thing, type) and issubclass(thing, Divergence) and name not in needs_objects:
            assert thing in named
