"""Kernels on several columns: sums and products of the parts, with their gradients, for every learner of kernels."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kermes
from kermes import (
    KernelFeatures,
    KernelMatrix,
    LSSVMClassifier,
    LSSVMRegressor,
    MeasureGPRegressor,
    Measures,
    divergences,
    kernels,
)
from kermes.exceptions import InvalidMeasureError, InvalidParameterError

RNG = np.random.default_rng(0)
AGE, WEIGHT = RNG.normal(50.0, 10.0, 30), RNG.normal(70.0, 10.0, 30)
SHIFT = RNG.normal(size=30)
X = Measures.from_samples([RNG.normal(s, 1.0, (6, 2)) for s in SHIFT])
FRAME = pd.DataFrame({"weight": WEIGHT, "cells": X.to_series(), "age": AGE, "sex": ["f", "m"] * 15})
W = kernels.Exponential(divergences.SlicedWasserstein(n_slices=10), 1.5)


def columns(combine="sum", bounds=(1e-5, 1e5)):
    parts = {"cells": ConstantKernel(2.0) * clone(W), ("age", "weight"): RBF([10.0, 20.0], bounds)}
    return kernels.Columns(parts, combine)


@pytest.mark.parametrize(("combine", "operation"), [("sum", np.add), ("product", np.multiply)])
def test_values_are_sums_or_products_of_the_parts(combine, operation):
    kernel, numbers = columns(combine), np.column_stack([AGE, WEIGHT])
    assert_array_equal(kernel(FRAME), operation(2.0 * W(X), RBF([10.0, 20.0])(numbers)))
    assert_allclose(kernel(FRAME[:4], FRAME), kernel(FRAME)[:4], rtol=1e-14)
    assert_allclose(kernel.diag(FRAME), np.diagonal(kernel(FRAME)), rtol=1e-14)
    assert np.linalg.eigvalsh(kernel(FRAME))[0] > -1e-12


@pytest.mark.parametrize("combine", ["sum", "product"])
def test_gradient_matches_finite_differences(combine):
    kernel, step = columns(combine), 1e-5
    K, gradient = kernel(FRAME, eval_gradient=True)
    assert gradient.shape == (30, 30, kernel.n_dims) == (30, 30, 4)
    assert_array_equal(K, kernel(FRAME))
    for i in range(4):
        up, down = (kernel.clone_with_theta(kernel.theta + s * step * np.eye(4)[i]) for s in (1, -1))
        assert_allclose(gradient[:, :, i], (up(FRAME) - down(FRAME)) / (2 * step), atol=1e-8)
    with pytest.raises(ValueError, match="Gradient"):
        kernel(FRAME, FRAME, eval_gradient=True)


def test_hyperparameters_are_those_of_the_parts():
    kernel = columns()
    names = [h.name for h in kernel.hyperparameters]
    assert names == ["cells__k1__constant_value", "cells__k2__length_scale", "age_weight__length_scale"]
    assert_allclose(np.exp(kernel.theta), [2.0, 1.5, 10.0, 20.0])
    assert kernel.bounds.shape == (4, 2)
    kernel.set_params(cells__k2__length_scale=3.0, combine="product")
    assert kernel.get_params()["cells__k2__length_scale"] == 3.0
    assert kernel.combine == "product"
    with pytest.raises(InvalidParameterError, match="no parameter 'age__length'"):
        kernel.set_params(age__length=1.0)
    fixed = kernels.Columns({"cells": kernels.Exponential(W.divergence, length_scale_bounds="fixed")})
    assert fixed.bounds.shape == (0, 2)
    assert fixed(FRAME, eval_gradient=True)[1].shape == (30, 30, 0)


def test_clone_equality_pickle_and_algebra():
    kernel = columns()
    twin = clone(kernel)
    assert twin == kernel
    assert twin is not kernel
    twin.theta = twin.theta + 0.1
    assert twin != kernel
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(FRAME), kernel(FRAME))
    assert_allclose((2.0 * kernel + WhiteKernel(0.5))(FRAME), 2.0 * kernel(FRAME) + 0.5 * np.eye(30))
    assert repr(kernels.Columns({"age": RBF(2.0)})) == "Columns({'age': RBF(length_scale=2)}, 'sum')"


def test_claims_follow_from_the_parts():
    assert columns().is_positive_definite(2)
    indefinite = kernels.Exponential(divergences.Wasserstein())
    assert kernels.Columns({"cells": indefinite, "age": RBF()}).is_positive_definite(2) is None
    assert kernels.Columns({"cells": indefinite + W}).is_positive_definite(2) is None


@pytest.mark.parametrize(
    "samples",
    [
        {"cells": X, "age": AGE, "weight": WEIGHT.tolist()},
        pl.DataFrame({"age": AGE, "weight": WEIGHT, "cells": pl.Series(list(X), dtype=pl.Object)}),
        columns().read(FRAME),
        np.asarray(columns().read(FRAME)),
    ],
    ids=["dict", "polars", "read before", "object array of it"],
)
def test_other_forms_of_samples(samples):
    assert_array_equal(columns()(samples), columns()(FRAME))


def test_columns_by_number():
    kernel = kernels.Columns({0: RBF(5.0), 1: W})
    array = np.column_stack([AGE.astype(object), np.asarray(X)])
    assert_array_equal(kernel(array), RBF(5.0)(AGE[:, None]) + W(X))
    assert_array_equal(kernel(FRAME[["age", "cells"]]), kernel(array))


def test_numbers_for_a_kernel_on_measures_are_dirac_masses():
    kernel = kernels.Columns({"age": kernels.Exponential(divergences.Wasserstein(), 10.0)})
    assert_allclose(kernel(FRAME), RBF(10.0)(AGE[:, None]), rtol=1e-12)


TARGET = SHIFT + 0.05 * (AGE - 50.0)


@pytest.mark.parametrize(
    "model",
    [
        LSSVMRegressor(columns(), gamma=10.0),
        LSSVMRegressor(columns() + WhiteKernel(0.01), gamma=10.0, solver="primal"),
        MeasureGPRegressor(columns(bounds="fixed") + WhiteKernel(0.1), normalize_y=True),
        make_pipeline(KernelMatrix(columns()), KernelRidge(kernel="precomputed", alpha=0.1)),
        make_pipeline(KernelFeatures(columns()), LSSVMRegressor(gamma=10.0)),
    ],
    ids=["dual", "primal", "process", "ridge", "features"],
)
def test_regression_on_a_frame(model):
    scores = cross_val_score(model, FRAME, TARGET, cv=3)
    alone = cross_val_score(LSSVMRegressor(W, gamma=10.0), X, TARGET, cv=3)
    assert scores.mean() > alone.mean() > 0.2


def test_classification_on_a_frame():
    sick = TARGET > 0
    assert cross_val_score(LSSVMClassifier(columns(), gamma=10.0), FRAME, sick, cv=3).mean() > 0.7
    search = GridSearchCV(
        SVC(kernel=columns()), {"kernel__cells__k2__length_scale": [0.5, 2.0], "C": [1.0, 10.0]}, cv=3
    )
    assert search.fit(FRAME, sick).best_score_ > 0.7
    process = GaussianProcessClassifier(columns(), optimizer=None)
    samples = columns().read(FRAME)
    assert process.fit(samples, sick).score(samples, sick) > 0.8


def test_models_on_columns_are_saved(tmp_path):
    for i, model in enumerate(
        [LSSVMRegressor(columns()), MeasureGPRegressor(columns() + WhiteKernel(), optimizer=None)]
    ):
        path = tmp_path / f"{i}.kermes"
        kermes.save(model.fit(FRAME, TARGET), path)
        assert_array_equal(kermes.load(path).predict(FRAME), model.predict(FRAME))


@pytest.mark.parametrize(
    ("kernel", "samples", "error", "message"),
    [
        (kernels.Columns({}), FRAME, InvalidParameterError, "one column or more"),
        (kernels.Columns({"age": 3.0}), FRAME, InvalidParameterError, "must hold kernels; 'age' has 3.0"),
        (kernels.Columns({("age", "cells"): W}), FRAME, InvalidParameterError, "measures from one column"),
        (
            kernels.Columns({"cell": W}),
            FRAME,
            InvalidParameterError,
            "'cell', which `X` lacks; it has 'weight'",
        ),
        (kernels.Columns({"age": RBF()}), np.ones((3, 1)), InvalidParameterError, r"no names.*kernel\.read\(frame\)"),
        (kernels.Columns({1: RBF()}), np.ones((3, 1)), InvalidParameterError, r"column 1, which `X` of shape \(3, 1\)"),
        (kernels.Columns({"sex": RBF()}), FRAME, InvalidMeasureError, "'sex' must hold numbers"),
        (kernels.Columns({"a": RBF()}), {"a": [1.0, np.nan]}, InvalidMeasureError, "'a' has no finite number in row 1"),
        (columns(), {"cells": X, "age": [1.0], "weight": [1.0]}, InvalidMeasureError, "cells has 30, age_weight has 1"),
        (columns("mean"), FRAME, InvalidParameterError, "`combine` must be one of 'sum', 'product'"),
    ],
)
def test_what_does_not_fit_is_refused(kernel, samples, error, message):
    with pytest.raises(error, match=message):
        kernel(samples)


@pytest.mark.parametrize("learner", [LSSVMRegressor(), SVC()])
def test_numbered_columns_of_frames_keep_their_names(learner):
    kernel, frame = kernels.Columns({0: clone(W), 1: RBF(10.0)}), FRAME[["cells", "age", "weight"]]
    model = learner.set_params(kernel=kernel).fit(frame, np.arange(30) % 2)
    model.predict(frame[:3])
    with pytest.raises(InvalidParameterError, match="column 1 by number, which is 'weight' in `X` and 'age' in `Y`"):
        model.predict(frame[["cells", "weight", "age"]][:3])
