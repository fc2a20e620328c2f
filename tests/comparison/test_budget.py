import time

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.comparison.cases import two_widths

from kermes import Engine, compare, divergences
from kermes._quantities import duration
from kermes.comparison import Candidate, _run
from kermes.exceptions import InvalidParameterError
from kermes.features import Codebook, MomentFeatures

W2 = divergences.Wasserstein(p=2)


@pytest.mark.parametrize(
    ("budget", "seconds"),
    [(90, 90.0), ("90", 90.0), ("30s", 30.0), ("5min", 300.0), ("5 min", 300.0), ("1h", 3600.0), ("1h 30m", 5400.0),
     ("0.5h", 1800.0), (None, None)],
)  # fmt: skip
def test_budgets(budget, seconds):
    assert _run.Clock(budget).budget == seconds


@pytest.mark.parametrize("budget", [0, -3, "soon", "5 apples", "", "0s", float("nan"), True])
def test_budgets_that_make_no_sense(budget):
    X, y = two_widths(8)
    with pytest.raises(InvalidParameterError, match="`budget` must be"):
        compare(X, y, budget=budget)


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "40 ms"), (45, "45 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_an_estimate_counts_all_pairs(monkeypatch):
    """With a clock that ticks once per pair the estimate is the number of pairs."""
    X, _ = two_widths(40)
    ticks = [0.0]

    def evaluate(source, part, engine):
        ticks[0] += len(part) * (len(part) - 1) / 2 * 1e-6

    monkeypatch.setattr(_run, "evaluate", evaluate)
    monkeypatch.setattr(_run.time, "perf_counter", lambda: ticks[0])
    assert _run.estimate(W2, X, Engine("serial"), 0) == pytest.approx(780e-6)
    assert _run.estimate(W2, X, Engine(workers=2), 0) == pytest.approx(390e-6)


def test_what_is_done_once_is_not_counted_per_pair(monkeypatch):
    """A table of a shared support takes long, its pairs do not; nor does a pause of the machine count."""
    X, _ = two_widths(40)
    ticks, calls = [0.0], []

    def evaluate(source, part, engine):
        calls.append(len(part))
        pause = 3.0 if calls.count(4) == 1 and len(part) == 4 else 0.0
        ticks[0] += 0.1 + len(part) * (len(part) - 1) / 2 * 1e-6 + pause

    monkeypatch.setattr(_run, "evaluate", evaluate)
    monkeypatch.setattr(_run.time, "perf_counter", lambda: ticks[0])
    assert _run.estimate(W2, X, Engine("serial"), 0, long=10.0) == pytest.approx(0.1 + 780e-6)


def test_the_cheapest_is_found_again_after_each_candidate(monkeypatch):
    """Distances at hand cost nothing, and fits count once a learner was seen."""
    X, y = two_widths()
    sliced = divergences.SlicedWasserstein()
    costs = {W2: 1.0, sliced: 2.0}
    monkeypatch.setattr(_run, "estimate", lambda source, X, engine, seed, left: costs[source])
    seen, row = [], _run.Run.row

    def slow_fits(run, number):
        found = row(run, number)
        seen.append(found.name)
        run._fit_seconds = dict.fromkeys(run._fit_seconds, 0.1)
        return found

    monkeypatch.setattr(_run.Run, "row", slow_fits)
    listed = [
        Candidate("sliced, SVC", sliced, grid={"length_scale": [1.0]}),  # 3 settings: 2.3 s, then 0.3 s
        Candidate("sliced, neighbours", sliced, learner="knn"),  # 2 s
        Candidate("W2, SVC", W2, grid={"length_scale": [1.0]}),  # 1 s
        Candidate("W2, large grid", W2, grid={"C": [1.0, 3.0, 10.0, 30.0, 100.0]}),  # 25 settings: 2.5 s
    ]
    monkeypatch.setattr(_run, "CHEAP", 0.0)
    compare(X, y, candidates=listed, cv=2, budget="1h")
    assert seen == ["W2, SVC", "sliced, neighbours", "sliced, SVC", "W2, large grid"]


def test_the_expensive_ones_are_skipped_and_the_cheap_ones_first(monkeypatch):
    X, y = two_widths()
    costs = {W2: 1e6, divergences.SlicedWasserstein(): 0.5, divergences.GaussianWasserstein(): 0.1}
    monkeypatch.setattr(_run, "estimate", lambda source, X, engine, seed, left: costs[source])
    monkeypatch.setattr(_run, "CHEAP", 0.0)
    seen = []
    judge = _run.Run._judge
    monkeypatch.setattr(
        _run.Run, "_judge", lambda run, number: (seen.append(run.trials[number][0].name), judge(run, number))[1]
    )
    listed = [Candidate(type(source).__name__, source, learner="knn") for source in costs]
    found = compare(X, y, candidates=listed, cv=2, budget="1h")
    assert seen == ["GaussianWasserstein", "SlicedWasserstein", "Wasserstein"]
    assert found["Wasserstein"].status == "skipped"
    assert found["SlicedWasserstein"].expected_seconds >= 0.5  # and the fits
    assert found["Wasserstein"].message == "would take about 12 days, 60 min left of the budget"
    assert found.names[-1] == "Wasserstein"
    assert found.best_.predict(X[:3]).shape == (3,)


def test_a_candidate_stops_between_folds(monkeypatch):
    X, y = two_widths()
    done, predictions = [], _run.predictions
    monkeypatch.setattr(_run, "predictions", lambda *seen: (done.append(seen), predictions(*seen))[1])
    monkeypatch.setattr(_run.Clock, "left", property(lambda clock: -1.0 if done else 100.0))
    found = compare(X, y, candidates=[Candidate("W2", W2, learner="knn")], cv=2, budget=60)
    assert found.rows[0].message == "stopped after 1 of 2 folds, at the end of the budget"


def test_a_generous_budget_changes_nothing():
    X, y = two_widths()
    listed = [Candidate("W2", W2), Candidate("nothing", learner="dummy"), Candidate("bad", divergences.JensenShannon())]
    free, limited = (compare(X, y, candidates=listed, cv=2, budget=budget) for budget in (None, "1h"))
    assert free.names == limited.names
    assert [row.scores for row in free.rows] == [row.scores for row in limited.rows]
    assert limited["bad"].status == "failed"


def test_baselines_run_whatever_the_budget_and_nothing_is_estimated_without_time(monkeypatch):
    X, y = two_widths()
    monkeypatch.setattr(_run.Clock, "left", property(lambda clock: -1.0))
    monkeypatch.setattr(_run, "estimate", lambda *_: pytest.fail("there is no time"))
    linear = make_pipeline(MomentFeatures(2), LogisticRegression())
    listed = [Candidate("W2", W2), Candidate("moments", learner=linear), Candidate("nothing", learner="dummy")]
    found = compare(X, y, candidates=listed, cv=2, budget=1)
    assert {row.name: row.status for row in found.rows} == {"moments": "ok", "nothing": "ok", "W2": "skipped"}
    assert found["W2"].message == "the budget was used up before"
    assert found.best_.predict(X[:2]).shape == (2,)


class Waiting(DummyClassifier):
    """Takes longer to fit than the budget has."""

    def fit(self, X, y):
        time.sleep(0.3)
        return super().fit(np.zeros((len(y), 1)), y)


def test_baselines_come_on_top_of_the_budget():
    X, y = two_widths()
    found = compare(
        X, y, candidates=[Candidate("slow", learner=Waiting()), Candidate("W2", W2, learner="knn")], cv=3, budget=0.8
    )
    assert {row.name: row.status for row in found.rows} == {"slow": "ok", "W2": "ok"}


def test_what_is_compiled_or_stopped_does_not_count(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_run.time, "perf_counter", lambda: now[0])
    clock = _run.Clock(10)
    with clock.running():
        now[0] += 3.0
        with clock.stopped():
            now[0] += 4.0
            clock._free.append(2.0)  # as the timer of the compiler does
        assert clock.left == 10.0 - 3.0
        now[0] += 1.0
        clock._free.append(0.5)
    assert clock.left == 10.0 - 3.5


def test_a_step_is_part_of_the_estimate(monkeypatch):
    """Three folds, each with two inner splits of two thirds of the measures; a second for each matrix, and the step."""
    X, y = two_widths()
    monkeypatch.setattr(_run, "estimate", lambda source, X, engine, seed, left: 1.0)
    seen, needed = [], _run.Run._needed
    monkeypatch.setattr(
        _run.Run,
        "_needed",
        lambda run, n: (seen.append((n, dict(run._step_seconds), needed(run, n))), seen[-1][2])[1],
    )
    step = Codebook(5, 0)
    listed = [Candidate(f"W{p}", divergences.Wasserstein(p=p), preprocessing=step) for p in (1, 2)]
    compare(X, y, candidates=listed, cv=3, inner_cv=2, budget="1h")
    first = next(entry for entry in seen if entry[0] == 0)
    matrices = 3 + 3 * 2 * (2 / 3) ** 2
    assert first[2] == pytest.approx(matrices * (1.0 + first[1][id(step)]), rel=0.05)
    assert seen[-1][2] < matrices * 1.5  # the other candidate shares the results of the step
