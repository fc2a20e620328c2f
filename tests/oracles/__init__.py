"""Slow, obvious answers: loops and linear programs."""
