"""Hypothesis strategies: collections of measures, and collections with their exact distances."""

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
