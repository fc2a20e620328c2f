"""A line of the leaderboard."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Entry"]


class Entry(NamedTuple):
    """A candidate and what came of it.

    Parameters
    ----------
    name : str
        What was tried.
    mean, deviation : float or None
        Score over the outer folds, larger is better; None if there is none.
    distance_seconds, search_seconds : float
        Time for the distances, and for the search and the fits.
    definiteness : str
        What is known of the kernel matrix.
    status : str
        ``ok``, ``failed`` or ``skipped``.
    remark : str
        Why it failed or was left out, or what to know about it.
    """

    name: str
    mean: float | None
    deviation: float | None
    distance_seconds: float = 0.0
    search_seconds: float = 0.0
    definiteness: str = ""
    status: str = "ok"
    remark: str = ""
