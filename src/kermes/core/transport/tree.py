"""A basis of the transport problem: a spanning tree of sources (nodes 0 .. n - 1) and sinks (n .. n + m - 1).

Node w owns the arc to its parent, along which ``flow[w]`` is shipped; the root is its own parent. The nodes below w,
itself included, are a set of bits, ``below[w]``: a pivot adds what moves to the sets of one path, takes it from those
of another, and shifts the potentials of its bits. A few words are changed in a row, where a list of nodes in
depth-first order has links to be followed, most of them behind a branch that no one can predict.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._typing import FloatArray
from ..intrinsics import count_bits, lowest_bit
from ..jit import exact_core, inline_core, part_core
from .doubles import add

#: Nodes up to which all have sets from the start: whether one is there would be asked, and mispredicted, in each pivot.
FEW = 1024
ONE, NONE, ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)


class Tree(NamedTuple):
    """A spanning tree, with room for what is computed on it. Numbers of nodes are unsigned: no index is negative."""

    parent: Any
    order: Any  # of nodes, children before parents
    size: Any  # number of nodes below ...
    first: Any  # ... and room for sorting by it
    made: Any  # whether a node has a set; one that has had no nodes below it since the start may have none
    below: Any  # sets of nodes, ``words`` numbers of 64 bits each, and room for two more
    flow: FloatArray
    high: FloatArray  # potentials, u_i of sources and -v_j of sinks: the double next to each ...
    low: FloatArray  # ... and the rest
    mass: FloatArray  # of the nodes below, in two parts
    mass_low: FloatArray


def make_tree(size: int) -> Tree:
    """Return room for a tree of ``size`` nodes."""
    parent, order, sizes, first, made = np.empty((5, size + 1), dtype=np.uint32)
    sets = np.empty((size + 2) * words_of(size), dtype=np.uint64)
    return Tree(parent, order, sizes, first, made, sets, *np.empty((5, size)))


def words_of(size: Any) -> Any:
    """Return how many words have a bit for each node."""
    return (size + 63) // 64


words = inline_core(words_of)


@inline_core
def shaped(T, size):
    """Return a tree whose sets are rows of a matrix."""
    width = words(size)
    below = T.below[: (size + 2) * width].reshape(size + 2, width)
    return Tree(T.parent, T.order, T.size, T.first, T.made, below, T.flow, T.high, T.low, T.mass, T.mass_low)


@part_core
def make(below, made, node):
    """Let a node without a set have that of itself: of many leaves few take memory."""
    if made[node] == 0:
        for q in range(below.shape[1]):
            below[node, q] = NONE
        below[node, node >> 6] = ONE << np.uint64(node & 63)
        made[node] = 1


@part_core
def has(below, node, other):
    """Whether ``other`` is in the set of ``node``."""
    return (below[node, other >> 6] >> np.uint64(other & 63)) & ONE != NONE


@part_core
def arc_cost(C, n, w, up):
    """Return the cost of the arc between a node and its parent."""
    return C[w, up - n] if w < n else C[up, w - n]


@exact_core
def plant(C, T, root):
    """Set sets and potentials of a tree by its parents; ``order`` has all nodes but the root, children first."""
    parent, order, made, below, high = T.parent, T.order, T.made, T.below, T.high
    n, total = C.shape[0], C.shape[0] + C.shape[1]
    for w in range(total):
        made[w] = 0
        if total <= FEW:
            make(below, made, w)
    parent[root], high[root] = root, 0.0
    for k in range(total - 1):
        w = order[k]
        up = parent[w]
        make(below, made, up)
        if made[w] == 0:
            below[up, w >> 6] |= ONE << np.uint64(w & 63)
        else:
            for q in range(below.shape[1]):
                below[up, q] |= below[w, q]
    for k in range(total - 2, -1, -1):
        w = order[k]
        up = parent[w]
        high[w] = high[up] + (arc_cost(C, n, w, up) if w < n else -arc_cost(C, n, w, up))


@exact_core
def sort(T):
    """Fill ``order`` with all nodes by the number of those below: children before parents, the root last."""
    below, made, order, size, first = T.below, T.made, T.order, T.size, T.first
    total = below.shape[0] - 2
    for w in range(total + 1):
        first[w] = 0
    for w in range(total):
        count = 1 if made[w] == 0 else 0
        for q in range(below.shape[1] if made[w] != 0 else 0):
            count += count_bits(below[w, q])
        size[w] = count - 1
        first[count] += 1
    for k in range(1, total):
        first[k] += first[k - 1]
    for w in range(total):
        order[first[size[w]]] = w
        first[size[w]] += 1


@part_core
def hang(parent, below, flow, n, top, above, leaving, entering_flow, change):
    """Cut the arc above ``leaving``, turn over the path from there to ``top``, and hang it from ``above``.

    Flows of sources on the path change by ``change``, those of sinks by its opposite. The last row but one of the sets
    gets what moves. Returns the node that it hung from.
    """
    moved, before = below.shape[0] - 2, below.shape[0] - 1
    for q in range(below.shape[1]):
        below[moved, q], below[before, q] = below[leaving, q], NONE
    node, up, new_flow, turning = top, above, entering_flow, True
    while turning:
        next_up, next_flow = parent[node], flow[node] + (change if node < n else -change)
        parent[node], flow[node] = up, new_flow
        for q in range(below.shape[1]):
            old = below[node, q]
            below[node, q] = below[moved, q] & ~below[before, q]
            below[before, q] = old
        turning = node != leaving
        up, node, new_flow = node, next_up, next_flow
    return node


@part_core
def pass_on(parent, below, flow, n, node, stop, change, gained):
    """Change flows from ``node`` up to ``stop`` as ``hang`` does, and sets by what moved.

    ``gained`` has all bits for sets that gain, and none for sets that lose.
    """
    moved = below.shape[0] - 2
    while node != stop:
        flow[node] += change if node < n else -change
        for q in range(below.shape[1]):
            below[node, q] = (below[node, q] & ~below[moved, q]) | (below[moved, q] & gained)
        node = parent[node]


@part_core
def shift(below, high, low, root, more, cost, cost_low, both):
    """Add a cost to the potentials of what moved; or, of all others if these are fewer, its opposite.

    Only differences of potentials matter. Without ``both`` parts, in double precision.
    """
    moved, sign = below.shape[0] - 2, -1.0 if more else 1.0
    for q in range(below.shape[1]):
        left = below[root, q] & ~below[moved, q] if more else below[moved, q]
        while left != NONE:
            node = 64 * q + lowest_bit(left)
            if both:
                high[node], low[node] = add(high[node], low[node], sign * cost, sign * cost_low)
            else:
                high[node] += sign * cost
            left &= left - ONE


@part_core
def pivot(T, n, root, i, j, cost, cost_low, both):
    """Let the arc from source i to sink j, of a reduced cost in two parts, enter the tree.

    The last arc to block in the direction of the cycle leaves (Cunningham 1976).
    """
    parent, below, flow = T.parent, T.below, T.flow
    # Arcs against the direction of the cycle lose flow: on the way up from i those of sources, from j those of sinks.
    source, sink = np.uint32(i), np.uint32(n + j)
    left, right, left_arc, right_arc = source, sink, source, sink
    left_least, right_least = np.inf, np.inf
    make(below, T.made, source)
    make(below, T.made, sink)
    while not has(below, left, sink):
        if left < n and flow[left] < left_least:
            left_least, left_arc = flow[left], left
        left = parent[left]
    while right != left:
        if right >= n and flow[right] <= right_least:
            right_least, right_arc = flow[right], right
        right = parent[right]
    from_source = left_least < right_least
    delta = left_least if from_source else right_least
    leaving = left_arc if from_source else right_arc
    top = source if from_source else sink
    above = sink if from_source else source
    change, sign = (-delta, 1.0) if from_source else (delta, -1.0)
    rest = hang(parent, below, flow, n, top, above, leaving, delta, change)
    pass_on(parent, below, flow, n, rest, left, change, NONE)
    pass_on(parent, below, flow, n, above, left, -change, ALL)
    total, count = below.shape[0] - 2, 0
    for q in range(below.shape[1]):
        count += count_bits(below[total, q])
    shift(below, T.high, T.low, root, 2 * count > total, sign * cost, sign * cost_low, both)
