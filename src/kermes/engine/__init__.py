"""How all pairs are run: plan, executors, the table finished tiles go to, memo, progress.

::

    pairwise -> Engine.evaluate -> PairTable (memo) -> missing blocks -> tiles -> executor
                                       ^                                             |
                                       +------------ divergence.tile <---------------+

``_shared`` keeps tables in files for several processes. Imports ``divergences`` and ``measures``; divergences know
nothing of it. Start at ``_engine``.
"""

from __future__ import annotations

from ._engine import DEFAULT, Engine, Info, pairwise
from ._precompute import precompute

__all__ = ["DEFAULT", "Engine", "Info", "pairwise", "precompute"]
