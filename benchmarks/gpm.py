"""Rows of the paper `gpm`: one likelihood of a few samples, and the time of its corrected comparison."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from kermes.papers.gpm import corrected, exponents, small_gp
from kermes.papers.gpm.data import LINE, authors_inputs, simplex_problem

from .harness import Contest, Row, relative, timed

#: Runs that are timed, of 500; processes that share them; minutes that 500 runs of four problems may take.
RUNS, ALL, PROCESSES, MINUTES = 2, 500, 2, 30.0


def gpm_likelihood() -> Row:
    """Likelihood and gradient of 20 samples, against scikit-learn's."""
    A = authors_inputs(1)[0]
    y = simplex_problem("problem02")(A)
    theta = np.log([0.4, 1.0, 1e-3])  # length scale, variance, noise
    F, gradient = exponents.se_isotropic(A, A), np.empty(3)
    peer = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), optimizer=None).fit(A, y)

    def ours() -> np.ndarray:
        for _ in range(1000):
            value = small_gp.likelihood(F, y, theta, gradient)
        return np.append(value, gradient)

    def theirs() -> np.ndarray:
        with threadpool_limits(limits=1):
            for _ in range(100):
                value, gradient = peer.log_marginal_likelihood(theta[[1, 0, 2]], eval_gradient=True, clone_kernel=False)
        return -np.append(value, gradient[[1, 0, 2]])

    name = "GP likelihood and gradient, 20 samples"
    return Contest(name, "scikit-learn", ours, theirs, 1000, 100, 5.0, 1e-6, relative).run()


def gpm_corrected() -> Row:
    """The corrected comparison of `gpm`: 500 runs of 18 sizes on four problems, from a few runs of one process."""
    sizes = list(range(3, 21))
    corrected.scores_of_run("problem02", 1, [3])  # compiles or loads the compiled code
    seconds, _ = timed(lambda: [corrected.scores_of_run(p, run, sizes) for p in LINE for run in range(1, RUNS + 1)])
    minutes = seconds * ALL / RUNS / PROCESSES / 60
    return Row(
        "gpm, corrected: 500 runs x 18 sizes x 4 problems", "", f"{seconds / RUNS / len(LINE):.2f} s per run", "",
        f"{minutes:.1f} min on two cores", f"<= {MINUTES:g} min", "", minutes <= MINUTES,
    )  # fmt: skip


ROWS = {f.__name__: f for f in (gpm_likelihood, gpm_corrected)}
