"""
What moves where: transport plans
=================================

The Wasserstein distance between two measures is the cost of the cheapest way to turn one into the other. The plan says
which mass goes where. It explains a distance: two images are far apart because *these* strokes have to travel.
"""

# %%
# Two images
# ----------
# Images are measures on their pixels, the mass of a pixel its grey value. Lines are as wide as the mass they carry.

import matplotlib.pyplot as plt
import numpy as np

from kermes import Measures, datasets, divergences, inspection, plot

X = datasets.load_digits().measures()
one, zero = X[1], X[0]
plot.TransportPlanDisplay.from_measures(
    one, zero, divergences.Wasserstein(p=2), names=("one", "zero")
)

# %%
# The numbers behind the picture: the largest moves, and what a unit of mass pays for them.

plan = inspection.transport_plan(one, zero)
moves = plan.moves(3)
print(plan)
for source, target, mass, cost in zip(*moves, strict=True):
    move = f"from pixel {one.points[source]} to {zero.points[target]}"
    print(f"{mass:.3f} of the mass {move}, at the cost {cost:g}")

# %%
# Exact and entropic plans on the line
# ------------------------------------
# On the line the best plan keeps the order, so that it is a curve. The entropic plan of ``Sinkhorn`` is blurred: mass
# of one atom spreads over several, the more the larger epsilon. Both measures stand at the sides.

bins = np.linspace(0.0, 10.0, 30)
narrow = np.exp(-((bins - 3) ** 2))
wide = np.exp(-((bins - 7) ** 2) / 3) + 0.5 * np.exp(-((bins - 1) ** 2))
H = Measures.from_histograms([narrow, wide], bins)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
plot.TransportPlanDisplay.from_measures(
    H[0], H[1], divergences.Wasserstein(p=2), ax=axes[0]
)
plot.TransportPlanDisplay.from_measures(
    H[0], H[1], divergences.Sinkhorn(epsilon=1.0), ax=axes[1]
)
plt.show()
