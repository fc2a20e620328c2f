"""Reports: what was found out about a collection of measures, as one HTML file that fetches nothing."""

from __future__ import annotations

from ._entry import Entry
from ._report import Report

__all__ = ["Entry", "Report"]
