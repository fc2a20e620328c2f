"""Semigroup kernels on finite sets: Figures 1 and 2 of the paper, and its comparison with an RBF kernel."""
