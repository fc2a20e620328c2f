"""``kermes convert``: any input to measures in one file."""

from __future__ import annotations

from pathlib import Path

from ._options import as_json, command, output, plans, reads
from ._output import print_json, refuse_ending, show
from ._reading import Reading

ENDINGS = (".npz", ".csv", ".parquet")


@command(
    "kermes convert cells.csv --by patient --columns cd4,cd8 --label sick -o cells.npz",
    "kermes convert digits.npz --threshold 4 --atoms 30 -o digits.csv",
)
@plans
@reads()
@output("Where to: .npz (measures), .csv or .parquet (one row per atom).", unwritten="measures.npz")
@as_json
def convert(data: Path, reading: Reading, output: Path, as_json: bool) -> None:
    """Turn tables, images, IDX files into measures, and back.

    An .npz is read by every command and by Measures.load; labels are kept.
    """
    from ..files import write

    refuse_ending(output, ENDINGS)
    found = reading.scaled(data)
    write(found, output)
    X = found.measures
    if as_json:
        labels = found.labels is not None
        print_json({"measures": len(X), "atoms": len(X.weights), "dim": X.dim, "labels": labels, "output": str(output)})
        return
    show(f"{X}{'' if found.labels is None else ', with labels'}, written to {output}")
