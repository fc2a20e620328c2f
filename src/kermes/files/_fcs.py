"""Cytometry: FCS files, one measure each, through the package flowio."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import guess, needed
from .._foreign import decoding, require_file, require_memory, require_room
from .._typing import AnyArray, FloatArray
from ..core import ragged
from ..exceptions import InvalidFileError, InvalidMeasureError
from ..measures import Measures
from ..measures._build import pack
from ._data import FCS, Data, visible

#: Channels that are no fluorescence by how their names start: they are not on the scale that arcsinh is for.
SCATTER_AND_TIME = ("fsc", "ssc", "time")
#: Orders of bytes that flowio knows; it takes any other for that of the machine.
BYTE_ORDERS = ("1,2,3,4", "1,2", "4,3,2,1", "2,1")


def files_of(path: Path) -> list[Path]:
    """Return the FCS files of a folder and of the folders in it, in order of their names; a file is its own list."""
    if not path.is_dir():
        return [path]
    folders = [path, *(entry for entry in visible(path) if entry.is_dir())]
    return sorted(entry for folder in folders for entry in visible(folder) if entry.suffix.lower() == FCS)


def read(path: Path, columns: Sequence[str] | None, compensate: bool) -> Data:
    """Read the cells of each file; those of sub-folders have the name of the folder as label.

    The first pass reads descriptions only, so that the cells of each file go where they belong.
    """
    paths = files_of(path)
    sizes, chosen, names = [], [], list(columns or ())
    for file in paths:
        flow = _open(file, only_text=True)
        names = names or [name for i, name in enumerate(_names(flow)) if i != flow.time_index]
        chosen.append(_channels(flow, names, file))
        sizes.append(flow.event_count)
        require_room(file, 8 * flow.event_count * flow.channel_count)
    for file, size in zip(paths, sizes, strict=True):
        if size < 1:
            raise InvalidFileError(f"{str(file)!r} has no cells; every measure needs at least one. Leave it out.")
    offsets = ragged.offsets_of(np.array(sizes, dtype=np.int64))
    total = int(offsets[-1])
    require_memory(
        8 * total * len(names), f"{total:,} cells in {len(names)} channels", "name fewer channels with --columns"
    )
    points = np.empty((total, len(names)))
    for i, (file, index) in enumerate(zip(paths, chosen, strict=True)):
        events = _events(file, compensate)
        if len(events) != sizes[i]:
            raise InvalidFileError(f"{str(file)!r} says that it has {sizes[i]} cells and holds {len(events)}.")
        points[offsets[i] : offsets[i + 1]] = events[:, index]
    folder = path if path.is_dir() else path.parent
    keys = np.array([file.relative_to(folder).with_suffix("").as_posix() for file in paths])
    in_folders = [file.parent != folder for file in paths]
    if any(in_folders) and not all(in_folders):
        raise InvalidFileError(f"{str(folder)!r} has FCS files beside folders of them; give each class a folder.")
    labels = np.array([file.parent.name for file in paths]) if all(in_folders) else None
    packed = pack(points, np.ones(total), offsets, keys=keys, copy=False)
    return Data(Measures(packed), labels, "file", tuple(names), "cells")


def arcsinh(data: Measures, names: Sequence[str], cofactor: float) -> Measures:
    """Return ``arcsinh(x / cofactor)`` of all coordinates but scatter and time."""
    scaled = np.array([not name.lower().startswith(SCATTER_AND_TIME) for name in names])

    def transform(points: FloatArray) -> FloatArray:
        points /= np.where(scaled, cofactor, 1.0)
        return np.arcsinh(points, out=points, where=scaled)

    return data.map_points(transform)


def _open(path: Path, only_text: bool = False) -> Any:
    flowio = needed("flowio", "cells", "Reading FCS files")
    require_file(path)
    with decoding(path, "an FCS file"), open(path, "rb") as file:
        # A last byte that is reported one too far is common; flowio then warns and reads the rest.
        flow = flowio.FlowData(file, ignore_offset_error=True, only_text=only_text)
        if not 0 < flow.channel_count == len(flow.pnn_labels):
            raise ValueError(f"it has {len(flow.pnn_labels)} names for {flow.channel_count} channels")
        _require_readable(flow, path)
        return flow


def _require_readable(flow: Any, path: Path) -> None:
    """Refuse what flowio would read as other numbers than those of the file, and two channels of one name."""
    mode, order, kind = (flow.text[key].strip().upper() for key in ("mode", "byteord", "datatype"))
    if mode != "L":
        raise InvalidFileError(
            f"{str(path)!r} holds histograms ($MODE {mode}), not the cells themselves; export the list of its events."
        )
    if order not in BYTE_ORDERS:
        raise InvalidFileError(
            f"{str(path)!r} has its bytes in the order {order} ($BYTEORD), which is not read; export it with "
            f"{' or '.join(BYTE_ORDERS[::2])}."
        )
    for i, name in enumerate(flow.pnn_labels, 1):
        own = flow.text.get(f"p{i}datatype", kind).strip().upper()
        if own != kind:
            raise InvalidFileError(
                f"{str(path)!r} has numbers of type {own} in channel {i} ($P{i}DATATYPE) and of type {kind} in others "
                "($DATATYPE), which is not read; export it with one type for all channels."
            )
        if (first := flow.pnn_labels.index(name) + 1) < i:
            raise InvalidFileError(
                f"{str(path)!r} has two channels of the name {name!r}, numbers {first} and {i} ($P{first}N, $P{i}N); "
                "rename one of them."
            )


def _events(path: Path, compensate: bool) -> AnyArray:
    """Return the cells of a file, (n, channels), with gains and logarithms undone, and compensated if wanted."""
    flow = _open(path)
    with decoding(path, "an FCS file"), np.errstate(all="ignore"):  # what is not finite is refused by name
        events: AnyArray = flow.as_array(preprocess=True)
        for number, channel in flow.channels.items():
            logarithmic = channel["pne"][0] > 0
            if logarithmic and channel["png"] not in (0.0, 1.0):  # a gain is of linear channels alone (FCS 3.1)
                events[:, number - 1] *= channel["png"]
        if compensate:
            channels, spill = _spillover(flow, path)
            events[:, channels] = np.linalg.solve(spill.T, events[:, channels].T).T  # events @ inverse(spill)
    return events


def _spillover(flow: Any, path: Path) -> tuple[list[int], FloatArray]:
    """Return the channels that spill, and how much of each (row) is seen in each (column)."""
    text = flow.text.get("spillover") or flow.text.get("spill")
    if not text:
        raise InvalidFileError(
            f"{str(path)!r} has no spillover matrix; read it without --compensate (compensate=True)."
        )
    parts = [part.strip() for part in text.split(",")]
    n = int(parts[0])
    names, values = parts[1 : n + 1], parts[n + 1 :]
    if n < 1 or len(values) != n * n:
        raise ValueError(f"its spillover matrix has {len(values)} numbers for {n} channels")
    known = {name: i for i, name in enumerate(flow.pnn_labels)}
    known |= {str(i + 1): i for i in range(flow.channel_count) if str(i + 1) not in known}  # some write numbers
    return [known[name] for name in names], np.array(values, dtype=np.float64).reshape(n, n)


def _names(flow: Any) -> list[str]:
    """Return the names of the stains where they are given and distinct, otherwise of the detectors."""
    stains = [stain.strip() or name for stain, name in zip(flow.pns_labels, flow.pnn_labels, strict=True)]
    return stains if len(set(stains)) == len(stains) else list(flow.pnn_labels)


def _channels(flow: Any, names: Sequence[str], path: Path) -> list[int]:
    """Return the places of channels, named by detector or stain."""
    known: dict[str, set[int]] = {}
    for labels in (_names(flow), flow.pnn_labels):
        for i, name in enumerate(labels):
            known.setdefault(name, set()).add(i)
    for name in names:
        if name not in known:
            raise InvalidMeasureError(
                f"{path.name} has no channel {name!r}; it has {', '.join(_names(flow))}.{guess(name, known)} All files "
                "must have the channels; name those that they share with --columns."
            )
        if len(known[name]) > 1:
            first, second = sorted(i + 1 for i in known[name])
            raise InvalidMeasureError(
                f"{path.name}: {name!r} is the stain of one channel and the detector of another, numbers {first} and "
                f"{second}; rename one of them, or name the others with --columns."
            )
    return [min(known[name]) for name in names]
