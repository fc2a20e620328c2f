"""Wasserstein exponential kernels: Table 1 and Figures 1 to 3 of the paper."""
