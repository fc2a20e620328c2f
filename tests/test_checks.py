"""Guesses at what was meant, and what is given beside measures in another order."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from kermes import LSSVMClassifier, Measures, clustering, compare, divergences, inference, inspection, kernels, pairwise
from kermes._checks import guess, nearest, require_order
from kermes.estimators import ConformalClassifier, MapPoints
from kermes.exceptions import InvalidParameterError

RNG = np.random.default_rng(0)
KEYS = np.array([f"p{i}" for i in range(12)])
X = Measures.from_frame(
    pd.DataFrame({"who": np.repeat(KEYS, 4), "x": RNG.normal(np.repeat(np.arange(12) % 2, 4))}), by="who", columns=["x"]
)
Y = pd.Series(np.arange(12) % 2, index=KEYS)
OTHER = Y.sort_index()  # p0, p1, p10, ...
SLICED = divergences.SlicedWasserstein()


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("fti", "fit"),
        ("mdm", "mmd"),
        ("SLICED", "sliced"),
        ("wass", "wasserstein"),
        ("sinkhron", "sinkhorn"),
        ("gausian_waserstein", "gaussian-wasserstein"),
        ("gaussian", None),  # two names have it
        ("energy", None),
        ("arm", None),
        ("x", None),
        (3, None),
        ("", None),
    ],
)
def test_guesses_are_near(word, meant):
    names = ["fit", "mmd", "sliced", "wasserstein", "sinkhorn", "gaussian-wasserstein", "gaussian-kl", "entropy", "age"]
    assert nearest(word, names) == meant
    assert guess(word, iter(names)) == ("" if meant is None else f" Did you mean {meant!r}?")


@pytest.mark.parametrize(
    "use",
    [
        lambda y: LSSVMClassifier().fit(X, y),
        lambda y: ConformalClassifier(LSSVMClassifier(), cv=2).fit(X, y),
        lambda y: MapPoints(StandardScaler()).fit(X, y),
        lambda y: compare(X, y, candidates=[]),
        lambda y: compare(X, Y.to_numpy(), candidates=[], groups=y),
        lambda y: compare(X, Y.to_numpy(), candidates=[], covariates=pd.DataFrame({"age": y})),
        lambda y: inference.permanova(X, y),
        lambda y: inference.permanova(X, {"arm": y}),
        lambda y: inference.permanova(X, Y, covariates={"age": y}),
        lambda y: inference.dispersion(X, y),
        lambda y: inference.k_sample(X, Y, blocks=y),
        lambda y: inference.trend(X, y),
        lambda y: inference.pairwise_tests(X, Y, units=y),
        lambda y: inference.barycenter(X, y, divergences.Wasserstein()),
        lambda y: inspection.difference(X, y),
    ],
)
def test_labels_that_name_the_measures_in_another_order_are_refused(use):
    with pytest.raises(InvalidParameterError, match=r"position 2: p2, p10\). Pass \w+\.loc\[X\.keys\], or .*to_numpy"):
        use(OTHER)


def test_indices_that_say_nothing_or_the_same_are_taken():
    numbers = pd.DataFrame(np.zeros((12, 12)), index=KEYS, columns=KEYS)
    for y in (Y, OTHER.loc[X.keys], OTHER.to_numpy(), OTHER.reset_index(drop=True), OTHER.set_axis(range(5, 17))):
        require_order(X, y=y, nothing=None, several={"a": y})
        require_order(numbers, y=y)
        require_order(np.zeros((12, 12)), y=y)
    require_order(X, y=Y[:5])  # too short, which others say
    with pytest.raises(InvalidParameterError, match="`y` must be in the order"):
        require_order(numbers, y=OTHER)
    with pytest.raises(InvalidParameterError, match="position 11: p11, other"):
        require_order(X, y=Y.rename({"p11": "other"}))
    shuffled = Measures.from_frame(pd.DataFrame({"who": [2, 0, 1], "x": 0.0}), by="who", columns=["x"])
    with pytest.raises(InvalidParameterError, match="position 0: 2, 0"):
        require_order(shuffled, y=pd.DataFrame({"who": [0, 1, 2], "y": 1}).set_index("who")["y"])
    require_order(shuffled, y=pd.Series([0, 1, 2], index=[10, 1, 2]))


@pytest.mark.parametrize(
    ("use", "remedy"),
    [
        (lambda: inference.barycenter(X, SLICED), "Write barycenter(X, divergence=...)"),
        (lambda: clustering.KMeans(2).fit(X), "The divergence comes first: KMeans(divergence, 2)"),
        (lambda: clustering.KMedoids(2).fit(X), "KMedoids(divergence, 2)"),
        (lambda: pairwise(SLICED, X), "Write pairwise(X, divergence=...)"),
        (lambda: pairwise(X, divergence=kernels.Exponential(SLICED)), "kernel(X)"),
        (lambda: inference.permanova(X, SLICED, Y), "The order of the arguments is measures, groups, divergence"),
        (lambda: inference.k_sample(Y.to_numpy(), X), "got Measures"),
        (lambda: inference.trend(X, SLICED), "a number for each measure; got SlicedWasserstein"),
        (lambda: inference.two_sample(X[0], SLICED), "Write two_sample(mu, nu, divergence)"),
        (lambda: LSSVMClassifier(2).fit(X, Y), "The kernel comes first; name what 2 is for"),
        (lambda: LSSVMClassifier(SLICED).fit(X, Y), "Write kernels.Exponential(SlicedWasserstein("),
        (lambda: compare(X, Y, candidates=SLICED), "Write Candidate('name', divergence)"),
    ],
)
def test_arguments_in_another_order_are_explained(use, remedy):
    with pytest.raises(InvalidParameterError, match=re.escape(remedy)):
        use()
