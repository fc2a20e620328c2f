"""The paper `skfs` at toy size: every piece runs, results are kept, figures are drawn."""

import numpy as np
import pytest

from kermes.papers import _digits
from kermes.papers.skfs import run
from kermes.papers.skfs.run import PAPER


def test_figures_and_comparison(shrink, reproduced):
    pytest.importorskip("matplotlib")
    quick = {
        "figure2a": {"points": [10, 14], "splits": 1},
        "figure2b": {"eta": 0.01, "sigma": 0.2, "points": [5, 10], "samplings": 1, "splits": 1},
        "rbf": {"points": [30], "samplings": 1, "splits": 1},
    }
    shrink(PAPER, quick, images=12)
    summary = reproduced(PAPER, 2 + 2 + 1, ("figure1", "figure2a", "figure2b"), again="rbf")
    assert summary["figure2a"]["best"]["k-IGV normalised"]["error"] <= 15.0  # zeros, ones and twos
    assert list(summary["figure2b"]["mean"]["k-IGV normalised"]) == ["5", "10"]
    assert list(summary["rbf"]["mean"]) == [f"{n}, sigma {s}" for n in ("RBF", "RBF squared") for s in (0.2, 0.4)]


def test_rbf_is_the_formula_of_the_paper():
    pixels = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    drawn = _digits.Sample(None, pixels, np.array([0, 1]))
    grams = run._rbf_grams({"points": [30], "sigmas": [0.1]}, drawn)
    assert grams["RBF, sigma 0.1"][0, 1] == pytest.approx(np.exp(-np.sqrt(2.0) / (30 * 2 * 0.01)))
    assert grams["RBF squared, sigma 0.1"][0, 1] == pytest.approx(np.exp(-2.0 / (30 * 2 * 0.01)))
    assert np.array_equal(np.diagonal(grams["RBF, sigma 0.1"]), [1.0, 1.0])


def test_deviations_are_named():
    summary = {"figure2a": {"best": {"k-IGV": {"error": 30.0}, "k-IGV normalised": {"error": 19.0}}}}
    assert PAPER.deviations("full", summary) == ["figure2a, k-IGV normalised: 19.0 %, more than 16.0 %"]
    summary["figure2a"]["best"]["k-IGV normalised"]["error"] = 13.0
    summary["rbf"] = {"mean": {"RBF, sigma 0.15": {"30": 44.0}}, "std": {}}
    assert PAPER.deviations("full", summary) == ["figure2a, k-IGV normalised: 13.0 % against 19.5 %"]


def test_recorded_errors_keep_what_is_promised():
    recorded = PAPER.expected
    for size in ("quick", "full"):
        assert recorded[size]["figure2a"]["k-IGV normalised"] <= recorded["limit"]["figure2a"]["k-IGV normalised"]


def test_config_holds_the_protocol_of_the_paper():
    settings = PAPER.settings
    assert (settings["threshold"], settings["images"]) == (191, 50)
    assert (len(settings["etas"]), len(settings["sigmas"])) == (12, 8)
    assert settings["full"]["figure2a"] == {"points": [25, 30], "splits": 5}
    assert settings["full"]["figure2b"]["points"] == list(range(10, 31))


def test_soft_margins(shrink, tmp_path):
    sizes = {"eta": 0.01, "sigma": 0.2, "Cs": [1.0, 1e8], "points": [8, 10], "splits": 2}
    shrink(PAPER, {"soft_margin": sizes}, images=6)
    summary = PAPER.reproduce("quick", tmp_path, ("soft_margin",))
    assert list(summary["soft_margin"]["errors"]) == ["1", "1e+08"]
    (table,) = PAPER.tables("quick", summary)
    assert table.header == ["kernel", "1", "1e+08"]


def test_gram_matrices_of_the_corners(shrink, tmp_path):
    shrink(PAPER, {"gram_matrices": {"points": [8, 10]}}, images=4)
    summary = PAPER.reproduce("quick", tmp_path, ("gram_matrices",), lambda line: None)
    assert list(summary["gram_matrices"]) == ["k-IGV normalised", "k-IGV normalised, root"]
    (table,) = PAPER.tables("quick", summary)
    assert len(table.rows) == 2 * 2 * 2
    assert all(len(row) == len(table.header) for row in table.rows)
    assert all(-1e-12 < found["least eigenvalue"] <= 1 and found["median"] <= found["greatest"] <= 1
               for cells in summary["gram_matrices"].values() for found in cells.values())  # fmt: skip
