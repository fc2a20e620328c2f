"""What commands print in a narrow terminal."""

import re
import sys

from kermes.cli import _output


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
