"""Bands of rows of a triangle of pairs, finished from the first to the last.

No later tile reads what is prepared for the rows of a finished band, and all that is to be mirrored to the left of the
diagonal is there. So the matrix is filled row by row while what is prepared makes room for it: at no time both are in
memory as a whole.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from ._tiling import Batch, Block


class Bands:
    """Call ``finish(top, bottom)`` for each band as soon as all tiles of it, and of those above it, are ``done``.

    Threads may finish two bands at once.
    """

    def __init__(self, batches: list[Batch], finish: Callable[[int, int], None]) -> None:
        self._finish, self._lock, self._finished = finish, threading.Lock(), 0
        self._left = Counter(batch.block.corner[0] for batch in batches)
        self._bottoms = {batch.block.corner[0]: batch.block.place[0].stop for batch in batches}

    def begin(self, block: Block) -> None:
        """Refuse a tile whose rows are finished: what it reads may be gone."""
        if min(block.corner) < self._finished:
            raise RuntimeError("a tile was begun after its rows were finished")

    def done(self, block: Block) -> None:
        """Note that a tile is kept; may be called from any thread, each of which finishes what it completes."""
        ready = []
        with self._lock:
            self._left[block.corner[0]] -= 1
            while self._left.get(self._finished) == 0:
                top, self._finished = self._finished, self._bottoms[self._finished]
                ready.append((top, self._finished))
        for band in ready:
            self._finish(*band)
