r"""Squared-exponential kernels of weight vectors and of Wasserstein distances: what turns one into the other.

The theorems of "Gaussian process regression over discrete probability measures" (`gpm`) as functions of two weight
vectors on one support of m points, a cost matrix C (already raised to the power 2) and a plan T:

====================================  ==========================================================
:func:`row_costs`                     :math:`S_i = \sum_j C_{ij} T_{ij}`, what leaves point i
:func:`row_factors`                   Theorem 1: :math:`\xi_i` with :math:`\sum_i \xi_i S_i = |a - b|^2`
:func:`modified_costs`                Theorem 1: the cost matrix :math:`\xi_i C_{ij}`
:func:`laplacian`                     Corollary 1.2: what remains for :math:`\rho_i^2 = \xi_i`
:func:`se_length_scales`              Theorem 2: :math:`\ell` of the SE kernel from :math:`\rho`
:func:`inverse_squared_rho`           Theorem 4: :math:`1 / \rho_i^2` from :math:`\ell` of the SE kernel
====================================  ==========================================================

Each is an identity between two numbers *for one pair (a, b) and its plan*. The parameters found depend on the
pair, so that none of them makes one Wasserstein distance, or one stationary kernel, out of the other. ``_theorems``
the formulas · ``_arguments`` checks of weights, costs and plans. Imports ``divergences`` for plans.
"""

from __future__ import annotations

from ._theorems import (
    directional,
    inverse_squared_rho,
    laplacian,
    modified_costs,
    optimal_plan,
    row_costs,
    row_factors,
    se_length_scales,
    squared_exponential,
)

__all__ = [
    "directional",
    "inverse_squared_rho",
    "laplacian",
    "modified_costs",
    "optimal_plan",
    "row_costs",
    "row_factors",
    "se_length_scales",
    "squared_exponential",
]
