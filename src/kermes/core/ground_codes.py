"""Integer codes by which compiled cores choose a ground cost or a point kernel, once per row of points.

A jitted function as argument would lose Numba's cache in every new process; a branch for each pair of
points would cost 4.5 times the arithmetic. Parameters travel beside the code as a float64 array.
"""

from __future__ import annotations

# Ground costs d(x, y); a cost is d itself or its square, never raised to p here.
EUCLIDEAN = 0
SQEUCLIDEAN = 1
BINARY = 2
TORUS = 3

# Point kernels k(x, y).
LINEAR = 0
GAUSSIAN = 1
POLYNOMIAL = 2
LAPLACIAN = 3
