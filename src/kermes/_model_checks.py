"""What a loaded model must not hold: files to write, classes to call, numbers that compiled code takes for addresses.

Types alone are checked before anything is constructed (``_model_types``), and that a description is no bomb. What the
objects hold is checked on the objects themselves: a description may reach the same object on many ways.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: What holds nothing, or nothing that came from a file.
CLOSED = (type, ModuleType, FunctionType, BuiltinFunctionType, str, bytes, int, float, complex, type(None))
#: Parts that a description may stand for; one that is named again and again counts as often.
MOST_PARTS = 10_000_000


def check_description(node: Any, known: dict[Any, int]) -> int:
    """Refuse, in the time of reading it, a description whose parts multiply, or that holds what no model has.

    skops looks at a part as often as it is named: lists that name one list twice, forty deep, would take for ever.
    Return how many parts a node stands for; ``known`` has those of the numbered ones, 0 while they are open.
    """
    if isinstance(node, list):
        return sum(check_description(item, known) for item in node)
    if not isinstance(node, dict):
        return 0
    number, loader = node.get("__id__"), node.get("__loader__")
    if loader == "CachedNode":
        weight = known.get(number, 0)
        if not weight:
            raise ValueError("a part of it holds itself")
        return weight
    if str(node.get("__module__")).startswith("scipy.sparse") and loader != "SparseMatrixNode":
        raise ValueError("a sparse matrix is not stored as arrays")
    again = known.get(number) if number else None
    if number and again is None:
        known[number] = 0
    weight = 1 + sum(check_description(item, known) for item in node.values())
    if weight > MOST_PARTS:
        raise ValueError(f"it stands for more than {MOST_PARTS:,} parts")
    if again is not None and again != weight:
        raise ValueError("two of its parts have the same number")
    if number:
        known[number] = weight
    return weight


def fault(model: Any) -> str | None:
    """Return what a model holds that it must not, None if there is nothing."""
    return next((found for found in map(_fault, _parts(model)) if found), None)


def _parts(model: Any) -> Iterator[Any]:
    """Yield everything that a model refers to, once."""
    waiting, seen = [model], {id(model): model}
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, CLOSED) or type(part).__module__.startswith("kermes.engine"):
            continue
        held = gc.get_referents(part)
        if isinstance(part, np.ndarray) and part.dtype.hasobject:  # also those under a mask
            held += part.view(np.ndarray).ravel().tolist()
        for item in held:
            if item is not type(part) and id(item) not in seen:
                seen[id(item)] = item
                waiting.append(item)


def _fault(part: Any) -> str | None:
    """Return what is wrong with one object."""
    from scipy import sparse
    from sklearn.base import BaseEstimator
    from sklearn.feature_extraction.text import _VectorizerMixin
    from sklearn.svm._base import BaseLibSVM

    from .engine import Engine
    from .features._transport import _ProjectedQuantiles
    from .measures import Measure, Measures
    from .measures._packed import Packed

    if isinstance(part, type) and part.__module__.split(".")[0] in ("kermes", "sklearn"):
        return f"holds the class {part.__module__}.{part.__qualname__} itself, which nothing of it may call"
    if isinstance(part, Engine):
        has_store = getattr(part, "store", None) is not None
        return "has an engine with a store, a path of its own choice. Remove it" if has_store else None
    if isinstance(part, _VectorizerMixin) and getattr(part, "input", None) != "content":
        return f"has a {type(part).__name__} that opens the files its data name"
    if isinstance(part, BaseEstimator) and getattr(part, "memory", None) is not None:
        return "has a cache, a folder of its own choice. Set memory=None"
    if sparse.issparse(part) and type(part) is not sparse.csr_matrix:
        return f"holds a {type(part).__name__}, which is not on the list of what models hold"
    checks: dict[type, Callable[[Any], bool]] = {
        Packed: _is_collection,
        Measures: lambda X: X._rows is None or _within(X._rows, len(X._root)),
        Measure: lambda measure: _within([measure._row], len(measure._root)),
        BaseLibSVM: _is_machine,
        _ProjectedQuantiles: _has_levels,
        sparse.csr_matrix: lambda matrix: matrix.check_format(full_check=True) is None,  # or an error
    }
    for kind, sound in checks.items():
        if isinstance(part, kind):
            try:
                fits = sound(part)
            except Exception:  # whatever a part of another type raises
                fits = False
            if not fits:
                return f"is damaged: the arrays of {type(part).__name__} do not fit together"
    return None


def _is_collection(packed: Any) -> bool:
    """Whether these are measures: cores count on finite points and positive weights."""
    from .measures._build import pack

    arrays = (packed.points, packed.weights, packed.offsets, packed.support, packed.atoms, packed.keys)
    in_order = packed.points.flags.c_contiguous and packed.is_sound()
    return in_order and len(pack(*arrays).weights) == len(packed.weights)


def _has_levels(features: Any) -> bool:
    """Whether the cells of quantile features, if fitted, are cells of [0, 1]: the core runs through them in order."""
    levels = getattr(features, "levels_", np.ones(1))
    cells = np.diff(levels, prepend=0.0)
    return levels.ndim == 1 and levels.dtype == np.float64 and bool((cells > 0).all()) and abs(levels[-1] - 1) < 1e-9


def _is_machine(machine: Any) -> bool:
    """Whether a support vector machine numbers vectors and classes that it has: libsvm trusts all numbers."""
    if not hasattr(machine, "support_"):
        return True
    n_classes = len(machine.classes_) if machine._impl in ("c_svc", "nu_svc") else 2
    pairs = n_classes * (n_classes - 1) // 2
    counts = np.asarray(machine._n_support)
    n = int(counts.sum() if machine._impl in ("c_svc", "nu_svc") else counts[0])
    vectors = machine.support_vectors_
    shapes = (
        machine.support_.shape == (n,)
        and machine._dual_coef_.shape == machine.dual_coef_.shape == (n_classes - 1, n)
        and machine._intercept_.shape == machine.intercept_.shape == (pairs,)
        and all(len(p) in (0, pairs) for p in (machine._probA, machine._probB))
        and (vectors.size == 0 or vectors.shape == (n, machine.shape_fit_[1]))
    )
    plain = isinstance(machine._sparse, bool) and (callable(machine.kernel) or isinstance(machine.kernel, str))
    return (
        shapes
        and plain
        and len(counts) == n_classes
        and counts.min() >= 0
        and _within(machine.support_, machine.shape_fit_[0])
    )


def _within(numbers: Any, n: int) -> bool:
    """Whether all are integers from 0 to n - 1."""
    array = np.asarray(numbers)
    return array.dtype.kind in "iu" and (not array.size or (array.min() >= 0 and array.max() < n))
