"""The page of a comparison: one HTML file that fetches nothing.

``_report`` from a comparison to a report, and its sections in order · ``_sections`` numbers to HTML · ``_charts``
pictures; the frame of the page has ``style.css`` and ``script.js``.
"""

from __future__ import annotations

from ._report import Report, comparison_report, describe, expression, source_code

__all__ = ["Report", "comparison_report", "describe", "expression", "source_code"]
