"""
Regression with an uncertainty that can be checked
==================================================

A Gaussian process learns the logarithm of the spread of small samples. Its intervals are checked twice: by leaving
out each training sample in turn, in closed form, and on new data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from kermes import MeasureGPRegressor, Measures, divergences, inspection, kernels

rng = np.random.default_rng(0)
spread = rng.uniform(0.5, 2.0, size=300)
X = Measures.from_samples([rng.normal(0, s, size=rng.integers(20, 60)) for s in spread])
y = np.log(spread)

kernel = ConstantKernel() * kernels.Exponential(
    divergences.Wasserstein(p=2)
) + WhiteKernel(0.1)
model = MeasureGPRegressor(
    kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0
).fit(X[:100], y[:100])
mean, std = model.predict(X[100:], return_std=True)
left_out = inspection.leave_one_out(model)
new = inspection.LeaveOneOut(y[100:], mean, std)
print(
    f"error {left_out.rmse:.2f} left out, {new.rmse:.2f} new; targets spread by {y.std():.2f}"
)

# %%
# Predictions with their 95 % intervals, and the share of targets inside intervals of every level.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.errorbar(y[100:], mean, 1.96 * std, fmt="o", ms=3, lw=0.6)
left.axline((0, 0), slope=1, color="black", lw=1)
left.set(xlabel="true log spread", ylabel="predicted, 95 % interval")
levels = np.linspace(0.05, 0.99, 30)
right.plot(levels, left_out.coverage(levels), label="left out")
right.plot(levels, new.coverage(levels), label="new data")
right.axline((0, 0), slope=1, color="black", lw=1, label="perfect")
right.set(xlabel="level of the interval", ylabel="share of targets inside")
right.legend()
