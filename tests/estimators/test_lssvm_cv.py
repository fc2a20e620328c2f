"""LSSVMClassifierCV: the choice against a naive double loop, and the work it does."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from tests.counted import Counted
from tests.estimators.cases import clouds, euclidean, indefinite, row_numbers

from kermes import Engine, LSSVMClassifier, LSSVMClassifierCV, divergences, ground, kernels
from kermes._linalg import eigh
from kermes.estimators import _lssvm_cv, _solve
from kermes.exceptions import IndefiniteKernelWarning

SCALES = np.array([0.05, 0.6, 3.0])
GAMMAS = np.array([0.1, 3.0, 50.0])
PAIRS = list(itertools.combinations(range(3), 2))


def data(n=60, seed=1):
    return clouds(n, seed=seed)


def naive(kernel, splits, X, labels, scales=SCALES):
    """Return the error of every binary problem at every grid point, by fitting a binary machine for each."""
    errors = np.zeros((len(PAIRS), len(scales), len(GAMMAS)))
    for (p, pair), (k, scale), (g, gamma) in itertools.product(enumerate(PAIRS), enumerate(scales), enumerate(GAMMAS)):
        wrong = total = 0
        for train, test in splits:
            train, test = train[np.isin(labels[train], pair)], test[np.isin(labels[test], pair)]
            if not len(test):
                continue
            model = LSSVMClassifier(kernel(scale), gamma=gamma).fit(X[train], labels[train])
            wrong += np.count_nonzero(model.predict(X[test]) != labels[test])
            total += len(test)
        errors[p, k, g] = wrong / total
    return errors


def check_choice(model, errors):
    """The chosen grid point has the least error, and among those the least loss."""
    np.testing.assert_allclose(model.errors_, errors, atol=1e-12)
    for p in range(len(PAIRS)):
        k = np.flatnonzero(model.length_scale_[p] == model.length_scales_)[0]
        g = np.flatnonzero(model.gamma_[p] == model.gammas_)[0]
        least = errors[p] == errors[p].min()
        assert least[k, g]
        assert model.losses_[p, k, g] == model.losses_[p][least].min()


def test_validation_set_against_a_naive_loop():
    X, labels = data()
    train, test = np.arange(36), np.arange(36, 60)
    model = LSSVMClassifierCV(euclidean(), SCALES, GAMMAS).fit(X[train], labels[train], X[test], labels[test])
    check_choice(model, naive(euclidean, [(train, test)], X, labels))
    for p, pair in enumerate(PAIRS):  # the machines in use are those of the choice, trained on X alone
        rows = train[np.isin(labels[train], pair)]
        binary = LSSVMClassifier(euclidean(model.length_scale_[p]), gamma=model.gamma_[p]).fit(X[rows], labels[rows])
        np.testing.assert_allclose(model.binary_decisions(X)[:, p], binary.decision_function(X), atol=1e-9)


def test_leave_one_out_against_a_naive_loop():
    X, labels = data(24)
    rows = np.arange(24)
    model = LSSVMClassifierCV(euclidean(), SCALES, GAMMAS).fit(X, labels)
    check_choice(model, naive(euclidean, [(np.delete(rows, i), rows[[i]]) for i in rows], X, labels))


def test_folds_against_a_naive_loop():
    X, labels = data(36)
    splits = list(StratifiedKFold(3).split(np.zeros(36), labels))
    check_choice(
        LSSVMClassifierCV(euclidean(), SCALES, GAMMAS, cv=3).fit(X, labels), naive(euclidean, splits, X, labels)
    )


def test_indefinite_kernel_against_a_naive_loop():
    X, labels = row_numbers(40), np.arange(40) % 3
    train, test = np.arange(28), np.arange(28, 40)

    def kernel(scale=1.0):
        return indefinite(scale, n=40)

    scales = np.array([0.5, 1.0, 3.0])
    model = LSSVMClassifierCV(kernel(), scales, GAMMAS).fit(X[train], labels[train], X[test], labels[test])
    check_choice(model, naive(kernel, [(train, test)], X, labels, scales))


@pytest.mark.parametrize("n_core", [10, 36])
def test_primal_shares_the_feature_map(n_core):
    """Outputs of a shared feature map: one LSSVMClassifier with that map, restricted to each pair by its code words."""
    X, labels = data()
    train, test = np.arange(36), np.arange(36, 60)
    model = LSSVMClassifierCV(euclidean(), SCALES, GAMMAS, solver="primal", n_core=n_core, random_state=0)
    model.fit(X[train], labels[train], X[test], labels[test])
    errors = np.zeros_like(model.errors_)
    for (k, scale), (g, gamma) in itertools.product(enumerate(SCALES), enumerate(GAMMAS)):
        same = LSSVMClassifier(euclidean(scale), gamma, "primal", n_core, random_state=model._seed)
        outputs = same.fit(X[train], labels[train]).binary_decisions(X[test])
        for p, pair in enumerate(PAIRS):
            rows = np.isin(labels[test], pair)
            errors[p, k, g] = np.mean((outputs[rows, p] > 0) != (labels[test][rows] == pair[1]))
    check_choice(model, errors)


@pytest.mark.parametrize("n_features", [4, 30])
def test_primal_path_and_its_leave_one_out(n_features):
    rng = np.random.default_rng(0)
    F, y = rng.normal(size=(12, n_features)), np.where(rng.normal(size=12) > 0, 1.0, -1.0)
    path = _solve.PrimalFactor(F).path(y, GAMMAS)
    left_out = path.leave_one_out()
    for g, gamma in enumerate(GAMMAS):
        w, b = _solve.primal(F, y[:, None], np.full(12, 1 / gamma))
        np.testing.assert_allclose(path.outputs(F)[:, g], (F @ w + b)[:, 0], atol=1e-9)
        for i in range(12):
            rows = np.delete(np.arange(12), i)
            w, b = _solve.primal(F[rows], y[rows, None], np.full(11, 1 / gamma))
            assert left_out[i, g] == pytest.approx((F[i] @ w + b)[0])


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_one_versus_rest(solver):
    X, labels = data()
    model = LSSVMClassifierCV(euclidean(), SCALES, GAMMAS, multiclass="ovr", solver=solver).fit(X, labels)
    assert model.errors_.shape == (3, 3, 3)
    for p in range(3):
        one = LSSVMClassifier(euclidean(model.length_scale_[p]), model.gamma_[p], solver, multiclass="ovr")
        expected = one.fit(X, labels).decision_function(X)[:, p]
        np.testing.assert_allclose(model.decision_function(X)[:, p], expected, atol=1e-8)
    assert model.score(X, labels) > 0.7


def test_each_pair_is_evaluated_once(tmp_path):
    X, labels = data()
    divergence = Counted(ground.Linear(), counter=str(tmp_path / "count"))
    kernel = kernels.MassWeighted(kernels.Exponential(divergence, engine=Engine(executor="serial")))
    model = LSSVMClassifierCV(kernel, SCALES, GAMMAS).fit(X[:40], labels[:40], X[40:], labels[40:])
    model.predict(X[40:])
    assert divergence.n_pairs == 40 * 39 // 2 + 40 * 20


def test_one_factorisation_for_each_length_scale_and_problem(monkeypatch):
    X, labels = data()
    made = []
    original = _solve.DualFactor.__init__
    monkeypatch.setattr(_solve.DualFactor, "__init__", lambda self, K: (made.append(len(K)), original(self, K))[1])
    LSSVMClassifierCV(euclidean(), SCALES, GAMMAS).fit(X[:40], labels[:40], X[40:], labels[40:])
    assert len(made) == len(SCALES) * len(PAIRS)


def test_one_feature_map_for_each_length_scale(monkeypatch):
    X, y = data(30)
    made = []
    original = _lssvm_cv.feature_map
    monkeypatch.setattr(_lssvm_cv, "feature_map", lambda *args: made.append(1) or original(*args))
    model = LSSVMClassifierCV(euclidean(), length_scales=SCALES, gammas=GAMMAS, solver="primal")
    model.fit(X, y)
    assert len(made) == len(SCALES)
    assert len(model._machines) == len(np.unique(model.length_scale_))
    made.clear()
    model.set_params(cv=3).fit(X, y)  # maps of folds are not those of all samples
    assert len(made) == 3 * len(SCALES) + len(np.unique(model.length_scale_))


def test_one_fold_is_not_all_samples():
    X, labels = data(30)
    fold = [(np.arange(20), np.arange(20, 30))]
    model = LSSVMClassifierCV(euclidean(), SCALES[1:2], GAMMAS[:1], solver="primal", cv=fold).fit(X, labels)
    same = LSSVMClassifier(euclidean(SCALES[1]), gamma=GAMMAS[0], solver="primal").fit(X, labels)
    np.testing.assert_allclose(model.binary_decisions(X), same.binary_decisions(X), atol=1e-8)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_pickles(solver):
    X, labels = data()
    model = LSSVMClassifierCV(euclidean(), SCALES, GAMMAS, solver=solver).fit(X, labels)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_default_grids():
    X, labels = data()
    model = LSSVMClassifierCV().fit(X, labels)
    assert len(model.length_scales_) == 9
    assert model.length_scales_[4] == pytest.approx(model.kernel_.length_scale)
    assert model.score(X, labels) > 0.7


def test_primal_tells_what_its_features_leave_out():
    model = LSSVMClassifierCV(indefinite(n=40), [3.0], GAMMAS, solver="primal")
    with pytest.warns(IndefiniteKernelWarning, match="of the spectrum of the Gram matrix is negative"):
        model.fit(row_numbers(40), np.arange(40) % 2)


def singular_gamma(K):
    """Return a gamma whose ridge cancels an eigenvalue of K to the last bit."""
    for value in eigh(K)[0]:
        for gamma in (-1.0 / value, np.nextafter(-1.0 / value, 0.0), np.nextafter(-1.0 / value, np.inf)):
            if gamma > 0 and value + 1.0 / gamma == 0.0:
                return gamma
    return pytest.fail("no ridge cancels an eigenvalue")


def test_path_of_a_singular_system_is_not_finite():
    """The eigenvalue -2 meets the ridge 1 / gamma = 2."""
    K = np.array([[0.0, 2.0], [2.0, 0.0]])
    path = _solve.DualFactor(K).path(np.array([-1.0, 1.0]), np.array([0.5, 1.0]))
    assert not np.isfinite(path.coef[:, 0]).all()
    assert np.isfinite(path.coef[:, 1]).all()


def test_singular_system_is_never_chosen():
    X, labels = row_numbers(20), np.arange(20) % 2
    train, test = np.arange(12), np.arange(12, 20)
    kernel = indefinite()
    gamma = singular_gamma(kernel(X[train]))
    model = LSSVMClassifierCV(kernel, [kernel.length_scale], [gamma, 1e-3])
    model.fit(X[train], labels[train], X[test], labels[test])
    assert model.errors_[0, 0, 0] == 1.0
    assert model.losses_[0, 0, 0] == np.inf
    assert model.gamma_ == [1e-3]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gammas": [1.0, 0.0]}, "`gammas` must be a 1-D array of finite numbers greater than 0"),
        ({"length_scales": []}, "`length_scales` must be a 1-D array"),
        ({"kernel": "precomputed"}, "`kernel` must have a length_scale to choose; got 'precomputed'"),
        (
            {"kernel": euclidean() + euclidean()},
            "must have exactly one parameter length_scale .* k1__length_scale, k2__",
        ),
        ({"solver": "both"}, "`solver` must be one of"),
        ({"n_core": 3}, "`n_core` must be None with solver='dual'"),
        ({"multiclass": "both"}, "`multiclass` must be one of"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        LSSVMClassifierCV(**{"kernel": euclidean(), **parameters}).fit(*data())


def test_bad_data():
    X, labels = data()
    model = LSSVMClassifierCV(euclidean(), SCALES, GAMMAS)
    with pytest.raises(ValueError, match="needs samples of at least two classes"):
        model.fit(X, np.zeros(60))
    with pytest.raises(ValueError, match=r"`y_val` has no sample of class .*2.*; each binary problem"):
        model.fit(X, labels, X[:2], labels[:2])
    with pytest.raises(ValueError, match=r"`y_val` has the class .*7.*, which `y` lacks"):
        model.fit(X, labels, X[:4], [0, 1, 2, 7])
    with pytest.raises(ValueError, match=r"the folds of `cv` leave class .*0.* out of a training set"):
        LSSVMClassifierCV(euclidean(), cv=[(np.flatnonzero(labels > 0), np.arange(60))]).fit(X, labels)
    with pytest.raises(ValueError, match="`X_val` and `y_val` must be given together"):
        model.fit(X, labels, X[:4])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, labels, X[:4], labels[:3])


def test_the_engine_of_the_kernel_judges_the_problems():
    X, y = clouds(24)
    errors = []
    for engine in (Engine("serial"), Engine(workers=3)):
        kernel = kernels.Exponential(divergences.SlicedWasserstein(n_slices=5), engine=engine)
        model = LSSVMClassifierCV(kernel, cv=2).fit(X, y)
        assert model._engine() is engine
        errors.append((model.errors_, model.losses_, model.binary_decisions(X)))
    for serial, threads in zip(*errors, strict=True):
        np.testing.assert_array_equal(serial, threads)
