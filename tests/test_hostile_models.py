"""Crafted model files beyond wrong types: what expands, what hides, what names files."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch
from tests.model_files import json_node, nodes, tamper

import kermes
from kermes import Engine, LSSVMClassifier, LSSVMRegressor, Measures
from kermes.exceptions import InvalidFileError, InvalidParameterError

skops = pytest.importorskip("skops.io")

X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [4.0, 5.0], [5.0]])


def crafted(model, path):
    """Write what ``kermes.save`` would refuse."""
    skops.dump({"format": 2, "versions": {}, "notes": {}, "model": model}, path)
    return path


def refused(path, message):
    with pytest.raises(InvalidFileError, match=message):
        kermes.load(path)


def list_node(number, *content):
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": number}
    return node | {"content": list(content)}


def cached(number):
    return {"__class__": None, "__module__": None, "__loader__": "CachedNode", "__id__": number}


def test_parts_that_are_named_again_and_again_do_not_multiply(tmp_path):
    """A few kilobytes that stand for 2 ** 60 parts: looking at each takes for ever."""
    path, node = crafted(1, tmp_path / "m"), list_node(1, json_node(0))
    for number in range(2, 62):
        node = list_node(number, node, cached(number - 1))
    tamper(path, lambda schema: schema["content"].update(model=node))
    refused(path, "it stands for more than 10,000,000 parts")
    several = list_node(1, *[json_node(k) for k in range(50)])
    tamper(path, lambda schema: schema["content"].update(model=list_node(99, several, *[cached(1)] * 50)))
    assert len(kermes.load(path)) == 51


@pytest.mark.parametrize("again", [list_node(1), cached(1), list_node(1, cached(1)), cached(7)])
def test_a_number_is_that_of_one_part(again, tmp_path):
    path = crafted(1, tmp_path / "m")
    tamper(path, lambda schema: schema["content"].update(model=list_node(1, list_node(2, again))))
    refused(path, "two of its parts have the same number|a part of it holds itself")


def test_sparse_matrices_expand_so_far_only(tmp_path, monkeypatch):
    """A matrix is an archive within the archive."""
    path = crafted(sparse.csr_matrix(np.ones((3, 300_000))), tmp_path / "m")
    kermes.load(path)
    monkeypatch.setattr("kermes._foreign.FREE", 1 << 21)
    monkeypatch.setattr("kermes._foreign.RATIO", 1)
    refused(path, "m' would expand to [0-9,]+ bytes")


def test_sparse_matrices_are_of_one_kind_and_made_of_arrays(tmp_path):
    refused(crafted(sparse.coo_matrix(np.eye(2)), tmp_path / "m"), "holds scipy.sparse._coo.coo_matrix")
    path = crafted(sparse.csr_matrix(np.eye(2)), tmp_path / "m")
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_matrix(np.eye(2)))  # under the name of another
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, file.getvalue() if name.endswith(".npz") else data)
    refused(path, "m' holds a coo_matrix")

    def by_shape(schema):
        shape = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
        shape["content"] = [dict(shape, content=[json_node(2 * 10**9), json_node(1)])]
        schema["content"]["model"].update(__loader__="ConstructorFromReduceNode", content=shape)

    path = crafted(sparse.csr_matrix(np.eye(2)), tmp_path / "m")
    tamper(path, by_shape)
    refused(path, "a sparse matrix is not stored as arrays")


def test_what_a_mask_covers_is_seen(tmp_path):
    engine = Engine("serial", store=str(tmp_path / "chosen.zarr"))
    hidden = np.ma.MaskedArray(np.array([engine, None], dtype=object), mask=[True, False])
    refused(crafted(hidden, tmp_path / "m"), "has an engine with a store")


def test_the_name_that_measures_have_in_other_processes_is_not_read_from_files(tmp_path):
    """It names a folder, which engines of other processes write to."""
    model = LSSVMRegressor().fit(X, np.arange(4.0))
    path = crafted(model, tmp_path / "m")
    chosen = crafted(Bunch(process="1-x/../../chosen", root="r", size=4, rows=np.arange(4)), tmp_path / "origin")
    with zipfile.ZipFile(chosen) as archive:
        origin = json.loads(archive.read("schema.json"))["content"]["model"]
        rows = next(node for node in nodes(origin) if "file" in node)
        array, rows["file"] = archive.read(rows["file"]), "rows.npy"

    def name(schema):
        packed = next(node for node in nodes(schema) if node.get("__class__") == "Packed")
        packed["content"]["content"]["origin"] = origin
        types = packed["content"]["key_types"]["content"]
        types.append(types[0])

    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("rows.npy", array)
    tamper(path, name)
    refused(path, "do not fit together")


def test_models_that_would_open_files_are_refused(tmp_path):
    """Classes that are paths become a column of strings, and a vectoriser opens what they name: /dev/zero."""
    secret = tmp_path / "pipe"
    os.mkfifo(secret)
    labels = [str(secret), str(secret), "b", "b"]
    stack = StackingClassifier([("a", LSSVMClassifier())], stack_method="predict")
    stack.estimators_, stack.stack_method_ = [LSSVMClassifier().fit(X, labels)], ["predict"]
    for reader in (HashingVectorizer(input="filename"), CountVectorizer(input="file")):
        column = ColumnTransformer([("a", reader, 0)])
        path = crafted(Pipeline([("stack", stack), ("column", column)]), tmp_path / "m")
        refused(path, f"m' has a {type(reader).__name__} that opens the files its data name")
    caching = make_pipeline(StandardScaler(), memory="chosen")
    refused(crafted(caching, tmp_path / "m"), "has a cache, a folder of its own choice")
    with pytest.raises(InvalidParameterError, match="`model` has a cache"):
        kermes.save(caching, tmp_path / "n")
    kermes.load(crafted(HashingVectorizer(), tmp_path / "m"))
