"""What the papers share: kept results, names of numbers, figures."""

import json
from pathlib import Path

import pytest

from kermes.papers import KEYS, get_paper
from kermes.papers._paper import Paper, Run, flat, off, save_figure


def run_in(folder):
    return Run({}, {}, {}, folder, print)


def test_a_kept_result_is_not_computed_again(tmp_path):
    assert run_in(tmp_path).keep("piece", {"n": (1, 2)}, lambda: {"error": 0.1}) == {"error": 0.1}
    assert run_in(tmp_path).keep("piece", {"n": (1, 2)}, lambda: pytest.fail("computed again")) == {"error": 0.1}


def test_a_result_of_other_settings_is_not_taken(tmp_path):
    run = run_in(tmp_path)
    run.keep("piece", {"n": 1}, lambda: 1.0)
    assert run.keep("piece", {"n": 2}, lambda: 2.0) == 2.0
    (tmp_path / "piece.json").write_text("[1, 2]")  # not a file of this kind
    assert run.keep("piece", {"n": 2}, lambda: 3.0) == 3.0


def test_a_failure_keeps_nothing(tmp_path):
    run = run_in(tmp_path)

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.keep("piece", {}, fail)
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_result_reads_as_the_kept_one(tmp_path):
    run = run_in(tmp_path)
    first = run.keep("piece", {}, lambda: {40: (1.0, 2.0)})
    assert first == run.keep("piece", {}, lambda: None) == {"40": [1.0, 2.0]}
    assert json.loads((tmp_path / "piece.json").read_text())["settings"] == {}


def test_numbers_are_named_by_their_path():
    found = flat({"a": {"b": 1.0, "c": {"d": 2.0}}, "e": 3.0})
    assert found == {"a, b": 1.0, "a, c, d": 2.0, "e": 3.0}
    assert off(found, {"a, b": 2.0, "e": 3.5, "missing": 0.0}, 0.5) == ["a, b: 1.0 % against 2.0 %"]


def test_figures_need_no_display(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    open_before = plt.get_fignums()
    save_figure(tmp_path / "f.png", lambda: plt.figure(figsize=(2, 1)))
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    assert plt.get_fignums() == open_before


class _Toy(Paper):
    def tables(self, size, summary):
        return []

    def deviations(self, size, summary):
        return []


def test_pieces_run_in_the_order_of_the_paper_and_optional_ones_on_request(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")

    def piece(name, drawn):
        return lambda run: ({"size": run.sizes["seeds"], "name": name}, drawn)

    paper = _Toy(
        "kermes.papers.kwd",
        {"a": piece("a", None), "b": piece("b", plt.figure)},
        {"c": piece("c", {"one": plt.figure, "two": plt.figure})},
    )
    summary = paper.reproduce("quick", tmp_path / "new" / "folder")
    assert list(summary) == ["a", "b"]
    assert summary["a"] == {"size": [0], "name": "a"}
    assert json.loads((tmp_path / "new" / "folder" / "summary.json").read_text()) == summary
    assert list(paper.reproduce("full", tmp_path / "other", ["c", "a"])) == ["a", "c"]
    assert {path.name for path in tmp_path.rglob("*.png")} == {"b.png", "one.png", "two.png"}


def test_a_summary_keeps_the_pieces_of_other_runs(tmp_path):
    numbers = iter(range(10))

    def piece(run):
        return {"number": next(numbers)}, None

    paper = _Toy("kermes.papers.kwd", {"a": piece, "b": piece, "c": piece})
    paper.reproduce("quick", tmp_path, ["c", "b"])
    assert paper.reproduce("quick", tmp_path, ["a", "c"]) == {"a": {"number": 2}, "c": {"number": 3}}
    kept = json.loads((tmp_path / "summary.json").read_text())
    assert list(kept.items()) == [("a", {"number": 2}), ("b", {"number": 0}), ("c", {"number": 3})]


@pytest.mark.parametrize("key", list(KEYS))
def test_every_paper_has_the_same_face(key):
    paper = get_paper(key)
    assert paper.pieces
    assert paper.expected["paper"]
    assert paper.expected["tolerance"].keys() == {"paper", "quick"}
    assert {"quick", "full"} <= paper.settings.keys()


RESULTS = Path(__file__).parents[2] / "docs" / "papers" / "results"


@pytest.mark.parametrize(("key", "least"), [("skfs", 60), ("skm", 50)])
def test_recorded_runs_hold_the_recorded_numbers(key, least):
    """Means are those of the file that a new run is held against."""
    summary = json.loads((RESULTS / f"{key}-full" / "summary.json").read_text())
    recorded = get_paper(key).expected["full"]
    compared = 0
    for piece, kernels in recorded.items():
        found = summary.get(piece, {})
        for kernel, known in kernels.items() if found else ():
            ours = found["best"][kernel]["error"] if "best" in found else found["mean"][kernel]
            pairs = [(ours, known)] if "best" in found else [(ours[n], value) for n, value in known.items()]
            assert all(a == pytest.approx(b, abs=0.011) for a, b in pairs), (piece, kernel)
            compared += len(pairs)
    assert compared >= least
