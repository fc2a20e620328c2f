"""Real data: what kernels on measures get right, and what baselines get right, on the same splits.

``python -m benchmarks.real`` prints every candidate, ``python -m benchmarks.real cells vowels`` those of some data
sets; ``--record`` keeps them in ``real.json``, from which the documentation is made. Needs the packages of the extra
``data``. Parameters of all candidates, baselines included, are chosen within the training sets. Vowels and appliances
have the published split into training and test sets; of muscles one session at a time is left out; cells have five
folds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from kermes import Measures, compare, datasets, divergences, ground
from kermes.comparison import Candidate, Comparison
from kermes.datasets import LabelledMeasures
from kermes.features import ClusterShares, Codebook, MomentFeatures

from .harness import Row

SLICED = divergences.SlicedWasserstein(n_slices=50)
RESULTS = Path(__file__).with_name("real.json")
NEAREST = {"n_neighbors": [1]}
#: Mean number of atoms above which MMD is that of measures on a codebook, as in ``compare``.
LARGE = 2000


def baselines() -> list[Candidate]:
    """What needs no distance between measures: models of moments and of the shares of clusters."""
    maps = {
        "means": MomentFeatures(),
        "means and standard deviations": MomentFeatures(n_moments=2),
        "shares of 20 clusters": ClusterShares(20, 0),
    }
    learners = {
        "logistic": (LogisticRegression(max_iter=5000), {"logisticregression__C": [0.1, 1.0, 10.0, 100.0]}),
        "SVC": (SVC(), {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": [0.01, 0.1, 1.0]}),
    }
    return [
        Candidate(f"{name}, {title}", learner=make_pipeline(features, StandardScaler(), learner), grid=grid)
        for name, features in maps.items()
        for title, (learner, grid) in learners.items()
    ]


def distances(X: Measures, learner: str = "SVC") -> list[Candidate]:
    """Return transport (exact on the line, sliced beyond), Gaussians and MMD."""
    length = float(np.sqrt(2 * X.points.var(axis=0).sum()))
    line, large = X.dim == 1, X.sizes.mean() > LARGE
    discrepancies = [divergences.MMD(ground.Gaussian(sigma=share * length)) for share in (0.1, 0.3)]
    found = {
        "W2" if line else "sliced W2": divergences.Wasserstein(p=2) if line else SLICED,
        "W2 of Gaussians": divergences.GaussianWasserstein(),
        "MMD on a codebook" if large else "MMD": discrepancies,
    }
    how = {"SVC": {"learner": "svc"}, "nearest": {"learner": "knn", "grid": NEAREST}}[learner]
    return [
        Candidate(
            f"{name}, {learner}", divergence, preprocessing=Codebook(128, 0) if "codebook" in name else None, **how
        )
        for name, divergence in found.items()
    ]


def joined(load: Callable[..., LabelledMeasures]) -> tuple[Measures, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return a published training set with its test set, and the one split."""
    train, test = load(), load(split="test")
    X = Measures.from_samples([measure.points for data in (train, test) for measure in data.measures])
    rows = np.arange(len(X))
    return X, np.concatenate([train.target, test.target]), [(rows[: len(train)], rows[len(train) :])]


def cells() -> Comparison:
    """Treatment of 650 cells by their outlines."""
    data = datasets.load_cells()
    return _compare(data.measures, data.target, 5)


def muscles() -> Comparison:
    """Sign of a hand in a session that was not seen."""
    data = datasets.load_muscles()
    return _compare(data.measures, data.target, len(np.unique(data.groups)), groups=data.groups)


def vowels() -> Comparison:
    """Speaker of an utterance."""
    return _compare(*joined(datasets.load_vowels))


def appliances() -> Comparison:
    """Kind of an appliance by the power it takes."""
    nearest = make_pipeline(FunctionTransformer(in_order), KNeighborsClassifier(1))
    return _compare(*joined(datasets.load_appliances), [Candidate("series in order, nearest", learner=nearest)])


def wells() -> Comparison:
    """Protein of the cells in a well, seven wells; too few to rank anything."""
    data = datasets.load_wells()
    data = data[data.groups == "Plate01"]
    means = Candidate("means, nearest", divergences.MMD(ground.Linear()), learner="knn", grid=NEAREST)
    candidates = [means, *distances(data.measures, "nearest")]
    return compare(data.measures, data.target, candidates=candidates, cv=LeaveOneOut(), progress=False)


def in_order(X: Measures) -> np.ndarray:
    """Return the series of which measures of equal sizes were made."""
    return np.stack([measure.points[:, 0] for measure in X])


def _compare(X: Measures, y: np.ndarray, cv: Any, more: Sequence[Candidate] = (), groups: Any = None) -> Comparison:
    return compare(X, y, candidates=[*baselines(), *more, *distances(X)], cv=cv, groups=groups, progress=False)


DATA = {f.__name__: f for f in (cells, muscles, vowels, appliances, wells)}


def is_kernel(name: str) -> bool:
    """Whether a candidate compares measures as wholes."""
    return "W2" in name or "MMD" in name


def measured(name: str) -> dict[str, Any]:
    """Return the scores on a data set, best first."""
    found = DATA[name]()
    print(f"{name}: {DATA[name].__doc__}", found, sep="\n", flush=True)
    tested = sum(len(fold.test) for fold in found.folds)
    return {"task": DATA[name].__doc__, "tested": tested, "scores": {r.name: round(r.mean, 4) for r in found.rows}}


def row_of(name: str) -> Callable[[], Row]:
    """Return the row of a data set: the best of the kernels against the best of the baselines."""

    def row() -> Row:
        scores = measured(name)["scores"]
        ours = max(filter(is_kernel, scores), key=scores.__getitem__)
        theirs = max((other for other in scores if not is_kernel(other)), key=scores.__getitem__)
        gain = scores[ours] - scores[theirs]
        return Row(
            f"{name}: {ours}", theirs, f"{scores[ours]:.3f}", f"{scores[theirs]:.3f}", f"{gain:+.3f}", "", "", True
        )  # fmt: skip

    return row


#: They need the extra ``data`` and minutes, and are run when they are named.
ROWS = {f"real_{name}": row_of(name) for name in DATA}


def main(arguments: list[str]) -> None:
    """Print the accuracy of each candidate."""
    names = [name for name in arguments if name != "--record"] or list(DATA)
    found = {name: measured(name) for name in names}
    if "--record" in arguments:
        known = (json.loads(RESULTS.read_text()) if RESULTS.exists() else {}) | found
        RESULTS.write_text(json.dumps({name: known[name] for name in DATA if name in known}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
