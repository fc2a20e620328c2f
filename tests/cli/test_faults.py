"""Nothing is lost: what cannot be written is known before the work, and old results stay until there are new ones."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import kermes
from kermes import _persistence
from kermes.cli import _reading
from kermes.engine import StoredDistances

TABLE = ["--by", "patient", "--columns", "cd4,cd8"]
#: A folder that nobody can write to, whoever runs the tests.
CLOSED = "/proc/self"


@pytest.fixture
def idle(monkeypatch):
    """No pair may be computed, and no data read."""
    from kermes import files

    monkeypatch.setattr(files, "read", lambda *_, **__: pytest.fail("the data were read"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["distances", "cells.csv", "-o", "{}/d.npy"],
        ["distances", "cells.csv", "-o", "{}/d.zarr"],
        ["distances", "cells.csv", "-f", "-o", "{}/d.csv"],
        ["gram", "cells.csv", "-o", "{}/k.npz"],
        ["gram", "cells.csv", "-o", "{}/k.zarr"],
        ["fit", "cells.csv", "--label", "sick", "-o", "{}/m.kermes"],
        ["compare", "cells.csv", "--label", "sick", "-o", "{}/m.kermes"],
        ["compare", "cells.csv", "--label", "sick", "--html", "{}/r.html"],
        ["cluster", "cells.csv", "-o", "{}/c.csv"],
        ["predict", "m.kermes", "cells.csv", "-o", "{}/p.csv"],
        ["convert", "cells.csv", "-o", "{}/c.npz"],
    ],
    ids=lambda arguments: f"{arguments[0]}-{arguments[-1][3:]}",
)
@pytest.mark.parametrize("where", [CLOSED, "cells.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(run, idle, arguments, where):
    result = run(*[argument.format(where) for argument in arguments], *TABLE, code=2)
    assert where in result.err


def test_the_report_of_the_demo_is_tried_before_the_work(run, monkeypatch):
    monkeypatch.setattr(kermes, "compare", lambda *_, **__: pytest.fail("kernels were compared"))
    assert CLOSED in run("demo", "--html", f"{CLOSED}/r.html", code=2).err


@pytest.mark.parametrize("command", ["distances", "gram"])
def test_a_folder_in_the_way_is_refused_before_the_work(run, folder, idle, command):
    (folder / "d.npy").mkdir()
    assert "Is a folder" in run(command, "cells.csv", *TABLE, "-f", "-o", "d.npy", code=2).err


# -- stores ---------------------------------------------------------------------------------------


def test_a_run_that_is_refused_leaves_the_old_store(run, folder):
    run("distances", "cells.csv", *TABLE, "-o", "d.zarr")
    old = StoredDistances("d.zarr")[:]
    before = sorted(os.listdir(folder))
    for data, divergence in (("cells.csv", "jensen-shannon"), ("gone.csv", "sliced")):
        run("distances", data, *TABLE, "-d", divergence, "-f", "-o", "d.zarr", code=2)
        np.testing.assert_array_equal(StoredDistances("d.zarr")[:], old)
        assert sorted(os.listdir(folder)) == before
    run("distances", "cells.csv", *TABLE, "-d", "gaussian-wasserstein", "-f", "-o", "d.zarr")
    assert (StoredDistances("d.zarr")[:] != old).any()
    assert sorted(os.listdir(folder)) == before


def test_an_interrupted_run_leaves_the_old_store_and_its_own(run, folder, monkeypatch):
    from kermes.engine import _crew

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_crew.Crew, "run", interrupt)
        result = run("distances", "cells.csv", *TABLE, "-o", "d.zarr", code=130)
    assert "What was finished is in d.zarr: go on with -o d.zarr --resume" in result.err
    run("distances", "cells.csv", *TABLE, "-o", "d.zarr", "--resume")
    old = StoredDistances("d.zarr")[:]
    with monkeypatch.context() as patch:
        patch.setattr(_crew.Crew, "run", interrupt)
        result = run("distances", "cells.csv", *TABLE, "-d", "gaussian-wasserstein", "-f", "-o", "d.zarr", code=130)
    assert "go on with -o d.new.zarr --resume" in result.err
    np.testing.assert_array_equal(StoredDistances("d.zarr")[:], old)
    again = run("distances", "cells.csv", *TABLE, "-f", "-o", "d.zarr", code=2)  # it would be lost
    assert "'d.new.zarr' is in the way" in again.err
    run("distances", "cells.csv", *TABLE, "-d", "gaussian-wasserstein", "-o", "d.new.zarr", "--resume")
    assert (StoredDistances("d.new.zarr")[:] != old).any()


def test_an_interrupt_between_two_renames_brings_the_old_store_back(run, folder, monkeypatch):
    from pathlib import Path

    run("distances", "cells.csv", *TABLE, "-o", "d.zarr")
    old, rename = StoredDistances("d.zarr")[:], Path.rename

    def interrupted(self, target):
        if self.name == "d.new.zarr":
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        run("distances", "cells.csv", *TABLE, "-d", "gaussian-wasserstein", "-f", "-o", "d.zarr", code=130)
    np.testing.assert_array_equal(StoredDistances("d.zarr")[:], old)
    assert (StoredDistances("d.new.zarr")[:] != old).any()
    assert not list(folder.glob(".d.zarr*"))


@pytest.mark.parametrize("command", ["distances", "gram"])
def test_a_zarr_folder_of_others_is_never_removed(run, folder, idle, command):
    import zarr

    zarr.open_group("theirs.zarr", mode="w", attributes={"mine": 1}).create_array("a", data=np.arange(3))
    (folder / "notes.zarr").mkdir()
    (folder / "notes.zarr" / "letter.txt").write_text("dear")
    for name in ("theirs.zarr", "notes.zarr"):
        assert "it is left alone" in run(command, "cells.csv", *TABLE, "-f", "-o", name, code=2).err
    assert zarr.open_group("theirs.zarr")["a"][:].tolist() == [0, 1, 2]
    assert (folder / "notes.zarr" / "letter.txt").read_text() == "dear"


def test_a_gram_matrix_in_a_zarr_folder_is_replaced(run, folder):
    import zarr

    before = sorted(os.listdir(folder))
    run("gram", "cells.csv", *TABLE, "-o", "k.zarr")
    first = zarr.open_group("k.zarr")["gram"][:]
    run("gram", "cells.csv", *TABLE, "-o", "k.zarr", code=2)
    run("gram", "cells.csv", *TABLE, "-k", "mmd:sigma=1", "-f", "-o", "k.zarr")
    assert (zarr.open_group("k.zarr")["gram"][:] != first).any()
    assert sorted(os.listdir(folder)) == [*before[:2], "k.zarr", *before[2:]]


@pytest.mark.parametrize("command", ["distances", "gram"])
def test_colons_in_the_name_of_a_store(run, folder, command):
    run(command, "cells.csv", *TABLE, "-o", "a::b.zarr")
    assert (folder / "a::b.zarr" / "keys").is_dir()


def test_upper_case_endings_of_results(run, folder):
    run("distances", "cells.csv", *TABLE, "-o", "D.NPZ")
    assert np.load("D.NPZ")["distances"].shape == (24, 24)
    run("distances", "cells.csv", *TABLE, "-o", "D.CSV")
    assert (folder / "D.CSV").read_text().startswith("patient,")
    run("distances", "cells.csv", *TABLE, "-o", "D.ZARR")
    assert (folder / "D.ZARR" / "keys").is_dir()
    assert StoredDistances("D.ZARR").shape == (24, 24)
    run("cluster", "cells.csv", *TABLE, "-o", "C.PARQUET")
    assert (folder / "C.PARQUET").read_bytes()[:4] == b"PAR1"


# -- reports --------------------------------------------------------------------------------------


def test_a_report_that_fails_does_not_take_the_model_along(run, folder, monkeypatch):
    from kermes.comparison import Comparison

    def fail(*_, **__):
        raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(Comparison, "report", fail)
    options = ["--label", "sick", "-k", "sliced:n_slices=5", "--cv", "2"]
    run("compare", "cells.csv", *TABLE, *options, "--html", "r", "-o", "m", code=1)
    assert kermes.load("m").predict


def test_model_and_report_are_two_files(run, idle):
    arguments = ["compare", "cells.csv", *TABLE, "--label", "sick", "--html", "r", "-o", "./r"]
    assert "--html and -o name one file" in run(*arguments, code=2).err


def test_names_that_are_no_text_reach_report_table_and_screen(run, folder):
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for k, name in enumerate((b"caf\xe9", b"tea")):
        (folder / "set" / os.fsdecode(name)).mkdir(parents=True)
        for i in range(6):
            image = rng.integers(0, 9, (5, 5)).astype(np.uint8) * (np.arange(5) // 3 == k).astype(np.uint8)
            Image.fromarray(image).save(folder / "set" / os.fsdecode(name) / f"{i}.png")
    run("compare", "set", "-k", "sliced:n_slices=5", "--cv", "2", "--html", "r.html", "-o", "m")
    assert rb"caf\udce9" in (folder / "r.html").read_bytes()
    run("predict", "m", "set", "-o", "p.csv")
    assert b"\ncaf\xe9/0.png,caf\xe9\n" in (folder / "p.csv").read_bytes()
    assert "caf\\udce9" in run("cluster", "set", "--json").out


@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_keys_do_not_command_the_terminal(run, folder, json_):
    (folder / "evil.csv").write_text("g,x\n\x1b]0;owned\x07a,1\n\x1b[2Jb,2\n\x9b31mc,4\n", encoding="utf-8")
    result = run("cluster", "evil.csv", "--by", "g", "-n", "3", *json_)
    assert "\x1b" not in result.out + result.err
    assert "\x9b" not in result.out + result.err
    assert "u001b]0;owned" in result.out
    (folder / "bad.csv").write_text("g,x\n\x1b[2Ja,1\n\x1b[2Ja,\n", encoding="utf-8")
    assert r"\u001b[2Ja" in run("cluster", "bad.csv", "--by", "g", code=2).err


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fit", "compare", "cluster", "diagnose", "demo"])
def test_a_huge_seed_is_refused(run, command):
    arguments = [] if command == "demo" else ["cells.csv"]
    output = ["-o", "m"] if command == "fit" else []
    assert "4294967296" in run(command, *arguments, *output, "--seed", str(2**32), code=2).err


def test_a_bad_scheduler_is_explained(run):
    pytest.importorskip("distributed")
    result = run("distances", "cells.csv", *TABLE, "--scheduler", "nonsense://x", "-o", "d.npy", code=2)
    assert "`scheduler` (--scheduler) must be an address such as tcp://host:8786; got 'nonsense://x'" in result.err


@pytest.mark.parametrize("command", ["distances", "gram", "convert", "cluster"])
def test_a_string_among_numbers_is_an_error(run, folder, command):
    (folder / "typo.csv").write_text("g,x,y\na,1,2\na,2,1.2O\nb,3,4\n")
    output = {"distances": ["-o", "d.npy"], "gram": ["-o", "k.npy"], "convert": ["-o", "x.npz"]}.get(command, [])
    result = run(command, "typo.csv", "--by", "g", *output, code=2)
    assert "'typo.csv': the column 'y' has the string '1.2O' among its numbers in row 1 (counting from 0)" in result.err
    assert "--columns x" in result.err


def test_keys_keep_their_column(run, folder):
    run("fit", "cells.csv", *TABLE, "--label", "sick", "-k", "sliced:n_slices=5,length_scale=1", "-o", "m")
    (folder / "p.csv").write_text((folder / "new.csv").read_text().replace("patient", "prediction"))
    (folder / "c.csv").write_text((folder / "new.csv").read_text().replace("patient", "cluster"))
    assert "`by` (--by) is 'prediction'" in run("predict", "m", "p.csv", "--by", "prediction", code=2).err
    assert "`by` (--by) is 'cluster'" in run("cluster", "c.csv", "--by", "cluster", code=2).err


# -- models of others -----------------------------------------------------------------------------


@pytest.fixture
def fitted(run):
    run("fit", "cells.csv", *TABLE, "--label", "sick", "-k", "sliced:n_slices=5,length_scale=1", "-o", "m")
    return _persistence.read("m")


@pytest.mark.parametrize(
    "reading",
    [
        {"labels": "/dev/zero"},
        {"label": "sick"},
        {"columns": "cd4"},
        {"columns": []},
        {"columns": [1, 2]},
        {"by": ["patient"]},
        {"atoms": 0},
        {"atoms": True},
        {"drop_missing": "no"},
        {"scale": ["1", "2"]},
        {"white": "255"},
        {"path": "elsewhere"},
        [],
        7,
    ],
    ids=str,
)
def test_notes_of_a_model_are_checked(run, fitted, reading):
    _persistence.write(fitted.model, "n", fitted.notes | {"reading": reading})
    assert "Error: the model file is damaged" in run("predict", "n", "new.csv", code=2).err


def test_notes_of_the_first_edition_may_scale_what_is_there_only(run, fitted):
    _persistence.write(
        fitted.model, "n", fitted.notes | {"reading": fitted.notes["reading"] | {"scale": [1.0, 2.0, 3.0]}}
    )
    assert "scales 3 coordinates" in run("predict", "n", "new.csv", code=2).err
    _persistence.write(fitted.model, "n", fitted.notes | {"kind": ["table"]})
    run("predict", "n", "new.csv")


def test_everything_that_reading_knows_is_noted_or_not_on_purpose():
    fields = set(_reading.Reading.__dataclass_fields__)
    of_the_file = {"separator", "decimal", "encoding", "samples"}  # which another file of the same data need not share
    assert fields - set(_reading.NOTES) == {"path", "label", "labels", "standardize"} | of_the_file


TERMINATED = """
import signal, time, click
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the process of the tests ignores or blocks
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
from kermes import Measures, divergences, precompute
from kermes._atomic import whole
from kermes.cli import main

@main.command("wait")
def wait():
    precompute(Measures.from_samples([[0.0], [1.0]]), divergences.Wasserstein())
    with whole("out.txt") as file:
        file.write_text("half")
        print("ready", flush=True)
        time.sleep(40)

main(["wait"])
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_an_ended_command_leaves_nothing_behind(name, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", TERMINATED],
        cwd=tmp_path / "here",
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "ready\n"
        kept = [str(file.name) for file in (tmp_path / "temporary").glob("kermes-*")]
        assert len(kept) == 1
        child.send_signal(getattr(signal, name))
        _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, "Interrupted.\n")
    assert not [*(tmp_path / "here").iterdir(), *(tmp_path / "temporary").iterdir()]
