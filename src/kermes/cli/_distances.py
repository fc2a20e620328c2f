"""``kermes distances`` and ``kermes gram``: matrices into files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..exceptions import InvalidParameterError
from ._options import as_json, command, divergence_option, kernel_option, output, plans, reads
from ._output import MATRICES, is_zarr, print_facts, print_json, refuse_ending, replacing, say, write_keys, write_matrix
from ._reading import Reading

#: Measures up to which a matrix is summarised.
LARGEST = 5000


@command(
    "kermes distances cells.csv --by patient --columns cd4,cd8 -d wasserstein:p=1 -o d.npy",
    "kermes distances digits.npz --divergence sinkhorn:epsilon=0.4 -o d.csv",
)
@plans
@reads(labels=False)
@divergence_option
@click.option("--squared", is_flag=True, help="Squared distances.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler that does the work, tcp://...")
@click.option("--resume", is_flag=True, is_eager=True, help="Go on with an unfinished .zarr.")
@output("Where to: .npy, .npz, .csv, or .zarr for matrices beyond memory.", unwritten="d.npy")
@as_json
def distances(
    data: Path,
    reading: Reading,
    divergence: str,
    squared: bool,
    scheduler: str | None,
    resume: bool,
    output: Path,
    as_json: bool,
) -> None:
    """Compute the distances between all measures of a file.

    A .zarr is read in Python with kermes.engine.StoredDistances("d.zarr"); its array "values" holds d**power, in the
    chunks on and above the diagonal only, its array "keys" the names of the measures.
    """
    from .. import Engine, pairwise
    from .._dry_run import is_dry
    from . import _naming as naming

    refuse_ending(output, MATRICES)
    if resume and not is_zarr(output):
        raise InvalidParameterError("`resume` (--resume) goes on with a .zarr; other files are written at the end.")
    found = reading.scaled(data)
    executor: dict[str, Any] = {} if scheduler is None else {"executor": _client(scheduler)}
    replaced = is_zarr(output) and not resume and not is_dry()
    with replacing(output, resumable=True) if replaced else nullcontext(output) as path:
        store: dict[str, Any] = {"store": str(path), "resume": resume} if is_zarr(output) else {}
        engine, distance = Engine(**executor, **store), naming.divergence(divergence)
        D, info = pairwise(found.measures, divergence=distance, engine=engine, squared=squared, return_info=True)
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
    _report(summary, as_json, str(found.measures))
    if is_zarr(output):
        say(f'Read it in Python: kermes.engine.StoredDistances("{output}")')


@command(
    "kermes gram cells.csv --by patient --columns cd4,cd8 -k mmd:sigma=1 -o k.npy",
    "kermes gram digits.npz --kernel kigv:eta=0.01,sigma=1 -o k.npz",
)
@plans
@reads(labels=False)
@kernel_option
@click.option("--repair", type=click.Choice(["clip", "flip", "shift"]), help="Make an indefinite matrix semidefinite.")
@output("Where to: .npy, .npz, .csv or .zarr.", unwritten="k.npy")
@as_json
def gram(data: Path, reading: Reading, kernel: str, repair: str | None, output: Path, as_json: bool) -> None:
    """Compute the Gram matrix of a kernel; is it definite?

    Without a length scale in the name of the kernel, the median distance is taken.
    """
    from .. import definiteness
    from ._candidates import with_length_scale

    refuse_ending(output, MATRICES)
    found = reading.scaled(data)
    chosen = with_length_scale(kernel, found.measures)
    K = chosen(found.measures)
    spectrum = definiteness.spectrum(K)
    if repair is not None:
        K = definiteness.repair(K, repair)
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
    _report(summary, as_json, str(found.measures))


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


def _client(address: str) -> Any:
    from .._checks import needed

    distributed = needed("distributed", "distributed", "A Dask scheduler")
    try:
        return distributed.Client(address, timeout=10)
    except (ValueError, TypeError) as error:
        raise InvalidParameterError(
            f"`scheduler` (--scheduler) must be an address such as tcp://host:8786; got {address!r} ({error})."
        ) from None


def _report(summary: dict[str, Any], as_json: bool, title: str) -> None:
    if as_json:
        print_json(summary)
    else:
        print_facts(title, summary)
