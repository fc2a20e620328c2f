"""Elimination on lists of numbers of any kind."""

from mpmath import mp


def solve(A, B):
    """Return A^-1 B and det A by elimination without pivoting, for A symmetric positive definite."""
    n, rows, det = len(A), [[*a, *b] for a, b in zip(A, B, strict=True)], 1
    for k in range(n):
        pivot = rows[k][k]
        det *= pivot
        rows[k] = [x / pivot for x in rows[k]]
        for i in range(n):
            factor = rows[i][k]
            if i != k and factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows], det


def det(A):
    return solve(A, [[]] * len(A))[1] if A else 1


def times(A, B):
    columns = list(zip(*B, strict=True))
    return [[sum(x * y for x, y in zip(row, col, strict=True)) for col in columns] for row in A]


def transposed(A):
    return [list(col) for col in zip(*A, strict=True)]


def trace(A):
    return sum(A[k][k] for k in range(len(A)))


def nuclear_norm(M):
    """Return the sum of the singular values: roots of the eigenvalues of the smaller of M M' and M' M."""
    S = times(M, transposed(M)) if len(M) <= len(M[0]) else times(transposed(M), M)
    if len(S) == 1:
        return mp.sqrt(S[0][0])
    if len(S) == 2:  # (s + t)^2 = s^2 + t^2 + 2 s t
        return mp.sqrt(trace(S) + 2 * mp.sqrt(max(S[0][0] * S[1][1] - S[0][1] * S[1][0], 0)))
    with mp.workdps(2 * mp.dps):
        return sum(mp.sqrt(max(value, 0)) for value in mp.eigsy(mp.matrix(S), eigvals_only=True))
