"""Columns of results that would have the name of a column of the data, and names that hold what divides them."""

import kermes
from kermes import files

ROWS = "".join(f"p{i},{10 * i + j},{j},{'u' if i % 2 else 'v'}\n" for i in range(6) for j in range(3))


def test_a_coordinate_is_not_replaced_by_the_masses(run, folder):
    folder.joinpath("w.csv").write_text("k,weight,size,arm\n" + ROWS)
    table = ["w.csv", "--by", "k", "-d", "wasserstein:p=2"]
    refused = run("mean", *table, "--columns", "weight,size", "-o", "m.csv", code=2)
    assert "a coordinate (--columns) is 'weight', as a column of the result is called" in refused.err
    assert not folder.joinpath("m.csv").exists()
    run("mean", *table, "--columns", "weight,size", "-o", "m.npz")
    folder.joinpath("l.csv").write_text("k,x,size,weight\n" + ROWS)
    refused = run("mean", "l.csv", *table[1:], "--columns", "x", "--label", "weight", "-o", "m.csv", code=2)
    assert "the label (--label) is 'weight'" in refused.err


def test_sets_of_classes_can_be_taken_apart(run, folder):
    for between, name in (("|", "sets.csv"), ("", "bars.csv")):
        classes = ["a", "b", "a b"] if between else ["a", "b|c", "c"]
        rows = "".join(f"m{i},{(i % 3) + 0.3 * j},{classes[i % 3]}\n" for i in range(36) for j in range(4))
        folder.joinpath(name).write_text("k,x,l\n" + rows)
        options = ["--by", "k", "--columns", "x", "--label", "l", "-k", "sliced:length_scale=2", "--calibrate"]
        run("fit", name, *options, "-o", "m.kermes", "--force")
        new = ["predict", "m.kermes", name, "--by", "k", "--columns", "x", "--interval", "0.9", "--json"]
        if not between:
            assert "'b|c' has one" in run(*new, code=2).err
            continue
        model, X = kermes.load("m.kermes"), files.read(name, by="k", columns=["x"]).measures
        held = [set(model.classes_[row]) for row in model.predict_set(X, 0.9)]
        assert [set(r["set"].split("|")) - {""} for r in run(*new).json] == held


def test_the_label_is_no_covariate(run, folder):
    folder.joinpath("w.csv").write_text("k,x,size,arm\n" + ROWS)
    command = [
        "compare",
        "w.csv",
        "--by",
        "k",
        "--columns",
        "x",
        "--label",
        "arm",
        "--covariates",
        "arm",
        "-k",
        "sliced",
    ]
    assert "holds the label 'arm'" in run(*command, code=2).err
