"""Hypothesis strategies: collections of measures, collections with their exact distances, and hostile pairs."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st

from kermes import Measures, datasets

#: Coarse coordinates make ties and repeated atoms likely.
coordinates = st.integers(-8, 8).map(lambda k: k / 4)


@st.composite
def measures(draw, dim, min_size=2, max_size=4):
    """Weighted, ragged, with ties, repeated atoms and weights of very different sizes."""
    n = draw(st.integers(min_size, max_size))
    samples, weights = [], []
    for _ in range(n):
        size = draw(st.integers(1, 6))
        atoms = st.lists(st.lists(coordinates, min_size=dim, max_size=dim), min_size=size, max_size=size)
        samples.append(np.array(draw(atoms)))
        weights.append(np.array(draw(st.lists(st.sampled_from([0.01, 1.0, 3.0]), min_size=size, max_size=size))))
    return Measures.from_samples(samples, weights)


@st.composite
def exact_transport(draw, dim=None):
    """A collection and the W_p between its members, the same for every p."""
    make = draw(st.sampled_from([datasets.make_diracs, datasets.make_translates]))
    dim = dim or draw(st.integers(1, 4))
    return make(n=draw(st.integers(2, 6)), dim=dim, seed=draw(st.integers(0, 2**16)))


# -- hostile pairs for tests/truth ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair:
    """Two measures as a caller hands them over, arrays of any layout, and how they become collections.

    ``points`` and ``weights`` have one array for each of the two; ``company`` are further measures of the first call,
    which must not matter. ``support`` is the one that histograms share: weights then have a number for each of its
    points.
    """

    points: tuple[np.ndarray, np.ndarray]
    weights: tuple[np.ndarray, np.ndarray]
    company: tuple[np.ndarray, ...] = ()
    support: np.ndarray | None = None

    def collections(self):
        """Return X, whose first member is the first measure, and Y, whose only member is the second."""
        if self.support is not None:
            return tuple(Measures.from_histograms(w[None], self.support) for w in self.weights)
        first, second = self.points
        more = [np.ones(len(cloud)) for cloud in self.company]
        X = Measures.from_samples([first, *self.company], [self.weights[0], *more])
        return X, Measures.from_samples([second], [self.weights[1]])


#: Of generators, for tests that draw more than their arguments.
SEEDS = st.integers(0, 2**32 - 1)


def _scaled(exponents):
    return st.builds(lambda k, e: k * 10.0**e, st.integers(-99, 99), exponents)


#: Coordinates, by name.
COORDINATES = {
    "coarse": st.just(coordinates),
    "plain": st.just(st.floats(-4, 4, width=32)),
    "whole": st.just(st.integers(-3, 3).map(float)),
    "offset": st.just(st.integers(-16, 16).map(lambda k: 1e8 + k / 8)),
    "scaled": st.integers(-150, 148).map(lambda e: _scaled(st.just(e))),
    "mixed": st.just(_scaled(st.integers(-150, 148))),
    "outlier": st.just(st.one_of(coordinates, st.sampled_from([1e6, -1e8, 1e12]))),
    "subnormal": st.just(st.integers(-4, 4).map(lambda k: k * 5e-324)),
}
MILD = ("coarse", "plain", "whole", "offset", "outlier")

#: Weights, by name.
WEIGHTS = {
    "equal": st.just(1.0),
    "plain": st.sampled_from([0.01, 0.1, 0.3, 1.0, 3.0]),
    "counts": st.integers(1, 5).map(float),
    "wide": st.integers(0, 300).map(lambda e: 10.0**-e),
    "nearly equal": st.integers(0, 3).map(lambda k: 1.0 + k * 2.0**-52),
    "small": st.integers(1, 9).map(lambda k: k * 1e-305),
}


@st.composite
def _cloud(draw, dim, scalars, weights, most, least=1):
    """Return points (n, dim), some coincident or on one line, and weights (n,)."""
    size = draw(st.integers(least, most))
    points = np.array(draw(st.lists(scalars, min_size=size * dim, max_size=size * dim))).reshape(size, dim)
    shape = draw(st.sampled_from(["free", "free", "free", "coincident", "collinear"])) if least == 1 else "free"
    if shape == "coincident":
        points[draw(st.integers(0, size - 1)) :] = points[0]
    elif shape == "collinear":
        points = np.repeat(points[:, :1], dim, axis=1)
    return points, np.array(draw(st.lists(weights, min_size=size, max_size=size)))


def _related(draw, x, a):
    """Return a second measure made from the first."""
    how = draw(st.sampled_from(["same", "permuted", "split", "nudged", "reweighted", "subset", "shifted"]))
    order = np.array(draw(st.permutations(range(len(x)))))
    x, a = x.copy(), a.copy()
    if how == "permuted":
        return x[order], draw(st.sampled_from([1.0, 0.1, 3.0])) * a[order]
    if how == "split":
        return np.repeat(x[order], 2, axis=0), np.repeat(a[order] / 2, 2)
    if how == "nudged":
        i, k = draw(st.integers(0, len(x) - 1)), draw(st.integers(0, x.shape[1] - 1))
        x[i, k] = x[i, k] * (1 + draw(st.sampled_from([2e-16, 1e-12, 1e-8, 1e-4]))) if x[i, k] else 1e-12
        return x, a
    if how == "reweighted":
        return x, a * (1 + np.array(draw(st.lists(st.sampled_from([0.0, 4e-16, 1e-12, 1e-6, 1.0]),
                                                  min_size=len(a), max_size=len(a)))))  # fmt: skip
    if how == "subset":
        kept = order[: draw(st.integers(1, len(x)))]
        return x[kept], a[kept]
    if how == "shifted":
        return x + draw(st.sampled_from([1.0, 1e-6, 1e3])), a
    return x, a


#: How a caller may hold his numbers.
LAYOUTS = {
    "plain": lambda x: x,
    "float32": lambda x: np.float32(x) if np.isfinite(np.float32(x)).all() else x,
    "integers": lambda x: x.astype(np.int64) if (np.abs(x) < 2**53).all() and (x == np.floor(x)).all() else x,
    "read-only": lambda x: _read_only(x),
    "strided": lambda x: np.repeat(x, 3, axis=0)[::3],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "columns": lambda x: np.asfortranarray(x),
    "big-endian": lambda x: x.astype(">f8"),
}


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@cache
@st.composite
def pairs(draw, dim, kinds=tuple(COORDINATES), weights=tuple(WEIGHTS), most=4, least=1, shared=False, company=True):
    """Draw a :class:`Pair` of measures of at most ``most`` atoms each on R^dim, hostile in every way we know.

    ``kinds`` and ``weights`` name the coordinates and weights; ``shared`` makes histograms on one support. With
    ``least`` atoms or more, no cloud is degenerate on purpose.
    """
    # Neither over- nor underflow in NumPy is an error here: 10.0**-400 is a fine number to start from.
    kind, weighted = draw(st.sampled_from(kinds)), draw(st.sampled_from(weights))
    scalars = draw(COORDINATES[kind])
    if shared:
        return _histograms(draw, dim, scalars, WEIGHTS[weighted], most)
    first = draw(_cloud(dim, scalars, WEIGHTS[weighted], most, least))
    with np.errstate(over="ignore", under="ignore"):
        second = (
            _related(draw, *first)
            if draw(st.booleans())
            else draw(_cloud(dim, scalars, WEIGHTS[weighted], most, least))
        )
        if draw(st.booleans()):
            first, second = second, first
        layouts = [LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))] for _ in range(2)]
        points = tuple(layout(x) for layout, (x, _) in zip(layouts, (first, second), strict=True))
    others = ()
    if company and draw(st.integers(0, 3)) == 0:
        others = tuple(draw(_cloud(dim, scalars, WEIGHTS["equal"], most))[0] for _ in range(draw(st.integers(1, 3))))
    return Pair(points, (first[1], second[1]), others)


def _histograms(draw, dim, scalars, weights, most):
    size = draw(st.integers(1, most + 2))
    support = np.unique(
        np.array(draw(st.lists(scalars, min_size=size * dim, max_size=size * dim))).reshape(size, dim), axis=0
    )
    bins = st.lists(st.one_of(st.just(0.0), weights), min_size=len(support), max_size=len(support))
    masses = [np.array(draw(bins.filter(any))) for _ in range(2)]
    if draw(st.integers(0, 3)) == 0:
        masses[1] = masses[0] * draw(st.sampled_from([1.0, 0.1, 1.0 + 2.0**-50]))
    return Pair((support, support), tuple(masses), support=support)


@cache
@st.composite
def many_against_one(draw, dim, size=2000):
    """Draw a :class:`Pair` of thousands of atoms and one."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cloud = rng.integers(-4096, 4096, size=(size, dim)) * draw(st.sampled_from([2.0**-10, 2.0**-40, 2.0**20]))
    point = draw(st.lists(coordinates, min_size=dim, max_size=dim))
    return Pair((cloud, np.array([point])), (rng.integers(1, 6, size), np.ones(1)))


@cache
@st.composite
def collections(draw, dim, kinds=tuple(COORDINATES), weights=tuple(WEIGHTS), most=5, least=1, atoms=5):
    """Draw a collection of ``least`` to ``most`` measures as a caller hands it over: lists of points and of weights.

    Some are made from others: equal, permuted, split, nudged.
    """
    scalars, weighted = draw(COORDINATES[draw(st.sampled_from(kinds))]), WEIGHTS[draw(st.sampled_from(weights))]
    clouds = []
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(draw(st.integers(least, most))):
            related = bool(clouds) and draw(st.integers(0, 2)) == 0
            cloud = draw(st.sampled_from(clouds)) if related else None
            clouds.append(_related(draw, *cloud) if related else draw(_cloud(dim, scalars, weighted, atoms)))
        layout = LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))]
        return [layout(points) for points, _ in clouds], [masses for _, masses in clouds]
