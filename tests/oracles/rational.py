"""Optimal transport in rational arithmetic: successive shortest paths, no rounding anywhere."""

from fractions import Fraction


def rationals(values):
    return [value if isinstance(value, Fraction) else Fraction(float(value)) for value in values]


def transport_cost(C, a, b):
    """Return the least cost of moving a to b as a Fraction; the largest b takes the difference of the totals."""
    C, left, room = [rationals(row) for row in C], rationals(a), rationals(b)
    room[room.index(max(room))] += sum(left) - sum(room)
    flow, total = {}, Fraction(0)
    while any(left):
        distances, previous = _shortest(C, left, flow, len(room))
        sink = min((j for j, space in enumerate(room) if space > 0), key=lambda j: distances["sink", j])
        path = _path(previous, ("sink", sink))
        source = path[-1][0][1]
        moved = min([left[source], room[sink], *(flow[q[1], p[1]] for p, q in path if p[0] == "sink")])
        for p, q in path:
            arc, sign = ((p[1], q[1]), 1) if p[0] == "source" else ((q[1], p[1]), -1)
            flow[arc] = flow.get(arc, Fraction(0)) + sign * moved
            total += sign * moved * C[arc[0]][arc[1]]
        left[source] -= moved
        room[sink] -= moved
    return total


def _shortest(C, left, flow, m):
    """Return distances and predecessors from all sources with mass left (Bellman and Ford), against used arcs too."""
    distances, previous = {("source", i): Fraction(0) for i, mass in enumerate(left) if mass > 0}, {}

    def relax(start, end, cost):
        reached = distances[start] + cost
        if end in distances and distances[end] <= reached:
            return False
        distances[end], previous[end] = reached, start
        return True

    changed = True
    while changed:
        changed = False
        for i in range(len(C)):
            if ("source", i) in distances:
                for j in range(m):
                    changed |= relax(("source", i), ("sink", j), C[i][j])
        for (i, j), mass in flow.items():
            if mass > 0 and ("sink", j) in distances:
                changed |= relax(("sink", j), ("source", i), -C[i][j])
    return distances, previous


def _path(previous, node):
    path = []
    while node in previous:
        path.append((previous[node], node))
        node = previous[node]
    return path
