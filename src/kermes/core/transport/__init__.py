"""Exact transport: on the line, by quantile functions."""
