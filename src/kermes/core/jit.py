"""How every core is compiled: cached, without the GIL, never parallel (the engine owns the threads).

``fastmath=True`` would make ``isnan`` and ``isinf`` lie. The flags below only allow sums to be
reordered (so that they vectorise) and multiply-adds to be fused; nan and inf keep their meaning.
Division by zero gives inf or nan, as in NumPy, and no branch.

Where no folder can be written to, code is compiled for each process anew; a damaged file of compiled code is made anew.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from numba import config, njit, version_info
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.misc.appdirs import AppDirs
from numba.types import unliteral


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Compiled code with a checksum in front: a flipped bit would be run."""

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.blake2b(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.blake2b(content[64:]).digest() != content[:64]:
            raise ValueError("damaged")
        return pickle.loads(content[64:])


class _Cache(FunctionCache):  # type: ignore[misc]
    """A cache that begins anew where its files are damaged; Numba's raises whatever it finds in them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super()._load_overload(sig, target_context)
        except Exception:
            self.flush()
            return None


def _can_cache() -> bool:
    """Whether there is a folder for compiled code; without one, Numba would refuse to compile a cached function."""
    try:
        FunctionCache(_can_cache)
    except RuntimeError:
        warnings.warn(
            "there is no folder for compiled code: every process compiles anew, which takes seconds to minutes. Set "
            "NUMBA_CACHE_DIR to a folder that can be written to.",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


CACHED = _can_cache()
# Nothing calls a core through a C pointer; without that entry they compile 10 % faster.
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """Code that is part of its callers: linked into theirs, and not turned into machine code before.

    Numba would do that for every function, and again for all that it calls, at each level.
    """

    @property
    def codegen(self) -> Any:
        """Stand for the generator of code, whose engine knows nothing of this library."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Keep no environment: what raises no exception reads none."""

    def get_pointer_to_function(self, name: str) -> int:
        """Finish the code, at which there is no pointer."""
        self._ensure_finalized()
        return 0

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Raw(_Linked):
    """Code that is not optimised before it is part of its callers either."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass


class _Fixed(Flags):  # type: ignore[misc]
    """Flags that change no more: Numba compares them for each function that it may mean, 80,000 times in all."""

    @cached_property
    def _known(self) -> dict[str, Any]:
        known: dict[str, Any] = super().values()
        return known

    def values(self) -> dict[str, Any]:
        """Return all of them."""
        return self._known

    @cached_property
    def _digest(self) -> int:
        return int(super().__hash__())

    def __hash__(self) -> int:
        return self._digest

    __eq__ = Flags.__eq__


class _Flags(Flags):  # type: ignore[misc]
    """The flags of a function, whose copy is all that others ask for."""

    def copy(self) -> _Fixed:
        """Return a copy that is fixed."""
        return _Fixed(self)


class _Compiler(Compiler):  # type: ignore[misc]
    """The compiler of what Python calls. What it makes lasts as long as it works: there is no garbage to look for."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        self.state.flags = _Flags(self.state.flags)
        collected = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if collected:
                gc.enable()


class _PartCompiler(Compiler):  # type: ignore[misc]
    """The compiler of parts."""

    library: type[_Linked] = _Linked

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        self.state.flags = _Flags(self.state.flags)
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class _RawCompiler(_PartCompiler):
    library = _Raw


#: Versions of Numba whose libraries of code were tried. With others, parts are compiled as all functions are: the same
#: code in the end, which takes twice as long to compile.
LINKABLE = (0, 61) <= version_info.short < (0, 69)
#: Options of parts, which take no arguments from Python.
PART = {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler} if LINKABLE else {}


def _core(part: type[_PartCompiler] | None = _PartCompiler, **options: Any) -> Any:
    """Return the decorator that compiles a function, and keeps what was compiled, for calls from Python.

    For calls from other cores it is compiled by ``part``; None: once for both.
    """
    compiled = njit(**OPTIONS, **options, pipeline_class=_Compiler)
    linked = njit(**OPTIONS, **options, **{**PART, "pipeline_class": part}) if part and LINKABLE else None

    def decorate(function: Callable[..., Any]) -> Any:
        core = compiled(function)
        if config.DISABLE_JIT:
            return core
        if CACHED:
            core._cache = _Cache(function)
        core.part = called = linked(function) if linked else core
        template = called.get_call_template
        # Numba would compile a core again for each constant that another core passes: twice the time for some.
        core.get_call_template = lambda args, kws: template(tuple(map(unliteral, args)), kws)
        core.get_overload = called.get_overload
        return core

    return decorate


#: For loops that only add up: vectorisable.
tile_core = _core(fastmath={"reassoc", "contract", "arcp", "nsz"})
#: For arithmetic whose order matters (compensation, merging): multiply-adds may be fused, no more.
strict_core = _core(fastmath={"contract"})
#: The same for functions of one large caller: optimised as its parts alone, not on their own before.
raw_tile_core = _core(_RawCompiler, fastmath={"reassoc", "contract", "arcp", "nsz"})
raw_strict_core = _core(_RawCompiler, fastmath={"contract"})
#: For arithmetic on sums of two doubles, which fused multiply-adds would break. For exact transport, like the searches
#: and small parts below: nothing allocates or counts references, so that there is less to compile.
exact_core = _core(_RawCompiler, _nrt=False)
#: For searches of the least of numbers that cannot be nan: vectorisable.
least_core = _core(_RawCompiler, fastmath={"reassoc", "nnan", "nsz"}, _nrt=False)
#: Small parts of many callers: typed once, and compiled into them by LLVM. Inlined by Numba, each would make it copy
#: the whole caller.
part_core = _core(_RawCompiler, forceinline=True, _nrt=False)
#: For what Python calls as well as other cores, in one process; and for Gaussians, whose last digits would change.
shared_core = _core(None, fastmath={"reassoc", "contract", "arcp", "nsz"})
#: Parts of one caller, compiled into it under its flags and never on their own.
inline_core = _core(inline="always")
#: For what takes a function of the user, which exists in this process only.
uncached_core = njit(nogil=True, error_model="numpy")


@contextlib.contextmanager
def compilation() -> Iterator[list[float]]:
    """Note the seconds in which Numba compiles: once for ever, and not the time of what is computed."""
    seconds: list[float] = []
    with event.install_timer("numba:compile", seconds.append):
        yield seconds


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
