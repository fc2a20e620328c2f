"""The paper `skm` at toy size: every piece runs, results are kept, figures are drawn."""

import numpy as np
import pytest

from kermes.papers._paper import Run
from kermes.papers.skm import run
from kermes.papers.skm.run import PAPER


@pytest.fixture
def tiny(shrink):
    quick = {
        "table1": {"images": 8, "points": [8, 12], "samplings": 2, "splits": 1},
        "figure6": {"images": 6, "points": [6, 9], "splits": 1},
        "figure7": {"images": 6, "points": {"first": 4, "last": 12, "count": 3}, "samplings": 1, "splits": 1},
    }
    return shrink(PAPER, quick, sigma=0.2, figure3=PAPER.settings["figure3"] | {"images": 3})


def run_of(settings):
    return Run(settings, {}, PAPER.expected["paper"], None, None)


def test_table_and_figures(tiny, reproduced):
    pytest.importorskip("matplotlib")
    summary = reproduced(PAPER, 4 + 2 + 3, [f"figure{number}" for number in range(2, 8)], again="table1")
    mean = summary["table1"]["mean"]
    assert mean.keys() >= PAPER.expected["paper"]["table1"].keys()
    assert all(list(errors) == ["8", "12"] for errors in mean.values())
    assert mean["k-IGV normalised"]["12"] <= 15.0  # zeros, ones and twos


def test_figure2_is_the_ratio_of_generalised_variances(tiny):
    found, _ = run.figure2(run_of(tiny))
    products = {name: np.prod(values) for name, values in found["variances"].items()}
    ratio = np.sqrt(products["1"] * products["0"]) / products["mean"]
    assert found["kernel"] == pytest.approx(ratio, rel=1e-4)


def test_the_printed_variances_give_nearly_the_printed_kernel_value():
    printed = PAPER.expected["paper"]["figure2"]
    products = {name: np.prod(values) for name, values in printed["variances"].items()}
    assert np.sqrt(products["1"] * products["0"]) / products["mean"] == pytest.approx(0.396, abs=5e-4)
    assert printed["kernel"] == 0.382


def test_eigenvalues_decrease(tiny):
    ones, twos = (figure(run_of(tiny))[0] for figure in (PAPER.pieces["figure4"], PAPER.pieces["figure5"]))
    assert ones.keys() == {"1", "0", "mean"}
    assert twos.keys() == {"2", "0", "mean"}
    for eigenvalues in (ones, twos):
        for values in eigenvalues.values():
            assert len(values) == 4
            assert (np.diff(values) <= 0).all()
            assert min(values) > 0


def test_deviations_are_named():
    recorded = PAPER.expected
    mean = {row: dict(errors) for row, errors in recorded["paper"]["table1"].items()}
    mean["k-IGV normalised"] = dict(recorded["limit"]["table1"]["k-IGV normalised"])
    summary = {"table1": {"mean": mean, "std": {}}, "figure3": {"mean": {"0 and 1": 0.4}}}
    assert PAPER.deviations("full", summary) == []
    mean["k-B"]["40"] += 2.5
    mean["k-IGV normalised"]["80"] += 0.1
    assert PAPER.deviations("full", summary) == [
        "table1, k-B, 40: 21.6 % against 19.1 %",
        "table1, k-IGV normalised, 80: 8.6 %, more than 8.5 %",
    ]


def test_recorded_errors_keep_what_is_promised():
    mean = PAPER.expected["full"]["table1"]
    promised = {row: mean[row] for row in ("k-IGV", "k-IGV normalised")}
    assert PAPER.deviations("full", {"table1": {"mean": promised, "std": {}}}) == []


def test_config_holds_the_protocol_of_the_paper():
    settings = PAPER.settings
    table = settings["full"]["table1"]
    assert (table["images"], table["points"], table["samplings"], table["splits"]) == (100, [40, 50, 60, 70, 80], 3, 5)
    assert (settings["threshold"], settings["eta"], settings["sigma"]) == (190, 0.01, 0.1)
    assert (len(settings["etas"]), len(settings["sigmas"])) == (12, 8)
    assert settings["full"]["figure7"]["points"]["count"] == 90
