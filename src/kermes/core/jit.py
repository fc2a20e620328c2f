"""How every core is compiled: cached, without the GIL, never parallel (the engine owns the threads).

``fastmath=True`` would make ``isnan`` and ``isinf`` lie. The flags below only allow sums to be
reordered (so that they vectorise) and multiply-adds to be fused; nan and inf keep their meaning.
"""

from __future__ import annotations

from numba import njit

#: For loops that only add up: vectorisable.
tile_core = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "arcp", "nsz"})
#: For arithmetic whose order matters (compensation, merging): multiply-adds may be fused, no more.
strict_core = njit(cache=True, nogil=True, fastmath={"contract"})
#: Small helpers, compiled into their caller so that the caller's loop vectorises.
inline_core = njit(cache=True, nogil=True, inline="always")
