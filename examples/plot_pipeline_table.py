"""
From a long table to a tuned pipeline
=====================================

A table with one row per cell: which patient it comes from, and two measurements in different units. Each patient is a
measure, the cloud of their cells. We predict the patient's class.
"""

# %%
# The table, simulated: in the second group a few cells are shifted, and the second column is in other units.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kermes import LSSVMClassifier, MapPoints, Measures, divergences, kernels, plot

rng = np.random.default_rng(0)
rows = []
for patient in range(120):
    sick = patient % 2
    for _ in range(rng.integers(40, 80)):
        shifted = sick and rng.uniform() < 0.15
        rows.append(
            (
                f"p{patient:03}",
                rng.normal(2.5 * shifted),
                500.0 * rng.normal(2.5 * shifted),
                sick,
            )
        )
cells = pd.DataFrame(rows, columns=["patient", "cd4", "cd8", "sick"])
print(cells.head(3))

# %%
# From the table to the tuned model. The scaler is fitted on the cells of the training folds only, as it should be;
# the length scale is searched without computing a distance twice.

X = Measures.from_frame(cells, by="patient", columns=["cd4", "cd8"])
y = cells.groupby("patient")["sick"].first().loc[X.keys].to_numpy()
kernel = kernels.Exponential(divergences.SlicedWasserstein())
model = make_pipeline(MapPoints(StandardScaler()), LSSVMClassifier(kernel))
grid = {
    "lssvmclassifier__kernel__length_scale": [0.1, 0.3, 1.0],
    "lssvmclassifier__gamma": [1.0, 10.0, 100.0],
}
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
search = GridSearchCV(model, grid, cv=5).fit(X_train, y_train)
print(search.best_params_)
print(f"right on new patients: {search.score(X_test, y_test):.0%}")

# %%
# Why is this patient called sick? The training patients that count for and against it, with their true classes.

scaler, classifier = search.best_estimator_
patient = int(np.argmax(search.decision_function(X_test)))
plot.ContributionsDisplay.from_estimator(
    classifier,
    scaler.transform(X_test)[patient],
    names=np.where(y_train, "sick", "healthy"),
)
plt.show()
