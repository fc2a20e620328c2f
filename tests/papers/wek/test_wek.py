"""The paper `wek` at toy size: every row runs, results are kept, figures are drawn."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from kermes import Measures, datasets, divergences, pairwise
from kermes.papers.wek import data, run
from kermes.papers.wek.early import EarlySinkhorn
from kermes.papers.wek.run import PAPER

pytest.importorskip("matplotlib")


@pytest.fixture
def tiny(monkeypatch):
    """Two digits of scikit-learn in place of MNIST, and tiny sizes."""
    digits = datasets.load_digits()
    digits = digits[digits.target < 2]
    monkeypatch.setitem(data._POOLS, "mnist", lambda: (digits[:200], digits[200:]))
    settings = deepcopy(PAPER.settings)
    settings |= {"length_scales": [0, 1, 2], "length_scales_pixels": [0, 1, 2], "neighbours": [1, 3]}
    settings |= {name: [0, 4, 2] for name in ("gammas", "gammas_reweighted", "gammas_pixels")}
    sizes = {"repetitions": 2, "core": 10, "train": 20, "validation": 20, "test": 30, "smaller": {"10": 5}}
    settings["quick"] = {"mnist": sizes, "figure_images": 12, "figure_features": 20}
    monkeypatch.setattr(PAPER, "settings", settings)
    return sizes


def test_all_rows_and_figures(tiny, tmp_path):
    said = []
    summary = PAPER.reproduce("quick", tmp_path, ("mnist",), said.append)
    assert list(summary["mnist"]["mean"]) == list(PAPER.expected["paper"]["mnist"])
    assert all(0 <= error <= 20 for error in summary["mnist"]["mean"].values())  # zeros against ones
    assert len(said) == 4
    for number in (1, 2, 3):
        assert (tmp_path / f"figure{number}.png").stat().st_size > 1500
    table, by_size = PAPER.tables("quick", summary)
    assert len(table.rows) == len(by_size.rows) == 9
    assert by_size.header == ["method", "10", "20"]
    assert all(len(row) == len(table.header) for row in table.rows)
    again = PAPER.reproduce("quick", tmp_path, ("mnist",), said.append)
    assert again == summary
    assert len(said) == 4  # finished repetitions are not run again


def test_an_interrupted_run_goes_on(tiny, tmp_path, monkeypatch):
    calls = []
    draw = data.draw

    def interrupted(name, sizes, repetition):
        calls.append(repetition)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return draw(name, sizes, repetition)

    monkeypatch.setattr(run, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PAPER.reproduce("quick", tmp_path, ("mnist",), lambda line: None)
    assert len(json.loads((tmp_path / "mnist-0.json").read_text())["result"]) == 2
    monkeypatch.setattr(run, "draw", draw)
    summary = PAPER.reproduce("quick", tmp_path, ("mnist",), lambda line: None)
    assert summary["mnist"]["repetitions"] == 2


def test_the_distance_as_printed_runs_on_request(tiny, tmp_path):
    PAPER.settings["quick"]["printed"] = {key: value for key, value in tiny.items() if key != "smaller"}
    summary = PAPER.reproduce("quick", tmp_path, ("printed",), lambda line: None)
    assert set(summary["printed"]["mean"]) == {
        f"{kind} {row}" for kind in ("W", "RW") for row in ("core+oos", "core", "indefinite")
    }
    (table,) = PAPER.tables("quick", summary | {"mnist": summary["printed"]})
    assert all(len(row) == 5 for row in table.rows)


def test_deviations_are_named():
    summary = {"mnist": {"mean": PAPER.published("mnist")["mean"]}}
    assert PAPER.deviations("full", summary) == []
    summary["mnist"]["mean"]["RBF"] += 1.5
    assert PAPER.deviations("full", summary) == ["mnist, RBF: 5.8 % against 4.3 %"]
    assert len(PAPER.deviations("quick", summary)) == 9
    assert PAPER.deviations("full", {"quickdraw": {"mean": {"RBF": 50.0}}}) == []  # not the classes of the paper


def test_splits_do_not_overlap(tiny):
    split = data.draw("mnist", tiny, 0)
    rows = [tuple(map(tuple, m.points)) + tuple(m.weights) for m in [*split.train.measures, *split.validation.measures]]
    assert len(rows) == 40
    other = data.draw("mnist", tiny, 1)
    assert not np.array_equal(split.train.labels, other.train.labels)


def test_config_holds_the_protocol_of_the_paper():
    full = PAPER.settings["full"]
    assert (full["mnist"]["train"], full["mnist"]["core"], full["mnist"]["repetitions"]) == (4000, 1500, 7)
    assert full["mnist"]["smaller"] == {"500": 200, "1250": 500, "2500": 1000}  # 300, 750, 1500 out of sample
    assert (full["usps"]["train"], full["usps"]["core"], full["usps"]["repetitions"]) == (2500, 1000, 6)
    assert (full["quickdraw"]["train"], full["quickdraw"]["core"], full["quickdraw"]["repetitions"]) == (1250, 500, 8)


def test_classes_take_turns_until_one_is_exhausted():
    labels = np.repeat([0, 1, 2], [50, 20, 80])
    order = data.in_turn(labels, np.random.default_rng(0))
    assert sorted(order) == list(range(150))
    counts = np.cumsum(labels[order][:, None] == np.arange(3), axis=0)
    assert (np.ptp(counts[:60], axis=1) <= 1).all()
    assert counts[100].tolist()[1] == 20
    assert not np.array_equal(order, data.in_turn(labels, np.random.default_rng(1)))


def test_standard_deviations_divide_by_n_minus_one():
    entries = [{"size": 5, "errors": {"RBF": error}} for error in (0.01, 0.03)]
    assert run.summarise(entries)["std"] == {"RBF": 1.41}
    assert run.summarise(entries)["best"] == {"RBF": 1.0}
    assert run.summarise(entries[:1])["std"] == {"RBF": None}


RECORDED = sorted((Path(__file__).parents[3] / "docs" / "papers" / "results").glob("wek-*/"))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: folder.name)
def test_recorded_tables_are_those_of_the_recorded_repetitions(folder):
    summary = json.loads((folder / "summary.json").read_text())
    columns = {name: found for name, found in summary.items() if "repetitions" in found}
    assert columns
    for name, found in columns.items():
        kept = [json.loads((folder / f"{name}-{i}.json").read_text()) for i in range(found["repetitions"])]
        assert run.summarise([entry for file in kept for entry in file["result"]]) == found
        assert all(file["settings"]["train"] == found["train"] and file["versions"] for file in kept)


def test_a_full_run_says_beforehand_what_is_there_and_what_it_takes(tiny, tmp_path):
    PAPER.settings["full"] = {"mnist": {key: value for key, value in tiny.items() if key != "smaller"}}
    run_of = run.Run(PAPER.settings, PAPER.settings["full"], {}, tmp_path, print)
    wanted = 20 * 19 // 2 + 20 * 50
    (line,) = PAPER.ahead(run_of, {"mnist"})
    assert line.startswith(f"mnist: 0 of 2 repetitions are there, and 0 of the {wanted:,} distances of the next one.")
    sizes = PAPER.settings["full"]["mnist"]
    split = data.draw("mnist", sizes, 0)
    run.Distances(tmp_path, "mnist", run._divergence(run_of, "mnist"), split.pool_size, run.Engine(memo=False)).of(
        split
    )
    (line,) = PAPER.ahead(run_of, {"mnist"})
    assert f"and {wanted:,} of the {wanted:,} distances" in line
    for repetition in range(2):
        run_of.keep(f"mnist-{repetition}", run._depends_on(run_of, sizes), list)
    assert PAPER.ahead(run_of, {"mnist"}) == ["mnist: 2 of 2 repetitions are there."]


def test_spectra_and_the_distance_of_the_code(tiny, tmp_path):
    PAPER.settings["quick"]["as_in_code"] = {key: value for key, value in tiny.items() if key != "smaller"}
    summary = PAPER.reproduce("quick", tmp_path, ("spectra", "as_in_code"), lambda line: None)
    values = summary["spectra"]["eigenvalues"]
    assert values["pixels"]["largest admissible length scale"] == "any"  # Euclidean
    assert values["W"]["least eigenvalue"] > 0  # of twelve digits
    assert all(0.0 <= share < 0.5 for share in summary["spectra"]["truncation"].values())
    errors = list(summary["spectra"]["features"].values())
    assert errors[-1] < errors[0] < 1
    assert summary["as_in_code"]["repetitions"] == 2
    table, numbers = PAPER.tables("quick", summary)
    assert table.header == ["method", "as_in_code (2 runs)", "best"]
    assert len(numbers.rows) == 8 + len(summary["spectra"]["truncation"]) + len(errors)


def test_iterations_that_stop_early():
    rng = np.random.default_rng(0)
    X = Measures.from_images(rng.random((4, 5, 5)))
    converged = pairwise(X, divergence=divergences.Sinkhorn(0.4, cost="euclidean", tol=1e-9))
    np.testing.assert_allclose(pairwise(X, divergence=EarlySinkhorn(0.4, tol=1e-12)), converged, rtol=1e-8)
    early = pairwise(X, divergence=EarlySinkhorn(0.4))
    assert 1e-4 < np.abs(early / np.where(converged > 0, converged, 1.0) - (converged > 0)).max() < 0.3


def test_an_interrupted_repetition_keeps_its_rows(tiny, tmp_path, monkeypatch):
    rows = run.Methods.rows.fget

    def interrupted(self):
        def stop(split, core):
            raise KeyboardInterrupt

        return rows(self) | {"W indefinite": stop}

    monkeypatch.setattr(run.Methods, "rows", property(interrupted))
    with pytest.raises(KeyboardInterrupt):
        PAPER.reproduce("quick", tmp_path, ("mnist",), lambda line: None)
    kept = sorted(path.name for path in tmp_path.glob("*-row-*.json"))
    assert kept == [f"mnist-0-row-20-{row}.json" for row in ("RBF", "W-kNN", "l2-kNN")]  # the cheap ones come first
    monkeypatch.setattr(run.Methods, "rows", property(rows))
    summary = PAPER.reproduce("quick", tmp_path, ("mnist",), lambda line: None)
    assert list(summary["mnist"]["mean"]) == list(PAPER.expected["paper"]["mnist"])
    assert not list(tmp_path.glob("*-row-*.json"))


@pytest.mark.parametrize("size", ["quick", "full"])
def test_recorded_summaries_are_those_of_the_recorded_repetitions(size):
    folder = Path(__file__).parents[3] / "docs" / "papers" / "results" / f"wek-{size}"
    summary = json.loads((folder / "summary.json").read_text())
    for name, found in summary.items():
        if name == "spectra":
            recorded = json.loads((folder / "spectra.json").read_text())["result"]
            assert found == {key: recorded[key] for key in found}
            continue
        paths = sorted(folder.glob(f"{name}-*.json"), key=lambda path: int(path.stem.split("-")[-1]))
        entries = [entry for path in paths for entry in json.loads(path.read_text())["result"]]
        assert run.summarise(entries) == found, name
