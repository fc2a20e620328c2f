"""The paper `gpm`: R's random numbers, both procedures, and every piece at toy size."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from kermes import Engine, MeasureGPRegressor, Measures, divergences, ground, kernels
from kermes.papers.gpm import authors, corrected, data, exponents, run
from kermes.papers.gpm.data import RRandom, simplex_problem
from kermes.papers.gpm.run import PAPER


@pytest.fixture
def tiny(monkeypatch):
    """Two runs of everything, one or two numbers of samples, one process."""
    settings = deepcopy(PAPER.settings)
    settings |= {
        "workers": 1,
        "block": 1,
        "samples": [3, 4],
        "centred": [3],
        "ablation": [3],
        "grid": 8,
        "shown": [3, 4],
    }
    few = {"runs": 2, "samples": [3]}
    settings["quick"] = {
        "failures": 2, "centred": 2, "bird": 2, "rmse": few, "ablation": 2, "corrected": few, "theorem4": 1,
    }  # fmt: skip
    monkeypatch.setattr(PAPER, "settings", settings)
    return settings


def test_all_pieces(tiny, tmp_path):
    pytest.importorskip("matplotlib")
    said = []
    summary = PAPER.reproduce("quick", tmp_path, say=said.append)
    assert list(summary) == list(PAPER.pieces)
    for name in PAPER.pieces:
        assert (tmp_path / f"{name}.png").stat().st_size > 1500
    for table in PAPER.tables("quick", summary):
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows), table.title
    assert summary["figure11"]["cost of two rows"] == [100.0, 100.0]
    assert summary["figure10"]["as run"] == summary["figure9"]
    scores = summary["corrected"]["scores"]
    assert list(scores["xiong"]) == ["SE", "WSE"]
    assert len(scores["bird"]) == 4
    assert all(np.isfinite(s["rmse"]).all() for methods in scores.values() for s in methods.values())
    assert max(gap[0] for gap in summary["corrected"]["theorem4"].values()) < 1e-12
    heard = len(said)
    assert PAPER.reproduce("quick", tmp_path, ("figure12",), said.append) == {"figure12": summary["figure12"]}
    assert len(said) == heard  # runs are kept


def test_random_numbers_of_r():
    # set.seed(42); runif(3)
    assert_allclose(RRandom(42).uniform(3), [0.9148060435, 0.9370754133, 0.2861395348], atol=1e-10)
    # The points of Figure 6: runif(70)[sample(70, 7)] after set.seed(1)
    assert_array_equal(data.seven_points()[:, 0].round(4), [0.6509, 0.687, 0.4113, 0.4772, 0.6517, 0.8697, 0.0842])


def test_inputs_of_the_authors():
    A, _ = data.authors_inputs(500)
    assert A.shape == (20, 2)
    assert_allclose(A, A.round(2), atol=1e-12)
    assert A.min() >= 0.01
    with_equal = [r for r in range(1, 501) if len(np.unique(data.authors_inputs(r)[0][:, 0])) < 20]
    assert len(with_equal) == 23
    for name, zero in (("problem02", 0.864), ("problem13", 1.447), ("problem15", 3.247), ("xiong", 0.443)):
        truth = simplex_problem(name)(data.test_inputs(name))
        assert len(truth) == 50
        assert_allclose(np.sqrt(np.mean(truth**2)), zero, atol=5e-4)
    assert data.test_inputs("bird").shape == (1275, 3)


def test_exponents_are_those_of_the_kernels():
    A = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    X = Measures.from_histograms(A, [0.0, 1.0, 2.0])
    cost = ground.Binary.from_cost(exponents.COST)
    rho = np.array([0.4, 0.7, 1.1])

    def gram(exponent, scales):
        return np.exp(-0.5 * (exponent(A, A) / scales**2).sum(axis=2))

    anisotropic = kernels.AnisotropicWasserstein(rho, cost)
    assert_allclose(gram(exponents.symmetrised, rho), anisotropic(X), rtol=1e-10)
    assert_allclose(gram(exponents.directional, rho), anisotropic.directional(X), rtol=1e-10)
    wse = kernels.Exponential(divergences.Wasserstein(p=2, cost=cost), 0.7, engine=Engine(progress=False))
    assert_allclose(gram(exponents.isotropic, 0.7), wse(X), rtol=1e-10)
    se = kernels.Exponential(divergences.Euclidean(), 0.7, engine=Engine(progress=False))
    assert_allclose(gram(exponents.se_isotropic, 0.7), se(X), rtol=1e-10)
    mirrored = gram(exponents.mirrored, rho)
    assert_array_equal(exponents.mirrored(A, A.copy()), exponents.mirrored(A, A))
    upper = np.triu_indices(6)
    assert_array_equal(mirrored, mirrored.T)
    assert_array_equal(mirrored[upper], gram(exponents.directional, rho)[upper])
    assert_allclose(exponents.theorem4(A, A, rho), (exponents.se(A, A) / rho**2).sum(axis=2), atol=1e-12)


def test_two_weights_need_one_length_scale():
    A, _ = data.authors_inputs(1)
    rho = np.array([0.3, 0.9])
    one = (2 / (rho**-2).sum()) ** 0.5
    both = (exponents.symmetrised(A, A) / rho**2).sum(axis=2)
    assert_allclose(both, exponents.isotropic(A, A)[:, :, 0] / one**2, atol=1e-12)


@pytest.mark.parametrize(("method", "seed"), [("SE", 0), ("WSE", 1)])
def test_corrected_fit_is_that_of_the_estimator(method, seed):
    A, _ = data.authors_inputs(3)
    A = A[:9]
    y = simplex_problem("problem02")(A)
    F = corrected.METHODS[method](A, A)
    model = corrected.fit(F, y, seed)
    scale, variance, noise = np.exp(model.logs)
    divergence = (
        divergences.Euclidean()
        if method == "SE"
        else divergences.Wasserstein(p=2, cost=ground.Binary.from_cost(exponents.COST))
    )
    kernel = ConstantKernel(variance) * kernels.Exponential(divergence, scale, engine=Engine(progress=False))
    estimator = MeasureGPRegressor(kernel + WhiteKernel(noise), alpha=0.0, optimizer=None, normalize_y=True)
    X = Measures.from_histograms(A, [0.0, 1.0])
    estimator.fit(X, y)
    assert_allclose(-estimator.log_marginal_likelihood_value_, model.value, rtol=1e-6)
    new = data.test_inputs("problem02")[::7]
    mean, std = estimator.predict(Measures.from_histograms(new, [0.0, 1.0]), return_std=True)
    found = corrected.predict(F, corrected.METHODS[method](new, A), y, model)
    assert_allclose(found[0], mean, atol=1e-5)
    assert_allclose(found[1], std, atol=1e-5)


def test_corrected_fit_is_at_the_optimum():
    A, _ = data.authors_inputs(2)
    y = simplex_problem("xiong")(A)
    X = Measures.from_histograms(A, [0.0, 1.0])
    divergence = divergences.Wasserstein(p=2, cost=ground.Binary.from_cost(exponents.COST))
    kernel = ConstantKernel(1.0, corrected.VARIANCE) * kernels.Exponential(
        divergence, 0.3, length_scale_bounds=corrected.SCALES, engine=Engine(progress=False)
    ) + WhiteKernel(1e-4, corrected.NOISE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hyperparameters at their bounds
        estimator = MeasureGPRegressor(kernel, alpha=0.0, n_restarts_optimizer=4, normalize_y=True, random_state=0).fit(
            X, y
        )
    model = corrected.fit(exponents.isotropic(A, A), y, seed=0)
    assert model.value <= -estimator.log_marginal_likelihood_value_ + 1e-4


def test_corrected_fit_survives_equal_inputs_and_constant_targets():
    A = np.array([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    F = exponents.se_isotropic(A, A)
    for y in (np.array([1.0, 2.0, 0.0]), np.ones(3)):
        model = corrected.fit(F, y, seed=0)
        mean, std = corrected.predict(F, F, y, model)
        assert np.isfinite(mean).all()
        assert (std > 0).all()
    assert_allclose(mean, 1.0, atol=1e-6)


def test_mirrored_matrices_stop_the_fit_and_symmetric_ones_do_not():
    failed = {v: [authors.failures_of_variant("problem02", v, r, [8])[0] for r in (1, 2)] for v in authors.VARIANTS}
    assert failed == {
        "mirrored": [True, True],
        "mirrored, sorted": [False, False],
        "directional": [False, False],
        "symmetrised": [False, False],
    }


def test_first_failures_of_some_runs():
    # Measured here; the first failing sizes agree with the published counts over all 500 runs.
    assert [authors.first_failure("problem02", r, last=7) for r in (1, 2, 3)] == [5, 5, 6]
    assert authors.first_failure("problem13", 443, last=4) is None  # var y below the least variance at 4 samples


def test_errors_of_the_authors_procedure_use_se_parameters_for_both():
    errors = authors.rmse_of_run("problem02", 1, [3, 5])
    A, random = data.authors_inputs(1)
    f = simplex_problem("problem02")
    y, new = f(A)[:3], data.test_inputs("problem02")
    model = authors.fit(exponents.se(A[:3], A[:3]), y, random)
    for name, exponent in (("SE", exponents.se), ("WSE", exponents.mirrored)):
        found = authors.predict(exponent(A[:3], A[:3]), exponent(new, A[:3]), y, model)
        assert_allclose(errors[name][0], np.sqrt(np.mean((found - f(new)) ** 2)), rtol=1e-12)
    assert errors["WSE"][1] is None  # the fit at 5 samples stops
    assert errors["SE"][1] > 0


def test_undefined_shares_of_figures_6_and_7():
    settings = PAPER.settings
    for nugget, known in zip(settings["nuggets"], ("figure6", "figure7"), strict=True):
        found = run._surfaces(settings, nugget)[0]["undefined"]
        for name, share in PAPER.expected["paper"]["undefined"][known].items():
            assert abs(found[name] - share) < PAPER.expected["tolerance"]["paper"]["undefined"]


def test_deviations_are_named():
    paper = PAPER.expected["paper"]
    found = {
        "samples": PAPER.settings["samples"],
        "runs": 500,
        "failed": {p: list(v) for p, v in paper["failed"].items()},
    }
    assert PAPER.deviations("full", {"figure9": found}) == []
    found["failed"]["xiong"][2] += 300 * np.sqrt(0.124 * 0.876 / 500) + 0.1
    found["failed"]["problem13"][0] = 0.4  # two runs of 500 where there was none
    assert PAPER.deviations("full", {"figure9": found}) == [
        "failed fits, modified Xiong, 5 samples: 16.9 % against 12.4 %, which has +-4.4 %"
    ]
    shares = {"undefined": dict(paper["undefined"]["figure6"], SE=20.0)}
    assert PAPER.deviations("full", {"figure6": shares}) == ["figure6, SE: 20.0 % against 25.2 %"]


def test_recorded_errors_are_held_against():
    recorded = PAPER.expected["quick"]
    scores = {p: {m: {"rmse": list(v)} for m, v in methods.items()} for p, methods in recorded.items()}
    found = {"samples": PAPER.settings["quick"]["corrected"]["samples"], "scores": scores}
    assert scores.keys() == data.NAMES.keys()
    assert PAPER.deviations("quick", {"corrected": found}) == []
    scores["bird"]["WSE"]["rmse"][-1] *= 1.2
    assert len(PAPER.deviations("quick", {"corrected": found})) == 1


def test_recorded_failures_are_the_published_ones():
    published = data.read_reference("failed_percent", PAPER.settings["samples"])
    if not published:
        pytest.skip("needs gp_on_measures/reference.csv, which is not ours to ship; KERMES_DATA names its folder")
    for problem, values in PAPER.expected["paper"]["failed"].items():
        assert values == published[problem]["WSE"]


def test_config_holds_the_protocol_of_the_paper():
    settings = PAPER.settings
    assert settings["samples"] == list(range(3, 21))
    assert (
        settings["full"]["failures"] == settings["full"]["rmse"]["runs"] == settings["full"]["corrected"]["runs"] == 500
    )
    assert (authors.RESTARTS, authors.SCALES, authors.LEAST_VARIANCE) == (10, (0.1, 1.0), 1e-5)


def test_processor_seconds_by_size(tmp_path, monkeypatch):
    monkeypatch.setitem(PAPER.settings, "cost", {"pairs": [[10, 4], [12, 4]]})
    summary = PAPER.reproduce("quick", tmp_path, ("cost",))
    (table,) = PAPER.tables("quick", summary)
    assert [row[:2] for row in table.rows] == [["10", "4"], ["12", "4"]]
    assert all(seconds["step"] > 0 for seconds in summary["cost"]["seconds"].values())
