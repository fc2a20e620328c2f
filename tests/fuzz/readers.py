"""Every reader of files that others may have made: valid files to start from, how to damage them, how to read them."""

import contextlib
import gzip
import io
import lzma
import random
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tests.fuzz import mutate

import kermes
from kermes import Engine, Measures, divergences, files, kernels, pairwise

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 9, size=(4, 5, 5)).astype(np.uint8)
CLOUDS = Measures.from_samples([RNG.normal(size=(4, 2)) + k for k in range(6)])


@dataclass(frozen=True)
class Reader:
    """A name for the file, valid contents of it, a way to damage them, and what reads it."""

    name: str
    contents: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    mutate: Callable[[random.Random, bytes, bytes], bytes] = mutate.mutated

    @property
    @cache  # noqa: B019 -- readers live as long as the module
    def seeds(self) -> list[bytes]:
        return self.contents()

    def damaged(self, seed: int) -> bytes:
        """Return the damaged file of this number."""
        rng = random.Random(f"{self.name} {seed}")
        return self.mutate(rng, rng.choice(self.seeds), rng.choice(self.seeds))


def saved(save, *args, **kwargs) -> bytes:
    """Return what a function writes into an open file."""
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


def through_file(write) -> bytes:
    """Return what a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def npz_images():
    return [
        saved(np.savez_compressed, images=IMAGES, labels=np.arange(4)),
        saved(np.savez, X=IMAGES * 1.5, y=np.array(["a", "b", "a", "b"])),
    ]


def npz_measures():
    grid = Measures.from_images(IMAGES)
    bins = Measures.from_histograms(RNG.uniform(size=(3, 4)), [0.0, 1.0, 2.0, 4.0])
    return [through_file(X.save) for X in (CLOUDS, grid, bins)]


def npy():
    return [saved(np.save, values) for values in (IMAGES, np.asfortranarray(IMAGES * 1.5), IMAGES.astype(">i2"))]


def idx():
    return [b"\x00\x00\x08\x03" + struct.pack(">3I", *IMAGES.shape) + IMAGES.tobytes()]


CSV = b"g,x,y,w,label\n" + b"".join(
    b"p%d,%d.5,-%d,1e-%d,%s\n" % (i % 3, i, i, i, b"no" if i % 3 else b"yes") for i in range(9)
)


def csv():
    return [CSV, b"\xef\xbb\xbf" + CSV.replace(b",", b";"), CSV.replace(b"\n", b"\r\n").replace(b"p", b'"p"')]


def parquet():
    import pyarrow as pa
    from pyarrow import parquet as pq

    table = pa.table(
        {"g": ["a", "a", "b"], "x": [1.0, 2.0, 3.0], "y": [1, 2, 3], "w": [1.0] * 3, "label": [True, True, False]}
    )
    return [
        saved(lambda file, kind: pq.write_table(table, file, compression=kind), kind) for kind in ("snappy", "none")
    ]


def h5ad():
    from scipy import sparse
    from tests.files.test_h5ad import write_h5ad

    counts = RNG.poisson(0.4, size=(60, 4)).astype(np.float32)
    return [
        through_file(lambda path, form=form: write_h5ad(path, form(counts))) for form in (np.asarray, sparse.csr_matrix)
    ]


def fcs():
    from tests.files.test_fcs import write_fcs

    spill = {"spillover": "2,FL1-A,FL2-A,1,0.1,0.2,1"}
    return [through_file(lambda path, n=n: write_fcs(path, n, metadata=spill)) for n in (3, 9)]


def png():
    from PIL import Image

    pictures = (IMAGES[0], IMAGES[1].astype(np.uint16) * 300, np.stack([IMAGES[0]] * 3, axis=-1))
    return [saved(lambda file, image: Image.fromarray(image).save(file, "png"), image) for image in pictures]


def labels():
    return [b"1\n2\n3\n4\n", b"a\nb\na\nb\n", b"\xef\xbb\xbf1.5\r\n2e3\r\n-3\r\n4\r\n", saved(np.save, np.arange(4))]


def models():
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    from kermes import LSSVMClassifier, features
    from kermes.estimators import MeasureGPRegressor, NearestMeasures

    sliced = kernels.Exponential(divergences.SlicedWasserstein(n_slices=5), engine=Engine("serial"))
    y = np.arange(6) % 2
    fitted = (
        LSSVMClassifier(sliced).fit(CLOUDS, y),
        SVC(kernel=sliced).fit(CLOUDS, y),
        make_pipeline(features.SlicedFeatures(5), LogisticRegression()).fit(CLOUDS, y),
        MeasureGPRegressor(sliced, optimizer=None).fit(CLOUDS, y * 1.0),
        make_pipeline(
            NearestMeasures(divergences.Wasserstein(), n_neighbors=2), KNeighborsClassifier(2, metric="precomputed")
        ).fit(CLOUDS, y),
    )
    return [through_file(lambda path, model=model: kermes.save(model, path)) for model in fitted]


def stores():
    """The files of a store as an archive."""
    made = []
    for divergence in (divergences.Wasserstein(), divergences.Sinkhorn(0.5)):
        with tempfile.TemporaryDirectory() as folder:
            pairwise(CLOUDS, divergence=divergence, engine=Engine("serial", store=f"{folder}/d.zarr"))
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                for path in sorted(Path(folder, "d.zarr").rglob("*")):
                    if path.is_file():
                        archive.write(path, path.relative_to(folder).as_posix())
            made.append(file.getvalue())
    return made


def mutated_store(rng, content, other):
    """Damage one file of a store, mostly a description."""
    members = mutate.unzipped(content)
    names = [name for name in members if name.endswith("zarr.json")] if rng.random() < 0.8 else list(members)
    name = rng.choice(names)
    members[name] = mutate.mutated(rng, members[name], members[rng.choice(names)])
    return saved(write_archive, members)


def write_archive(file, members):
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def read_table(path):
    data = files.read(path, by="g", columns=["x", "y"], weights="w", label="label", drop_missing=True)
    return data.measures.masses, data.labels


def read_images(path):
    return files.read(path).measures.masses


def read_cells(path):
    return files.read(path, by="donor", label="arm", metadata=["age"], weights="size").measures.masses


def read_wells(path):
    return files.read(path.parent, compensate=True, arcsinh=5).measures.masses


def read_picture(path):
    return files.read(path.parent).measures.masses


def read_labels(path):
    beside = path.with_name("images.npy")
    np.save(beside, IMAGES)
    return files.read(beside, labels=path).labels


def read_measures(path):
    X = Measures.load(path)
    return X.masses, X.fingerprint, X.support, files.read(path).keys


def read_model(path):
    """Load it, and predict if numbers or shapes of its arrays were damaged only: that may fail, but not crash.

    With other parameters, a prediction may take any time; with other types, functions are compiled.
    """
    model = kermes.load(path)
    if signature(path) in {signature(io.BytesIO(content)) for content in READERS["model.kermes"].seeds}:
        with contextlib.suppress(Exception):
            model.predict(CLOUDS[:2])


def signature(file):
    """Return the description in a model file, and the types of its arrays."""
    with zipfile.ZipFile(file) as archive:
        arrays = sorted(name for name in archive.namelist() if name.endswith(".npy"))
        return archive.read("schema.json"), *(np.load(io.BytesIO(archive.read(name))).dtype for name in arrays)


def read_store(path):
    from kermes.engine import StoredDistances

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        except Exception:  # the archive is this module's, no reader of kermes opens it
            return None
        return StoredDistances(Path(folder) / "d.zarr")[:]


READERS = {
    reader.name: reader
    for reader in (
        Reader("images.npz", npz_images, read_images, mutate.mutated_zip),
        Reader("measures.npz", npz_measures, read_measures, mutate.mutated_zip),
        Reader("a.npy", npy, read_images),
        Reader("a-ubyte", idx, read_images),
        Reader("a-ubyte.gz", lambda: [gzip.compress(content, mtime=0) for content in idx()], read_images),
        Reader("a.csv", csv, read_table),
        Reader("a.csv.gz", lambda: [gzip.compress(content, mtime=0) for content in csv()], read_table),
        Reader("a.parquet", parquet, read_table),
        Reader("a.csv.xz", lambda: [lzma.compress(content) for content in csv()], read_table),
        Reader("a.h5ad", h5ad, read_cells),
        Reader("a.fcs", fcs, read_wells),
        Reader("a.png", png, read_picture, mutate.mutated_png),
        Reader("labels.txt", lambda: labels()[:-1], read_labels),
        Reader("labels.npy", lambda: labels()[-1:], read_labels),
        Reader("model.kermes", models, read_model, mutate.mutated_zip),
        Reader("store", stores, read_store, mutated_store),
    )
}


def attempt(reader: Reader, content: bytes, folder: Path) -> str | None:
    """Read a damaged file; return what is wrong with how that ends, None if nothing is."""
    path = folder / reader.name
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except kermes.exceptions.KermesError:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
