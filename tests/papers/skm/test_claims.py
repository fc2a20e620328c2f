"""The claims in the text of `skm`, and other readings of its protocol, at toy size."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kermes import Measures, ground, inspection, kernels
from kermes.papers import _digits
from kermes.papers.skm import claims
from kermes.papers.skm.run import PAPER


def test_both_pieces_run_and_are_kept(shrink, tmp_path):
    sizes = {"images": 8, "points": [8], "splits": 1}
    shrink(PAPER, {"discarded": sizes, "explanations": sizes}, sigma=0.2)
    said = []
    summary = PAPER.reproduce("quick", tmp_path, ("discarded", "explanations"), said.append)
    assert len(said) == 5 + 4
    assert all(0 <= row["not converged"] <= 100 for row in summary["discarded"]["rows"].values())
    assert list(summary["explanations"]["rows"]) == [
        "as in Table 1", "one fold of three trains", "no intercept", "images of the test set",
    ]  # fmt: skip
    discarded, explanations = PAPER.tables("quick", summary)
    assert len(discarded.rows) == 5
    assert all(len(row) == len(explanations.header) for row in explanations.rows)
    assert PAPER.reproduce("quick", tmp_path, ("explanations",), said.append)["explanations"] == summary["explanations"]
    assert len(said) == 9


def test_times_of_each_column(shrink, tmp_path):
    shrink(PAPER, {"table1": {"images": 1, "points": [6, 8], "samplings": 1, "splits": 1}}, sigma=0.2)
    summary = PAPER.reproduce("quick", tmp_path, ("times",), lambda line: None)
    (table,) = PAPER.tables("quick", summary)
    assert table.header == ["kernel", "6 points", "8 points", "last / first"]
    assert [row[0] for row in table.rows] == ["k-IGV", "k-B", "RBF, sigma 0.1", "polynomial"]
    assert all(float(cell) >= 0 for row in table.rows for cell in row[1:3])


def test_the_papers_minutes_stand_below_ours():
    seconds = {name: dict.fromkeys(known, 2.0) for name, known in PAPER.expected["paper"]["times"].items()}
    (table,) = PAPER.tables("full", {"times": {"seconds": seconds}})
    assert table.rows[:2] == [
        ["k-IGV", "2", "2", "2", "2", "2", "1.0"],
        ["  paper, minutes", "1000", "1400", "2400", "2500", "3200", "3.2"],
    ]


def test_k_b_with_other_parameters(shrink, tmp_path):
    sizes = {"images": 4, "points": [6], "splits": 2, "etas": [0.01, 0.1], "sigmas": [0.2]}
    settings = shrink(PAPER, {"other_parameters": sizes}, sigma=0.2)
    settings["full"] = {"other_parameters": sizes, "table1": sizes}
    said = []
    summary = PAPER.reproduce("full", tmp_path, ("other_parameters",), said.append)
    assert said[0].startswith("other_parameters: 0 of 1 parts are there; the others take about 0.0 minutes")
    (table,) = PAPER.tables("full", summary)
    assert table.header == ["sigma", "eta 0.01", "eta 0.1"]
    assert len(table.rows) == 1
    run = claims.Run(settings, settings["full"], {}, tmp_path, print)
    other, times = sorted(PAPER.ahead(run, {"times", "other_parameters"}))
    assert other.startswith("other_parameters: 1 of 1 parts are there")
    assert times.startswith("times: 0 of 2 parts are there; the others take about 0.0 minutes")


def test_eigenvalues_of_a_narrow_and_a_wide_point_kernel(small_digits):
    """Narrow: all but the one that centring takes are 1/d. Wide: before centring, one is 1 and the others 0."""
    (measure, *_) = _digits.sample(_digits.first_of_each(1), 0, [30], 0).measures
    assert len(measure.points) == 30
    narrow = inspection.covariance_spectrum(measure, ground.Gaussian(sigma=0.02), 29).eigenvalues
    np.testing.assert_allclose(narrow, 1 / 30, rtol=1e-6)
    wide = np.linalg.eigvalsh(ground.Gaussian(sigma=10.0)(measure.points, measure.points) / 30)
    assert wide[-1] > 0.99 > 0.01 > wide[-2]


def test_the_function_of_appendix_a():
    """The integral of exp(mu([0, t])) over t in [0, 1] is continuous, though each exp(mu([0, t])) is not."""
    t = (np.arange(2000) + 0.5) / 2000
    kernel = kernels.SemigroupMixture(lambda x: -(x <= t).astype(float), np.full(2000, 1 / 2000))
    rng = np.random.default_rng(0)
    X = Measures.from_samples(
        [rng.random((n, 1)) for n in (1, 2, 3, 3, 5, 8)], [rng.random(n) for n in (1, 2, 3, 3, 5, 8)]
    )
    K = kernel(X)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * K.max()
    exact = (1 - 0.3) * np.e + 0.3  # of an atom of mass 1 at 0.3, as the sum of two halves
    halves = Measures.from_samples([[[0.3]], [[0.3]]], [[0.5], [0.5]])
    assert kernel(halves)[0, 1] == pytest.approx(exact, abs=2e-3)
    moved = Measures.from_samples([[[0.31]], [[0.31]]], [[0.5], [0.5]])
    assert abs(kernel(moved)[0, 1] - exact) == pytest.approx(0.01 * (np.e - 1), abs=2e-3)


def test_a_machine_without_intercept_has_none():
    x = np.array([1.0, 3.0])
    K = np.outer(x, x)
    fitted = SVC(kernel="precomputed", C=10.0).fit(np.block([[K, -K], [-K, K]]), [False, True, True, False])
    assert fitted.intercept_[0] == pytest.approx(0.0, abs=1e-9)
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(8, 2)) + [3, 0], rng.normal(size=(8, 2)) + [0, 3]])
    labels = np.repeat([4, 7], 8)
    found = claims.without_intercept(points @ points.T, labels, points @ points.T, {"C": 1.0})
    assert (found == labels).mean() > 0.9


def test_swapped_folds_train_on_one_and_test_on_two():
    labels, seen = np.repeat([0, 1, 2], 6), []

    def predict(K, y, rows, machine):
        seen.append((len(K), len(rows)))
        return np.zeros(len(rows))

    assert _digits.errors(np.eye(18), labels, 1, swapped=True, predict=predict) == [pytest.approx(200 / 3)]
    assert seen == [(6, 12)] * 3


def test_machines_that_do_not_end_are_counted(monkeypatch):
    monkeypatch.setattr(claims, "STEPS", 1)
    stuck = []
    K = np.eye(6) + 0.5
    found = claims._watched(stuck, K, np.array([0, 0, 1, 1, 2, 2]), K, {"C": 1e8, "tol": 1e-7})
    assert stuck == [True] * 3
    assert found.shape == (6,)


def test_a_full_run_says_beforehand_what_is_there_and_what_it_takes(shrink, tmp_path):
    sizes = {"images": 4, "points": [6, 8], "samplings": 1, "splits": 1}
    settings = shrink(PAPER, {}, sigma=0.2)
    settings["full"] = {"table1": sizes, "figure6": {"images": 4, "points": [6, 8], "splits": 1}}
    said = []
    PAPER.reproduce("full", tmp_path, ("table1",), said.append)
    assert said[0].startswith("table1: 0 of 2 parts are there; the determinants of k-IGV of the others take about 0.0")
    PAPER.reproduce("full", tmp_path, ("table1",), said.append)
    assert said[-1].startswith("table1: 2 of 2 parts are there")
    (tmp_path / "figure6-0.2.json").write_text("{}")
    run = claims.Run(settings, settings["full"], {}, tmp_path, print)
    assert PAPER.ahead(run, {"figure6"})[0].startswith("figure6: 1 of 2 parts are there")
