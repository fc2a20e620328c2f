"""What the papers share: kept results, names of numbers, figures."""

import json

import pytest

from kermes.papers import KEYS, load
from kermes.papers._common import Store, flat, off, save_figure


def test_a_kept_result_is_not_computed_again(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    assert store.get("piece", {"n": (1, 2)}, lambda: {"error": 0.1}) == {"error": 0.1}
    again = Store(tmp_path / "new" / "folder")
    assert again.get("piece", {"n": (1, 2)}, lambda: pytest.fail("computed again")) == {"error": 0.1}


def test_a_result_of_other_settings_is_not_taken(tmp_path):
    store = Store(tmp_path)
    store.get("piece", {"n": 1}, lambda: 1.0)
    assert store.get("piece", {"n": 2}, lambda: 2.0) == 2.0
    (tmp_path / "piece.json").write_text("[1, 2]")  # not a file of this kind
    assert store.get("piece", {"n": 2}, lambda: 3.0) == 3.0


def test_a_failure_keeps_nothing(tmp_path):
    store = Store(tmp_path)

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.get("piece", {}, fail)
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_result_reads_as_the_kept_one(tmp_path):
    store = Store(tmp_path)
    first = store.get("piece", {}, lambda: {40: (1.0, 2.0)})
    assert first == store.get("piece", {}, lambda: None) == {"40": [1.0, 2.0]}
    assert json.loads((tmp_path / "piece.json").read_text())["settings"] == {}


def test_numbers_are_named_by_their_path():
    found = flat({"a": {"b": 1.0, "c": {"d": 2.0}}, "e": 3.0})
    assert found == {"a, b": 1.0, "a, c, d": 2.0, "e": 3.0}
    assert off(found, {"a, b": 2.0, "e": 3.5, "missing": 0.0}, 0.5) == ["a, b: 1.0 % against 2.0 %"]


def test_figures_need_no_display(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    open_before = plt.get_fignums()
    save_figure(tmp_path / "f.png", lambda size: plt.figure(figsize=size), (2, 1))
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    assert plt.get_fignums() == open_before


@pytest.mark.parametrize("key", list(KEYS))
def test_every_paper_has_the_same_face(key):
    paper = load(key)
    assert paper.PIECES
    recorded = paper.expected()
    assert recorded["paper"]
    assert recorded["tolerance"].keys() == {"paper", "quick"}
    assert {"quick", "full"} <= paper.config().keys()
    assert callable(paper.reproduce)
    assert callable(paper.tables)
    assert callable(paper.deviations)
