"""A progress bar that only appears when somebody is watching and waiting."""

from __future__ import annotations

import threading
import time
from typing import Any

PATIENCE = 1.0  # seconds


class Progress:
    """Count finished work of ``total`` things; show a bar on stderr after ``patience`` seconds, a second by default.

    ``show`` is True, False, or 'auto' for a bar on terminals only.
    """

    def __init__(
        self, total: int, show: bool | str, title: str, unit: str = "pairs", patience: float = PATIENCE
    ) -> None:
        self._total, self._title, self._unit = total, title, unit
        self._show, self._patience = show, patience
        self._done = 0
        self._started = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int) -> None:
        """Count ``count`` more; called from any thread."""
        with self._lock:
            self._done += count
            if self._bar is None and self._show and time.perf_counter() - self._started > self._patience:
                self._open()
            if self._bar is not None:
                rate = self._done / (time.perf_counter() - self._started)
                self._bar.update(self._task, completed=self._done, rate=rate)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True, force_terminal=True if self._show is True else None)
        if not console.is_terminal:
            self._show = False
            return
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(self._unit),
            TextColumn("{task.fields[rate]:,.0f}/s", style="progress.data.speed"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=self._total, completed=self._done, rate=0.0)
