"""Annotated cells, by what AnnData looks like: anndata itself is not needed."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kermes import Measures, _foreign
from kermes.exceptions import InvalidMeasureError, InvalidParameterError, UnsuitableDataError
from kermes.measures import _anndata

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.4, size=(60, 5)).astype(np.float32)
PCA = RNG.normal(size=(60, 2))
DONORS = RNG.choice(["d2", "d1", "d3"], 60)
GENES = ["CD3", "CD4", "CD8", "CD19", "MS4A1"]


def cells(matrix=COUNTS, **change):
    given = {
        "X": matrix,
        "obs": pd.DataFrame({"donor": pd.Categorical(DONORS), "size": np.arange(60) + 1.0, "name": "a"}),
        "layers": {"counts": sparse.csr_matrix(COUNTS)},
        "obsm": {"X_pca": PCA, "table": pd.DataFrame(PCA)},
        "var_names": pd.Index(GENES),
    }
    return SimpleNamespace(**(given | change))


def expected(points, columns=slice(None)):
    order = list(dict.fromkeys(DONORS))
    return order, np.concatenate([points[donor == DONORS][:, columns] for donor in order])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("genes", [None, ["CD8", "CD3"]])
def test_every_form_of_a_matrix(monkeypatch, make, genes):
    monkeypatch.setattr(_anndata, "BLOCK", 8 * 5 * 7)  # seven cells at a time
    X = Measures.from_anndata(cells(make(COUNTS)), by="donor", genes=genes)
    keys, points = expected(COUNTS, slice(None) if genes is None else [2, 0])
    assert X.keys.tolist() == keys
    assert_array_equal(X.points, points)


@pytest.mark.parametrize(("use", "points"), [("X", COUNTS), ("counts", COUNTS), ("X_pca", PCA), ("table", PCA)])
def test_every_place_of_points(use, points):
    X = Measures.from_anndata(cells(), by="donor", use=use, weights="size")
    assert_array_equal(X.points, expected(points)[1])
    assert X.masses.sum() == 60 * 61 / 2


@pytest.mark.parametrize(
    ("adata", "options", "error", "message"),
    [
        (pd.DataFrame(), {}, InvalidMeasureError, r"must be an AnnData; got DataFrame.*kermes\.files\.read"),
        (cells(), {"by": "doner"}, InvalidMeasureError, r"Did you mean 'donor'\?"),
        (cells(), {"use": "X_pac"}, InvalidParameterError, r"one of X, counts, X_pca, table; .*Did you mean 'X_pca'\?"),
        (
            cells(obsm={"counts": PCA}),
            {"use": "counts"},
            InvalidParameterError,
            "the name of a layer and of a key of obsm",
        ),
        (
            cells(),
            {"genes": ["CD44"]},
            InvalidMeasureError,
            "there is no gene 'CD44' among the 5 variables. Did you mean",
        ),
        (
            cells(var_names=pd.Index(["CD3", "CD4", "CD3", "CD8", "CD19"])),
            {"genes": ["CD4", "CD3"]},
            InvalidMeasureError,
            r"two variables have the name 'CD3', numbers 0 and 2 .*; rename one of them, or all with",
        ),
        (cells(), {"genes": []}, InvalidParameterError, "at least one"),
        (cells(), {"genes": ["CD4"], "use": "X_pca"}, InvalidParameterError, "names columns of X or of a layer"),
        (cells(), {"weights": "name"}, InvalidMeasureError, "the column 'name' has type"),
        (cells(None), {}, InvalidParameterError, "`use` must be one of counts, X_pca, table; got 'X'"),
        (cells(COUNTS[1:]), {}, InvalidMeasureError, "59 rows for 60 cells"),
        (cells(COUNTS.astype(str)), {}, InvalidMeasureError, "must hold real numbers"),
        (
            cells(np.where(COUNTS > 1, np.nan, COUNTS)),
            {},
            InvalidMeasureError,
            r"measure \d \(d\d\) has a point with NaN",
        ),
    ],
)
def test_mistakes_are_explained(adata, options, error, message):
    with pytest.raises(error, match=message):
        Measures.from_anndata(adata, **({"by": "donor"} | options))


def test_cells_that_no_machine_holds_are_refused_before_they_are_expanded(monkeypatch):
    monkeypatch.setattr(_foreign, "_memory", lambda: 1000.0)
    with pytest.raises(UnsuitableDataError, match=r"60 cells in 5 dimensions would take .* GB.*'X_pca'"):
        Measures.from_anndata(cells(sparse.csr_matrix(COUNTS)), by="donor")
