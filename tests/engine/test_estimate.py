"""What pairs take, said before they are computed; and what is refused for it."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import Engine, Measures, _quantities, datasets, divergences, ground, pairwise
from kermes._dry_run import Planned, dry_run
from kermes.divergences import _sliced
from kermes.engine import _estimate
from kermes.exceptions import InvalidParameterError

RANDOM = np.random.default_rng(0)
DIGITS = datasets.load_digits().measures()[:300]
CLOUDS = Measures.from_samples([RANDOM.normal(size=(m, 3)) for m in RANDOM.integers(1000, 4000, 12)])


@pytest.mark.parametrize(
    ("X", "divergence"),
    [(DIGITS, divergences.SlicedWasserstein()), (CLOUDS, divergences.SlicedWasserstein(p=1, n_slices=50))],
    ids=["digits", "clouds"],
)
def test_estimates_are_within_a_factor_of_three(X, divergence):
    """Of two by the benchmarks; the processors of tests are shared."""
    engine = Engine("serial", memo=False, progress=False)
    found = engine.estimate(X, divergence=divergence)
    started = time.process_time()
    _, info = pairwise(X, divergence=divergence, engine=engine, return_info=True)
    seconds = time.process_time() - started
    assert found.pairs == info.n_evaluated
    assert seconds / 3 < found.seconds < 3 * seconds


def test_samples_take_the_route_of_the_whole():
    """Few clouds are not worth features, many are: once 15 times too much was said."""
    X = Measures.from_samples(RANDOM.normal(size=(200, 100, 2)))
    divergence, engine = divergences.MMD(ground.Gaussian(sigma=1.0)), Engine("serial", memo=False, progress=False)
    assert type(divergence.route(X, X)) is not type(divergence.route(X[:2], X[:2]))
    found = engine.estimate(X, divergence=divergence)
    started = time.process_time()
    pairwise(X, divergence=divergence, engine=engine)
    seconds = time.process_time() - started
    assert seconds / 4 < found.seconds < 4 * seconds


def test_two_collections_and_huge_clouds():
    found = Engine("serial").estimate(CLOUDS[:3], CLOUDS[3:], divergence=divergences.GaussianWasserstein())
    assert found.pairs == 27
    two = Measures.from_samples([RANDOM.normal(size=(20_000, 2)) for _ in range(2)])
    heavy = Engine("serial").estimate(two, divergence=divergences.Sinkhorn(0.5))
    assert heavy.pairs == 1
    assert heavy.bytes > 24 * 20_000**2
    assert heavy.seconds > 1.0
    assert str(heavy).startswith("1 pair, about ")


def test_pairs_beyond_memory_are_refused_before_they_start():
    two = Measures.from_samples([RANDOM.normal(size=(5_000, 2)) for _ in range(2)])
    for divergence in (divergences.Wasserstein(), divergences.Sinkhorn(0.5)):
        with pytest.raises(InvalidParameterError, match=r"5,000 atoms takes .* of memory.*features\.Codebook"):
            pairwise(two, divergence=divergence, engine=Engine(memory_limit="100MB"))
    line = Measures.from_samples([RANDOM.normal(size=5_000) for _ in range(2)])
    assert pairwise(line, divergence=divergences.Wasserstein(), engine=Engine(memory_limit="100MB"))[0, 1] > 0
    binary = divergences.Wasserstein(cost=ground.Binary())
    assert binary.pair_bytes(two, two) == 0


def test_limits_are_read_and_kept():
    with pytest.raises(InvalidParameterError, match=r"SlicedWasserstein would take .* a time_limit of 1 ms\. Raise"):
        pairwise(DIGITS, divergence=divergences.SlicedWasserstein(), engine=Engine(time_limit="0.001s", memo=False))
    with pytest.raises(InvalidParameterError, match=r"the engine has a memory_limit of 1 kB\. Raise"):
        pairwise(DIGITS, divergence=divergences.SlicedWasserstein(), engine=Engine(memory_limit=1000))
    with pytest.raises(InvalidParameterError, match="`memory_limit` must be a number of bytes"):
        Engine(memory_limit="much")
    with pytest.raises(InvalidParameterError, match="`time_limit` must be a number of seconds"):
        Engine(time_limit="soon")
    assert _quantities.as_bytes("1.5 GiB", "x") == 1.5 * 2**30
    assert _quantities.as_bytes("4GB", "x") == 4e9
    assert _quantities.as_bytes(10, "x") == 10
    assert [_quantities.size(n) for n in (512, 2e6, 3e9, 4e12)] == ["0.512 kB", "2 MB", "3.0 GB", "4.0 TB"]
    assert [_quantities.duration(s) for s in (0, 4.2e-4, 0.0996, 1e6)] == ["0.0 s", "0.42 ms", "100 ms", "12 days"]


def test_long_work_is_announced(monkeypatch, capsys):
    monkeypatch.setattr(_estimate, "LONG", 1e-9)
    pairwise(CLOUDS, divergence=divergences.SlicedWasserstein(seed=3), engine=Engine())
    assert capsys.readouterr().err.startswith("SlicedWasserstein: 66 pairs, about ")
    pairwise(CLOUDS, divergence=divergences.SlicedWasserstein(seed=4), engine=Engine(progress=False))
    assert not capsys.readouterr().err


def test_dry_runs_end_before_the_work(tmp_path):
    engine = Engine(store=str(tmp_path / "d.zarr"))
    for how in (Engine(), engine):
        with dry_run(), pytest.raises(Planned) as planned:
            pairwise(CLOUDS, divergence=divergences.SlicedWasserstein(seed=5), engine=how)
        assert planned.value.estimate.pairs == 66
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_add_up(monkeypatch, p, weighted):
    sizes = [30, 30, 30] if p == 2 else [30, 7, 12]
    weights = [RANDOM.exponential(size=m) for m in sizes] if weighted else None
    X = Measures.from_samples([RANDOM.normal(size=(m, 3)) for m in sizes], weights)
    divergence = divergences.SlicedWasserstein(p=p, n_slices=13)
    whole = pairwise(X, divergence=divergence, engine=Engine(memo=False))
    monkeypatch.setattr(_sliced, "PASS_BYTES", 1500)
    monkeypatch.setattr("kermes.divergences._quantiles.BLOCK", 64)
    assert len(divergence.passes(X, X)) == len(divergence.passes(X[:1], X[1:])) > 2  # by the atoms of both sides
    assert_allclose(pairwise(X, divergence=divergence, engine=Engine(memo=False)), whole, rtol=1e-12)
    between = pairwise(X[:1], X[1:], divergence=divergence, engine=Engine("serial", memo=False))
    assert_allclose(between, whole[:1, 1:], rtol=1e-12)
    assert len(divergences.SlicedWasserstein(p=3).passes(X, X)) == 1


@pytest.mark.parametrize("divergence", ["wasserstein", divergences.Wasserstein])
def test_what_is_no_divergence_is_refused(divergence):
    X = Measures.from_samples([[0.0], [1.0]])
    with pytest.raises(InvalidParameterError, match="`divergence` must be a divergence object"):
        Engine().estimate(X, divergence=divergence)
