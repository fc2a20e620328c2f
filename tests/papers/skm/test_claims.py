"""The claims in the text of `skm`, and other readings of its protocol, at toy size."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kermes.papers import _digits
from kermes.papers.skm import run as claims
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
    assert table.header == ["kernel", "6 points", "8 points"]
    assert [row[0] for row in table.rows] == ["k-IGV", "k-B"]
    assert all(float(cell) >= 0 for row in table.rows for cell in row[1:])


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
