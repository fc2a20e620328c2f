"""Rows against OTT, GeomLoss, RegOT and hyppo, which have an environment of their own: run when they are named."""

from __future__ import annotations

import subprocess
import tempfile
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kermes import Engine, Measures, divergences, ground, inference, pairwise

from .harness import Row, relative, timed

FRESH = Engine(memo=False, progress=False)
PACKAGES = ("ott-jax", "geomloss", "torch", "regot", "hyppo", "dcor")


@cache
def peers_python() -> Path:
    """Return the interpreter of the environment of the peers; PyTorch alone takes minutes to install."""
    python = Path(__file__).parent / ".venv-peers" / "bin" / "python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES], check=True)
    return python


def _against(
    peer: str, title: str, name: str, data: dict[str, Any], ours: Callable[[], Any], units: int, tolerance: float,
    compare: Callable[[Any, Any], float] = relative,
) -> Row:  # fmt: skip
    """Run a function of ``peer_side`` in the other environment, alternating with ours; no ratio is asked for."""
    script = str(Path(__file__).with_name("peer_side.py"))
    mine, yours = [], []
    ours()
    with tempfile.TemporaryDirectory() as folder:
        source, target = f"{folder}/in.npz", f"{folder}/out.npz"
        np.savez(source, **data)
        for _ in range(3):
            subprocess.run(
                [str(peers_python()), "-W", "ignore", script, peer, source, target],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            with np.load(target, allow_pickle=False) as found:
                yours.append(float(found["seconds"]) / units)
                expected = found["values"]
            seconds, result = timed(ours)
            mine.append(seconds / units)
    ratio, difference = min(yours) / min(mine), compare(result, expected)
    return Row(
        name, title, f"{1e6 * min(mine):.3g} us", f"{1e6 * min(yours):.4g} us",
        f"{ratio:.0f} x" if ratio >= 10 else f"{ratio:.1f} x", ">= 1 x", f"{difference:.0e}",
        ratio >= 1.0 and difference <= tolerance,
    )  # fmt: skip


def _clouds(n: int, points: int, dim: int, share: float) -> dict[str, Any]:
    """Return clouds, their weights, all pairs, and an epsilon that is a share of the median cost."""
    clouds = np.random.default_rng(0).normal(size=(n, points, dim))
    rows, cols = np.triu_indices(n, 1)
    epsilon = share * float(np.median(ground.SqEuclidean()(clouds[0], clouds[1])))
    weights = np.full((n, points), 1.0 / points)
    return {"clouds": clouds, "weights": weights, "rows": rows, "cols": cols, "epsilon": epsilon}


def _entropic(peer: str, title: str, name: str, data: dict[str, Any], tolerance: float, **options: Any) -> Row:
    """Compare squared entropic distances of all pairs of clouds."""
    X, S = Measures.from_samples(data["clouds"]), divergences.Sinkhorn(data["epsilon"], **options)
    at = (data["rows"], data["cols"])
    return _against(
        peer, title, name, {**data, "tol": options["tol"]},
        lambda: pairwise(X, divergence=S, engine=FRESH, squared=True)[at], len(data["rows"]), tolerance,
    )  # fmt: skip


def peer_ott() -> Row:
    """Entropic plans to an L1 error of 1e-3: one batch of OTT."""
    name = "Sinkhorn, 12 clouds of 200 points in 10-D, eps 5 % of the median cost"
    return _entropic("ott", "OTT-JAX, vmap, the better of two modes", name, _clouds(12, 200, 10, 0.05), 0.03, tol=1e-3)


def peer_geomloss() -> Row:
    """Debiased values, where GeomLoss stops by a schedule instead of an error."""
    name = "debiased Sinkhorn, 12 clouds of 200 points in 10-D, eps 5 % of the median cost"
    data = _clouds(12, 200, 10, 0.05)
    return _entropic("geomloss", "GeomLoss, scaling 0.9", name, data, 0.03, value="debiased", tol=1e-3)


def peer_regot() -> Row:
    """A small epsilon, for which Newton's method is made."""
    name = "Sinkhorn, 4 clouds of 200 points in 2-D, eps 1e-3 of the median cost, L1 1e-6"
    return _entropic("regot", "RegOT, the better of two solvers", name, _clouds(4, 200, 2, 1e-3), 0.02, tol=1e-6)


def peer_hyppo() -> Row:
    """A permutation test of two clouds; p-values of both are random."""
    rng, permutations = np.random.default_rng(0), 1000
    clouds = np.stack([rng.normal(size=(200, 5)), rng.normal(0.12, 1.0, size=(200, 5))])
    mu, nu = Measures.from_samples(clouds)
    divergence = divergences.MMD(ground.Gaussian(gamma=0.1))

    def ours() -> list[float]:
        test = inference.two_sample(mu, nu, divergence=divergence, n_permutations=permutations, random_state=0)
        return [test.p_value]

    return _against(
        "hyppo", "hyppo MMD, one or two processes", "MMD test of two clouds of 200 points, 1000 permutations",
        {"clouds": clouds, "gamma": 0.1, "reps": permutations}, ours, 1, 0.05,
        compare=lambda p, q: float(abs(p[0] - q[0])),
    )  # fmt: skip


ROWS = {f.__name__: f for f in (peer_ott, peer_geomloss, peer_regot, peer_hyppo)}
