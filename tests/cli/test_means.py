"""``kermes mean`` and ``kermes explain``."""

from kermes import Measures


def test_mean_of_pixels_is_saved_on_the_grid(run, folder):
    run("mean", "digits.npz", "-d", "euclidean", "-o", "mean.npz")
    assert Measures.load(folder / "mean.npz").support.shape is not None


def test_explain_names_groups_and_coordinates(run, folder):
    out = run("explain", "cells.csv", "--by", "patient", "--columns", "cd4,cd8", "--label", "sick").out
    assert "Difference(yes minus no" in out
    assert out.count("coordinate ") == 2
