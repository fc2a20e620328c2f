"""
Gaussian processes on the simplex
=================================

How does a quantity depend on a mixture? The inputs are probability vectors, that is measures on a few points. A
Gaussian process predicts the value and says how sure it is. Here we check that it is right about that.
"""

# %%
# Mixtures of two
# ---------------
# Noisy observations of a function of the weight of the first of two points. The band should hold 95 % of new
# observations.

import matplotlib.pyplot as plt
import numpy as np

from kermes import EquivalentWassersteinGP, Measures, inspection, plot

rng = np.random.default_rng(0)


def wave(weights):
    """Return the true values."""
    x = 4.8 * weights[:, 0] + 2.7
    return np.sin(x) + np.sin(10 * x / 3)


def observe(n):
    """Return n random mixtures and noisy values there."""
    weights = rng.dirichlet(np.ones(2), size=n)
    return Measures.from_histograms(weights, [0.0, 1.0]), wave(weights) + rng.normal(
        0.0, 0.2, size=n
    )


X, y = observe(40)
model = EquivalentWassersteinGP(random_state=0).fit(X, y)
plot.SimplexDisplay.from_estimator(model, X, y, truth=wave)

# %%
# Is the uncertainty calibrated? Of 1000 new observations, as many should lie within each interval as it promises.

X_new, y_new = observe(1000)
mean, std = model.predict(X_new, return_std=True)
new = inspection.LeaveOneOut(y_new, mean, std)
levels = (0.5, 0.8, 0.95)
for level, share in zip(levels, new.coverage(levels), strict=True):
    print(f"intervals of {level:.0%} hold {share:.0%} of new observations")
print(f"standard deviation of the noise: {model.noise_:.2f} learned, 0.20 true")

# %%
# Mixtures of three
# -----------------
# A corner of the triangle is all mass at one point. The process is sure near observations, and less so between them.

weights = rng.dirichlet(np.ones(3), size=60)
X, y = (
    Measures.from_histograms(weights, [0.0, 1.0, 2.0]),
    np.sin(6 * weights[:, 0]) * np.cos(4 * weights[:, 1]),
)
model = EquivalentWassersteinGP(noise=False, random_state=0).fit(X, y)
plot.SimplexDisplay.from_estimator(model, X, y)
plt.show()
