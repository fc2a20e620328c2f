"""Results in the form of an AnnData; the class itself is a stand-in here, its arguments are what is tested."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import Measures, files
from kermes.exceptions import InvalidParameterError, MissingDependencyError

X = Measures.from_samples([np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[5.0, 5.0]])], [[1, 3], [2]])
D = np.array([[0.0, 2.0], [2.0, 0.0]])


@pytest.fixture
def anndata(monkeypatch):
    def make(X, obs, var, obsp):
        return SimpleNamespace(X=X, obs=obs, var=var, obsp=obsp)

    monkeypatch.setitem(sys.modules, "anndata", SimpleNamespace(AnnData=make))


def test_measures_become_observations(anndata):
    data = files.Data(X, np.array(["u", "v"]), "donor", ("cd4", "cd8"), metadata={"age": np.array([30, 40])})
    adata = files.to_anndata(data, distances=D)
    assert_allclose(adata.X, [[1.5, 2.5], [5, 5]])  # means of the coordinates
    assert adata.obs.to_dict("list") == {"n_atoms": [2, 1], "mass": [4, 2], "age": [30, 40], "label": ["u", "v"]}
    assert adata.obs.index.tolist() == ["0", "1"]
    assert adata.obs.index.name == "donor"
    assert adata.var.index.tolist() == ["cd4", "cd8"]
    assert_allclose(adata.obsp["distances"], D)


def test_several_by_name(anndata):
    adata = files.to_anndata(X, distances={"sliced": D, "mmd": D}, labels={"cluster": [0, 1]}, columns=["a", "b"])
    assert set(adata.obsp) == {"sliced", "mmd"}
    assert adata.obs["cluster"].tolist() == [0, 1]
    assert adata.var.index.tolist() == ["a", "b"]


def test_what_does_not_fit_is_refused(anndata):
    with pytest.raises(InvalidParameterError, match="`label` has shape"):
        files.to_anndata(X, labels=[1, 2, 3])
    with pytest.raises(InvalidParameterError, match=r"`distances` has shape \(3, 3\) for 2 measures"):
        files.to_anndata(X, distances=np.zeros((3, 3)))


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[anndata\]"):
        files.to_anndata(X)
