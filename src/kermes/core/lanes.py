"""Numbers of LANES pairs that go through a core together, as one value of compiled functions.

Numba's loops vectorise over the entries of one matrix. If these are ten, most of the time goes into what is left over
by the vectors and into waiting for one root or division after the other. Lanes vectorise over matrices, in registers.
A lane never sees another: the bits of a pair do not depend on its neighbours.

``+ - * /`` take lanes and numbers. Interpreted, lanes are arrays of NumPy. Compiled, instructions take the place of
each function: overloads, which are functions of their own, made the callers take longer to compile.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import config, types
from numba.core.cgutils import get_item_pointer, get_or_insert_function, ir
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


class _Lanes(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("kermes.lanes")


_LANES = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    """A vector of LLVM, which makes of it as many registers as the processor needs."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _vectors(builder: Any, values: Any) -> list[Any]:
    """Return values as vectors: a number in all lanes."""
    return [value if value.type == _VECTOR else _spread(builder, value) for value in values]


def _spread(builder: Any, number: Any) -> Any:
    undefined, index = ir.Constant(_VECTOR, ir.Undefined), ir.IntType(32)
    first = builder.insert_element(undefined, number, index(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(index, LANES), [0] * LANES))


def _place(context: Any, builder: Any, kind: Any, array: Any, i: Any, k: Any) -> Any:
    """Return the address of array[i, k, 0]."""
    view = context.make_array(kind)(context, builder, array)
    indices = [i, k, context.get_constant(types.intp, 0)]
    return builder.bitcast(get_item_pointer(context, builder, kind, view, indices), _VECTOR.as_pointer())


def _load(typing_context: Any, array: Any, i: Any, k: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *arguments), align=8)

    return _LANES(array, types.intp, types.intp), write


def _store(typing_context: Any, array: Any, i: Any, k: Any, lanes: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *place, value = arguments
        builder.store(value, _place(context, builder, signature.args[0], *place), align=8)
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp, _LANES), write


def _splat(typing_context: Any, number: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    return _LANES(types.float64), write


def _root(typing_context: Any, lanes: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(_VECTOR, [_VECTOR])
        return builder.call(get_or_insert_function(builder.module, function, f"llvm.sqrt.v{LANES}f64"), arguments)

    return _LANES(_LANES), write


def _times_power(typing_context: Any, lanes: Any, shifted: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integers = ir.VectorType(ir.IntType(64), LANES)
        exponents = builder.shl(builder.bitcast(arguments[1], integers), ir.Constant(integers, [52] * LANES))
        return builder.fmul(arguments[0], builder.bitcast(exponents, _VECTOR))

    return _LANES(_LANES, _LANES), write


def _where_greater(typing_context: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, x, y = _vectors(builder, arguments)
        return builder.select(builder.fcmp_ordered(">", a, b), x, y)

    return _LANES(a, b, x, y), write


def _any_greater(typing_context: Any, a: Any, b: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        holds = builder.fcmp_ordered(">", *_vectors(builder, arguments))
        bits = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(holds, bits), bits(0))

    return types.boolean(a, b), write


def _add_operator(operation: Any, instruction: str) -> None:
    """Make an operator of lanes and numbers one instruction."""

    @type_callable(operation)  # type: ignore[untyped-decorator]
    def kinds(context: Any) -> Any:
        return lambda a, b: _LANES if _LANES in (a, b) and {a, b} <= {_LANES, types.float64} else None

    for pair in ((_Lanes, _Lanes), (_Lanes, types.Float), (types.Float, _Lanes)):

        @lower_builtin(operation, *pair)  # type: ignore[untyped-decorator]
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*_vectors(builder, arguments))


for _operation, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _add_operator(getattr(operator, _operation), _instruction)


def _scaled(lanes: Any, shifted: Any) -> Any:
    return lanes * (shifted.view(np.int64) << 52).view(np.float64)


def _put(array: Any, i: Any, k: Any, lanes: Any) -> None:
    array[i, k] = lanes


def _chosen(interpreted: Any, compiled: Any) -> Any:
    return interpreted if config.DISABLE_JIT else intrinsic(compiled)


#: load(array, i, k) returns the lanes array[i, k] of an array (n, m, LANES).
load = _chosen(lambda array, i, k: array[i, k].copy(), _load)
#: store(array, i, k, lanes) sets array[i, k].
store = _chosen(_put, _store)
#: splat(number) returns it in all lanes.
splat = _chosen(lambda number: np.full(LANES, number), _splat)
#: root(lanes) returns their square roots.
root = _chosen(np.sqrt, _root)
#: times_power(lanes, shifted) returns lanes * 2**k, where the low bits of ``shifted`` are k + 1023; 0 for k = -1023.
times_power = _chosen(_scaled, _times_power)
#: where_greater(a, b, x, y) returns x in the lanes where a > b, and y in the others.
where_greater = _chosen(lambda a, b, x, y: np.where(a > b, x, y), _where_greater)
#: any_greater(a, b) returns whether a > b in any lane.
any_greater = _chosen(lambda a, b: bool(np.any(a > b)), _any_greater)
