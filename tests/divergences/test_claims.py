"""The table of claims: "yes" holds on hostile data, "no" has a counterexample."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from kermes import Engine, Measures, divergences, pairwise
from kermes.divergences import Divergence

ROWS = divergences.claims()
COUNTEREXAMPLES = json.loads((Path(__file__).parent / "counterexamples.json").read_text())
ENGINE = Engine("serial", memo=False)


def name(row):
    return f"{row.divergence!r} dim {row.dim}"


def rows(kept):
    return pytest.mark.parametrize("row", [row for row in ROWS if kept(row.claims)], ids=name)


def centred(D, power):
    """Return the eigenvalues of -d^h / 2 on vectors that sum to 0."""
    centre = np.eye(len(D)) - 1 / len(D)
    return np.linalg.eigvalsh(-0.5 * centre @ D**power @ centre)


def hostile(dim, seed):
    """Return clouds with copies, ties, single atoms, lattices, tiny and large spreads, and nearly empty atoms."""
    rng = np.random.default_rng(seed)
    samples = [
        *[rng.normal(size=(rng.integers(1, 7), dim)) * scale for scale in (1e-6, 0.1, 1.0, 1.0, 8.0)],
        *[rng.integers(-2, 3, size=(rng.integers(2, 7), dim)) for _ in range(6)],
        np.zeros((1, dim)),
        np.zeros((5, dim)),
        np.full((1, dim), 1e-9),
        np.vstack([np.zeros((1, dim)), np.full((1, dim), 9.0)]),
    ]
    weights = [rng.choice([1e-9, 1.0, 3.0], size=len(sample)) for sample in samples]
    return Measures.from_samples(samples + samples[:3], weights + weights[:3])


def histograms(dim, seed):
    """Return histograms with empty bins, single bins and bins of hardly any mass."""
    rng = np.random.default_rng(seed)
    support = np.arange(5.0 * dim).reshape(5, dim)
    H = rng.choice([0.0, 1e-12, 1.0, 2.0], size=(15, 5)) + np.eye(5)[rng.integers(5, size=15)]
    return Measures.from_histograms(np.vstack([H, np.eye(5), H[:2]]), support)


def data(divergence, dim, seed):
    finite = isinstance(divergence, divergences.JensenShannon) and divergence.smoothing is None
    finite |= "multinomial" in repr(divergence)
    if finite:
        return histograms(dim, seed)
    X = hostile(dim, seed)
    # Maximum likelihood of a Gaussian takes clouds that fill the space.
    spread = isinstance(divergence, divergences.ExponentialFamily)
    rng = np.random.default_rng(seed)
    full = [rng.normal(size=(9, dim)) * 10 ** rng.uniform(-2, 2, size=dim) for _ in range(15)]
    return Measures.from_samples(full) if spread else X


@rows(lambda claims: claims.negative_type)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_called_definite_has_definite_grams(row, seed):
    power = row.claims.negative_type
    X = data(row.divergence, row.dim, seed)
    D = pairwise(X, divergence=row.divergence, engine=ENGINE)
    for h in (power, power / 2):
        values = centred(D, h)
        assert values[0] > -1e-7 * values[-1]
        for scale in D.max() * np.array([0.03, 0.3, 3.0]):  # smaller ones would show the rounding of tiny distances
            K = np.exp(-0.5 * (D / scale) ** h)
            assert np.linalg.eigvalsh(K)[0] > -1e-7


@rows(lambda claims: claims.fails_at is not None)
def test_what_is_called_indefinite_has_a_counterexample(row):
    power = row.claims.fails_at
    D = pairwise(Measures.from_samples(COUNTEREXAMPLES[name(row)]), divergence=row.divergence, engine=ENGINE)
    for h in (power, power + 0.5):  # and so do all greater powers
        values = centred(D, h)
        assert values[0] < -5e-4 * values[-1]
    # Schoenberg: for some length scale the kernel is indefinite too.
    grams = [np.exp(-0.5 * (D / scale) ** power) for scale in D.max() * np.geomspace(0.1, 1e3, 30)]
    assert min(np.linalg.eigvalsh(K)[0] for K in grams) < -1e-9


@rows(lambda claims: True)
def test_claims_do_not_contradict_each_other(row):
    claims = row.claims
    assert claims.reason
    if claims.negative_type is not None and claims.fails_at is not None:
        assert claims.negative_type < claims.fails_at
    if claims.negative_type == 0.0:  # for every power that matters, not only for that of a metric
        assert claims.fails_at is not None
        assert claims.fails_at < 1.0
    assert row.negative_definite in ("unknown", "no") or "h" in row.negative_definite


def test_every_divergence_is_in_the_table():
    named = {thing for thing in vars(divergences).values() if inspect.isclass(thing) and issubclass(thing, Divergence)}
    without = {Divergence, divergences.Jensen, divergences.JensenDifference, divergences.Precomputed}
    assert {type(row.divergence) for row in ROWS} == named - without
    assert len({name(row) for row in ROWS}) == len(ROWS)
    assert set(COUNTEREXAMPLES) == {name(row) for row in ROWS if row.claims.fails_at is not None}


def test_the_table_has_a_row_for_each_claim():
    header, line, *rows = divergences.claims_markdown().splitlines()
    assert len(rows) >= len(divergences.catalogue())  # dimensions of equal claims share one
    assert all(row.count(" | ") == header.count(" | ") for row in rows)
    assert set(line) <= set("|-")


def test_every_divergence_states_its_accuracy():
    kinds = [kind for kind in vars(divergences).values() if inspect.isclass(kind) and issubclass(kind, Divergence)]
    built_in = [kind for kind in kinds if not inspect.isabstract(kind)]
    assert len(built_in) >= 12
    assert [kind.__name__ for kind in built_in if "*Accuracy*" not in (kind.__doc__ or "")] == []
