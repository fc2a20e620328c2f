"""The paper `kwd` at toy size: every piece runs, features are kept, figures are drawn, numbers are what they claim."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import gaussians

from kermes import Measures
from kermes.papers._paper import Run
from kermes.papers.kwd import methods, run
from kermes.papers.kwd.run import PAPER

pytest.importorskip("matplotlib")
pytest.importorskip("skimage")

TOY = {"n_scans": 4, "n_slices": 24, "n_noisy": 8, "size": 32}


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A few small slices, and short grids."""
    monkeypatch.setenv("KERMES_CACHE", str(tmp_path / "cache"))
    settings = deepcopy(PAPER.settings)
    settings |= {"gammas": [1.0], "rhos": [0.1], "ranges": [[1.0, 99.0]], "linkages": ["average", "complete", "ward"]}
    settings["quick"] = {"slices": TOY, "seeds": [0, 1]}
    monkeypatch.setattr(PAPER, "settings", settings)
    return settings


def test_figures_and_sensitivity(tiny, tmp_path):
    said = []
    summary = PAPER.reproduce("quick", tmp_path, say=said.append)
    assert list(summary) == list(PAPER.pieces)
    assert len(said) == 3  # two simulations, and one again with other grey values
    assert summary["figure1"]["clean"]["scan"] != summary["figure1"]["noisy"]["scan"]
    assert np.sum(summary["figure2"]["table"], axis=0).tolist() == [16, 8]
    scores = summary["figure3"]["scores"]
    assert summary["figure2"]["chi_square"] == scores["kernel Wasserstein"]["average"]["chi_square"]
    assert sum(block["pairs"] for block in summary["figure4"].values()) == 24 * 23 // 2
    found = summary["sensitivity"]
    assert found["seeds"].keys() == {"0", "1"}
    assert found["seeds"]["0"] == scores != found["seeds"]["1"]
    assert found["gamma"]["1"] == {name: found["seeds"]["0"][name] for name in ("kernel Wasserstein", "kernel KL")}
    assert found["rho"]["0.1"] == {name: found["seeds"]["0"][name] for name in ("KL", "kernel KL")}
    for name in PAPER.pieces:
        assert (tmp_path / f"{name}.png").stat().st_size > 1500
    for table in PAPER.tables("quick", summary):
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)
    again = PAPER.reproduce("quick", tmp_path, ("figure2",), said.append)
    assert again == {"figure2": summary["figure2"]}
    assert len(said) == 3  # the features are kept


def test_features_are_scaled_over_the_set(tiny, tmp_path):
    textures = methods.read_textures(Run(tiny, tiny["quick"], {}, tmp_path, lambda line: None), 0)
    assert_array_equal(textures.features.min(axis=0), 0.0)
    assert_allclose(textures.features.max(axis=0), 1.0, rtol=1e-12)
    assert (textures.labels == "noisy").sum() == 8
    X = textures.measures()
    assert_array_equal(X.sizes, 25)
    assert_array_equal(np.sort(X[3].points[:, 0]), np.sort(textures.features[3]))


def test_grey_values_are_cut_slice_by_slice():
    images = np.stack([np.arange(101).reshape(1, 101), 10 * np.arange(101).reshape(1, 101)])
    cut = methods._cut(images, (5.0, 90.0))
    assert (cut[0].min(), cut[0].max(), cut[1].min(), cut[1].max()) == (5, 90, 50, 900)
    assert_array_equal(cut[0, 0, 5:91], images[0, 0, 5:91])


@pytest.mark.parametrize("name", methods.METHODS)
def test_methods_are_those_of_the_paper(name):
    X = Measures.from_samples(np.random.default_rng(0).random((2, 25, 1)))
    D = methods.distances(X, name, gamma=1.0, rho=0.1)

    def kernel(x, y):
        return np.exp(-((x - y) ** 2).sum()) if name.startswith("kernel") else x @ y

    if name.endswith("KL"):
        assert_allclose(D[0, 1], gaussians.kl(X[0], X[1], kernel, 0.1) ** 2, rtol=1e-6)
    else:
        assert_allclose(D[0, 1], gaussians.wasserstein(X[0], X[1], kernel), rtol=1e-6)
    other = methods.distances(X, name, 1.0, 0.1, other_power=True)
    assert_allclose(other, np.sqrt(D) if name.endswith("KL") else D**2, rtol=1e-12)


def test_the_table_of_the_paper_has_the_numbers_of_the_paper():
    paper = PAPER.expected["paper"]
    (a, b), (c, d) = paper["figure2"]["table"]
    assert a + b + c + d == paper["slices"]
    classes = np.repeat(["clean", "noisy", "clean", "noisy"], [a, b, c, d])
    found = methods.score(np.repeat([0, 1], [a + b, c + d]), classes)
    assert found["table"] == paper["figure2"]["table"]
    assert round(found["chi_square"]) == paper["figure2"]["chi_square"] == paper["figure3"]["kernel Wasserstein"]
    assert {name: round(rate, 1) for name, rate in found["rates"].items()} == paper["figure2"]["rates"]
    by_hand = paper["slices"] * (a * d - b * c) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
    assert found["chi_square"] == pytest.approx(by_hand)


def test_single_and_complete_linkage_do_not_see_the_power():
    points = np.random.default_rng(1).normal(size=(40, 2))
    D = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
    classes = np.repeat(["clean", "noisy"], 20)
    plain, squared = (methods.of_linkages(E, classes, ("single", "complete")) for E in (D, D**2))
    assert plain == squared


def test_blocks_are_all_pairs_once():
    labels = np.array([0, 1, 0, 0, 1])
    blocks = run._blocks(labels)
    assert_array_equal(sum(mask.astype(int) for mask in blocks.values()), np.triu(np.ones((5, 5), dtype=int), 1))
    assert {name: int(mask.sum()) for name, mask in blocks.items()} == {"cluster 1": 3, "cluster 2": 1, "between": 6}
    assert run._correlations(np.ones(1), np.ones(1)) == {"pairs": 1, "pearson": None, "spearman": None}


def test_spread_leaves_out_single_linkage():
    def scores(plain, kernel):
        rows = {"Wasserstein": plain, "kernel Wasserstein": kernel, "KL": kernel, "kernel KL": plain}
        linkages = ("average", "ward", "single")
        return {name: {k: {"chi_square": v} for k, v in zip(linkages, row, strict=True)} for name, row in rows.items()}

    spread, wins = run._spread(
        {"0": scores((5.0, 7.0, 900.0), (6.0, 7.0, 0.0)), "1": scores((1.0, 2.0, 0.0), (9.0, 1.0, 0.0))}
    )
    assert spread.rows[0] == ["Wasserstein", "1", "4", "7"]  # the median of 1, 2, 5 and 7 is 3.5
    assert wins.rows == [["Wasserstein", "2", "1", "1"], ["KL", "1", "1", "2"]]


def test_deviations_are_named():
    scores = {name: {"average": {"chi_square": value}} for name, value in PAPER.expected["paper"]["figure3"].items()}
    rates = dict(PAPER.expected["paper"]["figure2"]["rates"])
    summary = {"figure2": {"rates": rates}, "figure3": {"linkage": "average", "scores": scores}, "figure1": {}}
    assert not [line for line in PAPER.deviations("full", summary) if line.endswith("in the paper")]
    scores["KL"]["average"]["chi_square"] += 51.0
    rates["noisy"] -= 6.0
    assert [line for line in PAPER.deviations("full", summary) if line.endswith("in the paper")] == [
        "figure2, noisy: 91.1 % against 97.1 % in the paper",
        "figure3, chi-square, KL: 142.0 against 91.0 in the paper",
    ]


@pytest.mark.parametrize("size", ["quick", "full"])
def test_recorded_numbers_are_held_against(size):
    recorded = PAPER.expected[size]
    scores = {name: {"average": {"chi_square": value}} for name, value in recorded["figure3"].items()}
    summary = {
        "figure2": {"rates": dict(recorded["figure2"]["rates"])},
        "figure3": {"linkage": "average", "scores": scores},
    }
    assert all(line.endswith("in the paper") for line in PAPER.deviations(size, summary))
    scores["Wasserstein"]["average"]["chi_square"] += 11.0
    lines = [line for line in PAPER.deviations(size, summary) if not line.endswith("in the paper")]
    assert len(lines) == 1
    assert lines[0].startswith("figure3, chi-square, Wasserstein: ")


def test_config_holds_the_protocol_of_the_paper():
    settings = PAPER.settings
    assert (settings["gamma"], settings["rho"]) == (1.0, 0.1)
    slices = settings["full"]["slices"]
    assert (slices["n_scans"], slices["n_slices"], slices["n_noisy"]) == (44, 1164, 276)
    assert len(settings["full"]["seeds"]) == 3
    assert settings["linkage"] in settings["linkages"]
    assert set(settings["shown"]) <= set(settings["linkages"])


def test_a_full_run_says_beforehand_what_is_there_and_what_it_takes(tiny, tmp_path):
    tiny["full"] = {"slices": TOY, "seeds": [0, 1], "equal_moments": [0, 1]}
    tiny |= {"narrow_gammas": [1.0]}
    said = []
    PAPER.reproduce("full", tmp_path, ("figure2", "sensitivity", "equal_moments"), said.append)
    assert said[0].startswith("slices: the features of 0 of 3 sets are there; to simulate 2 and describe 3 takes about")
    assert said[1:3] == ["sensitivity: 0 of 1 parts are there.", "equal_moments: 0 of 2 parts are there."]
    # Figure 2; two seeds, other powers and a cut, one gamma and one rho; two seeds of equal moments, the same.
    assert said[3].startswith(f"Matrices of distances: {1 + (4 * 4 + 4) + 2 * (4 + 4)}, about")
    said.clear()
    PAPER.reproduce("full", tmp_path, ("figure2", "sensitivity", "equal_moments"), said.append)
    assert said[:3] == [
        "slices: the features of 1 of 1 sets are there.",
        "sensitivity: 1 of 1 parts are there.",
        "equal_moments: 2 of 2 parts are there.",
    ]
    assert said[3].startswith("Matrices of distances: 1, about")
    run_of = Run(tiny, tiny["full"], {}, tmp_path / "other", print)
    (line,) = PAPER.ahead(run_of, {"figure1"})  # the slices are in the cache
    assert line.startswith("slices: the features of 0 of 1 sets are there; to simulate 0 and describe 1 takes about")
