"""How every core is compiled: cached, without the GIL, never parallel (the engine owns the threads).

``fastmath=True`` would make ``isnan`` and ``isinf`` lie. The flags below only allow sums to be
reordered (so that they vectorise) and multiply-adds to be fused; nan and inf keep their meaning.
Division by zero gives inf or nan, as in NumPy, and no branch.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from numba import njit

# Nothing calls a core through a C pointer; without that entry they compile 10 % faster.
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

#: For loops that only add up: vectorisable.
tile_core = njit(**OPTIONS, fastmath={"reassoc", "contract", "arcp", "nsz"})
#: For arithmetic whose order matters (compensation, merging): multiply-adds may be fused, no more.
strict_core = njit(**OPTIONS, fastmath={"contract"})
#: Parts of one caller, compiled into it under its flags and never on their own: a chain of functions is optimised
#: again at every level, so that the Sinkhorn tiles would take twice as long to compile.
inline_core = njit(**OPTIONS, inline="always")
#: For what takes a function of the user, which exists in this process only.
uncached_core = njit(nogil=True, error_model="numpy")


def drop_stale_cache(folder: Path) -> None:
    """Delete Numba's cache beside the sources in ``folder`` if any of them, or any core, has changed.

    Numba compares each file with its own cache only: after an edit of ``exp.py`` it would go on using
    the old exponential inside the compiled form of every caller, a silent wrong number.
    """
    digest = hashlib.blake2b(digest_size=16)
    for source in sorted({*Path(__file__).parent.rglob("*.py"), *folder.rglob("*.py")}):
        digest.update(source.read_bytes())
    stamp = folder / "__pycache__" / "sources.digest"
    with contextlib.suppress(OSError):  # a read-only installation is never edited
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        for compiled in folder.rglob("*.nb[ic]"):
            compiled.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest.hexdigest())


drop_stale_cache(Path(__file__).parent)
