"""What a folder has of the reproduction, and how long the rest takes on this machine."""

from __future__ import annotations

import time

import numpy as np

from ... import Engine, Measures
from .._paper import Numbers, Run
from .dental import is_simulated, make_dental_ct
from .methods import COUNT, METHODS, divergence_of, has_textures
from .texture import texture_features

#: Slices that are simulated to know how long the others take.
TRIED = 3


def ahead(run: Run, chosen: set[str]) -> list[str]:
    """Say which slices and scores are there, and how long the rest takes, from a few slices and pairs."""
    searched = [f"equal-moments-{seed}" for seed in run.sizes["equal_moments"]]
    parts = {"sensitivity": ["sensitivity"], "equal_moments": searched}
    missing = {
        piece: sum(not run.has(name, depends_on(run, piece)) for name in names) for piece, names in parts.items()
    }
    said = []
    wanted = _sets(run, chosen, bool(missing["sensitivity"]))
    lacking = [which for which in wanted if not has_textures(run, *which)]
    if wanted:
        there = f"slices: the features of {len(wanted) - len(lacking)} of {len(wanted)} sets are there"
        said.append(there + _seconds_of_slices(run, lacking))
    for piece, names in parts.items():
        if piece in chosen:
            said.append(f"{piece}: {len(names) - missing[piece]} of {len(names)} parts are there.")
    matrices = len(METHODS) * ("figure3" in chosen) + ("figure2" in chosen) + 2 * ("figure4" in chosen)
    matrices += (missing["sensitivity"] * _matrices(run)) * ("sensitivity" in chosen)
    matrices += missing["equal_moments"] * _matrices(run, searched=True) * ("equal_moments" in chosen)
    if matrices:
        minutes = matrices * _seconds_of_matrix(run) / 60
        said.append(f"Matrices of distances: {matrices}, about {minutes:.1f} minutes on free cores.")
    return said


def depends_on(run: Run, piece: str) -> Numbers:
    """Return the settings of one of the two pieces whose scores are kept."""
    common = {key: run.settings[key] for key in ("gamma", "rho", "linkages", "rhos")} | {"slices": run.sizes["slices"]}
    if piece == "equal_moments":
        return common | {"narrow_gammas": run.settings["narrow_gammas"], "searched": "all seeds"}
    return common | {key: run.settings[key] for key in ("gammas", "ranges")} | {"seeds": run.sizes["seeds"]}


def _sets(run: Run, chosen: set[str], sensitivity: bool) -> list[tuple[int, list[float] | None]]:
    """Return seed and grey range of the sets of slices that the chosen pieces need."""
    first, *others = run.sizes["seeds"]
    sets: list[tuple[int, list[float] | None]] = []
    if chosen & {"figure1", "figure2", "figure3", "figure4"} or ("sensitivity" in chosen and sensitivity):
        sets.append((first, None))
    if "sensitivity" in chosen and sensitivity:
        sets += [(seed, None) for seed in others] + [(first, cut) for cut in run.settings["ranges"]]
    return sets


def _seconds_of_slices(run: Run, missing: list[tuple[int, list[float] | None]]) -> str:
    """Return in words how long it takes to simulate and describe the missing sets."""
    if not missing:
        return "."
    sizes = run.sizes["slices"]
    rates = []
    for _ in range(2):  # the first time loads what is needed
        started = time.process_time()
        tried = make_dental_ct(n_scans=1, n_slices=TRIED, n_noisy=1, size=sizes["size"], cache=False)
        simulated = time.process_time()
        texture_features(tried.images)
        rates.append((simulated - started, time.process_time() - simulated))
    simulate, describe = (min(seconds) / TRIED for seconds in zip(*rates, strict=True))
    fresh = len({seed for seed, _ in missing if not is_simulated(**sizes, seed=seed)})
    seconds = sizes["n_slices"] * (fresh * simulate + len(missing) * describe)
    return f"; to simulate {fresh} and describe {len(missing)} takes about {seconds / 60:.1f} minutes of a free core."


def _matrices(run: Run, searched: bool = False) -> int:
    """Return how many matrices of distances the sensitivity needs, or a seed of the search on equal moments."""
    kernels_and_rhos = 2 * len(run.settings["rhos"]) + 2 * len(run.settings["narrow_gammas" if searched else "gammas"])
    sets = 1 if searched else len(run.sizes["seeds"]) + 1 + len(run.settings["ranges"])  # once with other powers
    return sets * len(METHODS) + kernels_and_rhos


def _seconds_of_matrix(run: Run) -> float:
    """Return about how long the distances of one method take, in the mean of the four, from the rate of a few."""
    numbers = np.random.default_rng(0).random((run.sizes["slices"]["n_slices"], COUNT, 1))
    X, rates = Measures.from_samples(numbers), []
    for name in METHODS:
        divergence = divergence_of(name, run.settings["gamma"], run.settings["rho"])
        rates.append(Engine(memo=False).estimate(X, divergence=divergence).seconds)
    return sum(rates) / len(rates)
