"""Pages with commands: every command, and every block of Python, runs and prints what the page says."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kermes.cli import main

DOCS = Path(__file__).parents[2] / "docs"
#: Times differ from run to run, and with them the width of their column; long decimals from machine to machine.
VARYING = re.compile(r"\d[\d.e-]* (s|ms|min)\b|^  seconds.*|[─ ]{2,}|\d+\.\d{4,}|\d[\d.]*e-\d+")


@pytest.mark.parametrize("page", ["command_line.md", "start/study.md"])
def test_every_command_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```(\w+)\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    for (language, body), following in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python":
            exec(compile(body, page, "exec"), names)
            assert masked(capsys.readouterr().out) == (masked(following[1]) if following[0] == "text" else [])
        if language == "console":
            for command, expected in re.findall(r"^\$ kermes (.*)\n((?:(?!\$ ).*\n)*)", body, flags=re.MULTILINE):
                result = CliRunner().invoke(main, shlex.split(command))
                assert masked(result.output) == masked(expected), command


def masked(text):
    """Return the lines without what varies."""
    return [VARYING.sub(" ", line).strip() for line in text.splitlines() if line.strip()]
