"""Writes instructions of LLVM on vectors, where Numba's loops would make less of them.

LLVM turns a loop into steps of several vectors, and takes what these leave over one number at a time: of 150 columns in
single precision that is as long as all the rest. What is written here takes one vector at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.cgutils import get_item_pointer, get_or_insert_function, ir

#: Bits of a vector: a register of processors with AVX2, and two of those with less.
BITS = 256


class Writer:
    """Instructions for one call, on vectors of the numbers in the first argument, an array."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder, self.kinds, self.arguments = context, builder, signature.args, arguments
        kind = self.kinds[0].dtype
        self.bits, self.lanes, self.number = kind.bitwidth, BITS // kind.bitwidth, context.get_value_type(kind)
        self.vector = ir.VectorType(self.number, self.lanes)
        self.nothing = ir.Constant(self.vector, None)

    def whole(self, number: int) -> Any:
        """Return an integer as indices are."""
        return self.context.get_constant(types.intp, number)

    def size(self, which: int) -> Any:
        """Return the number of entries of an argument, a vector."""
        return self.builder.extract_value(self._view(which).shape, 0)

    def place(self, which: int, *indices: Any) -> Any:
        """Return where an entry of an argument is; the array is contiguous."""
        return get_item_pointer(self.context, self.builder, self.kinds[which], self._view(which), indices)

    def _view(self, which: int) -> Any:
        return self.context.make_array(self.kinds[which])(self.context, self.builder, self.arguments[which])

    def entry(self, start: Any, k: Any) -> Any:
        """Return one number, k after a place."""
        return self.builder.load(self.builder.gep(start, [k]))

    def load(self, start: Any, k: Any) -> Any:
        """Return the vector that begins k after a place."""
        return self.builder.load(self._at(start, k), align=self.bits // 8)

    def store(self, value: Any, start: Any, k: Any) -> None:
        """Write a vector."""
        self.builder.store(value, self._at(start, k), align=self.bits // 8)

    def _at(self, start: Any, k: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(start, [k]), self.vector.as_pointer())

    def call(self, name: str, *vectors: Any) -> Any:
        """Return what a function of LLVM gives."""
        function = ir.FunctionType(self.vector, [self.vector] * len(vectors))
        name = f"llvm.{name}.v{self.lanes}f{self.bits}"
        return self.builder.call(get_or_insert_function(self.builder.module, function, name), vectors)

    def spread(self, number: Any) -> Any:
        """Return a number in all lanes."""
        first = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), number, ir.IntType(32)(0))
        return self.chosen(first, first, [0] * self.lanes)

    def chosen(self, a: Any, b: Any, lanes: list[int]) -> Any:
        """Return some lanes of two vectors, those of the second numbered after those of the first."""
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))

    def first(self, vector: Any) -> Any:
        """Return the number in the first lane."""
        return self.builder.extract_element(vector, ir.IntType(32)(0))

    def loop(self, start: Any, stop: Any, sums: list[Any], step: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """Write a loop over vectors, at least one: ``step`` takes its first place and the sums, and returns these."""
        builder, before = self.builder, self.builder.block
        body, after = builder.append_basic_block("vectors"), builder.append_basic_block("after")
        builder.branch(body)
        builder.position_at_end(body)
        k = builder.phi(start.type)
        running = [builder.phi(self.vector) for _ in sums]
        new = step(k, running)
        following = builder.add(k, self.whole(self.lanes))
        builder.cbranch(builder.icmp_signed("<", following, stop), body, after)
        for phi, first, later in zip([k, *running], [start, *sums], [following, *new], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, body)
        builder.position_at_end(after)
        return new

    def totals(self, sums: list[Any]) -> Any:
        """Return the totals of as many vectors as they have lanes, as one vector.

        Neighbours are added: of (a0 a1 a2 ..) and (b0 b1 b2 ..) first (a0 + a1, b0 + b1, a2 + a3, ..), then pairs of
        these, and so on.
        """
        width, n = 1, self.lanes
        while len(sums) > 1:
            even = [k for k in range(n) if k // width % 2 == 0]
            lanes = [k + side for i in range(0, n // 2, width) for side in (0, n) for k in even[i : i + width]]
            sums = [
                self.builder.fadd(self.chosen(a, b, lanes), self.chosen(a, b, [k + width for k in lanes]))
                for a, b in zip(sums[::2], sums[1::2], strict=True)
            ]
            width *= 2
        return sums[0]
