from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from kermes.cli import main
from kermes.exceptions import KermesError


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_demo_prints_the_leaderboard():
    result = run("demo", "--images", "60", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert "Measures(60 measures" in result.output
    assert "rank  candidate" in result.output
    assert "±" in result.output
    assert "failed" not in result.output
    assert "of 200 new digits right" in result.output


def test_help_and_version():
    assert "demo" in run("--help").output
    assert "Example: kermes demo" in run("demo", "-h").output
    assert run("--version").output.startswith("kermes, version 0.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmo"], "No such command 'dmo'"),
        (["demo", "--image", "200"], "--images"),
        (["demo", "-n", "5"], "5 is not in the range"),
    ],
)
def test_typos_are_explained_in_one_line(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_errors_are_one_line_unless_debugging(monkeypatch):
    @click.command()
    def fail():
        raise KermesError("it broke; mend it")

    monkeypatch.setitem(main.commands, "fail", fail)
    quiet = run("fail")
    assert (quiet.exit_code, quiet.output) == (1, "Error: it broke; mend it\n")
    assert isinstance(run("--debug", "fail").exception, KermesError)


def test_reproduce_names_the_papers_and_their_data():
    assert "wek" in run("reproduce", "--help").output
    wrong = run("reproduce", "wek", "--only", "mnits")
    assert wrong.exit_code == 2
    assert "'mnits' is not one of mnist, quickdraw, usps" in wrong.output


def test_reproduce_prints_every_table_and_deviation(monkeypatch, tmp_path):
    asked = {}

    def fake_reproduce(size, folder, pieces, say):
        asked.update(size=size, folder=folder, pieces=pieces)
        say("working")
        return {}

    paper = SimpleNamespace(
        pieces={"table1": None, "figure2": None},
        optional={},
        reproduce=fake_reproduce,
        tables=lambda size, summary: [("First", ["kernel", "40"], [["k-B", "8.7"]]), ("Second", ["x"], [["0.382"]])],
        deviations=lambda size, summary: ["k-B: 8.7 % against 19.1 %"],
    )
    monkeypatch.setattr("kermes.cli._about.get_paper", lambda key: paper)
    result = run("reproduce", "skm", "--full", "-o", str(tmp_path), "--only", "table1")
    assert result.exit_code == 0, result.output
    assert asked == {"size": "full", "folder": tmp_path, "pieces": ("table1",)}
    shown = ["working", "Semigroup kernels on measures", "First", "k-B", "Second", "0.382", "k-B: 8.7 % against 19.1 %"]
    positions = [result.output.index(text) for text in shown]
    assert positions == sorted(positions)
    run("reproduce", "skm", "-o", str(tmp_path))
    assert asked["size"] == "quick"
    assert asked["pieces"] == tuple(paper.pieces)
