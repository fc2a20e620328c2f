"""The command line: click commands around the public API, no numerics.

``_main`` the group and what every command shares · ``_demo`` ``kermes demo``.
"""

from __future__ import annotations

from ._main import main

__all__ = ["main"]
