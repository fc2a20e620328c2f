"""The test problems on the simplex: their values, and their minima against a grid."""

import numpy as np
import pytest

from kermes.exceptions import InvalidParameterError
from kermes.papers.gpm.data import SIMPLEX_PROBLEMS, simplex_problem


@pytest.mark.parametrize("name", SIMPLEX_PROBLEMS)
def test_no_point_of_a_grid_lies_below_the_minimum(name):
    problem = simplex_problem(name)
    steps = np.linspace(0, 1, 401)
    grid = np.stack(np.meshgrid(*[steps] * (problem.n_weights - 1)), axis=-1).reshape(-1, problem.n_weights - 1)
    grid = grid[grid.sum(axis=1) <= 1]
    values = problem(np.column_stack([grid, 1 - grid.sum(axis=1)]))
    assert problem.minimum <= values.min()
    assert values.min() <= problem.minimum + 5e-3 * np.ptp(values)
    assert sum(problem.argmin) == pytest.approx(1, abs=1e-8)


def test_values_by_hand():
    half = [[0.5, 0.5]]
    assert simplex_problem("problem02")(half) == pytest.approx(np.sin(5.1) + np.sin(17.0))
    assert simplex_problem("problem13")([[0.0, 1.0]]) == pytest.approx(-0.01 - (1 - 1e-6) ** (1 / 3))
    assert simplex_problem("problem15")(half) == pytest.approx(6.0)
    # At (1/2, 1/2, 0) both coordinates are 0: cos 0 exp(1) + 0.
    assert simplex_problem("bird")([[0.5, 0.5, 0.0]]) == pytest.approx(np.e)


def test_unknown_name():
    with pytest.raises(InvalidParameterError, match="problem02"):
        simplex_problem("problem2")
