"""The command line: click commands around the public API, no numerics.

``_main`` the group, its errors and exit codes · ``_options``, ``_reading`` and ``_output`` what commands share ·
``_naming`` kernels by short names, and what ``fit`` and ``compare`` make of them · every other file the commands that
its first line names. Start reading at ``_main``.

This file loads nothing but ``signal``, so that Ctrl-C is heard while everything else is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from .._names import public_dir

if TYPE_CHECKING:
    from ._main import main

__all__ = ["main", "start"]
__dir__ = public_dir(__all__)


def start() -> None:
    """Run the program ``kermes``: Ctrl-C and SIGTERM end it in a line while modules are loaded, too."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) == usual:  # otherwise it is ignored, as in the background of a script
            signal.signal(number, leave)
    _require_streams()
    from ._main import main

    try:
        main()
    except OSError as error:  # of the help, which click prints before any command
        os.write(2, f"Error: {error.strerror or error}\n".encode())
        sys.exit(1)


def _require_streams() -> None:
    """Refuse to work for a closed output: the results would be lost, or end up in the next file that is opened."""
    if sys.stderr is None:  # ``2>&-``: what is said about the work
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stderr.write("Error: the standard output is closed; redirect it to a file, or to /dev/null.\n")
        sys.exit(1)


def leave(*_: Any) -> None:
    """End at once: before a command nothing was begun, after it nothing is left but temporary files.

    An exception would be swallowed, or be shown with its traceback, by whatever module is being loaded.
    """
    shared: Any = sys.modules.get("kermes.engine._shared")
    if hasattr(shared, "close"):
        shared.close()
    os.write(2, b"Interrupted.\n")
    os._exit(130)


def __getattr__(name: str) -> Any:
    if name == "main":
        from ._main import main

        return main
    raise AttributeError(f"module 'kermes.cli' has no attribute {name!r}")
