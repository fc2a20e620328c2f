"""Kernel Wasserstein distance: Figures 1 to 4 of the paper, on simulated slices, and what they depend on."""
