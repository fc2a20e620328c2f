"""Trees and heat maps: they hold the right data, in the right place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import dendrogram, linkage

from kermes import plot
from kermes.clustering import HierarchicalClustering
from kermes.exceptions import InvalidParameterError
from kermes.plot._dendrogram import ABOVE
from kermes.plot._display import PALETTE, class_bar, class_colours

pytest.importorskip("matplotlib")
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array


@pytest.fixture(scope="module")
def tree():
    points = np.random.default_rng(0).normal(size=(20, 2)) + 5 * (np.arange(20) % 2)[:, None]
    return HierarchicalClustering(n_clusters=3).fit(points)


def lines(axes):
    axes.figure.canvas.draw()
    (found,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    return np.array(found.get_segments()), found.get_colors()


def test_the_tree_is_the_one_scipy_draws(tree):
    segments, _ = lines(plot.dendrogram(tree))
    theirs = dendrogram(tree.linkage_, no_plot=True)
    corners = np.stack([(np.array(theirs["icoord"]) - 5) / 10, theirs["dcoord"]], axis=-1)
    mine, expected = (array[np.lexsort((array[:, 1, 0], array[:, 1, 1]))] for array in (segments, corners))
    assert_allclose(mine, expected)


def test_clusters_have_colours_and_names(tree):
    axes = plot.dendrogram(tree)
    segments, drawn = lines(axes)
    above = (drawn == ABOVE).all(axis=1)
    assert above.sum() == 2  # three clusters: two merges join them
    assert segments[above, 1, 1].min() >= segments[~above, 1, 1].max()
    sizes = np.bincount(tree.labels_)
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == [f"cluster {i} ({size})" for i, size in enumerate(sizes)]
    for i, colour in enumerate(to_rgba_array(PALETTE[:3])):
        assert (drawn == colour).all(axis=1).sum() == sizes[i] - 1  # n leaves make n - 1 merges
    _, two = lines(plot.dendrogram(tree.linkage_, n_clusters=2))
    assert (two == ABOVE).all(axis=1).sum() == 1


@pytest.mark.parametrize("n_clusters", [2, 12])
def test_the_legend_is_above_all_branches(tree, n_clusters):
    axes = plot.dendrogram(tree, n_clusters=n_clusters)
    axes.figure.canvas.draw()
    legend, page = axes.get_legend().get_window_extent(), axes.figure.bbox
    assert legend.y0 >= axes.get_window_extent().y1 - 1
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1
    assert legend.y1 <= page.y1 + 1


def test_bar_and_names_follow_the_leaves(tree):
    y = np.where(np.arange(20) % 2, "odd", "even")
    axes = plot.dendrogram(tree, y, names=[f"m{i}" for i in range(20)])
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.get_xticklabels()] == [f"m{i}" for i in tree.leaves_]
    (bar,) = axes.child_axes
    stripes = np.asarray(bar.images[0].get_array())[0]
    assert_allclose(stripes, class_colours(2)[(y == "odd").astype(int)[tree.leaves_]])
    assert bar.images[0].get_extent()[:2] == [-0.5, 19.5]
    assert bar.get_xlim() == axes.get_xlim()
    assert [text.get_text() for text in bar.get_legend().get_texts()] == ["even", "odd"]
    box, names = bar.get_window_extent(), [text.get_window_extent() for text in axes.get_xticklabels()]
    assert box.y1 <= min(name.y0 for name in names)  # the bar is below the names


@pytest.mark.parametrize("n", [61, 1300])
def test_chains_and_many_leaves(n):
    """Single linkage on growing gaps is a chain, too deep for a recursion; names are left out."""
    Z = linkage((np.arange(n, dtype=float) ** 1.2)[:, None], "single")
    axes = plot.dendrogram(Z, np.arange(n) % 20)
    segments, _ = lines(axes)
    assert len(segments) == n - 1
    assert not axes.get_xticklabels()
    assert axes.child_axes[0].get_legend() is None  # 20 classes


def test_degenerate_trees():
    plot.dendrogram(np.zeros((0, 4)), ["a"]).figure.canvas.draw()
    same = HierarchicalClustering("precomputed", linkage="centroid").fit(np.zeros((4, 4)))
    plot.dendrogram(same).figure.canvas.draw()
    plot.heatmap(same, labels=[1, 1, 2, 2]).figure.canvas.draw()


def test_heatmap_is_ordered_and_marked(tree):
    y = np.arange(20) % 2
    axes = plot.heatmap(tree, labels=y)
    axes.figure.canvas.draw()
    assert_array_equal(axes.images[0].get_array(), tree.distances_[np.ix_(tree.leaves_, tree.leaves_)])
    runs = np.flatnonzero(np.diff(tree.labels_[tree.leaves_])) + 0.5
    assert sorted(line.get_xdata()[0] for line in axes.lines[1::2]) == runs.tolist()
    assert_allclose(np.asarray(axes.child_axes[0].images[0].get_array())[0], class_colours(2)[y[tree.leaves_]])
    (colorbar,) = [a for a in axes.figure.axes if a.get_label() == "<colorbar>"]
    assert colorbar.get_ylabel() == "distance"


def test_heatmap_of_a_matrix(tree):
    D = tree.distances_
    assert_array_equal(plot.heatmap(D).images[0].get_array(), D)
    order = np.argsort(tree.labels_, kind="stable")
    by_cluster = plot.heatmap(D, clusters=tree.labels_)
    assert_array_equal(by_cluster.images[0].get_array(), D[np.ix_(order, order)])
    assert len(by_cluster.lines) == 4
    backwards = np.arange(20)[::-1]
    assert_array_equal(plot.heatmap(tree, order=backwards).images[0].get_array(), D[::-1, ::-1])


def test_given_axes_are_used(tree):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1)
    assert plot.dendrogram(tree, ax=axes[0]) is axes[0]
    assert plot.heatmap(tree, ax=axes[1]) is axes[1]
    assert class_bar(axes[0], np.array([0, 1]), np.array([0, 1]), (0.0, 2.0)).figure is figure


def test_what_is_refused(tree):
    for call, message in [
        (lambda: plot.dendrogram(np.zeros((3, 3))), "`clustering` must be a fitted HierarchicalClustering or"),
        (lambda: plot.dendrogram(HierarchicalClustering()), "`clustering` must be a fitted HierarchicalClustering or"),
        (lambda: plot.dendrogram(np.zeros((3, 4))), "`clustering` must merge every cluster once"),
        (lambda: plot.dendrogram(tree, [1, 2]), "`labels` must hold 20 labels"),
        (lambda: plot.dendrogram(tree, names=["a"]), "`names` must hold 20 names"),
        (lambda: plot.dendrogram(tree, n_clusters=21), "`n_clusters` .* must be at most"),
        (lambda: plot.heatmap(HierarchicalClustering()), "a fitted HierarchicalClustering; .* has no distances"),
        (lambda: plot.heatmap(np.zeros((2, 3))), "`distances` must be a square matrix"),
        (lambda: plot.heatmap(tree, order=[0, 1]), "`order` must hold each of the numbers 0 to 19 once"),
        (lambda: plot.heatmap(tree, order=np.zeros(20, dtype=int)), "`order` must hold each"),
        (lambda: plot.heatmap(tree, clusters=[1]), "`clusters` must hold 20 labels"),
        (lambda: plot.heatmap(tree, labels=[1]), "`labels` must hold 20 labels"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            call()
