"""Gaussian process regression over discrete probability measures (Candelieri, Ponti, Archetti, 2022)."""
