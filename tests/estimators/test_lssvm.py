"""LS-SVM: the system, both solvers, leave-one-out by brute force, decoding by a loop."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from tests.estimators.cases import clouds, euclidean, indefinite, row_numbers

from kermes import LSSVMClassifier, LSSVMRegressor, divergences, ground, kernels
from kermes.exceptions import IllConditionedWarning, NumericalError

SCHEMES = ["ovo", "ovr"]


def oracle(K, y, ridge):
    """Solve the bordered system as it is written."""
    n = len(K)
    C = np.zeros((n + 1, n + 1))
    C[:n, :n] = K + np.diag(ridge)
    C[:n, n] = C[n, :n] = 1.0
    solution = np.linalg.solve(C, np.append(y, 0.0))
    return solution[:n], solution[n]


def binary_oracle(K, K_new, labels, pair, gamma):
    """Return the outputs of one one-versus-one machine at new samples."""
    rows = np.flatnonzero(np.isin(labels, pair))
    y = np.where(labels[rows] == pair[1], 1.0, -1.0)
    alpha, b = oracle(K[np.ix_(rows, rows)], y, np.full(len(rows), 1 / gamma))
    return K_new[:, rows] @ alpha + b


@pytest.mark.parametrize("kernel", [euclidean(), indefinite()], ids=["definite", "indefinite"])
def test_regression_solves_the_system(kernel):
    X = clouds(20)[0] if kernel == euclidean() else row_numbers(20)
    y = np.random.default_rng(0).normal(size=20)
    model = LSSVMRegressor(kernel, gamma=3.0).fit(X, y)
    alpha, b = oracle(kernel(X), y, np.full(20, 1 / 3.0))
    np.testing.assert_allclose(model.dual_coef_[:, 0], alpha, atol=1e-10)
    assert model.intercept_[0] == pytest.approx(b)
    np.testing.assert_allclose(model.predict(X), kernel(X) @ alpha + b, atol=1e-10)


@pytest.mark.parametrize("kernel", [euclidean(), indefinite()], ids=["definite", "indefinite"])
def test_one_versus_one_is_hamming_decoding(kernel):
    X, labels = clouds(20, n_classes=4) if kernel == euclidean() else (row_numbers(20), np.arange(20) % 4)
    train, test = np.arange(16), np.arange(16, 20)
    model = LSSVMClassifier(kernel, gamma=5.0).fit(X[train], labels[train])
    K, K_new = kernel(X[train]), kernel(X[test], X[train])
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    outputs = np.column_stack([binary_oracle(K, K_new, labels[train], pair, 5.0) for pair in pairs])
    np.testing.assert_allclose(model.binary_decisions(X[test]), outputs, atol=1e-9)
    for row, predicted in zip(outputs, model.predict(X[test]), strict=True):
        distance, margin = np.zeros(4), np.zeros(4)
        for c in range(4):
            for (i, j), output in zip(pairs, row, strict=True):
                if c in (i, j):
                    word = 1 if c == j else -1
                    distance[c] += (1 if output > 0 else -1) != word
                    margin[c] += word * output
        assert predicted == min(range(4), key=lambda c: (distance[c], -margin[c]))


def test_ties_go_to_the_larger_margin():
    """Three classes that each win once."""
    model = LSSVMClassifier(euclidean()).fit(*clouds())
    model.binary_decisions = lambda X: np.array(
        [[0.1, -0.3, 0.2], [0.1, -0.1, 0.5]]
    )  # (0,1) -> 1, (0,2) -> 0, (1,2) -> 2
    scores = model.decision_function(None)
    np.testing.assert_array_equal(model.predict(None), [0, 2])
    np.testing.assert_array_equal(np.rint(scores), np.ones((2, 3)))


def test_one_versus_rest_takes_the_largest_output():
    X, labels = clouds()
    model = LSSVMClassifier(euclidean(), multiclass="ovr", gamma=2.0).fit(X, labels)
    K = euclidean()(X)
    for c in range(3):
        alpha, b = oracle(K, np.where(labels == c, 1.0, -1.0), np.full(len(K), 0.5))
        np.testing.assert_allclose(model.decision_function(X)[:, c], K @ alpha + b, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("multiclass", SCHEMES)
def test_primal_equals_dual_for_a_definite_kernel(multiclass):
    X, labels = clouds(30)
    kernel = euclidean(0.3)
    dual = LSSVMClassifier(kernel, gamma=4.0, multiclass=multiclass).fit(X[:24], labels[:24])
    primal = LSSVMClassifier(kernel, gamma=4.0, solver="primal", tol=0.0, multiclass=multiclass)
    primal.fit(X[:24], labels[:24])
    np.testing.assert_allclose(primal.binary_decisions(X), dual.binary_decisions(X), atol=1e-7)


@pytest.mark.parametrize("n_core", [6, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_primal_minimises_its_objective(n_core, weighted):
    """Both routes (more features than samples or fewer) against the normal equations with a bias column."""
    X, labels = clouds(20)
    y, weights = labels + 0.5, (np.linspace(0.5, 2.0, 20) if weighted else np.ones(20))
    model = LSSVMRegressor(euclidean(0.3), gamma=3.0, solver="primal", n_core=n_core, random_state=0)
    model.fit(X, y, sample_weight=weights)
    F = np.column_stack([model.features_.transform(X), np.ones(20)])
    penalty = np.eye(F.shape[1]) / 3.0
    penalty[-1, -1] = 0.0
    solution = np.linalg.solve((F.T * weights) @ F + penalty, (F.T * weights) @ y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), solution, atol=1e-8)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_large_gamma_interpolates(solver):
    X, _ = clouds()
    y = np.random.default_rng(0).normal(size=len(X))
    model = LSSVMRegressor(euclidean(0.3), gamma=1e10, solver=solver, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)


@pytest.mark.parametrize("kernel", [euclidean(), indefinite()], ids=["definite", "indefinite"])
@pytest.mark.parametrize("multiclass", SCHEMES)
def test_leave_one_out_against_brute_force(kernel, multiclass):
    X, labels = clouds(20) if kernel == euclidean() else (row_numbers(20), np.arange(20) % 3)
    model = LSSVMClassifier(kernel, gamma=2.0, multiclass=multiclass)
    brute = cross_val_predict(model, X, labels, cv=LeaveOneOut(), method="decision_function")
    model.fit(X, labels)
    np.testing.assert_allclose(model.loo_decision_function(), brute, atol=1e-9)
    np.testing.assert_array_equal(model.loo_predict(), brute.argmax(axis=1))
    assert model.loo_score() == pytest.approx(np.mean(brute.argmax(axis=1) == labels))


def test_weighted_leave_one_out_of_regression_against_brute_force():
    X, _ = clouds(12)
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=12), rng.uniform(0.5, 2.0, 12)
    model = LSSVMRegressor(euclidean(), gamma=2.0).fit(X, y, sample_weight=weights)
    for i, predicted in enumerate(model.loo_predict()):
        others = np.delete(np.arange(12), i)
        without = clone(model).fit(X[others], y[others], sample_weight=weights[others])
        assert predicted == pytest.approx(without.predict(X[[i]])[0])
    residual = ((y - model.loo_predict()) ** 2).sum()
    assert model.loo_score() == pytest.approx(1 - residual / ((y - y.mean()) ** 2).sum())


def test_precomputed_equals_the_kernel_and_is_pairwise():
    X, labels = clouds()
    K = euclidean()(X)
    weights = np.ones(18)
    weights[4] = 0.0
    for solver in ("dual", "primal"):
        model = LSSVMClassifier(euclidean(), solver=solver).fit(X[:18], labels[:18], weights)
        table = LSSVMClassifier("precomputed", solver=solver).fit(K[:18, :18], labels[:18], weights)
        np.testing.assert_allclose(table.decision_function(K[18:, :18]), model.decision_function(X[18:]), atol=1e-9)
    grid = {"gamma": [0.1, 1.0]}
    by_table = GridSearchCV(LSSVMClassifier("precomputed"), grid, cv=3).fit(K, labels)
    by_kernel = GridSearchCV(LSSVMClassifier(euclidean()), grid, cv=3).fit(X, labels)
    np.testing.assert_allclose(by_table.cv_results_["mean_test_score"], by_kernel.cv_results_["mean_test_score"])


def test_search_reaches_the_kernel_and_pickles():
    X, labels = clouds(48)
    names = np.array(["a", "b", "c"])[labels]
    kernel = kernels.MassWeighted(euclidean())
    grid = {"kernel__kernel__length_scale": [1e-3, 1.0], "gamma": [1.0, 100.0]}
    search = GridSearchCV(LSSVMClassifier(kernel), grid, cv=3).fit(X, names)
    assert search.best_params_["kernel__kernel__length_scale"] == 1.0
    assert search.score(X, names) > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_shapes_of_two_classes():
    X, labels = clouds(n_classes=2)
    model = LSSVMClassifier(euclidean()).fit(X, labels)
    assert model.decision_function(X).shape == (24,)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert model.loo_decision_function().shape == (24,)
    assert model.n_features_in_ == 2


def test_singular_and_nearly_singular_systems():
    K = np.array([[0.0, 2.0], [2.0, 0.0]])  # eigenvalues -2 and 2
    with pytest.raises(NumericalError, match=r"the LS-SVM system is singular: .* Change gamma a little"):
        LSSVMRegressor("precomputed", gamma=0.5).fit(K, [0.0, 1.0])
    # A large entry puts the condition number beyond the limits of all versions of SciPy, which differ by a factor 2.
    K = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1000.0]])
    with pytest.warns(IllConditionedWarning, match="the LS-SVM system is nearly singular"):
        LSSVMRegressor("precomputed", gamma=np.nextafter(0.5, 1.0)).fit(K, [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "`gamma` must be a finite number greater than 0; got 0.0"),
        ({"gamma": -1.0}, "`gamma` must be a finite number greater than 0"),
        ({"solver": "duel"}, "`solver` must be one of 'dual', 'primal'; got 'duel'. Did you mean 'dual'"),
        ({"multiclass": "all"}, "`multiclass` must be one of 'ovo', 'ovr'"),
        ({"n_core": 5}, "`n_core` must be None with solver='dual'.* Use solver='primal'"),
        ({"n_core": 99, "solver": "primal"}, "`n_core` must be at most the number of training samples"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        LSSVMClassifier(**{"kernel": euclidean(), **parameters}).fit(*clouds())


def test_bad_data():
    X, labels = clouds()
    model = LSSVMClassifier(euclidean())
    with pytest.raises(ValueError, match=r"needs samples of at least two classes; `y` holds one class only, .*1"):
        model.fit(X, np.ones(24))
    with pytest.raises(ValueError, match="needs samples of at least two classes"):
        model.fit(X, labels, sample_weight=(labels == 1).astype(float))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, labels[:-1])
    with pytest.raises(
        ValueError, match="`sample_weight` must hold one finite number of at least 0 for each of the 24"
    ):
        model.fit(X, labels, sample_weight=-np.ones(24))
    with pytest.raises(ValueError, match="needs solver='dual'"):
        LSSVMClassifier(euclidean(), solver="primal").fit(X, labels).loo_score()
    with pytest.raises(ValueError, match="leave-one-out needs at least two training samples"):
        LSSVMRegressor(euclidean()).fit(X[:1], [1.0]).loo_predict()
    with pytest.raises(ValueError, match="`X` must be symmetric"):
        LSSVMClassifier("precomputed").fit(np.triu(np.ones((24, 24))), labels)


def test_kernel_parameter_is_not_touched():
    X, labels = clouds()
    kernel = kernels.Exponential(divergences.MMD(ground.Linear()), length_scale=2.0)
    model = LSSVMClassifier(kernel).fit(X, labels)
    assert model.kernel is kernel
    assert model.kernel_ is not kernel
    assert model.kernel_ == kernel
