"""The ``kermes`` command: errors of a line or two, exit codes that mean something, Ctrl-C without a traceback."""

from __future__ import annotations

import _thread
import codecs
import io
import signal
import sys
import threading
import time
import unicodedata
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from .._checks import guess
from ..exceptions import KermesError
from . import leave
from ._about import completion, demo, list_names, reproduce, warmup
from ._distances import diagnose, distances, gram
from ._fit import compare, fit
from ._groups import explain, test_groups
from ._output import printable, say
from ._predict import predict
from ._summaries import cluster, convert, mean

FAILURE, BAD_INPUT, INTERRUPTED = 1, 2, 130
#: Errors of the operating system that the user can mend by another path. Of kermes' own these are the ValueErrors.
MENDABLE = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class Group(click.Group):
    """A group that lists its commands in the order in which they were added, and explains errors in a line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use, not of the alphabet."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; guess what was meant by a name that is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            said = error.message.partition(" Did you mean")[0]  # newer versions of click guess far
            remedy = guess(args[0], self.commands) or " kermes --help lists the commands."
            raise click.UsageError(f"{said}{remedy}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; ``--debug`` lets errors through with their traceback."""
        _spell_out()
        if ctx.params.get("debug"):
            with _terminable():
                return super().invoke(ctx)
        try:
            with _short_warnings(), _terminable():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            say("Interrupted.")
            ctx.exit(INTERRUPTED)
        except (KermesError, OSError) as error:
            say(f"Error: {_message(error)}")
            mendable = isinstance(error, MENDABLE) or (isinstance(error, KermesError) and isinstance(error, ValueError))
            ctx.exit(BAD_INPUT if mendable else FAILURE)
        except Exception as error:
            say(f"Error: {type(error).__name__}: {_message(error)}\nThe traceback: kermes --debug COMMAND ...")
            ctx.exit(FAILURE)


def _message(error: BaseException) -> str:
    """Return the message on one line; of errors of the operating system with the name of the file."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return printable(f"{error.filename}: {error.strerror}")
    return printable(" ".join(str(error).split()))


def _spell_out() -> None:
    """Let streams that lack characters (plain ASCII, older Windows consoles) print others for them: R2, +-."""

    def plain(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        letters = unicodedata.normalize("NFKD", error.object[error.start : error.end].replace("±", "+-"))
        return letters.encode("ascii", "replace").decode(), error.end

    codecs.register_error("kermes", plain)
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        escapes = stream.errors == "surrogateescape" and codecs.lookup(stream.encoding).name == "ascii"  # LANG=C
        if escapes or stream.errors in ("strict", "backslashreplace"):
            stream.reconfigure(errors="kermes")


class _Interrupt(KeyboardInterrupt):
    """An interrupt that says when it is dropped."""

    def __init__(self, dropped: Callable[[Any], None]) -> None:
        super().__init__()
        self._watch = weakref.finalize(self, dropped, None)
        self._watch.atexit = False


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that nothing unfinished stays in any folder.

    What is ignored stays so. An interrupt that somebody drops (compiled code, such as pyarrow's while it looks for
    pandas) is sent again, a little later. Threads end after the pairs at hand; a second signal after a second or more
    does not wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    show, running, first = sys.unraisablehook, [True], list[float]()

    def interrupt(*_: Any) -> None:
        first.append(time.monotonic())
        if first[-1] - first[0] > 1.0:
            leave()
        raise _Interrupt(send_again)

    def send_again(_: Any) -> None:
        if running:  # otherwise it has ended the command
            first.clear()
            again = threading.Timer(0.05, _thread.interrupt_main)
            again.daemon = True
            again.start()

    def keep_quiet(event: Any) -> None:
        if not issubclass(event.exc_type, _Interrupt):
            show(event)

    try:
        for number in heard:
            signal.signal(number, interrupt)
        sys.unraisablehook = keep_quiet
        yield
    finally:
        running.clear()
        sys.unraisablehook = show
        for number, handler in heard.items():
            signal.signal(number, handler)


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Print each warning once, as one line without the place in the code."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        string, python, _rest = " ".join(str(message).split()).partition(" pairwise(")  # the rest is about Python
        if python:
            string += " Give a greater tol or max_iter after the name, where kermes list has them."
        if string not in said:
            said.add(string)
            say(f"Warning: {string}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@click.group(
    "kermes",
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 bad usage or input, 130 interrupted.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="kermes", prog_name="kermes")
def main(debug: bool) -> None:
    """Distances and kernels between measures: images, histograms, point clouds."""


for command in (
    *(demo, list_names, diagnose, compare, fit, predict),
    *(test_groups, cluster, mean, explain, distances, gram, convert, reproduce, warmup, completion),
):
    main.add_command(command)
