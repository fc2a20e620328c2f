"""How all pairs are run: plan, executors, the table finished tiles go to (memory or disk), progress.

::

    what   divergence, prepared for the measures: Job
    how    portions of tiles, run by threads or a cluster: _plan, _executors, _dask
    where  Table: PairTable in memory (kept by the memo), StoreTable on disk (read by StoredDistances)

    pairwise -> Engine.evaluate -> Table -> missing portions -> executor -> Job.evaluate -> divergence.tile
                                     ^                                          |
                                     +----------------- put --------------------+

``_shared`` keeps tables in files for several processes. Imports ``divergences`` and ``measures``; divergences know
nothing of it. Start at ``_engine``.
"""

from __future__ import annotations

from ._engine import DEFAULT, Engine, Info, pairwise
from ._precompute import precompute
from ._store import Store
from ._stored import StoredDistances, StoredMatrix

__all__ = ["DEFAULT", "Engine", "Info", "Store", "StoredDistances", "StoredMatrix", "pairwise", "precompute"]
