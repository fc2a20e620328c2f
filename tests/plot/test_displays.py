"""Displays: what is drawn is what was computed; they draw again elsewhere, and refuse what they cannot draw."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import (
    EquivalentWassersteinGP,
    LSSVMClassifier,
    LSSVMRegressor,
    Measures,
    datasets,
    definiteness,
    divergences,
    ground,
    inspection,
    kernels,
    pairwise,
    plot,
)
from kermes.clustering import HierarchicalClustering
from kermes.exceptions import InvalidParameterError, MissingDependencyError, UnsuitableDataError

pytest.importorskip("matplotlib")
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from kermes.plot._display import CLASS_PALETTE, PALETTE, class_colours, colours

SLICED = divergences.SlicedWasserstein(n_slices=10)


@pytest.fixture(scope="module")
def digits():
    return datasets.load_digits()[:60]


@pytest.fixture(scope="module")
def X(digits):
    return digits.measures()


def render(display):
    """Draw for real, without warnings, and return the display."""
    display.figure_.canvas.draw()
    return display


def dots(axes, place=0):
    return np.asarray(axes.collections[place].get_offsets())


# -- what all have in common ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def displays(X, digits):
    """Return a maker of one display of each kind that draws on single axes."""
    y = digits.target
    tree = HierarchicalClustering(SLICED, n_clusters=3).fit(X[:20])
    model = LSSVMClassifier(kernels.Exponential(SLICED)).fit(X[:40], y[:40])
    segment = Measures.from_histograms([[1.0, 3.0], [2.0, 1.0], [1.0, 1.0]], [0.0, 1.0])
    process = EquivalentWassersteinGP(n_restarts=0).fit(segment, [0.0, 1.0, 0.3])
    return {
        "heatmap": lambda ax: plot.HeatmapDisplay.from_measures(X[:20], SLICED, y[:20], ax=ax),
        "gram": lambda ax: plot.GramDisplay.from_measures(X[:20], kernels.Exponential(SLICED), y[:20], ax=ax),
        "spectrum": lambda ax: plot.SpectrumDisplay.from_measures(X[:20], kernels.Exponential(SLICED), ax=ax),
        "dendrogram": lambda ax: plot.DendrogramDisplay.from_linkage(tree.linkage_, y[:20], ax=ax),
        "plan": lambda ax: plot.TransportPlanDisplay.from_measures(X[0], X[1], ax=ax),
        "map": lambda ax: plot.MapDisplay.from_measures(X[:20], SLICED, y[:20], ax=ax),
        "contributions": lambda ax: plot.ContributionsDisplay.from_estimator(model, X[50], ax=ax),
        "simplex": lambda ax: plot.SimplexDisplay.from_estimator(process, axes=ax),
    }


KINDS = ["heatmap", "gram", "spectrum", "dendrogram", "plan", "map", "contributions", "simplex"]


@pytest.mark.parametrize("kind", KINDS)
def test_displays_draw_where_they_are_told_and_again(displays, kind):
    import matplotlib.pyplot as plt

    figure, given = plt.subplots()
    display = render(displays[kind](given))
    assert display.ax_ is given
    assert display.figure_ is figure
    again = render(display.plot())
    assert again is display
    assert display.ax_ is not given
    assert display.ax_.get_xlabel() == given.get_xlabel()
    # Everything written is inside the picture.
    box, tight = display.figure_.bbox, display.figure_.get_tightbbox().padded(-1.0 / 72.0)
    inches = box.transformed(display.figure_.dpi_scale_trans.inverted())
    assert tight.x0 >= inches.x0
    assert tight.x1 <= inches.x1
    assert tight.y0 >= inches.y0
    assert tight.y1 <= inches.y1


@pytest.mark.parametrize("kind", KINDS)
def test_matplotlib_missing(displays, kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[plot\]"):
        displays[kind](None)


def test_classes_and_clusters_have_colours_of_their_own():
    assert not set(PALETTE) & set(CLASS_PALETTE)
    for n in (1, 6, 10, 30):
        for make in (colours, class_colours):
            assert len(np.unique(make(n), axis=0)) == n


# -- matrices -------------------------------------------------------------------------------------


def test_heatmap_in_the_order_of_a_tree(X):
    D = pairwise(X[:20], divergence=SLICED)
    tree = HierarchicalClustering(SLICED).fit(X[:20])
    display = plot.HeatmapDisplay.from_distances(D, order="tree")
    assert_array_equal(display.order, tree.leaves_)
    assert_array_equal(display.ax_.images[0].get_array(), D[np.ix_(tree.leaves_, tree.leaves_)])
    assert_array_equal(plot.HeatmapDisplay.from_measures(X[:20], SLICED).clusters, tree.labels_)


def test_gram_of_measures_says_what_to_pass(X):
    with pytest.raises(InvalidParameterError, match=r"got Measures. Pass kernel\(X\)"):
        plot.gram(X)
    with pytest.raises(InvalidParameterError, match=r"got list. Pass kernel\(X\)"):
        plot.gram(list(X))
    with pytest.raises(InvalidParameterError, match=r"got Measures. Pass pairwise\(X, divergence=...\)"):
        plot.heatmap(X)


@pytest.mark.parametrize(
    ("K", "limits", "extend"),
    [
        ([[1.0, 0.2], [0.2, 1.0]], (0.0, 1.0), "neither"),  # a normalised kernel
        ([[1e-5, 2e-6], [2e-6, 1e-5]], (2e-6, 1e-5), "neither"),  # unnormalised: over the values, not all black
        ([[3.0, -1.0], [-1.0, 2.0]], (-1.0, 3.0), "neither"),
        (np.eye(3), (0.0, 1.0), "neither"),
        (np.full((2, 2), 7.0), (6.3, 7.7), "neither"),  # matplotlib makes room around a single value
    ],
)
def test_colours_of_gram(K, limits, extend):
    axes = plot.gram(K)
    axes.figure.canvas.draw()
    assert_allclose(axes.images[0].get_clim(), limits)
    assert axes.images[0].colorbar.extend == extend


def test_a_heavy_diagonal_leaves_colours_to_the_rest():
    K = np.random.default_rng(0).uniform(1.0, 2.0, (40, 40))
    K = K + K.T + 1000.0 * np.eye(40)
    axes = plot.gram(K)
    assert axes.images[0].get_clim()[1] < 4.1
    assert axes.images[0].colorbar.extend == "max"
    axes = plot.gram(-K)
    assert axes.images[0].get_clim()[0] > -4.1
    assert axes.images[0].colorbar.extend == "min"


def test_spectrum_shows_each_eigenvalue_and_the_verdict(X):
    for K, verdict, kinds in [
        (kernels.Exponential(SLICED)(X[:20]), "positive definite", ["positive"]),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "indefinite", ["positive", "negative"]),
        (np.ones((3, 3)), "positive semidefinite (to rounding)", ["positive", "0, to rounding"]),
    ]:
        display = render(plot.SpectrumDisplay.from_matrix(K))
        lines = {line.get_label(): line for line in display.ax_.lines}
        assert list(lines) == kinds
        drawn = np.concatenate([line.get_ydata() for line in lines.values()])
        assert_allclose(np.sort(drawn), definiteness.spectrum(K).eigenvalues)
        assert display.ax_.get_title().startswith(verdict + "\n")
        assert lines["positive"].get_xdata()[0] == 1  # the largest first
    with pytest.raises(InvalidParameterError, match="got Measures"):
        plot.SpectrumDisplay.from_matrix(X)
    render(plot.SpectrumDisplay.from_matrix(np.zeros((2, 2))))


# -- measures -------------------------------------------------------------------------------------


def test_panels_are_wrapped(X):
    display = render(plot.WeightedPCADisplay.from_measures(X[:9]))
    assert len(display.axes_) == 9
    rows = {round(axes.get_position().y0, 3) for axes in display.axes_}
    assert len(rows) == 2
    assert len([axes for axes in display.figure_.axes if axes.axison]) == 9
    sizes = display.figure_.get_size_inches()
    assert sizes[0] < 13.0


def test_eigenfunctions_display(X):
    kernel = ground.Gaussian(sigma=1.0)
    display = render(plot.EigenfunctionsDisplay.from_measures(X[:2], kernel, 3))
    assert display.axes_.shape == (3, 2)
    assert_allclose(
        display.spectra[1].eigenvalues, inspection.covariance_spectrum(X[1], kernel, 3).eigenvalues, rtol=1e-12
    )


def test_plan_on_the_plane(clouds):
    X = clouds(2, 2, seed=4)
    found = inspection.transport_plan(X[0], X[1])
    display = render(plot.TransportPlanDisplay.from_plan(found, ("young", "old")))
    axes = display.ax_
    (lines,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    moves = found.moves()
    n = len(lines.get_segments())
    assert moves.mass[:n].sum() >= 0.99 - 1e-12
    assert_allclose(np.array(lines.get_segments())[:, 0], X[0].points[moves.source[:n]])
    assert_allclose(np.array(lines.get_segments())[:, 1], X[1].points[moves.target[:n]])
    assert_allclose(lines.get_linewidths() / lines.get_linewidths()[0], moves.mass[:n] / moves.mass[0])
    assert_allclose(dots(axes, 1), X[0].points)
    assert_allclose(dots(axes, 2), X[1].points)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["young", "old"]
    assert f"{found.cost:.3g}" in axes.get_title()


def test_plan_of_images_has_rows_downwards(X):
    axes = render(plot.TransportPlanDisplay.from_measures(X[0], X[1])).ax_
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert_allclose(dots(axes, 1), X[0].points[:, ::-1])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column", "row")


def test_plan_on_the_line_has_marginals():
    X = Measures.from_samples([[0.0, 1.0], [1.0, 4.0]], [[1.0, 3.0], [1.0, 1.0]])
    display = render(plot.TransportPlanDisplay.from_measures(X[0], X[1]))
    assert_allclose(np.sort(dots(display.ax_), axis=0), np.sort([[1.0, 0.0], [1.0, 1.0], [4.0, 1.0]], axis=0))
    top, side = display.ax_.child_axes
    segments = np.array(top.collections[0].get_segments())
    assert_allclose(segments[:, 1], [[1.0, 0.5], [4.0, 0.5]])
    assert_allclose(np.array(side.collections[0].get_segments())[:, 1], [[0.25, 0.0], [0.75, 1.0]])
    assert "cost of the plan: 4.75" in top.get_title()


def test_plan_in_space_numbers_the_atoms(clouds):
    X = clouds(2, 3, seed=4)
    display = render(plot.TransportPlanDisplay.from_measures(X[0], X[1]))
    assert display.ax_.get_xlabel() == "atom in the target"
    assert dots(display.ax_)[:, 1].max() <= len(X[0].weights) - 1


def test_a_dense_plan_says_how_much_is_drawn():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(2, 10, 2)))
    whole = plot.TransportPlanDisplay.from_measures(X[0], X[1], divergences.Sinkhorn(epsilon=5.0))
    display = render(whole.plot(_most=5))
    (lines,) = [c for c in display.ax_.collections if isinstance(c, LineCollection)]
    assert len(lines.get_segments()) == 5
    share = display.plan.moves(5).mass.sum()
    assert f"{share:.0%} of the mass is drawn" in display.ax_.get_title()


# -- maps -----------------------------------------------------------------------------------------


def test_map_of_clouds_has_a_dot_for_each(clouds):
    X = clouds(12, 2)
    y = np.array(["a", "b", "c"] * 4)
    display = render(plot.MapDisplay.from_measures(X, SLICED, y))
    found = inspection.data_map(X, SLICED)
    assert_allclose(dots(display.ax_), found.coordinates)
    assert_allclose(
        display.ax_.collections[0].get_facecolors()[:, :3], class_colours(3)[np.arange(12) % 3, :3], atol=1e-12
    )
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b", "c"]
    assert f"stress {found.stress:.2f}, {found.explained:.0%} of the spectrum" in display.ax_.get_title()


def test_map_of_images_has_thumbnails(X, digits):
    display = render(plot.MapDisplay.from_measures(X, SLICED, digits.target))
    axes = display.ax_
    assert 5 < len(axes.images) < len(X)
    assert len(axes.images) + len(dots(axes)) == len(X)
    stamp = axes.images[0]
    assert_allclose(stamp.get_array()[..., 3], digits.images[0] / digits.images[0].max())
    left, right, bottom, top = stamp.get_extent()
    assert_allclose([(left + right) / 2, (bottom + top) / 2], display.map.coordinates[0])
    middles = np.array([[sum(i.get_extent()[:2]) / 2, sum(i.get_extent()[2:]) / 2] for i in axes.images])
    gaps = np.abs(middles[:, None] - middles[None]).max(axis=2)[np.triu_indices(len(middles), 1)]
    assert gaps.min() >= (right - left) * (1 - 1e-9)  # none overlaps another
    assert not plot.MapDisplay.from_measures(X, SLICED, thumbnails=False).ax_.images


def test_map_from_distances_and_what_it_refuses(X, digits):
    D = pairwise(X, divergence=SLICED)
    render(plot.MapDisplay.from_distances(D, method="kernel_pca", images=digits.images))
    render(plot.MapDisplay.from_distances(np.zeros((1, 1))))
    for call, message in [
        (lambda: plot.MapDisplay.from_distances(D, images=digits.images[:3]), r"`images` must have shape \(60, h, w\)"),
        (lambda: plot.MapDisplay.from_distances(D, labels=[1]), "`labels` must hold 60 labels"),
        (lambda: plot.MapDisplay.from_map(inspection.data_map(X, SLICED, n_components=3)), "two dimensions"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            call()


# -- models ---------------------------------------------------------------------------------------


def test_contributions_add_up_to_the_output(X, digits):
    y = digits.target
    model = LSSVMClassifier(kernels.Exponential(SLICED)).fit(X[:40], y[:40])
    display = render(plot.ContributionsDisplay.from_estimator(model, X[50], names=y[:40], k=4))
    widths = [bar.get_width() for bar in display.ax_.patches]
    found = display.contributions
    assert_allclose(sum(widths), found.decision[0, found.winners[0]])
    top = found.top(k=4)
    assert_allclose(widths[:4], top.values)
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts[0] == f"{y[top.rows[0]]} (measure {top.rows[0]})"
    assert texts[-2:] == ["36 others", "intercept"]
    for bar in display.ax_.patches:
        assert bar.get_facecolor() == to_rgba(PALETTE[0] if bar.get_width() >= 0 else PALETTE[1])
    values = LSSVMRegressor(kernels.Exponential(SLICED)).fit(X[:40], y[:40])
    assert render(plot.ContributionsDisplay.from_estimator(values, X[50])).ax_.get_title().startswith("output ")


def test_process_on_a_segment():
    a = np.linspace(0.05, 0.95, 7)
    X = Measures.from_histograms(np.column_stack([a, 1 - a]), [0.0, 5.0])
    y = np.sin(5 * a)
    model = EquivalentWassersteinGP(n_restarts=0).fit(X, y)
    display = render(plot.SimplexDisplay.from_estimator(model, X, y, truth=lambda w: np.sin(5 * w[:, 0]), level=0.5))
    truth, mean, seen = display.ax_.lines
    assert_allclose(seen.get_data(), [a, y])
    assert_allclose(truth.get_ydata(), np.sin(5 * truth.get_xdata()))
    new = Measures.from_histograms(np.column_stack([mean.get_xdata(), 1 - mean.get_xdata()]), [0.0, 5.0])
    expected, std = model.predict(new, return_std=True)
    assert_allclose(mean.get_ydata(), expected)
    band = display.ax_.collections[0].get_paths()[0].vertices
    assert_allclose(band[:, 1].max(), (expected + 0.6744897501960817 * std).max())  # the quartile of a Gaussian
    assert display.ax_.get_xlabel() == "weight at 0"


def test_process_on_a_triangle():
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 12)
    X = Measures.from_histograms(weights, [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    y = weights @ [1.0, 2.0, 4.0]
    model = EquivalentWassersteinGP(n_restarts=0).fit(X, y)
    display = render(plot.SimplexDisplay.from_estimator(model, X, y, resolution=10))
    assert display.weights.shape == (66, 3)
    assert_allclose(display.weights.sum(axis=1), 1.0)
    assert [axes.get_title().split(";")[0] for axes in display.axes_] == ["mean", "standard deviation"]
    assert [text.get_text() for text in display.ax_.texts] == ["(0, 0)", "(1, 0)", "(0, 2)"]
    seen = np.transpose(display.ax_.lines[0].get_data())
    assert_allclose(seen, weights @ [[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    assert display.plot(axes).figure_ is figure
    with pytest.raises(InvalidParameterError, match="`axes` must hold 1 x 2 axes"):
        display.plot(axes[0])


def test_predictions_from_elsewhere():
    weights = np.array([[1.0, 0.0], [0.4, 0.6], [0.0, 1.0]])
    display = render(plot.SimplexDisplay.from_predictions(weights, [1.0, 2.0, 3.0], [0.1, 0.2, 0.1]))
    assert_allclose(display.ax_.lines[0].get_data(), [[0.0, 0.4, 1.0], [3.0, 2.0, 1.0]])
    assert display.ax_.get_xlabel() == "weight at point 0"
    for weights, mean, message in [
        ([[0.5, 0.4]], [1.0], "rows of `weights` must be non-negative and add up to 1"),
        ([0.5, 0.5], [1.0], r"`weights` must have shape \(n, 2\) or \(n, 3\)"),
        ([[0.5, 0.5]], [1.0, 2.0], "`mean` must hold 1 values"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            plot.SimplexDisplay.from_predictions(weights, mean, [0.1])


def test_what_the_simplex_refuses():
    X = Measures.from_histograms([[1.0, 3.0], [2.0, 1.0]], [0.0, 1.0])
    model = EquivalentWassersteinGP(n_restarts=0).fit(X, [0.0, 1.0])
    for call, error, message in [
        (lambda: plot.SimplexDisplay.from_estimator(model, X), InvalidParameterError, "given together"),
        (lambda: plot.SimplexDisplay.from_estimator(model, X, [1.0]), InvalidParameterError, "`y` must hold 2 values"),
        (lambda: plot.SimplexDisplay.from_estimator(object()), InvalidParameterError, "`support` must be given"),
        (lambda: plot.SimplexDisplay.from_estimator(model, support=[0, 1, 2, 3]), UnsuitableDataError, "are on 4"),
        (lambda: plot.SimplexDisplay.from_estimator(model, level=0.0), InvalidParameterError, "`level`"),
    ]:
        with pytest.raises(error, match=message):
            call()
