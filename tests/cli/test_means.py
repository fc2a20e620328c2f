"""``kermes mean`` and ``kermes explain``."""

import pandas as pd
from numpy.testing import assert_allclose

from kermes import Measures


def test_mean_of_pixels_is_saved_on_the_grid(run, folder):
    run("mean", "digits.npz", "-d", "euclidean", "-o", "mean.npz")
    assert Measures.load(folder / "mean.npz").support.shape is not None


def test_explain_names_groups_and_coordinates(run, folder):
    out = run("explain", "cells.csv", "--by", "patient", "--columns", "cd4,cd8", "--label", "sick").out
    assert "Difference(yes minus no" in out
    assert "cd4: distance" in out
    assert "cd8: distance" in out


def test_a_mean_is_in_the_units_and_under_the_names_of_the_file(run, folder):
    reading = ["cells.csv", "--by", "patient", "--columns", "cd4,cd8"]
    table = pd.read_csv("cells.csv")
    run("mean", *reading, "--standardize", "-o", "mean.csv")
    mean = pd.read_csv("mean.csv")
    assert list(mean.columns) == ["cd4", "cd8", "weight"]
    assert_allclose(mean[["cd4", "cd8"]].mean(), table.groupby("patient")[["cd4", "cd8"]].mean().mean(), rtol=0.05)
