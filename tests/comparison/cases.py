"""Small labelled data, and an oracle that searches in the slowest way."""

import numpy as np
from sklearn.svm import SVC

from kermes import Measures, kernels, pairwise
from kermes.comparison._folds import inner_folds
from kermes.comparison._search import QUANTILES


def two_widths(n=24, seed=0):
    """Return samples of equal mean on the line, narrow and wide ones, and which they are."""
    rng = np.random.default_rng(seed)
    wide = np.arange(n) % 2
    return Measures.from_samples([rng.normal(0, 1 + w, size=rng.integers(8, 15)) for w in wide]), wide


def spreads(n=24, seed=0):
    """Return samples on the line, and the logarithm of their spread."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.5, 2.0, size=n)
    return Measures.from_samples([rng.normal(0, s, size=20) for s in spread]), np.log(spread)


def nested_svc(X, y, divergence, splits, inner_cv, seed, Cs):
    """Return the predictions of each split: a search on inner folds with kernel objects on measures."""
    predicted = []
    for train, test in splits:
        D = pairwise(X[train], divergence=divergence)
        scales = [factor * np.quantile(D[D > 0], q) for q, factor in QUANTILES]
        best, choice = -1.0, None
        for scale in scales:
            for C in Cs:
                right = []
                for a, b in inner_folds(y[train], "classification", inner_cv, None, seed):
                    machine = SVC(kernel=kernels.Exponential(divergence, scale), C=C).fit(X[train[a]], y[train[a]])
                    right.append(np.mean(machine.predict(X[train[b]]) == y[train[b]]))
                if np.mean(right) > best + 1e-12:
                    best, choice = np.mean(right), (scale, C)
        machine = SVC(kernel=kernels.Exponential(divergence, choice[0]), C=choice[1]).fit(X[train], y[train])
        predicted.append(machine.predict(X[test]))
    return predicted
