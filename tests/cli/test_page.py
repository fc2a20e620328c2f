"""The page on the command line: every command runs and prints what the page says."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from kermes.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
#: Times differ from run to run, and with them the width of their column; long decimals from machine to machine.
VARYING = re.compile(r"\d[\d.e-]* (s|ms|min)\b|^  seconds.*|[─ ]{2,}|\d+\.\d{4,}|\d[\d.]*e-\d+")


def test_every_command_prints_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for language, body in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        if language == "python":
            exec(compile(body, str(PAGE), "exec"), {})
        if language == "console":
            for command, expected in re.findall(r"^\$ kermes (.*)\n((?:(?!\$ ).*\n)*)", body, flags=re.MULTILINE):
                result = CliRunner().invoke(main, shlex.split(command))
                assert masked(result.output) == masked(expected), command


def masked(text):
    """Return the lines without what varies."""
    return [VARYING.sub(" ", line).strip() for line in text.splitlines() if line.strip()]
