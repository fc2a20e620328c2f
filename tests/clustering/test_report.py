"""Reports of clusters against classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score, silhouette_score

from kermes.clustering import cluster_report
from kermes.exceptions import InvalidParameterError


def expand(table, names):
    """Return labels and classes with these counts."""
    table = np.asarray(table)
    labels = np.repeat(np.arange(len(table)), table.sum(axis=1))
    return labels, np.concatenate([np.repeat(names, row) for row in table])


def line_distances(x):
    return np.abs(np.subtract.outer(x, x))


@pytest.fixture
def paper():
    return cluster_report(*expand([[658, 8], [230, 268]], ["clean", "noisy"]))


def test_the_papers_table(paper):
    """kwd, Figure 2b: 97.1 % of noisy, 74.1 % of clean, 79.6 % overall; chi-square 436 is without correction."""
    assert_array_equal(paper.table, [[658, 8], [230, 268]])
    assert_array_equal(paper.sizes, [666, 498])
    assert_allclose(paper.rates, [658 / 888, 268 / 276])
    assert [round(100 * rate, 1) for rate in paper.rates] == [74.1, 97.1]
    assert round(100 * paper.accuracy, 1) == 79.6
    assert paper.assigned.tolist() == ["clean", "noisy"]
    expected = np.outer([666, 498], [888, 276]) / 1164
    assert_allclose(paper.chi_square.statistic, ((paper.table - expected) ** 2 / expected).sum())
    assert_allclose(paper.chi_square_yates.statistic, ((np.abs(paper.table - expected) - 0.5) ** 2 / expected).sum())
    assert int(paper.chi_square.statistic) == 436
    assert int(paper.chi_square_yates.statistic) == 433
    assert paper.chi_square.dof == 1
    assert paper.chi_square.p_value < 1e-4
    assert paper.silhouette is None


def test_pairing_is_the_best_of_all_when_square():
    """Both clusters have most of class a; a pairing gives b to the one that loses least."""
    report = cluster_report(*expand([[10, 2], [9, 8]], ["a", "b"]))
    assert report.assigned.tolist() == ["a", "b"]
    assert_allclose(report.rates, [10 / 19, 8 / 10])
    swapped = cluster_report(*expand([[9, 8], [10, 2]], ["a", "b"]))
    assert swapped.assigned.tolist() == ["b", "a"]


def test_majority_when_not_square():
    report = cluster_report(*expand([[5, 1, 0], [4, 2, 1]], ["a", "b", "c"]))
    assert report.assigned.tolist() == ["a", "a"]
    assert_allclose(report.rates, [1.0, 0.0, 0.0])
    assert_allclose(report.accuracy, 9 / 13)
    assert report.chi_square == report.chi_square_yates  # the correction is for two by two
    assert report.chi_square.dof == 2


def test_adjusted_rand_and_silhouette():
    rng = np.random.default_rng(0)
    x, labels, y = rng.normal(size=30), rng.integers(0, 3, 30), rng.integers(0, 4, 30)
    D = line_distances(x)
    report = cluster_report(labels, y, D)
    assert_allclose(report.adjusted_rand, adjusted_rand_score(y, labels))
    assert_allclose(report.silhouette, silhouette_score(D, labels, metric="precomputed"))
    assert cluster_report(y, y).adjusted_rand == 1.0


@pytest.mark.parametrize(
    ("labels", "y"), [([0, 0, 0], ["a", "b", "a"]), ([0, 1, 2], ["a", "a", "a"]), ([0], ["a"]), ([0, 1, 2], [0, 1, 2])]
)
def test_degenerate_partitions_give_numbers(labels, y):
    report = cluster_report(labels, y, line_distances(np.arange(len(y), dtype=float)))
    assert report.silhouette is None
    assert all(value is None or np.isfinite(value) for value in report.scores().values())
    if len(set(labels)) == 1 or len(set(y)) == 1:
        assert report.chi_square == (0.0, 1.0, 0)
    assert str(report)
    assert report._repr_html_()


def test_columns_and_scores(paper):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(paper.to_dict())
    assert frame.columns.tolist() == ["cluster", "size", "assigned", "n_clean", "n_noisy"]
    assert frame["n_noisy"].tolist() == [8, 268]
    scores = paper.scores()
    assert_allclose(
        [scores["rate_clean"], scores["rate_noisy"], scores["accuracy"]], [0.7410, 0.9710, 0.7955], atol=1e-4
    )


def test_text_fits_and_names_are_escaped(paper):
    assert "rate                79.6%  74.1%  97.1%" in str(paper)
    assert "p = 7.8e-97" in str(paper)
    rng = np.random.default_rng(0)
    names = [f"<b>a class with quite a long name {i}" for i in range(25)]
    report = cluster_report(rng.integers(0, 12, 500), rng.choice(names, 500))
    lines = str(report).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("(and ") and line.endswith("classes more)") for line in lines)
    assert "<b>" not in report._repr_html_()
    huge = cluster_report(np.repeat([0, 1], 2000), np.repeat([0, 1], 2000))
    assert "p < 1e-300" in str(huge)


def test_what_is_refused():
    for arguments, message in [
        (([0, 1], [0]), "`y` must hold 2 labels, one per measure"),
        (([], []), "`labels` must hold one label per measure"),
        (([0, 1], [0.0, np.nan]), "`y` must hold a label for every measure; that of measure 1 is nan"),
        (([0, 1], [0, 1], np.zeros((3, 3))), "`distances` must hold 2 x 2 numbers, one row per measure; got 3 x 3"),
        (([0, 1], [0, 1], np.eye(2)), "`distances` must be zero on the diagonal"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            cluster_report(*arguments)
