"""A basis of the transport problem: a spanning tree of sources (nodes 0 .. n - 1) and sinks (n .. n + m - 1).

Node w owns the arc to its parent, along which ``flow[w]`` is shipped; the root is its own parent. A ring leads through
all nodes in depth-first order, so that the nodes below w, itself first, are ``size[w]`` successive ones: what moves in
a pivot is cut out and put in by a few links, and its potentials are shifted in one walk along the ring.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._typing import FloatArray
from ..intrinsics import borrowed
from ..jit import inline_core
from .doubles import add


class Tree(NamedTuple):
    """A spanning tree, with room for what is computed on it. Numbers of nodes are unsigned: no index is negative."""

    parent: Any
    ring: Any  # the next node in depth-first order ...
    back: Any  # ... and the one before
    last: Any  # of the nodes below
    closed: Any  # room for an order of nodes
    size: Any  # number of nodes below, itself included
    flow: FloatArray
    high: FloatArray  # potentials, u_i of sources and -v_j of sinks: the double next to each ...
    low: FloatArray  # ... and the rest
    mass: FloatArray  # of the nodes below, in two parts
    mass_low: FloatArray


def make_tree(size: int) -> Tree:
    """Return room for a tree of ``size`` nodes."""
    nodes, numbers = np.empty((5, size), dtype=np.uint32), np.empty((5, size))
    parent, ring, back, last, closed = nodes
    return Tree(parent, ring, back, last, closed, np.empty(size, dtype=np.int32), *numbers)


@inline_core
def borrow(T):
    """Return a tree whose arrays are not counted: its fields may be read anywhere."""
    return Tree(
        borrowed(T.parent), borrowed(T.ring), borrowed(T.back), borrowed(T.last), borrowed(T.closed), borrowed(T.size),
        borrowed(T.flow), borrowed(T.high), borrowed(T.low), borrowed(T.mass), borrowed(T.mass_low),
    )  # fmt: skip


@inline_core
def arc_cost(C, n, w, up):
    """Return the cost of the arc between a node and its parent."""
    return C[w, up - n] if w < n else C[up, w - n]


@inline_core
def plant(C, T, count, root):
    """Set sizes, ring and potentials of a tree by its parents; ``closed`` has ``count`` nodes, children first.

    These are all but the root.
    """
    parent, ring, back, last, closed, size, high = T.parent, T.ring, T.back, T.last, T.closed, T.size, T.high
    n, total = C.shape[0], count + 1
    high[root] = 0.0
    for w in range(total):
        size[w], last[w] = 1, w
    parent[root], ring[root], back[root] = root, root, root
    for k in range(total - 1):
        size[parent[closed[k]]] += size[closed[k]]
    for k in range(total - 2, -1, -1):
        w = closed[k]
        up = parent[w]
        high[w] = high[up] + (arc_cost(C, n, w, up) if w < n else -arc_cost(C, n, w, up))
        ring[w], back[w], back[ring[up]] = ring[up], up, w
        ring[up] = w
    # In depth-first order from the end, the last node below is that of the child met first.
    w = back[root]
    while w != root:
        up = parent[w]
        if last[up] == up:
            last[up] = last[w]
        w = back[w]


@inline_core
def change(T, n, node, join, delta, leaving, moved, grown):
    """Add ``delta`` to the flow of sources from ``node`` up to ``join``, and take it from that of sinks.

    Sizes grow by ``grown``, and above the arc that leaves they lose the nodes that move.
    """
    parent, size, flow = T.parent, T.size, T.flow
    while node != join:
        flow[node] += delta if node < n else -delta
        size[node] += grown
        grown = -moved if node == leaving else grown
        node = parent[node]


@inline_core
def hang(T, top, above, leaving, entering_flow, moved):
    """Cut the arc above ``leaving``, turn over the path from there to ``top``, and hang it from ``above``.

    Returns the last of the nodes that moved. Their new order is: those below ``top``; then, for each node of the path,
    itself and those before and behind the part that has been put in already.
    """
    parent, ring, back, last, size, flow = T.parent, T.ring, T.back, T.last, T.size, T.flow
    end, before = last[leaving], back[leaving]
    following = ring[end]
    w = parent[leaving]
    while last[w] == end:
        last[w] = before
        w = parent[w]
    tail, old = last[top], last[top]
    after, gap = ring[tail], back[top]
    up, old_flow, inner = parent[top], flow[top], size[top]
    parent[top], flow[top], size[top] = above, entering_flow, moved
    node = top
    while node != leaving:
        below = node
        node = up
        node_last, node_back = last[node], back[node]
        next_flow, next_inner = flow[node], size[node]
        up = parent[node]
        parent[node], flow[node], size[node] = below, old_flow, moved - inner
        old_flow, inner = next_flow, next_inner
        ring[tail], back[node] = node, tail
        tail, gap = gap, node_back
        if node_last != old:
            ring[tail], back[after] = after, tail
            tail, old = node_last, node_last
            after = ring[tail]
    while node != above:
        last[node] = tail
        node = parent[node]
    ring[before], back[following] = following, before
    following = ring[above]
    ring[above], back[top], ring[tail], back[following] = top, above, following, tail
    w = above
    while last[w] == above:
        last[w] = tail
        w = parent[w]
    return tail


@inline_core
def pivot(T, n, m, i, j, cost, cost_low, both):
    """Let the arc from source i to sink j, of a reduced cost in two parts, enter the tree.

    The last arc to block in the direction of the cycle leaves (Cunningham 1976). Only differences of potentials matter:
    those of the smaller part change, without ``both`` in double precision.
    """
    parent, ring, size, flow, high, low = T.parent, T.ring, T.size, T.flow, T.high, T.low
    # Arcs against the direction of the cycle lose flow: on the way up from i those of sources, from j those of sinks.
    source, sink = np.uint32(i), np.uint32(n + j)
    left, right, left_arc, right_arc = source, sink, source, sink
    left_least, right_least = np.inf, np.inf
    while left != right:
        if size[left] < size[right]:
            if left < n and flow[left] < left_least:
                left_least, left_arc = flow[left], left
            left = parent[left]
        else:
            if right >= n and flow[right] <= right_least:
                right_least, right_arc = flow[right], right
            right = parent[right]
    from_source = left_least < right_least
    delta = left_least if from_source else right_least
    leaving = left_arc if from_source else right_arc
    top = source if from_source else sink
    above = sink if from_source else source
    moved = np.int64(size[leaving])
    change(T, n, top, left, -delta if from_source else delta, leaving, moved, 0)
    change(T, n, above, left, delta if from_source else -delta, leaving, moved, moved)
    tail = hang(T, top, above, leaving, delta, moved)
    node, count, sign = top, moved, 1.0 if from_source else -1.0
    if 2 * moved > n + m:
        node, count, sign = ring[tail], n + m - moved, -sign
    if both:
        for _ in range(count):
            high[node], low[node] = add(high[node], low[node], sign * cost, sign * cost_low)
            node = ring[node]
    else:
        for _ in range(count):
            high[node] += sign * cost
            node = ring[node]
