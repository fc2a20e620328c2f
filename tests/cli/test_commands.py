"""Every command does what it says."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kermes
from kermes import (
    Measures,
    _persistence,
    comparison,
    definiteness,
    divergences,
    engine,
    files,
    ground,
    kernels,
    pairwise,
)
from kermes.cli import _naming as naming
from kermes.exceptions import ConvergenceWarning

TABLE = ["--by", "patient", "--columns", "cd4,cd8"]
SICK = [*TABLE, "--label", "sick"]
#: A kernel without a length scale to search, where the search does not matter.
FIXED = ["-k", "sliced:length_scale=2"]


def cells(label=None):
    return files.read("cells.csv", by="patient", columns=["cd4", "cd8"], label=label)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# -- from a file to a prediction ------------------------------------------------------------------


def test_a_table_of_ones_own_goes_from_file_to_prediction_in_two_commands(run):
    said = run("fit", "cells.csv", *SICK, "-o", "model.kermes").out
    assert "classification into 2 classes" in said
    assert "in 5-fold cross-validation, each time the best of 15 settings (the largest class: 0.500)" in said
    run("predict", "model.kermes", "new.csv", "-o", "predictions.csv")
    rows = rows_of("predictions.csv")
    assert list(rows[0]) == ["patient", "prediction"]
    assert [row["patient"] for row in rows] == ["p31", "p30", "p33", "p32"]  # the order of the file
    new = files.read("new.csv", by="patient").measures
    assert [row["prediction"] for row in rows] == kermes.load("model.kermes").predict(new).tolist()


def test_predictions_are_printed_as_csv_or_json(run):
    run("fit", "cells.csv", *SICK, *FIXED, "-o", "m.kermes")
    printed = run("predict", "m.kermes", "new.csv").out.splitlines()
    assert printed[0] == "patient,prediction"
    assert len(printed) == 5
    records = run("predict", "m.kermes", "new.csv", "--json").json
    assert [list(record) for record in records] == [["patient", "prediction"]] * 4
    assert [",".join(record.values()) for record in records] == printed[1:]
    both = run("predict", "m.kermes", "new.csv", "--json", "-o", "j.csv")
    assert both.json == records == rows_of("j.csv")


@pytest.mark.parametrize("command", [["fit", *FIXED], ["compare", *FIXED, "--cv", "3"]])
def test_scaling_is_a_step_of_the_model(run, command):
    run(*command, "cells.csv", *SICK, "--standardize", "-o", "m.kermes")
    X = cells().measures
    model = kermes.load("m.kermes")
    assert_allclose(model.preprocessing_.transformer_.scale_, X.points.std(axis=0))
    same = run("predict", "m.kermes", "cells.csv", *SICK)
    assert "accuracy" in same.err
    assert [line.split(",")[1] for line in same.out.splitlines()[1:]] == model.predict(X).tolist()


def write_points(path, rows):
    path.write_text("g,label,x,y,w\n" + "".join(f"m{i},{'ab'[i % 2]},{x!r},{y!r},{w!r}\n" for i, x, y, w in rows))


def test_how_the_atoms_of_equal_measures_are_written_does_not_matter(run, folder):
    points = np.random.default_rng(0).normal(size=(10, 5, 2)) * [1, 2]
    rows = [(i, float(x), float(y), 2.0) for i, cloud in enumerate(points) for x, y in cloud]
    split = [(i, x, y, w / 4) for i, x, y, w in rows if x > 0.8 for _ in range(4)]
    dust = [(i, 1.0, (-1) ** i * 1e6, 1e-20) for i in range(10)]
    found = []
    for number, written in enumerate((rows, [row for row in rows if row[1] <= 0.8] + split, rows + dust)):
        write_points(folder / "t.csv", sorted(written, key=lambda row: row[0]))
        reading = ["t.csv", "--by", "g", "--columns", "x,y", "--weights", "w"]
        run("distances", *reading, "--standardize", "-o", f"d{number}.npy", "-d", "mmd:sigma=1")
        test = run("test", *reading, "--label", "label", "-d", "mmd:sigma=1", "--permutations", "9", "--json")
        assert test.err == ""  # no word of different standard deviations
        moments = run("diagnose", *reading, "--json").json["coordinates"]
        found.append((np.load(f"d{number}.npy"), test.json["tests"][0]["statistic"], moments))
    for distances, statistic, moments in found[1:]:
        assert_allclose(distances, found[0][0], rtol=1e-6, atol=1e-9)
        assert statistic == pytest.approx(found[0][1], rel=1e-6)
        for name in ("mean", "std"):
            assert_allclose([c[name] for c in moments], [c[name] for c in found[0][2]], rtol=1e-6)


@pytest.mark.parametrize("constant", [0.5, 0.1])  # the mean of many 0.1 is not 0.1
def test_a_constant_coordinate_has_no_scale(run, folder, constant):
    rng = np.random.default_rng(0)
    write_points(folder / "t.csv", [(i, float(rng.normal()), constant, float(rng.normal())) for i in [*range(9)] * 7])
    reading = ["t.csv", "--by", "g", "--label", "label", "-d", "wasserstein", "--permutations", "9", "--json"]
    assert run("test", *reading, "--columns", "x,y,w").err == ""
    refused = run("test", *reading, "--columns", "x,y", "--standardize", code=2).err
    assert "t.csv: coordinate y is constant and has no scale; leave it out (--columns)." in refused
    write_points(folder / "t.csv", [(i, *(rng.normal(size=2) * [1, 1000]).tolist(), constant) for i in [*range(9)] * 7])
    tests = [run("test", *reading, "--columns", names) for names in ("x,y,w", "x,y")]
    assert all("Each coordinate is divided by its standard deviation" in test.err for test in tests)
    assert tests[0].json["tests"][0]["statistic"] == pytest.approx(tests[1].json["tests"][0]["statistic"])


@pytest.mark.parametrize(("scale", "offset"), [(1e-300, 0.0), (1e300, 0.0), (0.05, 1e14)])
def test_a_scale_that_scikit_learn_cannot_find_is_refused(run, folder, scale, offset):
    write_points(folder / "t.csv", [(i % 4, scale * (i * 7 % 5 + 1) + offset, 0.0, 1.0) for i in range(12)])
    result = run("distances", "t.csv", "--by", "g", "--columns", "x", "--standardize", "-o", "d.npy", code=2)
    assert result.err.startswith("Error: t.csv: coordinate x has mean ")
    assert "Subtract a constant or change the unit" in result.err
    assert "Warning" not in result.err


def test_models_of_the_first_edition_divide_when_they_read(run):
    X, labels = cells().measures, cells("sick").labels
    scale = X.points.std(axis=0)
    model = kermes.LSSVMClassifier(gamma=10.0).fit(X.map_points(lambda points: points / scale), labels)
    notes = {"reading": {"by": "patient", "columns": ["cd4", "cd8"], "scale": scale.tolist()}, "kind": "table"}
    _persistence.write(model, "old.kermes", notes)
    assert "accuracy" in run("predict", "old.kermes", "cells.csv", "--label", "sick").err
    printed = run("predict", "old.kermes", "cells.csv").out.splitlines()[1:]
    expected = model.predict(X.map_points(lambda points: points / scale))
    assert [line.split(",")[1] for line in printed] == expected.tolist()


def test_the_model_remembers_how_data_were_read(run, folder):
    run("fit", "cells.csv", *SICK, *FIXED, "--atoms", "5", "-o", "m.kermes")
    same = run("predict", "m.kermes", "cells.csv", *SICK)
    model = kermes.load("m.kermes")
    expected = model.predict(cells().measures.subsample(5))
    assert [line.split(",")[1] for line in same.out.splitlines()[1:]] == expected.tolist()
    folder.joinpath("other.csv").write_text("g,cd8,cd4\na,1,2\nb,3,4\n")
    assert len(run("predict", "m.kermes", "other.csv", "--by", "g").out.splitlines()) == 3


def test_labels_that_are_no_classes_of_the_model_are_named(run, folder):
    run("fit", "cells.csv", *SICK, *FIXED, "-o", "m.kermes")
    text = folder.joinpath("cells.csv").read_text()
    folder.joinpath("other.csv").write_text(text.replace(",yes,", ",Yes,").replace(",no,", ",No,"))
    assert run("predict", "m.kermes", "other.csv", "--label", "sick").err == (
        "No score: no label of the file is a class of the model. Labels are No, Yes, classes are no, yes; write them "
        "as in the training data.\n"
    )
    folder.joinpath("some.csv").write_text(text.replace(",yes,", ",Yes,"))
    said = run("predict", "m.kermes", "some.csv", "--label", "sick").err
    assert said.startswith("accuracy 0.")
    assert said.endswith("; 12 of 24 labels are no class of the model: Yes\n")
    run("fit", "cells.csv", *TABLE, "--label", "age", *FIXED, "-o", "age.kermes")
    assert "R² " in run("predict", "age.kermes", "cells.csv", "--label", "age").err
    said = run("predict", "age.kermes", "cells.csv", "--label", "sick").err
    assert said == "No score: the labels are words such as no, the model predicts numbers.\n"


@pytest.mark.filterwarnings("always::kermes.exceptions.KermesWarning")
def test_the_model_remembers_what_is_white(run):
    with np.load("digits.npz") as file:
        ink, labels = 8.0 - file["images"], file["labels"]
    np.savez("ink.npz", images=ink, labels=labels)
    run("fit", "ink.npz", "--invert", *FIXED, "--learner", "gp", "-o", "m.kermes")
    grey = np.minimum(ink[:3], 5.0)  # no pixel is white
    np.savez("grey.npz", images=grey)
    np.savez("beside.npz", images=np.concatenate([grey, ink[3:4]]))
    np.savez("bright.npz", images=np.concatenate([grey, 2 * ink[3:4]]))
    alone = run("predict", "m.kermes", "grey.npz", "--proba", "--json").json
    for name, *options in (["beside.npz"], ["beside.npz", "--invert"], ["bright.npz"]):
        result = run("predict", "m.kermes", name, "--proba", "--json", *options)
        assert_allclose([row["p_1"] for row in result.json[:3]], [row["p_1"] for row in alone])
    assert "are brighter than white, which is 8, up to 16" in result.err
    file = _persistence.read("m.kermes")
    del file.notes["reading"]["white"]  # as in models of earlier editions
    _persistence.write(file.model, "old.kermes", file.notes)
    assert "White is 5, the largest value of grey.npz: the model" in run("predict", "old.kermes", "grey.npz").err


def test_a_model_refuses_data_of_another_kind(run, folder):
    run("fit", "cells.csv", *SICK, *FIXED, "-o", "t.kermes")
    run("fit", "digits.npz", *FIXED, "-o", "i.kermes")
    run("convert", "new.csv", *TABLE, "-o", "new.npz")
    folder.joinpath("other.csv").write_text("patient,u,v\na,1,2\nb,3,4\n")
    for arguments, message in (
        (["t.kermes", "digits.npz"], "'digits.npz' holds images, but the model was fitted to a table"),
        (["i.kermes", "cells.csv"], "'cells.csv' holds a table, but the model was fitted to images"),
        (["t.kermes", "new.csv", "--columns", "cd8,cd4"], "fitted with cd4, cd8, in this order"),
        (["t.kermes", "other.csv"], "there is no column 'cd4'"),
        (["t.kermes", "new.csv", "--standardize"], "(--standardize) is for fit"),
    ):
        assert message in run("predict", *arguments, code=2).err
    assert len(run("predict", "t.kermes", "new.npz").out.splitlines()) == 5


def test_saved_measures_are_taken_as_they_are_and_that_is_said(run, folder):
    run("fit", "cells.csv", *SICK, *FIXED, "--arcsinh", "5", "-o", "t.kermes")
    run("convert", "new.csv", *TABLE, "-o", "raw.npz")
    run("convert", "new.csv", *TABLE, "--arcsinh", "5", "-o", "new.npz")
    warned = run("predict", "t.kermes", "new.npz")
    assert "read with --arcsinh 5.0, and new.npz is taken as it is: it must have been converted so" in warned.err
    assert warned.out.splitlines()[1:] == run("predict", "t.kermes", "new.csv").out.splitlines()[1:]
    assert "Warning" not in run("predict", "t.kermes", "new.csv").err
    said = run("convert", "new.csv", *TABLE, "--standardize", "-o", "scaled.npz").err
    assert "Models standardise new data themselves" in said


def test_fit_and_compare_tell_what_is_odd_in_the_columns(run, folder):
    rng = np.random.default_rng(0)
    rows = [(i, i % 2, *rng.normal(size=2)) for i in range(12) for _ in range(3)]
    lines = "".join(f"m{i},{'ab'[s]},{x},{1000 * y},{i % 3}\n" for i, s, x, y in rows)
    folder.joinpath("odd.csv").write_text("g,label,x,y,site\n" + lines)
    start = ["odd.csv", "--by", "g", "--label", "label", *FIXED]
    for command in (["fit", *start, "-o", "m.kermes"], ["compare", *start, "--cv", "2"]):
        said = run(*command).err
        assert "Coordinates: x, y, site (" in said
        assert "Warning: site: the same in all rows of each measure" in said
        assert "Each coordinate is divided by its standard deviation" in said
        for chosen in ("--standardize", "--no-standardize"):
            assert run(*command, "--columns", "x,y", chosen, "--force").err == ""
    assert kermes.load("m.kermes").preprocessing_ is None
    run("fit", *start, "--columns", "x,y", "-o", "m.kermes", "--force")
    assert kermes.load("m.kermes").preprocessing_ is not None
    wide = "".join(f"m{i},{i % 2},{i},{i % 3}\n" for i in range(8))
    folder.joinpath("wide.csv").write_text("g,label,bin0,bin1\n" + wide)
    said = run("fit", "wide.csv", "--by", "g", "--label", "label", *FIXED, "-o", "w.kermes").err
    assert "Warning: every measure has one row" in said
    folder.joinpath("same.csv").write_text("g,x,c,one\n" + "".join(f"m{i},1,2.5,a\n" for i in range(6)))
    same = ["same.csv", "--by", "g", "--columns", "x"]
    refused = run("fit", *same, "--label", "c", "--task", "regression", "-o", "c.kermes", code=2)
    assert "all values of `y` are equal, 2.5: there is nothing to learn" in refused.err
    found = run("diagnose", *same, "--label", "one", "--json").json
    assert found["data"]["labels"].startswith("1 class: ")
    assert "All distances are 0" in found["advice"][-1]


def test_calibrated_models_have_probabilities_sets_and_intervals(run):
    run("fit", "cells.csv", *SICK, *FIXED, "--calibrate", "-o", "c.kermes")
    records = run("predict", "c.kermes", "new.csv", "--proba", "--interval", "0.8", "--json").json
    assert list(records[0]) == ["patient", "set", "p_no", "p_yes", "prediction"]
    assert_allclose([r["p_no"] + r["p_yes"] for r in records], 1.0)
    assert all(set(r["set"].split("|")) - {""} <= {"no", "yes"} for r in records)
    run("fit", "cells.csv", *TABLE, "--label", "age", *FIXED, "--calibrate", "-o", "r.kermes")
    records = run("predict", "r.kermes", "new.csv", "--std", "--interval", "0.8", "--json").json
    assert list(records[0]) == ["patient", "low", "high", "std", "prediction"]
    assert all(r["low"] < r["high"] for r in records)
    refused = run("predict", "r.kermes", "new.csv", "--interval", "0.99", code=2).err
    assert "too much for a model of 24 measures; the largest coverage with finite intervals is 0.96" in refused
    run("fit", "cells.csv", *SICK, *FIXED, "-o", "s.kermes")
    assert "fit with --calibrate" in run("predict", "s.kermes", "new.csv", "--interval", "0.9", code=2).err


def test_probabilities_and_standard_deviations(run):
    run("fit", "cells.csv", *SICK, "--learner", "gp", "-o", "c.kermes")
    assert type(kermes.load("c.kermes").learner_).__name__ == "GaussianProcessClassifier"
    records = run("predict", "c.kermes", "new.csv", "--proba", "--json").json
    assert list(records[0]) == ["patient", "p_no", "p_yes", "prediction"]
    assert_allclose([r["p_no"] + r["p_yes"] for r in records], 1.0)
    said = run("fit", "cells.csv", *TABLE, "--label", "age", "-o", "r.kermes").out
    assert "regression of numbers from 20.5 to 43.5" in said
    records = run("predict", "r.kermes", "new.csv", "--std", "--json").json
    assert list(records[0]) == ["patient", "std", "prediction"]
    assert all(record["std"] > 0 for record in records)
    assert "fit with --learner gp" in run("predict", "r.kermes", "new.csv", "--proba", code=2).err
    run("fit", "cells.csv", *SICK, *FIXED, "-o", "s.kermes")
    assert "fit with --learner gp" in run("predict", "s.kermes", "new.csv", "--std", code=2).err


@pytest.mark.parametrize(
    ("learner", "label", "kernel", "name"),
    [
        ("auto", "sick", "sliced", "SVC"),
        ("auto", "sick", "wasserstein:p=1", "LSSVMClassifier"),
        ("auto", "age", "sliced", "MeasureGPRegressor"),
        ("svm", "age", "sliced", "SVR"),
        ("lssvm", "age", "mmd:sigma=1,length_scale=0.5", "LSSVMRegressor"),
        ("svm", "sick", "igv:eta=0.5", "SVC"),
        ("svm", "sick", "exponential-family:t=1", "SVC"),
    ],
)
def test_learners(run, learner, label, kernel, name):
    summary = run(
        "fit", "cells.csv", *TABLE, "--label", label, "--learner", learner, "-k", kernel, "-o", "m.kermes", "--json"
    ).json
    assert summary["model"].startswith(name)
    model = kermes.load("m.kermes")
    assert isinstance(model, comparison.CandidateModel)
    assert type(model.learner_).__name__ == name
    assert len(summary["folds"]) == 5
    assert summary["mean"] == pytest.approx(np.mean(summary["folds"]))


@pytest.mark.parametrize("kernel", ["sliced", "sliced:power=2", "entropy:sigma=1", "wasserstein:p=1", "igv:eta=0.5"])
def test_a_fit_is_a_comparison_with_one_candidate(run, kernel):
    fitted = run("fit", "cells.csv", *SICK, "-k", kernel, "-o", "f.kermes", "--json").json
    compared = run("compare", "cells.csv", *SICK, "-k", kernel, "-o", "c.kermes", "--json").json
    assert compared["table"][0]["mean"] == fitted["mean"] > 0.8
    X = cells().measures
    assert_array_equal(kermes.load("f.kermes").predict(X), kermes.load("c.kermes").predict(X))


def test_classes_that_are_numbers_stay_classes(run, folder):
    lines = folder.joinpath("cells.csv").read_text().replace(",yes,", ",2.0,").replace(",no,", ",1.0,")
    folder.joinpath("floats.csv").write_text(lines)
    folder.joinpath("whole.csv").write_text(lines.replace(",2.0,", ",2,").replace(",1.0,", ",1,"))
    run("fit", "floats.csv", *SICK, *FIXED, "-o", "f.kermes")
    run("fit", "whole.csv", *SICK, *FIXED, "-o", "w.kermes")
    said = {
        run("predict", model, data, *SICK).err
        for model in ("f.kermes", "w.kermes")
        for data in ("floats.csv", "whole.csv")
    }
    assert said == {"accuracy 1.000\n"}


def test_two_measures_of_a_class_are_fitted_but_not_judged(run, folder):
    wanted = ("patient", "p0", "p1", "p2", "p3")
    lines = folder.joinpath("cells.csv").read_text().splitlines()
    kept = [line for line in lines if line.split(",")[0] in wanted]
    folder.joinpath("few.csv").write_text("\n".join(kept) + "\n")
    assert "Too few measures for a score" in run("fit", "few.csv", *SICK, "-o", "few.kermes").out
    assert len(run("predict", "few.kermes", "new.csv").out.splitlines()) == 5


def test_fits_are_deterministic(run):
    first, second = (run("fit", "cells.csv", *SICK, "-o", f"{i}.kermes", "--json").json for i in range(2))
    assert first["folds"] == second["folds"]
    assert first["model"] == second["model"]


# -- matrices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "zarr"])
def test_distances_in_every_kind_of_file(run, ending):
    summary = run("distances", "cells.csv", *TABLE, "-d", "sliced:n_slices=9", "-o", f"d.{ending}", "--json").json
    D = pairwise(cells().measures, divergence=divergences.SlicedWasserstein(n_slices=9))
    assert summary["measures"] == 24
    assert summary["largest"] == D.max()
    assert_array_equal(read_matrix(f"d.{ending}", "distances"), D)


def read_matrix(path, name):
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".npz"):
        with np.load(path) as file:
            assert file["keys"].tolist() == cells().keys.tolist()
            return file[name]
    if path.endswith(".csv"):
        rows = rows_of(path)
        assert [row.pop("patient") for row in rows] == list(rows[0]) == cells().keys.tolist()
        return np.array([[float(cell) for cell in row.values()] for row in rows])
    group = pytest.importorskip("zarr").open_group(path, mode="r")
    assert group["keys"][:].tolist() == cells().keys.tolist()
    return np.asarray(engine.StoredDistances(path))


def test_a_zarr_says_how_it_is_read_and_can_be_continued(run):
    first = run("distances", "digits.npz", "-o", "d.zarr")
    assert 'kermes.engine.StoredDistances("d.zarr")' in first.err
    again = run("distances", "digits.npz", "-o", "d.zarr", "--resume", "--json").json
    assert again["pairs"] == 0
    assert pytest.importorskip("zarr").open_group("d.zarr")["keys"][:].tolist() == list(range(12))
    squared = run("distances", "digits.npz", "--squared", "-o", "d2.zarr", "--json")
    assert 'kermes.engine.StoredDistances("d2.zarr", squared=True)' in squared.err
    assert np.asarray(engine.StoredDistances("d2.zarr", squared=True)).max() == squared.json["largest"]


@pytest.mark.filterwarnings("always::kermes.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ending", ["npy", "zarr"])
def test_pairs_without_convergence_are_counted_once(run, ending):
    name = "sinkhorn:epsilon=0.01,tol=1e-12,max_iter=3"
    result = run("distances", "digits.npz", "-d", name, "-o", f"d.{ending}", "--json")
    with pytest.warns(ConvergenceWarning):
        _, info = pairwise(files.read("digits.npz").measures, divergence=naming.divergence(name), return_info=True)
    assert result.json["unconverged"] == np.count_nonzero(np.triu(np.asarray(info.status))) > 0
    assert result.json["unconverged"] <= result.json["pairs"]


@pytest.mark.filterwarnings("always::kermes.exceptions.ConvergenceWarning")
def test_a_warning_is_printed_once_in_words_of_the_command_line(run):
    err = run("gram", "digits.npz", "-k", "sinkhorn:epsilon=0.01,tol=1e-12,max_iter=3", "-o", "k.npy").err
    assert err.count("did not reach their tolerance") == 1
    assert "return_info" not in err
    assert "max_iter" in err


def test_squared_and_printed_distances(run):
    text = run("distances", "digits.npz", "-d", "mmd:sigma=1", "--squared", "-o", "d.npy").out
    X = files.read("digits.npz").measures
    assert_array_equal(
        np.load("d.npy"), pairwise(X, divergence=divergences.MMD(ground.Gaussian(sigma=1)), squared=True)
    )
    assert "12 measures" in text
    assert "output" in text


def test_a_zarr_is_replaced_only_if_it_is_one(run, folder):
    run("distances", "digits.npz", "-o", "d.zarr")
    refused = run("distances", "digits.npz", "-o", "d.zarr", code=2).err
    assert "--resume to go on" in refused
    assert refused.index("--resume") < refused.index("--force")
    run("distances", "digits.npz", "-d", "euclidean", "-o", "d.zarr", "--force")
    (folder / "mine.zarr").mkdir()
    (folder / "mine.zarr" / "thesis.txt").write_text("dear")
    assert "is left alone" in run("distances", "digits.npz", "-o", "mine.zarr", "--force", code=2).err
    assert (folder / "mine.zarr" / "thesis.txt").read_text() == "dear"


def test_gram_matrices(run):
    summary = run("gram", "cells.csv", *TABLE, "-k", "mmd:sigma=1", "-o", "k.npy", "--json").json
    X = cells().measures
    divergence = divergences.MMD(ground.Gaussian(sigma=1))
    D = pairwise(X, divergence=divergence)
    assert_array_equal(np.load("k.npy"), kernels.Exponential(divergence, float(np.median(D[D > 0])))(X))
    assert summary["verdict"] == "positive definite"
    run("gram", "cells.csv", *TABLE, "-k", "wasserstein:p=2,length_scale=50", "--repair", "clip", "-o", "r.npy")
    assert definiteness.spectrum(np.load("r.npy")).verdict != "indefinite"


# -- looking at data ------------------------------------------------------------------------------


def test_diagnose(run, folder):
    found = run("diagnose", "cells.csv", *SICK, "--json").json
    X, labels = cells("sick").measures, cells("sick").labels
    assert found["data"]["measures"] == 24
    assert found["data"]["labels"] == "2 classes: no 12, yes 12"
    D = pairwise(X, divergence=divergences.SlicedWasserstein())
    assert found["kernel"]["median positive distance"] == pytest.approx(np.median(D[D > 0]))
    np.fill_diagonal(D, np.inf)
    assert found["kernel"]["error of the nearest neighbour"] == np.mean(labels[D.argmin(axis=1)] != labels)
    assert found["kernel"]["proved definite"] == "yes"
    text = run("diagnose", "cells.csv", *SICK, "--most", "10").out
    assert "Kernel on 10 measures" in text
    assert "cd8" in text
    folder.joinpath("odd.csv").write_text("g,u,v\na,1,1000\na,2,0\nb,1,1000\nb,2,0\nc,3,500\n")
    advice = run("diagnose", "odd.csv", "--by", "g", "--json").json["advice"]
    assert "--standardize" in advice[0]
    assert advice[1].startswith("1 measure repeats another")


def test_cluster(run):
    said = run("cluster", "cells.csv", *SICK, "-n", "3", "-o", "c.csv")
    rows = rows_of("c.csv")
    expected = kermes.clustering.HierarchicalClustering(divergences.SlicedWasserstein(), 3).fit(cells().measures)
    assert [int(row["cluster"]) for row in rows] == expected.labels_.tolist()
    assert [row["patient"] for row in rows] == cells().keys.tolist()
    assert "ClusterReport: 24 measures, 3 clusters, 2 classes" in said.out
    found = run("cluster", "digits.npz", "-n", "3", "--method", "k-medoids", "-d", "euclidean", "--json").json
    medoids = kermes.clustering.KMedoids(divergences.Euclidean(), 3).fit(files.read("digits.npz").measures)
    assert {row["central"] for row in found["clusters"]} == {str(i) for i in medoids.medoid_indices_}
    assert found["report"]["adjusted_rand"] <= 1.0
    assert sum(row["size"] for row in found["clusters"]) == 12


def test_groups_are_tested(run, folder):
    found = run("test", "cells.csv", *TABLE, "--label", "sick", "--pairwise", "--json").json
    D = pairwise(cells().measures, divergence=divergences.SlicedWasserstein())
    labels = cells("sick").labels
    names = ("permanova", "dispersion", "k_sample")
    for line, name in zip(found["tests"], names, strict=True):
        expected = getattr(kermes.inference, name)(D, labels, "precomputed", random_state=0)
        assert line["p_value"] == expected.p_value
        assert line["statistic"] == pytest.approx(expected.statistic)
    assert found["groups"]["no"]["size"] == 12
    assert found["pairs"][0]["groups"] == ["no", "yes"]
    said = run("test", "cells.csv", *TABLE, "--label", "sick", "--pairwise", "--permutations", "99")
    assert "99 random permutations" in said.out
    assert found["caveat"] in said.out
    assert "move with the number" in run("test", "cells.csv", *TABLE, "--label", "age", "--trend").out


def test_groups_in_blocks_and_of_units(run, folder):
    """A column of numbers that is named for another use is no coordinate."""
    lines = folder.joinpath("cells.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    extended = [
        f"{','.join(row)},{int(row[0][1:]) // 6},{int(row[0][1:]) // 4 * 2 + int(row[0][1:]) % 2}" for row in rows
    ]
    folder.joinpath("more.csv").write_text("\n".join([lines[0] + ",site,donor", *extended]))
    options = ["more.csv", "--by", "patient", "--label", "sick", "--permutations", "199", "--json"]
    blocked = run("test", *options, "--blocks", "site", "--columns", "cd4,cd8").json
    assert blocked["tests"][0]["df"] == [1, 19]
    assert run("test", *options, "--blocks", "site", "--units", "age").json["tests"][0]["df"] == [1, 19]
    grouped = run("test", *options, "--units", "donor", "--columns", "cd4,cd8").json
    assert grouped["tests"][0]["df"] == [1, 10]
    assert "units are independent" in grouped["caveat"]
    np.save("images.npy", np.load("digits.npz")["images"])
    np.save("labels.npy", np.arange(12) % 2)
    assert "give --samples TABLE" in run("test", "images.npy", "--blocks", "site", code=2).err
    assert run("test", "images.npy", "--labels", "labels.npy", "--json").json["tests"][0]["df"] == [1, 10]


@pytest.mark.parametrize(
    ("p_values", "said"),
    [
        ((0.01, 0.5, 0.01), "a difference of spread was not found (p = 0.5)"),
        ((0.01, 0.02, 0.01), "spread differently (p = 0.02), which may be all"),
        ((0.5, 0.02, 0.01), "a difference of their centres was not found (p = 0.5)"),
        ((0.5, 0.5, 0.01), "differ in distribution (energy test, p = 0.01)"),
        ((0.5, 0.5, 0.5), "does not show that there is none"),
    ],
)
def test_conclusions(p_values, said):
    from kermes.cli._groups import conclusion

    tests = [kermes.inference.PermutationTest("", 1.0, p, 99, False, 0.1, (1, 9)) for p in p_values]
    assert said in conclusion(*tests)


def test_convert_and_back(run):
    run("convert", "cells.csv", *SICK, "-o", "cells.npz")
    assert Measures.load("cells.npz").fingerprint == cells().measures.fingerprint
    run("convert", "cells.npz", "-o", "back.parquet")
    back = files.read("back.parquet", by="measure", weights="weight", label="label")
    assert back.measures.fingerprint == cells().measures.fingerprint
    assert back.labels.tolist() == cells("sick").labels.tolist()
    assert run("convert", "digits.npz", "--atoms", "3", "-o", "d.npz", "--json").json["atoms"] <= 36


def test_a_list_in_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setattr("kermes.cli._about.table_width", lambda: 60)
    monkeypatch.setattr("kermes.cli._output.table_width", lambda: 60)
    lines = run("list", "sinkhorn", "igv").out.splitlines()
    assert max(map(len, lines)) <= 60
    assert not any("transport cost" in line for line in lines)
    assert any("epsilon=?" in line for line in lines)


def test_list_tells_all_names_from_the_classes(run):
    records = run("list", "--json").json
    assert [record["name"] for record in records] == [entry.name for _, entry in naming.entries()]
    sinkhorn = next(record for record in records if record["name"] == "sinkhorn")
    assert sinkhorn["parameters"]["epsilon"] is None
    assert sinkhorn["parameters"]["max_iter"] == "10000"
    wasserstein = records[0]
    assert wasserstein["parameters"]["p"] == "2.0"  # and the claims are those of p = 2
    assert wasserstein["definite up to"] == {"line": 2.0, "plane": None}
    assert wasserstein["fails at"] == {"line": None, "plane": 2.0}
    text = run("list").out
    assert "2 / no at 2" in text
    assert all(record["name"] in text for record in records)
    assert run("list", "mmd").out.count("Example: mmd:sigma=2") == 1


def test_compare(run):
    names = ["-k", "sliced:n_slices=9", "-k", "mmd:sigma=1,length_scale=0.5"]
    result = run("compare", "cells.csv", *SICK, *names, "--cv", "3", "-o", "best.kermes")
    assert "Comparison: 24 measures, 2 classes, 3 folds" in result.out
    assert "sliced:n_slices=9" in result.out
    again = run("compare", "cells.csv", *SICK, *names, "--cv", "3", "--json").json
    assert {row["candidate"] for row in again["table"]} == {"sliced:n_slices=9", "mmd:sigma=1,length_scale=0.5"}
    assert len(run("predict", "best.kermes", "new.csv").out.splitlines()) == 5
    assert run("predict", "best.kermes", "new.csv", "--std", code=2).err.startswith(
        "Error: this model has no standard deviations"
    )


@pytest.fixture
def visits(folder):
    """Write samples.csv: three visits of each of eight donors, one of them without a site."""
    site = ["" if i == 7 else "xy"[i % 2] for i in range(24)]
    rows = [f"p{i},{'ny'[i % 2]},d{i // 3},{20 + i},{site[i]},here\n" for i in range(24)]
    folder.joinpath("samples.csv").write_text("patient,sick,donor,years,site,city\n" + "".join(rows))
    return ["cells.csv", *SICK, "--samples", "samples.csv"]


def test_groups_are_never_parted(run, visits, monkeypatch):
    seen = []
    original = comparison.compare

    def recorded(*arguments, **options):
        seen.append(original(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(comparison, "compare", recorded)
    said = run("fit", *visits, "--units", "donor", "-o", "m.kermes").out
    assert "5-fold cross-validation of 8 units, each time the best of" in said
    names = ["-k", "sliced:n_slices=9", "--cv", "4"]
    assert "4 folds of 8 groups\n" in run("compare", *visits, *names, "--units", "donor").out
    assert len(seen) == 2
    donors = np.arange(24) // 3
    for fold in (fold for result in seen for fold in result.folds):
        assert not set(donors[fold.train]) & set(donors[fold.test])
        for train, test in fold.inner:
            assert not set(donors[fold.train[train]]) & set(donors[fold.train[test]])


@pytest.mark.parametrize("command", ["test", "explain", "compare"])
def test_a_date_that_is_missing_is_refused(run, folder, command):
    days = ["" if i == 7 else f"2020-0{1 + i % 4 // 2}-01" for i in range(24)]
    folder.joinpath("days.csv").write_text("patient,day\n" + "".join(f"p{i},{day}\n" for i, day in enumerate(days)))
    cells = [line.split(",") for line in folder.joinpath("cells.csv").read_text().splitlines()]
    lines = [",".join([*line, "day" if i == 0 else days[int(line[0][1:])]]) for i, line in enumerate(cells)]
    folder.joinpath("told.csv").write_text("\n".join(lines) + "\n")
    option = {"test": "blocks", "explain": "blocks", "compare": "units"}[command]
    said = run(command, "told.csv", *SICK, f"--{option}", "day", code=2).err
    assert f"`{option}` (--{option}): measure p7 has no value in the column 'day'; leave it out or fill it in." in said
    for trend in ([], ["--trend"] if command == "test" else []):
        joined = ["cells.csv", *TABLE, "--samples", "days.csv", "--label", "day", *trend]
        assert "measure p7 has no label in the column 'day'; leave it out" in run(command, *joined, code=2).err


def test_covariates_stand_beside_the_kernels_and_the_model_written_takes_measures_alone(run, folder):
    rows = "".join(f"p{i},{np.cos(i):.3f},{np.cos(i):.3f},{'xy'[i % 2]}\n" for i in range(24))
    folder.joinpath("told.csv").write_text("patient,level,told,site\n" + rows)
    given = ["cells.csv", *TABLE, "--samples", "told.csv", "--label", "level", "--covariates", "told,site"]
    given += ["-k", "sliced:n_slices=9", "--cv", "2"]
    assert "sliced:n_slices=9" in run("compare", *given, "--dry-run").out
    said = run("compare", *given, "-o", "best.kermes", "--json")
    three = ["covariates alone", "measures alone, linear", "measures and covariates"]
    table = said.json["table"]
    assert sorted(row["candidate"] for row in table) == [*three, "sliced:n_slices=9"]
    assert {row["status"] for row in table} == {"ok"}
    assert table[0]["candidate"] == "covariates alone"  # which is the answer
    assert "Best model without covariates, sliced:n_slices=9, written to best.kermes" in said.err
    assert len(run("predict", "best.kermes", "new.csv").out.splitlines()) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--units", "donr"], "samples.csv: there is no column 'donr'"),
        (["--units", "site"], "`units` (--units): measure p7 has no value in the column 'site'"),
        (["--units", "city"], "all measures have here in the column 'city'; a split needs two units"),
        (["--covariates", "years,site"], "`covariates` (--covariates): measure p7 has no value in the column 'site'"),
        (["--covariates", "years,sit"], "samples.csv: there is no column 'sit'"),
    ],
)
def test_columns_of_groups_and_covariates_are_checked(run, visits, options, message):
    assert message in run("compare", *visits, "-k", "sliced", *options, code=2).err
    if "--units" in options:
        assert message in run("fit", *visits, *options, "-o", "m.kermes", code=2).err


def test_columns_need_a_table_and_calibration_no_groups(run, folder):
    for command in (["fit", "-o", "m.kermes"], ["compare", "-k", "sliced"]):
        said = run(*command, "digits.npz", "--units", "donor", code=2).err
        assert "`units` (--units) must name a column, which 'digits.npz' does not have; give --samples" in said
    said = run("fit", "cells.csv", *SICK, "--units", "age", "--calibrate", "-o", "m.kermes", code=2).err
    assert "--calibrate is for measures that are exchangeable" in said
    changing = run("fit", "cells.csv", *SICK, "--units", "cd4", "-o", "m.kermes", code=2).err
    assert "has two values in the column 'cd4'" in changing


def test_a_comparison_out_of_time_writes_nothing(run, folder):
    result = run("compare", "cells.csv", *SICK, "-k", "sliced", "--budget", "0.001s", "-o", "b.kermes", code=1)
    assert "Give a greater --budget" in result.err
    assert "sliced" in result.out
    assert not (folder / "b.kermes").exists()


def test_an_interrupted_comparison_shows_what_it_has(run, monkeypatch):
    def interrupted(*arguments, **options):
        raise comparison.ComparisonInterrupted("the rows so far")

    monkeypatch.setattr(comparison, "compare", interrupted)
    result = run("compare", "cells.csv", *SICK, code=130)
    assert result.out == "the rows so far\n"
    assert result.err == "Interrupted.\n"


def test_piped_output_is_quiet_and_json_is_all_there_is(run, folder):
    command = [sys.executable, "-m", "kermes", "distances", "cells.csv", *TABLE, "-o", "d.npy", "--json"]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(out.stdout)["output"] == "d.npy"
    assert out.stderr == ""


def test_warmup_reports_the_first_call_on_every_kind_of_data(run):
    found = json.loads(run("warmup", "jensen-shannon", "mmd:sigma=2", "--json").out)
    assert set(found["mmd:sigma=2"]) == {"numbers", "points", "equal weights", "histograms", "images"}
    assert all(seconds > 0 for seconds in found["mmd:sigma=2"].values())
    assert found["jensen-shannon"]["points"] is None  # clouds have no common bins
    assert found["jensen-shannon"]["histograms"] > 0


@pytest.mark.parametrize("command", [["distances", "-o", "d.npy"], ["mean", "-o", "m.npz"]])
def test_commands_without_a_model_hint_at_different_units(run, folder, command):
    rng = np.random.default_rng(0)
    lines = "".join(f"m{i // 3},{'ab'[i // 12]},{x},{1000 * y}\n" for i, (x, y) in enumerate(rng.normal(size=(24, 2))))
    folder.joinpath("units.csv").write_text("g,label,x,y\n" + lines)
    name, *options = command
    reading = ["units.csv", "--by", "g", "--columns", "x,y", *options]
    assert "Hint: The coordinates have very different standard deviations" in run(name, *reading).err
    assert "Hint" not in run(name, *reading, "--no-standardize", *(["--force"] if "-o" in options else [])).err


def test_new_data_are_matched_with_the_model_by_the_names_of_coordinates(run, folder):
    run("fit", "cells.csv", *SICK, "-o", "m.kermes", "-k", "sliced:length_scale=1")
    wanted = run("predict", "m.kermes", "new.csv").out
    rows = [line.split(",") for line in folder.joinpath("new.csv").read_text().splitlines()]
    folder.joinpath("swapped.csv").write_text("".join(f"{cd8},{name},{cd4}\n" for name, cd4, cd8 in rows))
    assert run("predict", "m.kermes", "swapped.csv").out == wanted
    for order, code in (("cd4,cd8", 0), ("cd8,cd4", 2)):
        run("convert", "new.csv", "--by", "patient", "--columns", order, "-o", "new.npz", "--force")
        result = run("predict", "m.kermes", "new.npz", code=code)
    assert "'new.npz' has the coordinates cd8, cd4, the model was fitted with cd4, cd8, in this order" in result.err
    Measures.load("new.npz").save("bare.npz")
    assert "they are taken for cd4, cd8" in run("predict", "m.kermes", "bare.npz").err
