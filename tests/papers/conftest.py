"""What the tests of the semigroup papers share."""

from copy import deepcopy

import pytest

from kermes import datasets
from kermes.papers import _digits


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    """Figures are drawn without the search for a layout, which takes longer than all else, and small."""
    from matplotlib.figure import Figure

    save = Figure.savefig

    def small(figure, path, **_):
        figure.set_layout_engine("none")
        save(figure, path, dpi=40)

    monkeypatch.setattr(Figure, "savefig", small)


@pytest.fixture
def small_digits(monkeypatch):
    """The digits 0 to 2 of scikit-learn in place of MNIST."""
    digits = datasets.load_digits()
    monkeypatch.setattr(_digits.datasets, "load_mnist", lambda split="train": digits[digits.target < 3])


@pytest.fixture
def shrink(monkeypatch, small_digits):
    """A function that gives a paper other settings, and ``quick`` sizes."""

    def other(paper, quick, **settings):
        changed = deepcopy(paper.settings) | {"threshold": 8, "etas": [0.01, 0.1], "sigmas": [0.2, 0.4]} | settings
        monkeypatch.setattr(paper, "settings", changed | {"quick": quick})
        return paper.settings

    return other


@pytest.fixture
def reproduced(tmp_path):
    """A function that runs a paper twice: all pieces are run and have tables and figures, ``again`` is kept."""

    def run(paper, n_said, figures, again):
        said = []
        summary = paper.reproduce("quick", tmp_path, say=said.append)
        assert list(summary) == list(paper.pieces)
        assert len(said) == n_said
        for name in figures:
            assert (tmp_path / f"{name}.png").stat().st_size > 1500
        for table in paper.tables("quick", summary):
            assert table.rows
            assert all(len(row) == len(table.header) for row in table.rows), table.title
        assert paper.reproduce("quick", tmp_path, (again,), said.append) == {again: summary[again]}
        assert len(said) == n_said  # finished pieces are not run again
        return summary

    return run
