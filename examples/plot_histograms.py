"""
Histograms: bin by bin, or with the distance between bins
=========================================================

Sensor days as histograms over 24 hours. Two peaks at neighbouring hours are far apart bin by bin and close for
transport. Which view is right depends on the question; here the hour of the peak drifts, and transport sees the
drift.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import MDS

from kermes import Measures, divergences, pairwise

rng = np.random.default_rng(1)
hours = np.arange(24)
peak = rng.uniform(6, 18, size=80)
H = np.exp(-((hours - peak[:, None]) ** 2) / (2 * 0.7**2)) + 0.02 * rng.random((80, 24))
X = Measures.from_histograms(H, hours)

distances = {
    "Euclidean: bin by bin": divergences.Euclidean(),
    "Jensen-Shannon: bin by bin, as information": divergences.JensenShannon(),
    "$W_2$: hours between bins count": divergences.Wasserstein(p=2),
}

# %%
# Distance between two days against the difference of their peaks.

difference = np.abs(peak[:, None] - peak[None])
pairs = np.triu_indices(len(X), 1)
figure, panels = plt.subplots(2, 3, figsize=(11, 6), layout="constrained")
for (name, divergence), (above, below) in zip(distances.items(), panels.T, strict=True):
    D = pairwise(X, divergence=divergence)
    above.scatter(difference[pairs], D[pairs], s=3)
    above.set(title=name, xlabel="hours between the peaks", ylabel="distance")
    plane = MDS(
        n_components=2, metric="precomputed", n_init=1, init="random", random_state=0
    ).fit_transform(D)
    dots = below.scatter(*plane.T, c=peak, cmap="cividis", s=14)
    below.set(title="map of the days", xticks=[], yticks=[])
figure.colorbar(dots, ax=panels[1], label="hour of the peak")
