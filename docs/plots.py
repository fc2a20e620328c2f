"""Small plots for pages of the reference: what a distance or a kernel does as one of two measures moves or widens.

The documentation build calls it. Each name in ``CURVES`` and ``PROFILES`` gets ``api/plots/NAME.svg``, drawn by the
thing itself, and the page of that name shows it before its parameters.
"""

from pathlib import Path

import numpy as np

from kermes import Measures, divergences, ground, kernels, pairwise

PLOTS = Path(__file__).parent / "api" / "plots"
POSITIONS = np.linspace(-8.0, 12.0, 201)
GAUSSIAN = ground.Gaussian(sigma=1.0)

#: What is drawn: one curve for each setting, beside its label. Distances and kernels on measures ...
CURVES = {
    "kermes.divergences.Wasserstein": {
        f"p = {p}": divergences.Wasserstein(p=p) for p in (1, 2)
    },
    "kermes.divergences.Sinkhorn": {
        f"{value}, epsilon = 2": divergences.Sinkhorn(2.0, value=value)
        for value in ("transport", "debiased")
    },
    "kermes.divergences.MMD": {
        f"Gaussian, sigma = {s:g}": divergences.MMD(ground.Gaussian(sigma=s))
        for s in (0.5, 1.0, 2.0)
    },
    "kermes.divergences.JensenShannon": {
        "bins": divergences.JensenShannon(),
        "smoothed, sigma = 1": divergences.JensenShannon(smoothing=GAUSSIAN),
    },
    "kermes.divergences.Euclidean": {"bins": divergences.Euclidean()},
    "kermes.divergences.GaussianWasserstein": {
        "linear ground": divergences.GaussianWasserstein(),
        "Gaussian, sigma = 1": divergences.GaussianWasserstein(GAUSSIAN),
    },
    "kermes.divergences.GaussianKL": {
        f"reg = {reg:g}": divergences.GaussianKL(reg=reg) for reg in (0.1, 1.0)
    },
    "kermes.divergences.GeneralizedVariance": {
        "linear ground": divergences.GeneralizedVariance(0.1),
        "Gaussian, sigma = 1": divergences.GeneralizedVariance(0.1, GAUSSIAN),
    },
    "kermes.kernels.IGV": {
        f"eta = {eta:g}": kernels.IGV(eta=eta) for eta in (0.01, 0.1, 1.0)
    },
    "kermes.kernels.Entropy": {f"t = {t:g}": kernels.Entropy(t=t) for t in (1.0, 3.0)},
    "kermes.kernels.Bhattacharyya": {
        f"eta = {eta:g}": kernels.Bhattacharyya(ground.Linear(), eta=eta)
        for eta in (0.01, 0.1, 1.0)
    },
}
#: ... point kernels by the distance of two points, and profiles by the distance of two measures.
PROFILES = {
    "kermes.ground.Gaussian": {
        f"sigma = {s:g}": ground.Gaussian(sigma=s) for s in (0.5, 1.0, 2.0)
    },
    "kermes.ground.Laplacian": {
        f"gamma = {g:g}": ground.Laplacian(gamma=g) for g in (0.5, 1.0, 2.0)
    },
    "kermes.kernels.Exponential": {
        f"power = {p:g}": kernels.Exponential(divergences.Wasserstein(p=1), power=p)
        for p in (0.5, 1.0, 2.0)
    },
    "kermes.kernels.Matern": {
        f"nu = {nu:g}": kernels.Matern(divergences.Wasserstein(p=1), nu=nu)
        for nu in (0.5, 1.5, 2.5)
    },
}


def bump(centres, widths):
    """Return normal densities on the positions, one for each centre and width, as histograms."""
    centres, widths = np.broadcast_arrays(np.atleast_1d(centres), widths)
    z = (POSITIONS - centres[:, None]) / widths[:, None]
    return Measures.from_histograms(np.exp(-(z**2) / 2), POSITIONS)


def values(thing, X, Y):
    """Return what a divergence or kernel gives for one measure and many."""
    if isinstance(thing, divergences.Divergence):
        return pairwise(X, Y, divergence=thing)[0]
    return thing(X, Y)[0]


def draw(settings, panels, label):
    """Return a figure with a curve for each setting in each panel: (title, abscissae, values of a setting)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(panels) + 0.4, 2.2), layout="constrained")
    for i, (title, x, curve) in enumerate(panels):
        ax = figure.add_subplot(1, len(panels), i + 1)
        for setting, style in zip(
            settings.items(), ("-", "--", ":", "-."), strict=False
        ):
            ax.plot(x, curve(setting[1]), style, color="#3b7dd8", label=setting[0])
        ax.set_xlabel(title, color="#808080")
        ax.set_ylim(bottom=0.0)
        ax.tick_params(colors="#808080", labelsize=8)
        for side, spine in ax.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color("#808080")
        if i == 0:
            ax.set_ylabel(label, color="#808080")
        if i == len(panels) - 1 and len(settings) > 1:
            ax.legend(fontsize=7, frameon=False, labelcolor="#808080")
    return figure


def write_plots():
    """Write a picture for each name."""
    PLOTS.mkdir(parents=True, exist_ok=True)
    shift, width = np.linspace(0.0, 4.0, 41), np.linspace(1.0, 3.0, 41)
    fixed, moved, widened = bump(0.0, 1.0), bump(shift, 1.0), bump(0.0, width)
    for name, settings in CURVES.items():
        panels = [
            ("shift, in standard deviations", shift, lambda d: values(d, fixed, moved)),
            (
                "ratio of standard deviations",
                width,
                lambda d: values(d, fixed, widened),
            ),
        ]
        label = "distance" if ".divergences." in name else "kernel"
        _save(draw(settings, panels, label), name)
    points = shift[:, None]
    diracs = Measures.from_samples(list(points))
    for name, settings in PROFILES.items():
        if ".ground." in name:
            panel = ("distance between points", shift, lambda k: k(points, points)[0])
        else:
            panel = (
                "distance / length scale",
                shift,
                lambda k: k(diracs)[0],
            )
        _save(draw(settings, [panel], "kernel"), name)


def _save(figure, name):
    figure.savefig(
        PLOTS / f"{name}.svg",
        transparent=True,
        metadata={"Date": None, "Creator": None},
    )


def show_plot(app, what, name, thing, options, lines):
    """Put the plot of a name, if there is one, before the parameters in its docstring."""
    if name in PROFILES:
        text = "The kernel against the distance."
    elif name in CURVES:
        text = "Two normal densities, one of which moves away or becomes wider."
    else:
        return
    place = lines.index("Parameters") if "Parameters" in lines else len(lines)
    lines[place:place] = [
        f".. figure:: /api/plots/{name}.svg",
        f"   :alt: {text}",
        "   :class: dark-light",
        "",
        f"   {text}",
        "",
    ]
