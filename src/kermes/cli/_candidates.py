"""From the short name of a kernel to a candidate, which ``fit`` and ``compare`` search alike."""

from __future__ import annotations

from typing import Any

#: Rates of semigroup kernels that are tried.
RATES = (0.3, 1.0, 3.0, 10.0)
#: What the command line calls a learner, for classes and for numbers.
LEARNERS = {"svm": ("svc", "svr"), "lssvm": ("lssvm", "ridge"), "gp": ("gp", "gp")}


def candidate(name: str, task: str, dim: int, learner: str = "auto") -> Any:
    """Return a named kernel with a learner; length scale and rate are searched unless the name has them."""
    from .. import kernels
    from ..comparison import Candidate
    from ..comparison._learners import definite_power
    from . import _naming as naming

    kernel, given = naming.kernel(name), naming.parse(name).options
    open_scale = isinstance(kernel, kernels.Exponential) and "length_scale" not in given
    if open_scale and "power" not in given:
        kernel.set_params(power=definite_power(kernel.divergence, dim))
    if learner == "auto":
        proved = bool(kernel.is_positive_definite(dim))
        learner = "gp" if task == "regression" else "svm" if proved else "lssvm"
    chosen = LEARNERS[learner][task == "regression"]
    if open_scale:
        power = {"power": [float(given["power"])]} if "power" in given else None
        return Candidate(name, kernel.divergence, learner=chosen, grid=power)
    rate = isinstance(kernel, (kernels.Semigroup, kernels.Entropy)) and "t" not in given and learner != "gp"
    return Candidate(name, kernel=kernel, learner=chosen, grid={"t": RATES} if rate else None)


def with_length_scale(name: str, X: Any) -> Any:
    """Return the kernel; at the median distance if its name says no length scale."""
    from .. import kernels, pairwise
    from .._scales import median_distance
    from . import _naming as naming

    kernel = naming.kernel(name)
    if not isinstance(kernel, kernels.Exponential) or "length_scale" in naming.parse(name).options:
        return kernel
    return kernel.set_params(length_scale=median_distance(pairwise(X, divergence=kernel.divergence)))
