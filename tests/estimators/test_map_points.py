"""Transformers of points: the same numbers as by hand, in pipelines and searches, and nothing paid twice."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC
from tests.counted import Counting
from tests.estimators.cases import clouds as make_clouds

from kermes import Engine, KernelFeatures, LSSVMClassifier, MapPoints, Measures, divergences, kernels, pairwise
from kermes.exceptions import InvalidMeasureError, InvalidParameterError, UnsuitableDataError


def test_points_move_and_the_rest_stays(clouds):
    X = clouds(9, 3)
    Z = MapPoints(StandardScaler()).fit_transform(X)
    mean = np.average(X.points, axis=0, weights=X.weights)
    spread = np.sqrt(np.average((X.points - mean) ** 2, axis=0, weights=X.weights))
    assert_allclose(Z.points, (X.points - mean) / spread, atol=1e-12)
    assert_array_equal(Z.weights, X.weights)
    assert_array_equal(Z.offsets, X.offsets)


@pytest.mark.parametrize("weighting", ["mass", "measure", "atom"])
def test_what_an_atom_counts_for(clouds, weighting):
    X = clouds(9, 2)
    counts = {"mass": X.weights, "measure": X.probabilities, "atom": np.ones(len(X.points))}[weighting]
    scaler = MapPoints(StandardScaler(), weighting).fit(X).transformer_
    assert_allclose(scaler.mean_, np.average(X.points, axis=0, weights=counts))


def test_transformers_without_weights(clouds):
    X = clouds(9, 3)
    Z = MapPoints(PCA(2)).fit(X).transform(X)
    assert Z.dim == 2
    assert_allclose(Z.points, PCA(2).fit(X.points).transform(X.points))
    with pytest.raises(InvalidParameterError, match="'auto' or 'atom' for PCA, whose fit takes no sample_weight"):
        MapPoints(PCA(2), "mass").fit(X)


def test_targets_reach_the_points():
    X, y = make_clouds()
    mapped = MapPoints(LinearDiscriminantAnalysis(n_components=1)).fit(X, y).transform(X)
    by_hand = LinearDiscriminantAnalysis(n_components=1).fit(X.points, np.repeat(y, X.sizes))
    assert_allclose(mapped.points, by_hand.transform(X.points))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MapPoints(StandardScaler()).fit(X, y[1:])


def test_a_shared_support_moves_along():
    H = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0]])
    X = Measures.from_histograms(H, [0.0, 1.0, 4.0])
    Z = MapPoints(StandardScaler()).fit_transform(X)
    assert_allclose(Z.support.points[Z.atoms], Z.points)
    before, after = (pairwise(V, divergence=divergences.JensenShannon()) for V in (X, Z))
    assert_array_equal(after, before)  # which sees bins, not where they are
    assert X.map_points(np.abs).support is not None
    folded = X.map_points(lambda x: np.abs(x - 0.5))  # bins 0 and 1 meet: no longer a set of distinct points
    assert folded.support is None
    assert_allclose(folded.points.ravel(), [0.5, 0.5, 0.5, 3.5])


def test_keys_and_masses_stay():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"who": ["b", "b", "a"], "x": [1.0, 2.0, 3.0], "y": [0.0, 1.0, 1.0]})
    X = Measures.from_frame(table, by="who", columns=["x", "y"])
    Z = MapPoints(StandardScaler()).fit_transform(X)
    assert_array_equal(Z.keys, ["b", "a"])
    assert_array_equal(Z.masses, X.masses)


def test_arrays_are_dirac_masses():
    points = np.random.default_rng(0).normal(size=(6, 3))
    step = MapPoints(StandardScaler()).fit(points)
    assert isinstance(step.transform(points), Measures)
    assert_allclose(step.transform(points).points, StandardScaler().fit_transform(points))
    assert step.n_features_in_ == 3
    with pytest.raises(UnsuitableDataError, match="dimension 1, the training measures of dimension 3"):
        step.transform(Measures.from_samples([[1.0]]))


def test_sparse_output_and_output_settings(clouds):
    X = clouds(9, 2)
    bins = MapPoints(KBinsDiscretizer(3, encode="onehot", strategy="uniform"))
    assert bins.fit_transform(X).dim == 6
    pytest.importorskip("pandas")
    model = make_pipeline(MapPoints(StandardScaler()), KernelFeatures()).set_output(transform="pandas")
    assert model.fit_transform(X).columns[0] == "kernelfeatures0"
    scaled = MapPoints(StandardScaler().set_output(transform="pandas")).fit_transform(X)
    assert isinstance(scaled, Measures)


def test_clone_search_and_memo():
    """A search over what follows pays each pair of a fold once, though the step is fitted again for each candidate."""
    X, y = make_clouds(30)
    seen = []

    class Counted(divergences.SlicedWasserstein):
        def route(self, X, Y):
            return Counting(super().route(X, Y), seen.append)

    kernel = kernels.Exponential(Counted(n_slices=5), engine=Engine("serial"))
    model = make_pipeline(MapPoints(PCA()), LSSVMClassifier(kernel))
    assert clone(model).get_params()["mappoints__transformer__n_components"] is None
    grid = {"lssvmclassifier__kernel__length_scale": [0.5, 1.0, 2.0], "lssvmclassifier__gamma": [1.0, 10.0]}
    GridSearchCV(model, grid, cv=3, refit=False).fit(X, y)
    per_fold = 20 * 19 // 2 + 20 * 10
    assert sum(seen) == 3 * per_fold
    search = GridSearchCV(model, {"mappoints__transformer__n_components": [1, 2]}, cv=3).fit(X, y)
    assert (
        search.best_estimator_[0].transformer_.n_components_
        == search.best_params_["mappoints__transformer__n_components"]
    )


def test_in_front_of_a_support_vector_machine():
    X, y = make_clouds(30)
    stretched = X.map_points(lambda points: points * [1.0, 1e4])
    kernel = kernels.Exponential(divergences.SlicedWasserstein(n_slices=20))
    raw, scaled = SVC(kernel=kernel), make_pipeline(MapPoints(StandardScaler()), SVC(kernel=kernel))
    assert scaled.fit(stretched[:20], y[:20]).score(stretched[20:], y[20:]) > 0.7
    assert raw.fit(stretched[:20], y[:20]).score(stretched[20:], y[20:]) < 0.7


def test_what_is_refused(clouds):
    X = clouds(4, 2)
    for step, error, message in [
        (MapPoints(np.log), InvalidParameterError, r"such as StandardScaler\(\).*FunctionTransformer"),
        (MapPoints(StandardScaler(), "size"), InvalidParameterError, "`weighting` must be one of"),
        (MapPoints(FunctionTransformer(lambda x: x[1:])), InvalidMeasureError, "one point for each of the"),
        (MapPoints(FunctionTransformer(lambda x: x[:, :0])), InvalidMeasureError, r"got shape \(\d+, 0\)"),
        (
            MapPoints(FunctionTransformer(lambda x: np.full_like(x, np.nan))),
            InvalidMeasureError,
            "measure 0 has a point",
        ),
        (MapPoints(FunctionTransformer(lambda x: x.astype(str))), InvalidMeasureError, "array of real numbers"),
    ]:
        with pytest.raises(error, match=message):
            step.fit(X).transform(X)


def test_functions_cannot_reach_the_collection(clouds):
    X = clouds(4, 2)
    before = X.points.copy()

    def in_place(points):
        points *= 2.0
        return points

    assert_array_equal(X.map_points(in_place).points, 2 * before)
    assert_array_equal(X.points, before)


def test_pickling_and_subsets(clouds):
    """What scikit-learn's checks of transformers would have asked, if the output were an array."""
    X = clouds(9, 2)
    step = MapPoints(PCA(1)).fit(X)
    copy = pickle.loads(pickle.dumps(step))
    assert copy.transform(X).fingerprint == step.transform(X).fingerprint
    assert_allclose(step.transform(X[[4, 2]])[1].points, step.transform(X)[2].points)
    assert step.fit(X).transform(X).fingerprint == copy.transform(X).fingerprint


@pytest.mark.parametrize("exponent", [-1000, 55, 500, 1000])
@pytest.mark.parametrize("weighting", ["mass", "measure"])
def test_the_unit_of_mass_does_not_matter(exponent, weighting):
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(4, 5, 2)) * (3.0, 1.0), rng.uniform(0.5, 2.0, size=(4, 5))
    scalers = [
        MapPoints(StandardScaler(), weighting).fit(Measures.from_samples(points, weights * unit)).transformer_
        for unit in (1.0, 2.0**exponent)
    ]
    np.testing.assert_array_equal(scalers[0].mean_, scalers[1].mean_)
    np.testing.assert_array_equal(scalers[0].scale_, scalers[1].scale_)
