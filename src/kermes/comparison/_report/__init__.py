"""The page of a comparison: one HTML file that fetches nothing.

``_build`` from a comparison to a report · ``_report`` the report and its sections in order · ``_sections`` numbers to
HTML · ``_classes`` tests, differences and means of classes · ``_charts`` pictures; the frame of the page has
``style.css`` and ``script.js``.
"""

from __future__ import annotations

from ._build import comparison_report, describe, expression, source_code
from ._report import Report

__all__ = ["Report", "comparison_report", "describe", "expression", "source_code"]
