"""Every example in a docstring and in the README runs and prints what it says."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kermes

MODULES = sorted(m.name for m in pkgutil.walk_packages(kermes.__path__, "kermes."))
README = Path(__file__).parents[1] / "README.md"
GUIDE = README.parent / "docs" / "guide.md"
EXTENDING = README.parent / "docs" / "extending.md"


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name.startswith("kermes.plot."):
        pytest.importorskip("matplotlib")
    if name == "kermes.engine._stored":
        pytest.importorskip("zarr")
    with np.printoptions(legacy=False):
        assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_readme_example(capsys):
    """The first Python block of the README prints the text block that follows it."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    position, code = next((i, body) for i, (language, body) in enumerate(blocks) if language == "python")
    exec(compile(code, str(README), "exec"), {})
    assert blocks[position + 1][0] == "text"
    assert capsys.readouterr().out.strip() == blocks[position + 1][1].strip()


def test_extending_examples(capsys):
    """Every Python block of the page runs, prints the text block that follows it, and keeps its promises."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", EXTENDING.read_text(), flags=re.DOTALL)
    names = {"__name__": "extending"}
    for i, (language, body) in enumerate(blocks):
        if language == "python":
            exec(compile(body, str(EXTENDING), "exec"), names)
            follows = blocks[i + 1] if i + 1 < len(blocks) else ("", "")
            assert capsys.readouterr().out.strip() == (follows[1].strip() if follows[0] == "text" else "")
    X = kermes.Measures.from_samples(np.random.default_rng(0).normal(size=(15, 4, 2)) * np.arange(1, 16)[:, None, None])
    gaps = kermes.pairwise(X, divergence=names["MeanDistance"](), squared=True)
    assert_allclose(gaps[0, 1], ((X[0].points.mean(axis=0) - X[1].points.mean(axis=0)) ** 2).sum())
    h, (x, y) = names["LogMeanDistance"](), (X[0].points, X[1].points)
    uniform = np.full(4, 0.25)
    assert_allclose(h.of_mean(x, uniform, y, uniform), h.value(np.vstack([x, y]), np.full(8, 0.125)))
    for t in (0.1, 1.0, 7.3):
        kernel = kermes.kernels.Semigroup(names["JensenDifference"](h), t=t)
        assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12


def test_gaussian_process_section_of_the_guide(capsys):
    """Each Python block of the section prints the text block that follows it."""
    section = GUIDE.read_text().split("## Gaussian processes on measures")[1].split("\n## ")[0]
    names = {}
    for code, expected in re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", section, flags=re.DOTALL):
        exec(compile(code, str(GUIDE), "exec"), names)
        assert capsys.readouterr().out.strip() == expected.strip()
    assert names["surer"].any()


def test_scale_example(capsys, tmp_path, monkeypatch):
    """The first Python block of the page on large collections prints the text block that follows it."""
    pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    text = (GUIDE.parent / "scale.md").read_text()
    code, expected = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, flags=re.DOTALL)[0]
    exec(compile(code, "scale.md", "exec"), {})
    assert capsys.readouterr().out.strip() == expected.strip()
