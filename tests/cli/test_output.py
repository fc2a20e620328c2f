"""What commands print in a narrow terminal."""

import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kermes import Measures, files
from kermes.cli import _output
from kermes.exceptions import InvalidParameterError


def narrow(monkeypatch):
    """Let the streams be a terminal of 60 columns; called in a test, since capsys changes the streams before it."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def test_sentences_are_broken_between_words(monkeypatch, capsys):
    narrow(monkeypatch)
    sentence = (
        "the groups differ (p = 0.0338; they explain 13% of the squared distances), and /a/very/long/path/" + 50 * "x"
    )
    _output.show(f"  {sentence}")
    _output.say(sentence)
    for said in capsys.readouterr():
        assert " ".join(said.split()) == sentence
        assert all(len(line) <= 60 or line.split() == [line.strip()] for line in said.splitlines())


def test_sentences_are_one_line_in_files(capsys):
    _output.show("word " * 40)
    assert capsys.readouterr().out == "word " * 40 + "\n"


def test_tables_keep_their_words_whole(monkeypatch, capsys):
    narrow(monkeypatch)
    rows = [("gaussian-wasserstein", "ground=linear, cost=sqeuclidean, value=transport", "yes / ?", "2 / no at 2")] * 2
    _output.print_table("Divergences", ("divergence", "parameters", "metric", "definite up to"), rows, right=9)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 60
    words = {word for line in lines for word in line.split()}
    assert {"up", "to", "2", "no"} <= words
    assert {"gaussian-wasserstein", "ground=linear,", "cost=sqeuclidean,", "value=transport", "definite"} <= words


def test_a_table_of_too_long_words_breaks_them(monkeypatch, capsys):
    narrow(monkeypatch)
    _output.print_table("", ("a", "b"), [("x" * 70, "y" * 30)])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 60
    assert sum(line.count("x") for line in lines) == 70
    assert sum(line.count("y") for line in lines) == 30


# -- dates, and names with line ends ----------------------------------------------------------------

TIMES = [f"2024-04-{day:02d}T00:00:00.123456789" for day in range(1, 13)]


@pytest.fixture
def dated(folder):
    """Return the options to read a table whose names and labels are times in nanoseconds."""
    times = np.repeat(np.array(TIMES, dtype="datetime64[ns]"), 4)
    x = np.random.default_rng(0).normal(size=48) + 9 * np.repeat(np.arange(12) % 2, 4)
    table = {"when": times, "x": x, "arm": times[4 * np.repeat(np.arange(12) % 2, 4)]}
    parquet.write_table(pa.table(table), folder / "t.parquet")
    return ["t.parquet", "--by", "when", "--columns", "x"]


def first_column(path):
    return [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


def test_times_in_nanoseconds_are_dates_in_all_that_is_written(run, folder, dated):
    """They were integers: NumPy has no other plain form of them."""
    run("convert", *dated, "--label", "arm", "-o", "c.csv")
    assert first_column(folder / "c.csv")[::4] == TIMES
    assert {line.split(",")[3] for line in (folder / "c.csv").read_text().splitlines()[1:]} == set(TIMES[:2])
    run("distances", *dated, "-o", "d.csv")
    assert first_column(folder / "d.csv") == TIMES == (folder / "d.csv").read_text().splitlines()[0].split(",")[1:]
    assert list(run("cluster", *dated, "--json", "-o", "k.csv").json["labels"]) == TIMES
    assert first_column(folder / "k.csv") == TIMES
    run("fit", *dated, "--label", "arm", "-k", "sliced:length_scale=5", "-o", "m.kermes")
    run("predict", "m.kermes", "t.parquet", "-o", "p.csv")
    assert (folder / "p.csv").read_text().splitlines()[1:3] == [f"{TIMES[i]},{TIMES[i]}" for i in (0, 1)]
    assert run("predict", "m.kermes", "t.parquet", "--json").json[1] == {"when": TIMES[1], "prediction": TIMES[1]}


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_samples_are_found_by_dates_of_any_resolution(folder, unit):
    days = np.array(["2024-04-01", "2024-04-02"], dtype=f"datetime64[{unit}]")
    for name, values in [("t", {"x": [1.0, 2.0]}), ("s", {"arm": ["u", "v"]})]:
        parquet.write_table(pa.table({"when": days} | values), folder / f"{name}.parquet")
    data = files.read(folder / "t.parquet", by="when", columns=["x"], samples=folder / "s.parquet", label="arm")
    assert data.labels.tolist() == ["u", "v"]


def test_a_missing_date_is_an_empty_cell(capsys):
    _output.write_rows({"t": np.array(["2024-04-01", "NaT"], dtype="datetime64[ns]"), "n": [1, 2]}, None)
    assert capsys.readouterr().out == "t,n\n2024-04-01T00:00:00.000000000,1\n,2\n"


@pytest.mark.parametrize("names", [["a\rb", "c"], ["a\r", "a\r\n"]])
def test_names_with_a_carriage_return_come_back(tmp_path, names):
    """They were written without quotes, and the file could not be read."""
    data = files.Data(Measures.from_samples([[[1.0]], [[2.0]]]).with_keys(names), np.array(["u", "v"]), "id", ("x",))
    files.write(data, tmp_path / "t.csv")
    back = files.read(tmp_path / "t.csv", by="id", columns=["x"], weights="weight", label="label")
    assert back.keys.tolist() == names
    assert back.labels.tolist() == ["u", "v"]


def test_names_that_are_no_text_are_not_written_to_parquet(tmp_path):
    X = Measures.from_samples([[[1.0]], [[2.0]]]).with_keys(["caf\udce9", "tea"])
    with pytest.raises(InvalidParameterError, match=r"no text in UTF-8, which Parquet needs; write \.csv"):
        files.write(files.Data(X), tmp_path / "t.parquet")
