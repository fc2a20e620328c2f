"""What is known about every divergence, as one table made from their own claims."""

from __future__ import annotations

from typing import NamedTuple

from .. import ground
from ._base import Claims, Divergence
from ._bhattacharyya import Bhattacharyya
from ._euclidean import Euclidean
from ._exponential_family import ExponentialFamily
from ._gaussian_kl import GaussianKL
from ._gaussian_wasserstein import GaussianWasserstein
from ._generalized_variance import GeneralizedVariance
from ._jensen_shannon import JensenShannon
from ._mmd import MMD
from ._sinkhorn import Sinkhorn
from ._sliced import SlicedWasserstein
from ._wasserstein import Wasserstein


class Claimed(NamedTuple):
    """A row of the table: the divergence, the dimension of the points, and its claims there."""

    divergence: Divergence
    dim: int
    claims: Claims

    @property
    def negative_definite(self) -> str:
        """For which powers h the function d^h is conditionally negative definite."""
        known, fails = self.claims.negative_type, self.claims.fails_at
        words = [f"yes for h <= {known:g}"] if known else []
        if known == 0.0:
            words.append("no")
        elif fails is not None:
            words.append(f"no for h >= {fails:g}")
        return ", ".join(words) or "unknown"


def catalogue() -> tuple[Divergence, ...]:
    """Return one divergence for each claim that differs; parameters that do not matter have some value."""
    points = ground.Gaussian(sigma=1.0)
    return (
        *(Wasserstein(p=p) for p in (1, 1.5, 2, 3)),
        *(Wasserstein(p=p, cost=ground.Binary()) for p in (1, 2)),
        Wasserstein(p=1, cost=ground.Torus(1.0)),
        Sinkhorn(0.5, cost="euclidean"),
        Sinkhorn(0.5),
        Sinkhorn(0.5, value="debiased"),
        *(SlicedWasserstein(p=p) for p in (1, 2, 3)),
        *(GaussianWasserstein(k) for k in (ground.Linear(), points, ground.Laplacian())),
        *(GaussianKL(k, reg=0.1) for k in (ground.Linear(), points)),
        *(GeneralizedVariance(0.1, k) for k in (ground.Linear(), points)),
        *(ExponentialFamily(name) for name in ("gaussian", "gaussian-diagonal", "multinomial", "multinomial-exact")),
        JensenShannon(),
        JensenShannon(points),
        *(MMD(k) for k in (ground.Linear(), points)),
        *(Bhattacharyya(k, 0.1) for k in (ground.Linear(), ground.Polynomial(2), points)),
        Euclidean(),
    )


def claims(dims: tuple[int, ...] = (1, 2)) -> list[Claimed]:
    """Return what is known about every divergence: is it a metric, which powers of it are negative definite, and why.

    Parameters
    ----------
    dims : tuple of int
        Dimensions of the points.

    Returns
    -------
    list of Claimed
        Rows (divergence, dim, claims), ``negative_definite`` in words.

    Notes
    -----
    Where d^h is conditionally negative definite, ``kernels.Exponential(d, power=h)`` is positive definite for every
    length scale, and only there (Schoenberg). "No" stands for a counterexample.

    Examples
    --------
    >>> from kermes import divergences
    >>> row = divergences.claims()[0]
    >>> row.divergence, row.dim, row.claims.metric, row.negative_definite
    (Wasserstein(p=1, cost=Euclidean()), 1, True, 'yes for h <= 1, no for h >= 2')
    """
    return [Claimed(divergence, dim, divergence.claims(dim)) for divergence in catalogue() for dim in dims]


def claims_markdown() -> str:
    """Return the table in Markdown; equal rows of several dimensions become one."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for row in claims((1, 2)):
        metric = {True: "yes", False: "no", None: "unknown"}[row.claims.metric]
        cells = repr(row.divergence), metric, row.negative_definite, row.claims.reason
        merged.setdefault(cells, []).append({1: "1", 2: "2 and more"}[row.dim])
    lines = ["| divergence | dimension | metric | d^h negative definite | reason |", "|---|---|---|---|---|"]
    for (name, metric, negative, reason), dims in merged.items():
        dim = "any" if len(dims) == 2 else dims[0]
        lines.append(f"| `{name}` | {dim} | {metric} | {negative} | {reason.replace('|', '/')} |")
    return "\n".join(lines) + "\n"
