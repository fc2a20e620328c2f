"""Inspection: neighbours, contributions, plans and maps agree with what they explain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.manifold import MDS, TSNE, Isomap
from tests.estimators.cases import clouds as make_clouds
from tests.estimators.cases import euclidean, indefinite_table

from kermes import LSSVMClassifier, LSSVMClassifierCV, LSSVMRegressor, Measures, datasets, divergences, pairwise
from kermes.exceptions import InvalidParameterError
from kermes.inspection import contributions, data_map, nearest, transport_plan

W = divergences.Wasserstein(p=2)
SLICED = divergences.SlicedWasserstein(n_slices=10)


# -- neighbours -----------------------------------------------------------------------------------


def test_neighbours_are_those_of_the_matrix(clouds):
    X = clouds(12, 2)
    D = pairwise(X, divergence=SLICED)
    for i in (0, 5, -1):
        row = D[i].copy()
        row[i] = np.inf
        found = nearest(X, i, SLICED, k=4)
        assert_array_equal(found.indices, np.argsort(row)[:4])
        assert_allclose(found.distances, np.sort(row)[:4])


def test_a_member_is_not_its_own_neighbour(clouds):
    X = clouds(8, 2)
    view = X[[5, 2, 7, 1]]
    by_number, by_measure = nearest(view, 1, SLICED), nearest(view, X[2], SLICED)
    assert_array_equal(by_number.indices, by_measure.indices)
    assert sorted(by_number.indices) == [0, 2, 3]
    assert len(nearest(view, X[0], SLICED).indices) == 4  # not a member of the view
    copy = Measures.from_samples([X[2].points], [X[2].weights])[0]
    assert nearest(view, copy, SLICED, k=1).distances[0] == 0.0  # an equal measure is a neighbour


def test_ties_are_in_order_and_arrays_are_points():
    found = nearest([[0.0], [1.0], [-1.0], [1.0]], 0, W)
    assert_array_equal(found.indices, [1, 2, 3])
    assert_array_equal(nearest([[0.0], [1.0], [3.0]], 2).indices, [1, 0])  # the default divergence


def test_what_nearest_refuses(clouds):
    X = clouds(3, 2)
    for query, k, message in [
        (3, 1, "`query` must be a row of `X`, which has 3"),
        (X, 1, "`query` must be a row of `X` or a measure"),
        (True, 1, "`query` must be a row"),
        (0, 0, "`k` must be an integer of at least 1"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            nearest(X, query, SLICED, k=k)
    with pytest.raises(InvalidParameterError, match="a measure other than `query`"):
        nearest(X[:1], 0, SLICED)


# -- contributions --------------------------------------------------------------------------------

MODELS = {
    "dual": LSSVMClassifier(euclidean(), gamma=5.0),
    "one against the rest": LSSVMClassifier(euclidean(), gamma=5.0, multiclass="ovr"),
    "primal": LSSVMClassifier(euclidean(), gamma=5.0, solver="primal", n_core=11, random_state=0),
    "chosen": LSSVMClassifierCV(euclidean(), length_scales=[0.5, 2.0], gammas=[1.0, 10.0]),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_terms_and_intercept_are_the_decision(model, n_classes):
    X, y = make_clouds(30, n_classes)
    model.fit(X[:20], y[:20])
    found = contributions(model, X[20:])
    assert_allclose(found.decision, model.binary_decisions(X[20:]), atol=1e-10)
    predicted = model.predict(X[20:])
    for i, problem in enumerate(found.winners):
        negative, positive = found.problems[problem]
        sign = found.decision[i, problem] > 0
        if model.multiclass == "ovr" and n_classes > 2:
            assert positive == predicted[i]
        else:
            assert predicted[i] == (positive if sign else negative)


def test_each_term_is_one_training_measure():
    """Against the sum written out, with samples of weight 0 left out; and the largest terms come first."""
    X, y = make_clouds(24, 2)
    weights = np.ones(20)
    weights[[3, 4]] = 0.0
    kernel = euclidean()
    model = LSSVMClassifier(kernel, gamma=5.0).fit(X[:20], y[:20], sample_weight=weights)
    found = contributions(model, X[20])
    assert 3 not in found.support
    assert len(found.support) == 18
    for place, row in enumerate(found.support):
        term = model.dual_coef_[place, 0] * kernel(X[[20]], X[[int(row)]])[0, 0]
        assert_allclose(found.values[0, place, 0], term)
    largest = found.top(k=3)
    assert_array_equal(np.abs(largest.values), np.sort(np.abs(found.values[0, :, 0]))[::-1][:3])
    assert_allclose(found.values[0, np.searchsorted(found.support, largest.rows), 0], largest.values)
    assert repr(found) == "Contributions(1 samples, 18 training measures, 1 problem)"


def test_core_samples_of_a_primal_machine():
    X, y = make_clouds(30, 2)
    model = LSSVMClassifier(euclidean(), solver="primal", n_core=7, random_state=0).fit(X, y)
    found = contributions(model, X[:4])
    assert_array_equal(found.support, model.features_.support_)
    K = euclidean()(X)
    rows = LSSVMClassifier("precomputed", solver="primal", n_core=7, random_state=0).fit(K, y)
    assert_allclose(contributions(rows, K[:4]).values, found.values, atol=1e-10)


def test_regression_and_precomputed():
    X, y = make_clouds(20, 3)
    model = LSSVMRegressor(euclidean(), gamma=10.0).fit(X, y.astype(float))
    assert_allclose(contributions(model, X).decision[:, 0], model.predict(X), atol=1e-10)
    K = euclidean()(X)
    rows = LSSVMRegressor("precomputed", gamma=10.0).fit(K, y.astype(float))
    assert_allclose(contributions(rows, K[:3]).values, contributions(model, X[:3]).values, atol=1e-10)


def test_what_contributions_refuses():
    X, y = make_clouds(20, 2)
    with pytest.raises(InvalidParameterError, match="For a pipeline, pass its last step"):
        contributions(object(), X)
    with pytest.raises(ValueError, match="not fitted"):
        contributions(LSSVMClassifier(), X)
    primal = LSSVMClassifierCV(euclidean(), solver="primal", length_scales=[1.0], gammas=[1.0]).fit(X, y)
    with pytest.raises(InvalidParameterError, match="solver='dual'"):
        contributions(primal, X)


# -- plans ----------------------------------------------------------------------------------------


def test_the_plan_is_that_of_the_divergence(clouds):
    X = clouds(2, 1)
    found = transport_plan(X[0], X[1], W)
    assert_allclose(found.plan.sum(axis=1), X[:1].probabilities)
    assert_allclose(found.cost, pairwise(X, divergence=W, squared=True)[0, 1])
    moves = found.moves()
    assert_allclose(moves.mass.sum(), 1.0)
    assert_allclose((moves.mass * moves.cost).sum(), found.cost)
    assert (np.diff(moves.mass) <= 0).all()
    assert len(found.moves(2).mass) == 2
    assert_array_equal(transport_plan(X[0], X[1]).plan, found.plan)  # the default


def test_what_plans_refuse(clouds):
    X = clouds(2, 2)
    with pytest.raises(InvalidParameterError, match="Wasserstein or Sinkhorn, which have plans"):
        transport_plan(X[0], X[1], SLICED)
    with pytest.raises(InvalidParameterError, match="`nu` must be one measure"):
        transport_plan(X[0], X, W)


# -- maps -----------------------------------------------------------------------------------------


def test_classical_scaling_finds_euclidean_points():
    X, D = datasets.make_diracs(15, dim=3)
    found = data_map(X, W, n_components=3)
    assert_allclose(pairwise(found.coordinates, divergence=W), D, atol=1e-10)
    assert found.stress < 1e-10
    assert_allclose(found.explained, 1.0)
    plane = data_map(X, W)
    variances = np.sort(np.linalg.eigvalsh(np.cov(X.points.T)))[::-1]
    assert_allclose(plane.explained, variances[:2].sum() / variances.sum())
    assert_allclose(plane.coordinates, found.coordinates[:, :2])
    assert 0.0 < plane.stress < 1.0
    assert repr(plane).startswith("DataMap(mds: 15 measures in dimension 2, stress 0.")


def test_stress_is_the_best_over_all_scales():
    D = indefinite_table(12)
    found = data_map(D, "precomputed")
    shown = np.linalg.norm(found.coordinates[:, None] - found.coordinates[None], axis=-1)
    trials = [np.linalg.norm(D - c * shown) / np.linalg.norm(D) for c in np.linspace(0.01, 3.0, 3000)]
    assert_allclose(found.stress, min(trials), rtol=1e-4)
    J = np.eye(12) - 1 / 12
    values = np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)
    assert values[0] < -0.1  # far from Euclidean: the negative part is not explained
    assert_allclose(found.explained, values[-2:].sum() / np.abs(values).sum())


def test_kernel_pca_is_scikit_learns(clouds):
    from sklearn.decomposition import KernelPCA

    X = clouds(12, 2)
    D = pairwise(X, divergence=SLICED)
    mine = data_map(X, SLICED, method="kernel_pca", length_scale=0.8)
    theirs = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(np.exp(-0.5 * (D / 0.8) ** 2))
    assert_allclose(np.abs(mine.coordinates), np.abs(theirs), atol=1e-8)
    median = data_map(D, "precomputed", method="kernel_pca").coordinates
    assert_allclose(
        median, data_map(D, "precomputed", "kernel_pca", length_scale=np.median(D[D > 0])).coordinates, atol=1e-12
    )


def test_embeddings_of_scikit_learn(clouds):
    X = clouds(20, 2)
    found = data_map(X, SLICED, method=Isomap(metric="precomputed", n_neighbors=8))
    by_hand = Isomap(metric="precomputed", n_neighbors=8).fit_transform(pairwise(X, divergence=SLICED))
    assert_allclose(found.coordinates, by_hand)
    assert found.explained is None
    assert found.method == "Isomap"
    assert 0.0 < found.stress < 1.0
    with pytest.raises(InvalidParameterError, match=r"TSNE\(metric='precomputed'\)"):
        data_map(X, SLICED, method=TSNE())
    with pytest.raises(InvalidParameterError, match="must be set up for them: MDS"):
        data_map(X, SLICED, method=MDS())


def test_degenerate_maps():
    assert data_map(np.zeros((1, 1)), "precomputed").coordinates.tolist() == [[0.0, 0.0]]
    same = data_map(np.zeros((4, 4)), "precomputed", method="kernel_pca")
    assert_array_equal(same.coordinates, 0.0)
    assert same.stress == 0.0
    line = data_map([[0.0], [1.0], [5.0]], W)  # on the line: the second coordinate is 0
    assert_array_equal(line.coordinates[:, 1], 0.0)


def test_what_maps_refuse(clouds):
    X = clouds(4, 2)
    for call, message in [
        (lambda: data_map(X, "euclidean"), "`divergence` must be a divergence such as .* or 'precomputed'; got 'eucl"),
        (lambda: data_map(1.0 - np.eye(3)), "looks like distances between 3 measures"),
        (lambda: data_map(np.ones((2, 2)), "precomputed"), "zero on the diagonal"),
        (lambda: data_map(X, method="pca"), "`method` must be 'mds', 'kernel_pca' or an embedding"),
        (lambda: data_map(X, length_scale=1.0), "for method='kernel_pca' only"),
        (lambda: data_map(X, n_components=0), "`n_components`"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            call()


@pytest.mark.parametrize("method", ["mds", "kernel_pca"])
@pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
def test_maps_do_not_depend_on_the_unit(method, scale):
    points = np.random.default_rng(0).normal(size=(8, 2))
    D = np.linalg.norm(points[:, None] - points, axis=-1)
    found, scaled = (data_map(s * D, "precomputed", method) for s in (1.0, scale))
    assert_allclose(scaled.stress, found.stress, atol=1e-12)  # was nan
    assert_allclose(scaled.coordinates, (scale if method == "mds" else 1.0) * found.coordinates, rtol=1e-12)
