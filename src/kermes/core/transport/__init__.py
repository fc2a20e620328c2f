"""Exact transport: on the line by quantile functions, elsewhere by the network simplex (``exact``: over pairs)."""
