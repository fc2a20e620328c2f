"""The random numbers of R: Mersenne Twister with the seeds of ``set.seed``, ``runif`` and ``sample``."""

from __future__ import annotations

import numpy as np

from .._paper import AnyArray, FloatArray

#: The linear congruence that spreads a seed over the state.
FACTOR, MODULUS = 69069, 2**32
#: Steps before the state is filled, and its words, the first of which R overwrites with the position.
WARM_UP, WORDS = 50, 625
#: R multiplies by this rather than by 2^-32.
UNIT = 2.3283064365386963e-10


class RRandom:
    """Numbers as R draws them after ``set.seed(seed)``, by default kinds of R 3.6 and later.

    Examples
    --------
    >>> from kermes.papers.gpm.r_random import RRandom
    >>> RRandom(1).uniform(3).round(7)
    array([0.2655087, 0.3721239, 0.5728534])
    >>> RRandom(42).sample(10, 4)
    array([0, 4, 9, 7])
    """

    def __init__(self, seed: int) -> None:
        words = []
        for step in range(WARM_UP + WORDS):
            seed = (FACTOR * seed + 1) % MODULUS
            if step >= WARM_UP:
                words.append(seed)
        self._bits = np.random.MT19937()
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(words[1:], dtype=np.uint32), "pos": WORDS - 1},
        }

    def uniform(self, count: int, low: float = 0.0, high: float = 1.0) -> FloatArray:
        """Return ``runif(count, low, high)``."""
        return np.asarray(low + (high - low) * (UNIT * self._bits.random_raw(count)), dtype=np.float64)

    def sample(self, n: int, count: int) -> AnyArray:
        """Return ``sample(n, count) - 1``: rows drawn without replacement, by rejection."""
        left = list(range(n))
        drawn = []
        for _ in range(count):
            place = self._below(len(left))
            drawn.append(left[place])
            left[place] = left[-1]
            left.pop()
        return np.array(drawn)

    def _below(self, n: int) -> int:
        """Return an integer below n: as many bits as it has, in draws of 16, until they are below."""
        bits = (n - 1).bit_length()
        while True:
            value = 0
            for _ in range(0, bits + 1, 16):
                value = 65536 * value + int(self.uniform(1)[0] * 65536)
            value %= 1 << bits
            if value < n:
                return value
