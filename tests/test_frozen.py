"""Parameters of frozen values: read by name, changed by making a new value."""

from dataclasses import dataclass

import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from tests.estimators.cases import clouds

from kermes import LSSVMClassifier, clustering, divergences, ground, kernels
from kermes.divergences import Functional, JensenDifference

GAUSSIAN = ground.Gaussian(sigma=1.0)


def test_parameters_by_name():
    mmd = divergences.MMD(GAUSSIAN)
    assert mmd.get_params() == {"ground": GAUSSIAN, "ground__sigma": 1.0, "ground__gamma": None}
    assert mmd.get_params(deep=False) == {"ground": GAUSSIAN}
    assert divergences.Wasserstein(p=1).get_params() == {"p": 1, "cost": ground.Euclidean()}


def test_a_changed_parameter_makes_a_new_value():
    mmd = divergences.MMD(GAUSSIAN)
    assert mmd.with_params(ground__sigma=2.0) == divergences.MMD(ground.Gaussian(sigma=2.0))
    assert mmd.with_params(ground__sigma=None, ground__gamma=3.0) == divergences.MMD(ground.Gaussian(gamma=3.0))
    assert mmd.with_params(ground=ground.Laplacian(), ground__gamma=3.0) == divergences.MMD(ground.Laplacian(3.0))
    assert mmd == divergences.MMD(GAUSSIAN)
    assert mmd.with_params() == mmd


@dataclass(frozen=True)
class Spread(Functional):
    unit: float = 1.0

    def value(self, points, weights):
        return float(self.unit * points.var())


def test_functionals_of_ones_own_have_parameters():
    jensen = JensenDifference(Spread())
    assert jensen.with_params(functional__unit=2.0) == JensenDifference(Spread(2.0))


def test_what_does_not_exist_is_named():
    mmd = divergences.MMD(GAUSSIAN)
    with pytest.raises(ValueError, match=r"MMD has no parameter 'grund'; its parameters are 'ground'. Check"):
        mmd.with_params(grund__sigma=2.0)
    with pytest.raises(ValueError, match="Gaussian has no parameter 'sigam'; its parameters are 'sigma', 'gamma'"):
        mmd.with_params(ground__sigam=2.0)
    with pytest.raises(ValueError, match="Euclidean has no parameter 'scale'; its parameters are none"):
        divergences.Wasserstein().with_params(cost__scale=2.0)
    with pytest.raises(ValueError, match="exactly one of `sigma`"):
        mmd.with_params(ground__gamma=2.0)


def holders():
    """Return objects with a divergence or a ground somewhere inside, and the name of its sigma."""
    mmd = divergences.MMD(GAUSSIAN)
    exponential = kernels.Exponential(mmd)
    return {
        "kernel": (exponential, "divergence__ground__sigma"),
        "ground of a kernel": (kernels.IGV(0.1, GAUSSIAN), "ground__sigma"),
        "mass": (kernels.MassWeighted(exponential), "kernel__divergence__ground__sigma"),
        "product": (ConstantKernel() * exponential, "k2__divergence__ground__sigma"),
        "clustering": (clustering.KMedoids(mmd), "divergence__ground__sigma"),
        "lssvm": (LSSVMClassifier(exponential), "kernel__divergence__ground__sigma"),
        "svc": (SVC(kernel=exponential), "kernel__divergence__ground__sigma"),
        "pipeline": (make_pipeline(LSSVMClassifier(exponential)), "lssvmclassifier__kernel__divergence__ground__sigma"),
    }


@pytest.mark.parametrize("name", holders())
def test_nested_parameters_reach_frozen_values(name):
    holder, path = holders()[name]
    copy = clone(holder)
    assert copy.set_params(**{path: 3.0}) is copy
    assert copy.get_params()[path] == 3.0
    assert holder.get_params()[path] == 1.0, "frozen values are shared by clones and must not change"
    with pytest.raises(ValueError, match="has no parameter 'nonsense'"):
        copy.set_params(**{path.replace("sigma", "nonsense"): 3.0})


def test_a_new_value_and_its_parameters_at_once():
    kernel = kernels.Exponential(divergences.Wasserstein(), 2.0)
    kernel.set_params(divergence__ground__sigma=5.0, length_scale=7.0, divergence=divergences.MMD(GAUSSIAN))
    assert kernel == kernels.Exponential(divergences.MMD(ground.Gaussian(sigma=5.0)), 7.0)


def test_a_search_over_the_ground_equals_a_search_over_divergences():
    X, y = clouds()
    sigmas = [0.1, 1.0, 10.0]
    model = LSSVMClassifier(kernels.Exponential(divergences.MMD(GAUSSIAN)))
    nested = GridSearchCV(model, {"kernel__divergence__ground__sigma": sigmas}, cv=3).fit(X, y)
    listed = [divergences.MMD(ground.Gaussian(sigma=s)) for s in sigmas]
    plain = GridSearchCV(model, {"kernel__divergence": listed}, cv=3).fit(X, y)
    assert list(nested.cv_results_["mean_test_score"]) == list(plain.cv_results_["mean_test_score"])
    assert len(set(nested.cv_results_["mean_test_score"])) > 1
