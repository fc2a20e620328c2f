"""What compiled code needs and Python cannot say.

*The lesser and the greater* of two numbers that are not nan. Of ``min`` and ``max`` Numba makes a comparison and a
choice, and lets LLVM assume of the comparison alone that no number is nan: a search then waits for one choice after the
other, 1.3 ns for each number; these vectorise, to 0.2.

*Arrays that are not counted.* Numba counts the references to an array with locked instructions, 6 ns each time that a
row is taken or a field is read, unless it sees that the count comes to nothing.

*Bits*: of sets of nodes, and of numbers that carry their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, float64, int64
from numba.core.cgutils import get_null_value, true_bit
from numba.extending import intrinsic

FLAGS = ("nnan", "nsz")


def lesser(a: Any, b: Any) -> Any:
    """Return the lesser of two numbers of one type."""
    return min(a, b)


def greater(a: Any, b: Any) -> Any:
    """Return the greater of two numbers of one type."""
    return max(a, b)


def borrowed(array: Any) -> Any:
    """Return the same array, not counted.

    For parameters alone, which the caller owns: an array that was made in the function would be freed.
    """
    return array


def count_bits(word: Any) -> Any:
    """Return how many bits of an unsigned number are set."""
    return int(word).bit_count()


def lowest_bit(word: Any) -> Any:
    """Return the place of the lowest bit of an unsigned number other than 0."""
    return (int(word) & -int(word)).bit_length() - 1


def tagged(number: Any, kept: Any, tag: Any) -> Any:
    """Return a number whose last bits, those not ``kept``, are a tag: the least of such numbers tells its own place."""
    bits = (np.float64(number).view(np.int64) & kept) | tag
    return bits.view(np.float64)


def tag_of(number: Any, kept: Any) -> Any:
    """Return the tag of a number."""
    return int(np.float64(number).view(np.int64) & ~kept)


def _choice(relation: str) -> Any:
    """Return the code of "a if a < b else b", or of that with another relation."""

    def define(typing_context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, numbers: Any) -> Any:
            holds = builder.fcmp_ordered(relation, *numbers, flags=FLAGS)
            return builder.select(holds, *numbers, flags=FLAGS)

        return a(a, a), generate

    return intrinsic(define)


@intrinsic  # type: ignore[misc]
def _borrowed(typing_context: Any, array: Any) -> Any:
    """Leave out the owner of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        view.meminfo = get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), generate


@intrinsic  # type: ignore[misc]
def _count_bits(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return int64(word), generate


@intrinsic  # type: ignore[misc]
def _lowest_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], true_bit)

    return int64(word), generate


@intrinsic  # type: ignore[misc]
def _tagged(typing_context: Any, number: Any, kept: Any, tag: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, kept, tag = arguments
        bits = builder.or_(builder.and_(builder.bitcast(number, kept.type), kept), tag)
        return builder.bitcast(bits, number.type)

    return float64(float64, int64, int64), generate


@intrinsic  # type: ignore[misc]
def _tag_of(typing_context: Any, number: Any, kept: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, kept = arguments
        return builder.and_(builder.bitcast(number, kept.type), builder.not_(kept))

    return int64(float64, int64), generate


if not config.DISABLE_JIT:
    # Each by itself, and not as an implementation of the function above: Numba would compile one for each type.
    lesser, greater, borrowed = _choice("<"), _choice(">"), _borrowed
    count_bits, lowest_bit, tagged, tag_of = _count_bits, _lowest_bit, _tagged, _tag_of
