"""The help: it fits, and its examples run."""

import os
import shlex
import subprocess
import sys

import pytest

from kermes.cli import main
from kermes.cli._options import Command

COMMANDS = {name: command for name, command in main.commands.items() if isinstance(command, Command)}
#: Files that examples take for granted, and the examples that make them.
MAKERS = {
    "model.kermes": "fit cells.csv --by patient --columns cd4,cd8 --label sick -o model.kermes",
    "age.kermes": "fit cells.csv --by patient --columns cd4,cd8 --label age --learner gp -o age.kermes",
}


def test_the_help_fits_on_a_screen(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("--help").out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert "Exit codes: 0 done, 1 failed, 2 bad usage or input, 130 interrupted." in lines[-1]
    assert [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in main.commands] == list(
        main.commands
    )


@pytest.mark.parametrize("name", main.commands)
def test_every_command_has_help_with_an_example(run, name):
    text = run(name, "--help").out
    assert f"kermes {name}" in text.split("Example")[1]


EXAMPLES = [(name, example) for name, command in COMMANDS.items() for example in command.examples]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example[7:47] for _, example in EXAMPLES])
def test_every_example_runs(run, folder, name, example):
    assert example.startswith(f"kermes {name}")
    for needed, maker in MAKERS.items():
        if needed in example.split() and "-o " + needed not in example:
            run(*shlex.split(maker))
    before = set(os.listdir(folder))
    run(*shlex.split(example)[1:])
    written = [
        word for flag, word in zip(example.split(), example.split()[1:], strict=False) if flag in ("-o", "--html")
    ]
    assert set(os.listdir(folder)) - before == set(written)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(run, shell):
    script = run("completion", shell).out
    assert "_KERMES_COMPLETE" in script
    assert "kermes" in script


def test_commands_options_and_names_are_completed():
    def complete(words):
        environment = os.environ | {"_KERMES_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": "9"}
        environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        code = "from kermes.cli import main; main(prog_name='kermes')"
        out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return out.stdout.splitlines()

    assert "diagnose" in complete("kermes di")
    assert "--divergence" in complete("kermes distances --div")
    assert "sinkhorn" in complete("kermes distances --divergence si")
