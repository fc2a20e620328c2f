"""The command line: click commands around the public API, no numerics.

``_main`` the group, its errors and exit codes · ``_options`` and ``_output`` what commands share · ``_naming``
kernels by short names · ``_candidates`` what ``fit`` and ``compare`` search · every other file the command of its name.
"""

from __future__ import annotations

from .._names import public_dir
from ._main import main

__all__ = ["main"]
__dir__ = public_dir(__all__)
