"""What a user may write, checked by ``make types``: strict, with the types that kermes states."""

import numpy as np
from sklearn.svm import SVC

import kermes
from kermes import Engine, Measures, compare, divergences, ground, inference, kernels, pairwise
from kermes.engine import Info

rng = np.random.default_rng(0)
X: Measures = Measures.from_samples([rng.normal(size=(20, 2)) for _ in range(10)])
part: Measures = X[:5]
points: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = X[0].points

D = pairwise(X, divergence=divergences.MMD(ground.Gaussian(sigma=1.0)))
distances: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.asarray(D)
_, info = pairwise(X, divergence=divergences.Wasserstein(p=2), engine=Engine(workers=1), return_info=True)
known: Info = info

kernel = kernels.Exponential(divergences.SlicedWasserstein(), length_scale=0.5)
K = kernel(X)
K_too, gradient = kernel(X, eval_gradient=True)
total = float(K.sum() + gradient.sum())
SVC(kernel=kernel).fit(X, np.arange(10) % 2)

test = inference.permanova(X, np.arange(10) % 2, divergences.SlicedWasserstein(), n_permutations=99)
p_value: float = test.p_value
found = compare(X, np.arange(10) % 2, cv=2)
best: str = found.names[0]
data = kermes.files.read("cells.csv", by="patient", columns=["x", "y"])
read: Measures = data.measures
