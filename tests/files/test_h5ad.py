"""``.h5ad`` files, written with h5py in the layout of anndata 0.8 and later."""

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kermes import _foreign, files
from kermes.exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, MissingDependencyError

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.4, size=(60, 4)).astype(np.float32)
PCA = RNG.normal(size=(60, 2))
DONOR = RNG.integers(0, 3, 60)
GENES = ["CD3", "CD4", "CD8", "CD19"]


def write_matrix(group, name, matrix):
    if not sparse.issparse(matrix):
        group.create_dataset(name, data=matrix, compression="gzip")
        return
    part = group.create_group(name)
    part.attrs["encoding-type"] = f"{matrix.format}_matrix"
    part.attrs["shape"] = matrix.shape
    for key in ("data", "indices", "indptr"):
        part.create_dataset(key, data=getattr(matrix, key))


def write_h5ad(path, matrix=COUNTS, change=lambda file: None):
    """Write what ``adata.write_h5ad`` writes, as far as it is read."""
    with h5py.File(path, "w") as file:
        write_matrix(file, "X", matrix)
        file.create_group("obsm").create_dataset("X_pca", data=PCA)
        write_matrix(file.create_group("layers"), "counts", sparse.csr_matrix(COUNTS))
        var = file.create_group("var")
        var.attrs["_index"] = "_index"
        var.create_dataset("_index", data=GENES)
        obs = file.create_group("obs")
        obs.attrs["_index"] = "_index"
        obs.attrs["column-order"] = ["donor", "arm", "age", "cell", "size"]
        obs.create_dataset("_index", data=[f"cell{i}" for i in range(60)])
        donor = obs.create_group("donor")
        donor.create_dataset("categories", data=["d0", "d1", "d2"])
        donor.create_dataset("codes", data=DONOR.astype(np.int8))
        obs.create_dataset("arm", data=np.array(["drug", "placebo", "drug"])[DONOR].astype(object))
        age = obs.create_group("age")  # a nullable integer
        age.create_dataset("values", data=np.array([30, 1, 50])[DONOR])
        age.create_dataset("mask", data=DONOR == 1)
        obs.create_dataset("cell", data=np.arange(60))
        obs.create_dataset("size", data=np.ones(60) * 2)
        change(file)
    return path


def expected(points):
    order = list(dict.fromkeys(DONOR.tolist()))
    return [f"d{i}" for i in order], np.concatenate([points[i == DONOR] for i in order]), order


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("genes", [None, ["CD8", "CD3"]])
def test_cells_of_donors(tmp_path, form, genes):
    path = write_h5ad(tmp_path / "cells.h5ad", form(COUNTS))
    data = files.read(path, by="donor", columns=genes, label="arm", metadata=["age"], weights="size")
    keys, points, order = expected(COUNTS if genes is None else COUNTS[:, [2, 0]])
    assert data.keys.tolist() == keys
    assert_array_equal(data.measures.points, points)
    assert data.columns == tuple(genes or GENES)
    assert data.labels.tolist() == [["drug", "placebo", "drug"][i] for i in order]
    assert_array_equal(data.metadata["age"], np.array([30, np.nan, 50])[order])
    assert data.measures.masses.sum() == 120


def test_a_key_of_obsm_that_is_called_x(tmp_path):
    path = write_h5ad(tmp_path / "cells.h5ad", change=lambda file: file["obsm"].create_dataset("X", data=PCA))
    assert files.read(path, by="donor").columns == tuple(GENES)
    assert files.read(path, by="donor", columns=["CD4"]).columns == ("CD4",)


@pytest.mark.parametrize(("use", "points"), [("X_pca", PCA), ("counts", COUNTS)])
def test_other_places_of_points(tmp_path, use, points):
    data = files.read(write_h5ad(tmp_path / "cells.h5ad"), by="donor", use=use)
    assert_array_equal(data.measures.points, expected(points)[1])
    if use == "X_pca":
        assert data.columns == ("X_pca0", "X_pca1")


def masked(group, name, hidden=False):
    """Turn an array of strings into what anndata writes for strings of pandas 3: values with a mask."""
    values = group[name][:]
    del group[name]
    part = group.create_group(name)
    part.attrs["encoding-type"] = "nullable-string-array"
    part.create_dataset("values", data=values)
    part.create_dataset("mask", data=np.full(len(values), hidden))


def test_names_with_a_mask(tmp_path):
    def change(file):
        masked(file["var"], "_index")
        masked(file["obs"], "_index")
        masked(file["obs/donor"], "categories")

    plain, other = (
        files.read(write_h5ad(tmp_path / name, change=how), by="donor", columns=["CD8", "CD3"])
        for name, how in (("plain.h5ad", lambda file: None), ("masked.h5ad", change))
    )
    assert plain.columns == other.columns
    assert_array_equal(plain.measures.points, other.measures.points)
    assert_array_equal(plain.measures.keys, other.measures.keys)
    hidden = write_h5ad(tmp_path / "hidden.h5ad", change=lambda file: masked(file["var"], "_index", True))
    with pytest.raises(InvalidFileError, match="has gaps"):
        files.read(hidden, by="donor")


def test_a_table_in_obsm(tmp_path):
    """``adata.obsm["umap"]`` may be a data frame, in the order of its columns."""

    def change(file, second=PCA[:, 1]):
        table = file["obsm"].create_group("table")
        table.attrs["encoding-type"] = "dataframe"
        table.attrs["_index"] = "_index"
        table.attrs["column-order"] = ["u", "a"]
        table.create_dataset("_index", data=[f"cell{i}" for i in range(60)])
        table.create_dataset("u", data=PCA[:, 0])
        table.create_dataset("a", data=second)

    path = write_h5ad(tmp_path / "table.h5ad", change=change)
    assert_array_equal(files.read(path, by="donor", use="table").measures.points, expected(PCA)[1])
    path = write_h5ad(tmp_path / "text.h5ad", change=lambda file: change(file, ["x"] * 60))
    with pytest.raises(InvalidFileError, match="other things than numbers"):
        files.read(path, by="donor", use="table")


def test_sparse_rows_are_read_in_pieces(tmp_path, monkeypatch):
    from kermes.measures import _anndata

    monkeypatch.setattr(_anndata, "BLOCK", 8 * 4 * 7)
    data = files.read(write_h5ad(tmp_path / "cells.h5ad", sparse.csr_matrix(COUNTS)), by="donor")
    assert_array_equal(data.measures.points, expected(COUNTS)[1])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_codes_that_would_be_rounded_are_refused(tmp_path, make):
    path = write_h5ad(tmp_path / "cells.h5ad", make(COUNTS.astype(np.int64) + 2**53 + 1))
    with pytest.raises(InvalidMeasureError, match=r"the matrix has the whole number 9007.* 53 bits"):
        files.read(path, by="donor")

    def weigh(file):
        del file["obs"]["size"]
        file["obs"].create_dataset("size", data=2**53 + np.arange(60))

    path = write_h5ad(tmp_path / "weighed.h5ad", change=weigh)
    with pytest.raises(InvalidMeasureError, match="the column 'size' has the whole number 9007199254740993"):
        files.read(path, by="donor", weights="size")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InvalidParameterError, r"`by` \(--by\) must name the column of obs .* one of donor, arm, age, cell, size"),
        ({"by": "doner"}, InvalidMeasureError, r"Did you mean 'donor'\?"),
        ({"by": "donor", "label": "cell"}, InvalidMeasureError, "two values in the column 'cell'"),
        ({"by": "donor", "label": "age"}, InvalidMeasureError, r"measure d1 has no label in the column 'age'"),
        ({"by": "age"}, InvalidMeasureError, "has no value in the column 'age'"),
        ({"by": "donor", "use": "pca"}, InvalidParameterError, r"Did you mean 'X_pca'\?"),
        ({"by": "donor", "weights": "arm"}, InvalidMeasureError, "must hold numbers"),
        ({"by": "donor", "drop_missing": True}, InvalidParameterError, "'cells.h5ad' holds annotated cells"),
    ],
)
def test_mistakes_are_explained(tmp_path, options, error, message):
    path = write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(error, match=message):
        files.read(path, **options)


def test_a_gene_that_is_there_twice_is_refused(tmp_path):
    def rename(file):
        file["var/_index"][1] = GENES[0]

    path = write_h5ad(tmp_path / "cells.h5ad", change=rename)
    assert files.read(path, by="donor").columns == (GENES[0], GENES[0], *GENES[2:])
    with pytest.raises(InvalidMeasureError, match=rf"cells\.h5ad: two variables have the name '{GENES[0]}'"):
        files.read(path, by="donor", columns=[GENES[0]])


def replaced(name, data=None):
    def change(file):
        del file[name]
        if data is not None:
            file[name] = data

    return change


def external(file):
    del file["X"]
    file["X"] = h5py.ExternalLink("/etc/passwd", "X")


def elsewhere(file):
    del file["X"]
    file.create_dataset("X", (60, 4), "f4", external=[("/etc/passwd", 0, 960)])


def huge(file):
    del file["X"]
    file.create_dataset("X", (60, 1 << 40), "f4", chunks=(1, 1 << 20))


def unknown(file):
    file["layers/counts"].attrs["encoding-type"] = "ragged"


def declared(*shape):
    def change(file):
        file["layers/counts"].attrs["shape"] = shape

    return change


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (external, {}, "is a link to somewhere else"),
        (elsewhere, {}, "keeps its values in another file"),
        (huge, {}, "would expand to"),
        (unknown, {"use": "counts"}, "is stored as ragged"),
        (replaced("obs"), {}, "is not annotated cells"),
        (replaced("obs", np.zeros(3)), {}, "old layout"),
        (replaced("X", np.zeros(60)), {}, "is not a matrix"),
        (replaced("var/_index", [["a", "b"]]), {}, "is not a column"),
        (replaced("obs/donor/codes", np.full(60, 7)), {}, "codes of the column 'donor' have no categories"),
        (replaced("layers/counts/indptr", np.zeros(3)), {"use": "counts"}, "do not fit together"),
        (declared(60, 30_000_000), {"use": "counts"}, "'/layers/counts' has 30,000,000 columns for 4 names in var"),
        (declared(60, 30_000_000), {"use": "counts", "columns": ["CD4"]}, "30,000,000 columns for 4 names in var"),
        (declared(60, 3), {"use": "counts"}, "'/layers/counts' has 3 columns for 4 names in var"),
        (replaced("X", COUNTS[:, :3]), {}, "'/X' has 3 columns for 4 names in var"),
        (replaced("X", COUNTS[:59]), {}, "'/X' has 59 rows for 60 cells in obs"),
        (replaced("var/_index", GENES[:3]), {}, "'/X' has 4 columns for 3 names in var"),
        (replaced("obsm/X_pca", PCA[:59]), {"use": "X_pca"}, "'/obsm/X_pca' has 59 rows for 60 cells in obs"),
        (
            replaced("layers/counts/indices", np.full(int((COUNTS > 0).sum()), 99)),
            {"use": "counts"},
            "is not annotated",
        ),
    ],
)
def test_files_that_are_damaged_or_not_to_be_trusted(tmp_path, monkeypatch, change, options, message):
    monkeypatch.setattr(_foreign, "FREE", 1 << 16)
    path = write_h5ad(tmp_path / "cells.h5ad", change=change)
    with pytest.raises(InvalidFileError, match=message) as info:
        files.read(path, by="donor", **options)
    assert "cells.h5ad" in str(info.value)


def test_groups_with_many_names_are_visited_once(tmp_path):
    def change(file):
        file["obs/again"] = file["obs"]
        for level in range(60):
            for side in "ab":
                file[f"{level}/{side}"] = file.require_group(f"{level + 1}")

    path = write_h5ad(tmp_path / "cells.h5ad", change=change)
    assert len(files.read(path, by="donor").measures) == 3


def test_strings_that_never_end_are_refused(tmp_path):
    """The HDF5 library would not come back from free space of size 0."""
    path = write_h5ad(tmp_path / "cells.h5ad")
    content = bytearray(path.read_bytes())
    start = content.index(b"GCOL")
    place = start + 16
    while content[place]:
        size = int.from_bytes(content[place + 8 : place + 16], "little")
        place += 16 + -(-size // 8) * 8
    content[place + 8 : place + 16] = bytes(8)
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match=f"the strings at byte {start} are damaged"):
        files.read(path, by="donor")


def test_strings_that_are_longer_than_the_file_are_refused(tmp_path):
    path = write_h5ad(tmp_path / "cells.h5ad")
    with h5py.File(path) as file:
        start = file["obs/arm"].id.get_offset() + 16 * 7
    content = bytearray(path.read_bytes())
    content[start : start + 4] = b"\xff" * 4
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match="a string of '/obs/arm' is longer than the file"):
        files.read(path, by="donor", label="arm")


def test_what_is_no_hdf5(tmp_path):
    (tmp_path / "cells.h5ad").write_bytes(b"no hdf5")
    with pytest.raises(InvalidFileError, match=r"cells\.h5ad' is not annotated cells"):
        files.read(tmp_path / "cells.h5ad", by="donor")


def test_the_extra_is_named(tmp_path, monkeypatch):
    import sys

    path = write_h5ad(tmp_path / "cells.h5ad")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[cells\]"):
        files.read(path, by="donor")
