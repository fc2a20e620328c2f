"""How every core is compiled: cached, without the GIL, never parallel (the engine owns the threads).

``fastmath=True`` would make ``isnan`` and ``isinf`` lie. The flags below only allow sums to be
reordered (so that they vectorise) and multiply-adds to be fused; nan and inf keep their meaning.
Division by zero gives inf or nan, as in NumPy, and no branch.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from numba import config, njit
from numba.core.caching import _CacheLocator
from numba.misc.appdirs import AppDirs

# Nothing calls a core through a C pointer; without that entry they compile 10 % faster.
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

#: For loops that only add up: vectorisable.
tile_core = njit(**OPTIONS, fastmath={"reassoc", "contract", "arcp", "nsz"})
#: For arithmetic whose order matters (compensation, merging): multiply-adds may be fused, no more.
strict_core = njit(**OPTIONS, fastmath={"contract"})
#: For arithmetic on sums of two doubles, which fused multiply-adds would break.
exact_core = njit(**OPTIONS)
#: For searches of the least of numbers that cannot be nan: vectorisable.
least_core = njit(**OPTIONS, fastmath={"reassoc", "nnan", "nsz"})
#: Parts of one caller, compiled into it under its flags and never on their own: a chain of functions is optimised
#: again at every level, so that the Sinkhorn tiles would take twice as long to compile.
inline_core = njit(**OPTIONS, inline="always")
#: For what takes a function of the user, which exists in this process only.
uncached_core = njit(nogil=True, error_model="numpy")


def cache_folder(folder: Path) -> Path:
    """Return where Numba keeps what it compiles from the sources in ``folder``, and nothing else.

    Beside them; or, in ``NUMBA_CACHE_DIR`` or (for a read-only installation) among the user's caches, in a folder that
    it names after the path of ``folder``.
    """
    beside = folder / "__pycache__"
    if not config.CACHE_DIR and os.access(beside if beside.exists() else folder, os.W_OK):
        return beside
    name: str = _CacheLocator.get_suitable_cache_subpath(str(folder / "source.py"))
    return Path(config.CACHE_DIR or AppDirs(appname="numba", appauthor=False).user_cache_dir) / name


def drop_stale_cache(folder: Path) -> None:
    """Delete what Numba compiled from ``folder`` and its sub-folders if any source there, or any core, has changed.

    Numba compares each file with its own cache only: after an edit of ``exp.py`` it would go on using
    the old exponential inside the compiled form of every caller, a silent wrong number.
    """
    sources, digest = sorted(folder.rglob("*.py")), hashlib.blake2b(digest_size=16)
    for source in sorted({*Path(__file__).parent.rglob("*.py"), *sources}):
        digest.update(source.read_bytes())
    stamp = cache_folder(folder) / "sources.digest"
    with contextlib.suppress(OSError):  # where nothing can be written, Numba cached nothing
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        for place in {folder, *(source.parent for source in sources)}:
            for compiled in cache_folder(place).glob("*.nb[ic]"):
                compiled.unlink(missing_ok=True)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest.hexdigest())


drop_stale_cache(Path(__file__).parent)
