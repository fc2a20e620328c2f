"""Semigroup kernels on measures: Table 1 and Figures 2 to 7 of the paper."""
