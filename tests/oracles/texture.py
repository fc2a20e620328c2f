"""Co-occurrences and texture features from their definitions, by loops."""

import numpy as np


def cooccurrences(grey, levels):
    """Matrix of neighbours in 8 directions; pixels of level 0 are left out."""
    counts = np.zeros((levels, levels))
    height, width = grey.shape
    for y in range(height):
        for x in range(width):
            for dy, dx in [(0, 1), (1, 0), (1, 1), (1, -1), (0, -1), (-1, 0), (-1, -1), (-1, 1)]:
                v, u = y + dy, x + dx
                if 0 <= v < height and 0 <= u < width and grey[y, x] > 0 and grey[v, u] > 0:
                    counts[grey[y, x] - 1, grey[v, u] - 1] += 1
    return counts / counts.sum()


def features(P):
    """The 25 features of a matrix that is not degenerate, by name."""
    L = len(P)
    pairs = [(i, j, P[i - 1, j - 1]) for i in range(1, L + 1) for j in range(1, L + 1)]
    px, py = P.sum(axis=1), P.sum(axis=0)
    mx, my = sum(i * p for i, _, p in pairs), sum(j * p for _, j, p in pairs)
    sx = np.sqrt(sum((i - mx) ** 2 * p for i, _, p in pairs))
    sy = np.sqrt(sum((j - my) ** 2 * p for _, j, p in pairs))
    difference = {k: sum(p for i, j, p in pairs if abs(i - j) == k) for k in range(L)}
    total = {k: sum(p for i, j, p in pairs if i + j == k) for k in range(2, 2 * L + 1)}
    hxy = _entropy(p for _, _, p in pairs)
    hxy1 = -sum(p * np.log2(px[i - 1] * py[j - 1]) for i, j, p in pairs if p > 0)
    hxy2 = _entropy(px[i - 1] * py[j - 1] for i, j, _ in pairs)
    mean_difference = sum(k * p for k, p in difference.items())
    mean_sum = sum(k * p for k, p in total.items())
    auto = sum(i * j * p for i, j, p in pairs)
    return {
        "auto-correlation": auto,
        "joint average": mx,
        "cluster prominence": sum((i + j - mx - my) ** 4 * p for i, j, p in pairs),
        "cluster shade": sum((i + j - mx - my) ** 3 * p for i, j, p in pairs),
        "cluster tendency": sum((i + j - mx - my) ** 2 * p for i, j, p in pairs),
        "contrast": sum((i - j) ** 2 * p for i, j, p in pairs),
        "correlation": (auto - mx * my) / (sx * sy),
        "difference entropy": _entropy(difference.values()),
        "dissimilarity": sum(abs(i - j) * p for i, j, p in pairs),
        "difference variance": sum((k - mean_difference) ** 2 * p for k, p in difference.items()),
        "joint energy": sum(p * p for _, _, p in pairs),
        "joint entropy": hxy,
        "inverse difference": sum(p / (1 + abs(i - j)) for i, j, p in pairs),
        "inverse difference moment": sum(p / (1 + (i - j) ** 2) for i, j, p in pairs),
        "first informational correlation": (hxy - hxy1) / max(_entropy(px), _entropy(py)),
        "second informational correlation": np.sqrt(1 - np.exp(-2 * (hxy2 - hxy))),
        "inverse difference moment normalized": sum(p / (1 + (i - j) ** 2 / L**2) for i, j, p in pairs),
        "inverse difference normalized": sum(p / (1 + abs(i - j) / L) for i, j, p in pairs),
        "inverse variance": sum(p / (i - j) ** 2 for i, j, p in pairs if i != j),
        "sum average": mean_sum,
        "sum entropy": _entropy(total.values()),
        "sum variance": sum((k - mean_sum) ** 2 * p for k, p in total.items()),
        "haralick correlation": (auto - px.mean() * py.mean()) / (px.std() * py.std()),
        "joint maximum": max(p for _, _, p in pairs),
        "joint variance": sx**2,
    }


def _entropy(probabilities):
    return -sum(p * np.log2(p) for p in probabilities if p > 0)
