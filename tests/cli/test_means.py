"""``kermes mean`` and ``kermes explain``."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kermes import Measures
from kermes.cli._groups import explanation
from kermes.files import read
from kermes.inspection import difference


def test_mean_of_pixels_is_saved_on_the_grid(run, folder):
    run("mean", "digits.npz", "-d", "euclidean", "-o", "mean.npz")
    assert Measures.load(folder / "mean.npz").support.shape is not None


def test_explain_names_groups_and_coordinates(run, folder):
    table = ["cells.csv", "--by", "patient", "--columns", "cd4,cd8"]
    said = run("explain", *table, "--label", "sick", "--permutations", "99").out
    assert "yes minus no, over all points: p = 0.01, " in said
    assert [line.split()[0] for line in said.splitlines() if line.split()[:1] in (["cd4"], ["cd8"])] == ["cd4", "cd8"]
    assert "yes and no differ, also along cd4, cd8 alone." in said
    assert run("explain", *table, "--group", "sick", "--permutations", "99").out == said


def test_explain_compares_each_of_several_groups_with_the_rest_and_draws(run, folder):
    given = ["explain", "digits.npz", "--permutations", "99", "--json"]
    found = run(*given, "-o", "where.png").json["groups"]
    assert [(part["group"], part["against"]) for part in found] == [(str(k), "the rest") for k in range(3)]
    digits = read("digits.npz")
    plain = difference(digits.measures, digits.labels == 0, n_permutations=99, random_state=0)
    assert found[0]["p_value"] == pytest.approx(3 * plain.p_value)  # three groups, Holm
    assert (folder / "where.png").read_bytes().startswith(b"\x89PNG")


def test_comparisons_count_once_for_all_their_coordinates(run, folder):
    """P-values of coordinates hold for all of them together: five groups are five comparisons, not a hundred."""
    rng, names = np.random.default_rng(0), [f"m{j}" for j in range(6)]
    rows = [
        (f"p{i}", g, *(rng.normal(size=6) + 5.0 * (g == "c") * (np.arange(6) == 0)))
        for i, g in enumerate(np.repeat(list("abc"), 6))
        for _ in range(5)
    ]
    pd.DataFrame(rows, columns=["id", "g", *names]).to_csv(folder / "many.csv", index=False)
    given = ["explain", "many.csv", "--by", "id", "--label", "g", "--permutations", "99"]
    assert "p-values are adjusted for 3 comparisons (Holm), bands are of each" in " ".join(run(*given).out.split())
    found = run(*given, "--json").json
    assert found["adjusted_for"] == 3
    assert found["groups"][2]["coordinates"][0]["p_value"] == pytest.approx(0.03)


def test_explain_permutes_within_blocks(run, folder):
    lines = (folder / "cells.csv").read_text().splitlines()
    sites = [f"{line},{'site' if i == 0 else int(line[1 : line.index(',')]) // 4}" for i, line in enumerate(lines)]
    (folder / "sites.csv").write_text("\n".join(sites) + "\n")
    given = ["explain", "sites.csv", "--by", "patient", "--columns", "cd4,cd8", "--label", "sick"]
    given += ["--permutations", "99"]
    assert run(*given).out != run(*given, "--blocks", "site").out
    assert "every block holds one group only" in run(*given, "--blocks", "patient", code=2).err


def test_explain_permutes_whole_units(run, folder):
    table = pd.read_csv("cells.csv")
    number = table["patient"].str[1:].astype(int)
    table.assign(donor=number // 4 * 2 + number % 2).to_csv("donors.csv", index=False)
    given = ["explain", "donors.csv", "--by", "patient", "--columns", "cd4,cd8", "--label", "sick"]
    given += ["--permutations", "999", "--json"]
    alone, together = run(*given).json, run(*given, "--units", "donor").json
    assert (alone["permutations"], together["permutations"]) == (999, 923)  # 12 donors, six of them sick


@pytest.mark.parametrize("command", ["test", "explain"])
def test_a_label_has_one_name(run, command):
    given = [command, "cells.csv", "--by", "patient", "--label", "sick", "--group", "age"]
    said = "--label (or --group, its older name) is given 2 times: sick, age. Give it once."
    assert said in run(*given, code=2).err


def test_explain_keeps_the_units_of_the_file(run, folder):
    table = pd.read_csv("cells.csv")
    table["cd8"] *= 1000.0
    table.to_csv("units.csv", index=False)
    given = ["--by", "patient", "--columns", "cd4,cd8", "--label", "sick", "--permutations", "99", "--json"]
    plain = run("explain", "cells.csv", *given, "--standardize").json["groups"][0]
    other = run("explain", "units.csv", *given)  # by itself
    assert "divided by its standard deviation" in other.err
    other = other.json["groups"][0]
    assert other["p_value"] == plain["p_value"]
    assert "divided by its standard deviation" in run("test", "units.csv", *given).err
    for a, b, unit in zip(plain["coordinates"], other["coordinates"], (1.0, 1000.0), strict=True):
        assert_allclose([b[name] for name in ("shift", "distance", "chance")],
                        [unit * a[name] for name in ("shift", "distance", "chance")], rtol=1e-6)  # fmt: skip


@pytest.mark.parametrize(
    ("p", "along", "said"),
    [
        (0.01, (0.01, 0.5), "differ, also along x alone"),
        (0.01, (0.5, 0.5), "but along no coordinate alone"),
        (0.01, (0.5,), "the distance along the whole line may be chance"),
        (0.5, (0.01, 0.5), "differ along x; near no point"),
        (0.5, (0.5, 0.5), "does not show that there is none"),
    ],
)
def test_what_both_tests_say_together(p, along, said):
    coordinates = [{"name": name, "p_value": q} for name, q in zip("xy", along, strict=False)]
    assert said in explanation({"group": "a", "against": "b", "p_value": p, "coordinates": coordinates})


def test_a_mean_for_each_label(run, folder):
    reading = ["cells.csv", "--by", "patient", "--columns", "cd4,cd8", "--label", "sick"]
    found = run("mean", *reading, "--mean-atoms", "5", "--json", "-o", "means.csv").json
    assert found["measures"] == {"no": 12, "yes": 12}
    means = pd.read_csv("means.csv")
    assert list(means.columns) == ["sick", "cd4", "cd8", "weight"]
    assert means["sick"].tolist() == ["no"] * 5 + ["yes"] * 5
    assert "2 means (no, yes) of 24 measures" in run("mean", *reading, "-o", "means.npz").err
    assert read("means.npz").labels.tolist() == ["no", "yes"]


def test_a_mean_is_in_the_units_and_under_the_names_of_the_file(run, folder):
    reading = ["cells.csv", "--by", "patient", "--columns", "cd4,cd8"]
    table = pd.read_csv("cells.csv")
    run("mean", *reading, "--standardize", "-o", "mean.csv")
    mean = pd.read_csv("mean.csv")
    assert list(mean.columns) == ["cd4", "cd8", "weight"]
    assert_allclose(mean[["cd4", "cd8"]].mean(), table.groupby("patient")[["cd4", "cd8"]].mean().mean(), rtol=0.05)


@pytest.mark.parametrize(
    "command", [["test", "--label", "sick"], ["explain", "--label", "sick"], ["mean"], ["cluster"]]
)
def test_what_is_taken_for_a_coordinate_is_said(run, folder, command):
    said = run(command[0], "cells.csv", "--by", "patient", *command[1:], "--dry-run").err
    assert "Warning: age: the same in all rows of each measure" in said
    assert "(choose others with --columns)" in said
