"""What goes wrong is said in a line or two, with an exit code that means something."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kermes.cli import _main, main
from kermes.exceptions import InvalidMeasureError, KermesError, MissingDependencyError, NumericalError

TABLE = ["--by", "patient", "--columns", "cd4,cd8"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["distances", "celss.csv", "-o", "d.npy"], r"there is no file 'celss.csv'. Did you mean 'cells.csv'?"),
        (["distances", "cells.csv", "-o", "d.npy"], "`by` (--by) must name the column"),
        (["distances", "cells.csv", "--by", "patent", "-o", "d.npy"], "Did you mean 'patient'?"),
        (["distances", "cells.csv", *TABLE, "-o", "d.mat"], "must end in .npy, .npz, .csv, .zarr"),
        (["distances", "cells.csv", *TABLE, "-o", "no/d.npy"], "there is no folder 'no'"),
        (["distances", "cells.csv", *TABLE, "-o", "new.csv"], "'new.csv' exists; use --force to replace it."),
        (["distances", "cells.csv", *TABLE, "-o", "d.npy", "--resume"], "(--resume) goes on with a .zarr"),
        (["distances", "digits.npz", "--by", "x", "-o", "d.npy"], "`by` (--by) has no meaning here"),
        (["distances", "cells.csv", *TABLE, "--binary", "-o", "d.npy"], "`binary` (--binary) has no meaning here"),
        (["distances", "cells.csv", *TABLE, "-d", "sinkhron", "-o", "d.npy"], "Did you mean 'sinkhorn'?"),
        (["distances", "cells.csv", *TABLE, "-d", "sinkhorn", "-o", "d.npy"], "needs the parameter epsilon"),
        (["fit", "cells.csv", *TABLE, "-o", "m"], "--label COLUMN"),
        (["fit", "cells.csv", *TABLE, "--label", "cd4", "-o", "m"], "has two values in the column 'cd4'"),
        (
            ["fit", "cells.csv", *TABLE, "--label", "sick", "--task", "regression", "-o", "m"],
            "use task='classification'",
        ),
        (
            ["fit", "cells.csv", *TABLE, "--label", "age", "--task", "classification", "-o", "m"],
            "use task='regression'",
        ),
        (["predict", "cells.csv", "new.csv"], "is not a model file"),
        (["cluster", "cells.csv", *TABLE, "-n", "99"], "n_clusters"),
        (["cluster", "cells.csv", *TABLE, "--linkage", "sngle"], "Did you mean 'single'?"),
        (["test", "cells.csv", *TABLE], "`label` (--label) must name the groups"),
        (
            ["test", "cells.csv", *TABLE, "--label", "sick", "--blocks", "age"],
            "the blocks leave no permutation: sick is",
        ),
        (["test", "cells.csv", *TABLE, "--label", "sick", "--trend"], "`values` must hold a number for each measure"),
        (["test", "cells.csv", *TABLE, "--label", "sick", "--trend", "--pairwise"], "--trend has no groups"),
        (["test", "cells.csv", *TABLE, "--label", "sick", "--blocks", "sit"], "'sit'"),
        (["test", "cells.csv", *TABLE, "--label", "age"], "If it is a number (age, dose): kermes test --trend"),
        (["explain", "cells.csv", *TABLE, "--label", "patient"], "group p0 of 'patient' has one"),
        (["fit", "cells.csv", *TABLE, "--labels", "sick", "-o", "m"], "--label (label) the name of a column"),
        (["fit", "cells.csv", *TABLE, "--group", "age", "-o", "m"], "There is no option --group. --label names"),
        (["fit", "cells.csv", *TABLE, "--lable", "sick", "-o", "m"], "no option --lable. Did you mean '--label'?"),
        (["diagnose", "cells.csv", "--columns", "cd4", "cd8"], "argument (cd8). Commas without spaces divide"),
        (["diagnose", "cells.csv", "more.csv"], "extra argument (more.csv)\n"),
        (["cluster", "cells.csv", "--frobnicate"], "There is no option --frobnicate.\n"),
        (["predict", "no.kermes", "new.csv"], "there is no file 'no.kermes'"),
        (["test", ".", "--by", "patient"], "`by` (--by) has no meaning here"),
        (["convert", "cells.csv", *TABLE, "-o", "x.mat"], "must end in .npz, .csv, .parquet"),
        (["list", "mdm"], "Did you mean 'mmd'?"),
        (["diagnose", "digits.npz", "--spacing", "wide"], "neither 'pixel', 'unit' nor a number"),
        (["fti"], "Did you mean 'fit'?"),
    ],
)
def test_bad_input_is_explained_and_leaves_nothing(run, folder, arguments, message):
    before = sorted(os.listdir(folder))
    result = run(*arguments, code=2)
    assert message in result.err
    assert len([line for line in result.err.splitlines() if line and not line.startswith(("Usage", "Try"))]) <= 2
    assert result.out == "" or arguments[0] == "fit"  # it says what it read before it searches
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InvalidMeasureError("measure 3 is empty"), 2, "Error: measure 3 is empty\n"),
        (NumericalError("no finite value"), 1, "Error: no finite value\n"),
        (MissingDependencyError("pip install it"), 1, "Error: pip install it\n"),
        (KermesError("two\nlines"), 1, "Error: two lines\n"),
        (PermissionError(13, "Permission denied", "x.npy"), 2, "Error: x.npy: Permission denied\n"),
        (OSError(28, "No space left on device", "x.npy"), 1, "Error: x.npy: No space left on device\n"),
        (ZeroDivisionError("oh"), 1, "Error: ZeroDivisionError: oh\nThe traceback: kermes --debug COMMAND ...\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
)
def test_exit_codes(monkeypatch, error, code, text):
    @click.command()
    def fail():
        raise error

    monkeypatch.setitem(main.commands, "fail", fail)
    result = CliRunner().invoke(main, ["fail"])
    assert (result.exit_code, result.stderr) == (code, text)
    if isinstance(error, Exception):
        assert CliRunner().invoke(main, ["--debug", "fail"]).exception is error


def test_warnings_are_one_line(monkeypatch):
    @click.command()
    def warn():
        warnings.warn("something\nodd", UserWarning, stacklevel=2)

    monkeypatch.setitem(main.commands, "warn", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = CliRunner().invoke(main, ["warn"])
    assert (result.exit_code, result.stderr) == (0, "Warning: something odd\n")


def test_forced_output_replaces_the_old_file(run, folder):
    run("distances", "cells.csv", *TABLE, "-o", "d.npy")
    old = (folder / "d.npy").read_bytes()
    run("distances", "cells.csv", *TABLE, "-d", "euclidean", "-o", "d.npy", code=2)
    assert (folder / "d.npy").read_bytes() == old
    run("distances", "cells.csv", *TABLE, "-d", "euclidean", "-o", "d.npy", "--force")
    assert (folder / "d.npy").read_bytes() != old


SLOW = """
import os, sys, time
import numpy as np
from kermes import divergences
from kermes.cli import _main, main

def tile(self, A, B, rows, cols, triangle):
    os.write(1, b"computing\\n")  # at once: two threads say it
    time.sleep(2)
    return divergences.Tile(np.zeros((len(rows), len(cols))))

divergences.SlicedWasserstein.route = lambda self, X, Y: self
divergences.SlicedWasserstein.prepare = lambda self, X: None
divergences.SlicedWasserstein.tile = tile
main(["distances", "cells.csv", "--by", "patient", "--columns", "cd4", "-o", "d.npy"])
"""


def test_ctrl_c_ends_a_program_cleanly(folder):
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + SLOW
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "computing\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err == "Interrupted.\n"
    assert not (folder / "d.npy").exists()


def test_a_second_ctrl_c_does_not_wait_for_the_pairs_at_hand(folder):
    code = SLOW.replace("time.sleep(2)", "time.sleep(60)").replace("import _main, main", "import start")
    code = code.replace("main([", "divergences.SlicedWasserstein.work = lambda *_: 1e12\nsys.argv = (['kermes', ")
    code = code.replace("])\n", "])\nstart()\n")
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"computing\n"
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=1.2)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
        assert set(process.stderr) == {b"Interrupted.\n"}


LOADING = """
import os, signal, sys
from kermes.cli import start

class Finder:
    def find_spec(self, name, *_):
        if name == "numpy":
            os.kill(os.getpid(), signal.%s)

assert "numpy" not in sys.modules
signal.signal(signal.SIGINT, signal.%s)
sys.meta_path.insert(0, Finder())
sys.argv = ["kermes", "--version"]
start()
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_are_heard_while_modules_are_loaded(name):
    code = LOADING % (name, "default_int_handler")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr, result.stdout) == (130, "Interrupted.\n", "")


def test_a_signal_that_is_ignored_stays_so():
    code = LOADING % ("SIGINT", "SIG_IGN")  # as in the background of a script
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert "kermes" in result.stdout


class Dropping:
    """A destructor that drops an interrupt, and Python says so."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def drop():
    """As compiled code does without a word."""
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("dropping", [Dropping, drop])
def test_an_interrupt_that_somebody_drops_is_sent_again(dropping, monkeypatch):
    def work():
        dropping()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(0.01)

    monkeypatch.setitem(main.commands, "work", click.command("work")(work))
    result = CliRunner().invoke(main, ["work"])
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # the second is that of LANG=C
def test_streams_without_the_characters_print_others(errors, monkeypatch):
    """In one process: a stream of ASCII is what PYTHONIOENCODING=ascii and some consoles give."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=errors)
    monkeypatch.setattr(sys, "stdout", out)
    _main._spell_out()
    print("R² 0.9 ± 0.1 ─", file=out, flush=True)
    assert out.buffer.getvalue() == b"R2 0.9 +- 0.1 ?\n"


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m kermes list --json | head -1"
    out = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert out.stdout == "[\n"
    assert "Traceback" not in out.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    ("redirected", "message"),
    [
        ("list >&-", "Error: the standard output is closed; redirect it to a file, or to /dev/null.\n"),
        ("--help > /dev/full", "Error: No space left on device\n"),
        ("diagnose - --by p <&-", "Error: '-' stands for the standard input, which is closed.\n"),
        ("list 2>&- >&-", ""),
    ],
)
def test_closed_and_full_streams(redirected, message):
    result = subprocess.run(f"{sys.executable} -m kermes {redirected}", shell=True, capture_output=True, text=True)
    assert (result.returncode, result.stderr, result.stdout) == (2 if "'-'" in message else 1, message, "")


@pytest.mark.parametrize(
    ("command", "path", "package"),
    [("explain", "p.png", "matplotlib"), ("distances", "d.zarr", "zarr"), ("cluster", "c.parquet", "pyarrow")],
)
def test_packages_that_write_are_asked_for_before_the_work(command, path, package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    result = CliRunner().invoke(main, [command, "nothing-is-read.csv", "-o", str(tmp_path / path)])
    assert result.exit_code == 1
    assert f"needs the package {package}, which is not installed. Install it with: pip install" in result.stderr
