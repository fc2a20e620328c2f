"""How all pairs are computed: who lacks which pairs, who runs them, who keeps them.

The way of a pair::

    pairwise           checks the arguments, and says how distances are made of d**power (Scale of _job)
    Engine.evaluate    finds the keeper, and asks what it lacks; _estimate says what that takes, before it starts
      keeper           _memory, _shared (files between processes) or _store (Zarr on disk)
      missing          which pairs are missing (_tiling), as blocks; a store has marks for that
      job              route of the divergence, both sides prepared once (in each pass, where memory is short), checks
                       of every tile
      tiling           blocks -> batches (computed by one worker, then kept) -> tiles
      crew             this thread, threads (_executors) or a cluster (_dask) evaluate batches (_crew)
      route.tile       d**power of one tile, by compiled cores, with a status for each pair
      keeper           takes each finished batch (with passes: their sums, at the end), and is read at the end; what
                       is not remembered is made a distance first

A measure has four numbers on this way: its position in X; its row of the root collection, which with the root's
fingerprint (or its name across processes) identifies it; its slot in the keeper; its number in the job. A store has no
slots: it numbers by position; files between processes go by the row of the collection that was sent. What belongs to
one measure, h of a Jensen difference, is kept like a pair (``Engine.concentrations``). Divergences know nothing of all
this. Start at ``_engine``.
"""

from __future__ import annotations

from .._names import public_dir
from ._engine import DEFAULT, Engine
from ._estimate import Estimate
from ._info import Info
from ._pairwise import pairwise, precompute
from ._store import Store
from ._stored import StoredDistances, StoredMatrix

__all__ = [
    "DEFAULT",
    "Engine",
    "Estimate",
    "Info",
    "Store",
    "StoredDistances",
    "StoredMatrix",
    "pairwise",
    "precompute",
]
__dir__ = public_dir(__all__)
