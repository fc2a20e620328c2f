"""Every example in a docstring and in the README runs and prints what it says."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import kermes

MODULES = sorted(m.name for m in pkgutil.walk_packages(kermes.__path__, "kermes."))
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    with np.printoptions(legacy=False):
        assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_readme_example(capsys):
    """The first Python block of the README prints the text block that follows it."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    position, code = next((i, body) for i, (language, body) in enumerate(blocks) if language == "python")
    exec(compile(code, str(README), "exec"), {})
    assert blocks[position + 1][0] == "text"
    assert capsys.readouterr().out.strip() == blocks[position + 1][1].strip()
