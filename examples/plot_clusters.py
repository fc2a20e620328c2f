"""
Clusters of measures
====================

Clouds of points that differ in shape, not in place: rings, discs and pairs of blobs, all centred, of random sizes. A
kernel Wasserstein distance sees the shapes, and a tree of merges finds the three kinds.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from kermes import Measures, clustering, divergences, ground, plot

rng = np.random.default_rng(0)


def cloud(kind):
    """Return the points of a ring, a disc or a pair of small discs."""
    n = rng.integers(30, 60)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(size=n))
    if kind == "ring":
        radius = rng.normal(1.0, 0.08, n)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return (
        0.3 * points + rng.choice([-1.0, 1.0], size=(n, 1)) * [0.9, 0.0]
        if kind == "pair"
        else points
    )


y = np.array(["ring", "disc", "pair"] * 20)
X = Measures.from_samples([cloud(kind) for kind in y])

# %%
# The tree, clusters in colours; below it the true kinds, which the clustering did not see.

kernel_wasserstein = divergences.GaussianWasserstein(ground.Gaussian(sigma=0.4))
tree = clustering.HierarchicalClustering(kernel_wasserstein, n_clusters=3).fit(X)
plot.DendrogramDisplay.from_estimator(tree, labels=y)
print(clustering.cluster_report(tree.labels_, y, tree.distances_))

# %%
# The distances in the order of the tree, with the borders of the clusters.

plot.HeatmapDisplay.from_estimator(tree, labels=y)

# %%
# A map shows the same without a tree.

plot.MapDisplay.from_distances(tree.distances_, labels=y)
plt.show()
