"""``kermes distances``, ``gram`` and ``diagnose``: matrices into files; what the data are to a kernel."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np

import kermes

from .._atomic import whole
from .._checks import needed
from .._dry_run import is_dry
from .._quantities import counted
from .._scales import median_distance
from ..exceptions import InvalidParameterError
from ._naming import Named, with_length_scale
from ._options import Name, command, divergence, kernel, output, reads, seed
from ._output import is_zarr, number, print_facts, print_table, printed_json, say, show, write_rows
from ._reading import STANDARDIZE, Reading, coordinates, unequal

MATRICES = (".npy", ".npz", ".csv", ".zarr")
#: Measures up to which a matrix is summarised.
LARGEST = 5000


@command(
    "kermes distances cells.csv --by patient --columns cd4,cd8 -d wasserstein:p=1 -o d.npy",
    "kermes distances digits.npz --divergence sinkhorn:epsilon=0.4 -o d.csv",
)
@reads(labels=False)
@divergence
@click.option("--squared", is_flag=True, help="Squared distances.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler that does the work, tcp://...")
@click.option("--resume", is_flag=True, is_eager=True, help="Go on with an unfinished .zarr.")
@output("The file to write: .npy, .npz, .csv, or .zarr for matrices beyond memory.", *MATRICES, unwritten="d.npy")
def distances(
    reading: Reading, divergence: Named, squared: bool, scheduler: str | None, resume: bool, output: Path
) -> None:
    """Compute the distances between all measures of a file.

    A .zarr is read in Python with kermes.engine.StoredDistances("d.zarr"), with squared=True after --squared; its array
    "values" holds d**power, in the chunks on and above the diagonal only, its array "keys" the names of the measures.
    """
    if resume and not is_zarr(output):
        raise InvalidParameterError("`resume` (--resume) goes on with a .zarr; other files are written at the end.")
    found = reading.scaled(divergence)
    executor: dict[str, Any] = {}
    if scheduler is not None:
        distributed = needed("distributed", "distributed", "A Dask scheduler")
        try:
            executor["executor"] = distributed.Client(scheduler, timeout=10)
        except (ValueError, TypeError) as error:
            raise InvalidParameterError(
                f"`scheduler` (--scheduler) must be an address such as tcp://host:8786; got {scheduler!r} ({error})."
            ) from None
    replaced = is_zarr(output) and not resume and not is_dry()
    with replacing(output, resumable=True) if replaced else nullcontext(output) as path:
        store: dict[str, Any] = {"store": str(path), "resume": resume} if is_zarr(output) else {}
        engine = kermes.Engine(**executor, **store)
        options: dict[str, Any] = {"engine": engine, "squared": squared, "return_info": True}
        D, info = kermes.pairwise(found.measures, divergence=divergence.made, **options)
        summary = {
            "measures": len(found.measures),
            "pairs": info.n_evaluated,
            "unconverged": _unconverged_pairs(info),
            "seconds": info.seconds,
            **_spread(D),
            "output": str(output),
        }
        if store:  # the engine has written them
            write_keys(found.keys, path)
        else:
            write_matrix(D, found.keys, found.by, "distances", output)
    if not printed_json(summary):
        print_facts(str(found.measures), summary)
    if is_zarr(output):
        say(f'Read it in Python: kermes.engine.StoredDistances("{output}"{", squared=True" if squared else ""})')


@command(
    "kermes gram cells.csv --by patient --columns cd4,cd8 -k mmd:sigma=1 -o k.npy",
    "kermes gram digits.npz --kernel kigv:eta=0.01,sigma=1 -o k.npz",
)
@reads(labels=False)
@kernel
@click.option("--repair", type=click.Choice(["clip", "flip", "shift"]), help="Make an indefinite matrix semidefinite.")
@output("The file to write: .npy, .npz, .csv or .zarr.", *MATRICES, unwritten="k.npy")
def gram(reading: Reading, kernel: Named, repair: str | None, output: Path) -> None:
    """Compute the Gram matrix of a kernel; is it definite?

    Without a length scale in the name of the kernel, the median of the positive distances is taken.
    """
    found = reading.scaled(kernel)
    chosen = with_length_scale(kernel, found.measures)
    K = chosen(found.measures)
    spectrum = kermes.definiteness.spectrum(K)
    if repair is not None:
        K = kermes.definiteness.repair(K, repair)
    write_matrix(K, found.keys, found.by, "gram", output)
    summary = {
        "measures": len(K),
        "kernel": repr(chosen),
        "verdict": spectrum.verdict,
        "smallest eigenvalue": spectrum.min,
        "largest eigenvalue": spectrum.max,
        "negative mass": spectrum.negative_mass,
        "repair": repair,
        "output": str(output),
    }
    if not printed_json(summary):
        print_facts(str(found.measures), summary)


def write_matrix(matrix: Any, keys: Any, by: str, name: str, path: Path) -> None:
    """Write a square matrix with the names of its rows (``.npy``: without)."""
    kind = path.suffix.lower()
    if kind == ".zarr":
        with replacing(path, resumable=False) as folder:
            write_keys(keys, folder, {"kermes_matrix": name}).create_array(name, data=np.asarray(matrix))
    elif kind == ".csv":
        columns = {by: keys} | {str(key): column for key, column in zip(keys, matrix.T, strict=True)}
        if len(columns) <= len(keys):
            raise InvalidParameterError("two measures have the same name, so a CSV cannot hold both; use .npz.")
        write_rows(columns, path)
    else:
        with whole(path) as temporary, open(temporary, "wb") as file:
            if kind == ".npz":
                np.savez_compressed(file, **{name: matrix, "keys": keys})
            else:
                np.save(file, matrix, allow_pickle=False)


def write_keys(keys: Any, path: Path, attributes: dict[str, Any] | None = None) -> Any:
    """Write the names of the measures as the array ``keys`` of a Zarr group, a new one if it gets attributes."""
    zarr = needed("zarr", "distributed", "Writing .zarr")
    store = zarr.storage.LocalStore(path)  # a string with "::" would be an address
    group = zarr.open_group(store, mode="r+" if attributes is None else "w", attributes=attributes)
    names = np.asarray(keys)
    kind = str if names.dtype.kind == "U" else names.dtype  # strings of any length; the other kind has no standard
    group.create_array("keys", shape=names.shape, dtype=kind, overwrite=True)[:] = names
    return group


@contextmanager
def replacing(path: Path, resumable: bool) -> Iterator[Path]:
    """Yield a folder beside ``path`` that takes its place at the end; ``path`` itself if it is new and resumable.

    What is resumable and was interrupted is kept.
    """
    beside = path.exists() or not resumable
    draft = path.with_name(f"{path.stem}.new{path.suffix}") if beside else path
    if beside and draft.exists():
        raise FileExistsError(
            f"{str(draft)!r} is in the way, left by an interrupted run? Go on with -o {draft} --resume, or remove it."
        )
    try:
        yield draft
    except BaseException as error:
        if resumable and isinstance(error, KeyboardInterrupt) and draft.exists():
            say(f"What was finished is in {draft}: go on with -o {draft} --resume")
        elif beside:
            shutil.rmtree(draft, ignore_errors=True)
        raise
    if beside:
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            if path.exists():
                path.rename(old / "old")
            draft.rename(path)
        finally:
            if not path.exists() and (old / "old").exists():  # interrupted between the two
                (old / "old").rename(path)
            shutil.rmtree(old)


def _unconverged_pairs(info: Any) -> int:
    """Return the number of pairs whose tolerance was not reached; the matrix has each twice beside the diagonal."""
    from ..core import status as codes

    if not info.n_unconverged:
        return 0
    parts = np.array_split(np.arange(len(info.status)), -(-len(info.status) // 256))  # a stored matrix reads blocks
    diagonal = np.concatenate([np.diagonal(info.status[np.ix_(rows, rows)]) for rows in parts])
    return int(info.n_unconverged + np.count_nonzero(diagonal == codes.UNCONVERGED)) // 2


def _spread(D: Any) -> dict[str, float]:
    """Return the smallest, median and largest distance between two measures, of matrices that fit in memory."""
    if not 1 < len(D) <= LARGEST:
        return {}
    off = np.asarray(D)[np.triu_indices(len(D), 1)]
    return {"smallest": float(off.min()), "median": float(np.median(off)), "largest": float(off.max())}


@command(
    "kermes diagnose cells.csv --by patient --columns cd4,cd8 --label sick",
    "kermes diagnose digits.npz --kernel sinkhorn:epsilon=0.5",
)
@reads()
@click.option("-k", "--kernel", type=Name("kernel"), default="sliced", show_default=True, help="The kernel to judge.")
@click.option("--most", type=click.IntRange(2), default=1000, show_default=True, help="Measures compared at most.")
@seed
def diagnose(reading: Reading, kernel: Named, most: int, seed: int) -> None:
    """Look at the data: sizes, masses, duplicates, spectrum.

    Also the length scale to start with, and the error of the nearest neighbour if there are labels.
    """
    found = reading.scaled(kernel)
    X, labels = found.measures, found.labels
    facts = {  # known without any pair
        "measures": len(X),
        "dimension": X.dim,
        "atoms": _range(X.sizes),
        "mass": _range(X.masses),
        "equal measures": len(X) - len(np.unique(X.twins(X)[0])),
        "common support": None if X.support is None else len(X.support.points),
        "labels": _labels(labels),
    }
    along = coordinates(found)
    drawn = np.arange(len(X))
    if len(X) > most:
        drawn = np.sort(np.random.default_rng(seed).choice(len(X), most, replace=False))
    judged = _judge(X[drawn], None if labels is None else labels[drawn], kernel)
    advice = _advice(facts, judged, along)
    if printed_json({"data": facts, "coordinates": along, "kernel": judged, "advice": advice}):
        return
    print_facts(str(X), facts)
    rows = [tuple(coordinate.values()) for coordinate in along]
    print_table("", ("coordinate", "least", "mean", "largest", "std"), rows)
    title = f"Kernel on {len(drawn)} measures" if len(drawn) < len(X) else "Kernel"
    print_facts(title, judged)
    for line in advice:
        show(f"- {line}")


def _labels(labels: Any) -> str | None:
    if labels is None:
        return None
    from ..comparison._folds import task_of

    if task_of(labels) == "regression":
        return f"numbers, {_range(labels)}"
    classes, counts = np.unique(labels, return_counts=True)
    shown = ", ".join(f"{name!s} {count}" for name, count in list(zip(classes, counts, strict=True))[:10])
    return f"{counted(len(classes), 'class')}: {shown}{' ...' if len(classes) > 10 else ''}"


def _judge(X: Any, labels: Any, named: Named) -> dict[str, Any]:
    """Return the spectrum of the Gram matrix, length scales, and the error of nearest neighbours."""
    from ..comparison._folds import task_of

    kernel = with_length_scale(named, X)
    K = kernel(X)
    spectrum = kermes.definiteness.spectrum(K)
    found = {
        "kernel": repr(kernel),
        "proved definite": {True: "yes", False: "no", None: "unknown"}[kernel.is_positive_definite(X.dim)],
        "spectrum": spectrum.verdict,
        "negative mass": f"{spectrum.negative_mass:.2%}",
        "effective dimension": float(spectrum.eigenvalues.sum() ** 2 / (spectrum.eigenvalues**2).sum()),
    }
    diagonal = np.diagonal(K)
    gaps = diagonal[:, None] + diagonal[None] - 2 * K  # squared distances in feature space
    if isinstance(kernel, kermes.kernels.Exponential):
        gaps = kermes.pairwise(X, divergence=kernel.divergence)
        found["median positive distance"] = median_distance(gaps) if gaps.any() else 0.0
        found["largest definite length scale"] = kermes.definiteness.psd_length_scale(gaps)
    if labels is not None and len(X) > 1 and task_of(labels) == "classification":
        nearest = (gaps + np.diag(np.full(len(X), np.inf))).argmin(axis=1)
        found["error of the nearest neighbour"] = float(np.mean(labels[nearest] != labels))
    return found


def _advice(facts: dict[str, Any], judged: dict[str, Any], along: list[dict[str, Any]]) -> list[str]:
    """Return what to do about what was found."""
    lines = []
    if unequal(along):
        lines.append(STANDARDIZE)
    if facts["equal measures"]:
        repeated = counted(facts["equal measures"], "measure repeats another", "measures repeat others")
        lines.append(f"{repeated}; cross-validation on such is too optimistic.")
    if judged["spectrum"] == "indefinite":
        lines.append("The Gram matrix is indefinite: --learner lssvm takes it; gram --repair clip mends it.")
    if facts["measures"] == 1:
        lines.append("There is one measure, so there are no distances to judge.")
    elif judged.get("median positive distance") == 0:
        lines.append(
            "All distances are 0: this kernel does not tell the measures apart. Try another, or other columns."
        )
    elif "median positive distance" in judged:
        lines.append(f"Length scales around {judged['median positive distance']:.3g} are a fair start.")
    return lines


def _range(values: Any) -> str:
    low, high = number(values.min()), number(values.max())
    return low if low == high else f"{low} to {high}"
