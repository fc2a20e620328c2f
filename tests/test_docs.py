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
from kermes.estimators._expected_failures import EXPECTED_FAILURES

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kermes.__path__, "kermes.")
    if ">>> " in Path(module.module_finder.find_spec(module.name).origin).read_text()
)
README = Path(__file__).parents[1] / "README.md"
GUIDE = README.parent / "docs" / "guide.md"
EXTENDING = README.parent / "docs" / "extending.md"


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name.startswith("kermes.plot."):
        pytest.importorskip("matplotlib.pyplot").close("all")  # what other examples left open
    if name == "kermes.engine._stored":
        pytest.importorskip("zarr")
    with np.printoptions(legacy=False):
        result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_page_on_trust_names_tests_that_exist():
    root = README.parent
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (root / "docs" / "trust.md").read_text())
    assert len(named) > 40
    missing = [f"{file}::{test}" for file, test in named if test and f"def {test}(" not in (root / file).read_text()]
    assert missing == []
    assert all((root / file).is_file() for file, _ in named)


def run_page(text, path, capsys):
    """Run every Python block; each prints the text block that follows it, or nothing. Return the names."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)
    names = {"__name__": path.stem}
    for i, (language, body) in enumerate(blocks):
        if language == "python":
            exec(compile(body, str(path), "exec"), names)
            follows = blocks[i + 1] if i + 1 < len(blocks) else ("", "")
            assert capsys.readouterr().out.strip() == (follows[1].strip() if follows[0] == "text" else "")
    return names


def test_readme_example(capsys):
    start, *_ = README.read_text().split("## I have ...")
    assert "X" in run_page(start, README, capsys)


def test_extending_examples(capsys):
    names = run_page(EXTENDING.read_text(), EXTENDING, capsys)
    X = kermes.Measures.from_samples(np.random.default_rng(0).normal(size=(15, 4, 2)) * np.arange(1, 16)[:, None, None])
    gaps = kermes.pairwise(X, divergence=names["MeanDistance"](), squared=True)
    assert_allclose(gaps[0, 1], ((X[0].points.mean(axis=0) - X[1].points.mean(axis=0)) ** 2).sum())
    h, (x, y) = names["LogMeanDistance"](), (X[0].points, X[1].points)
    uniform = np.full(4, 0.25)
    assert_allclose(h.of_mean(x, uniform, y, uniform), h.value(np.vstack([x, y]), np.full(8, 0.125)))
    for t in (0.1, 1.0, 7.3):
        kernel = kermes.kernels.Semigroup(names["JensenDifference"](h), t=t)
        assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12


def test_scikit_learn_section_of_the_guide(capsys):
    """The Python block prints the text block that follows it, and every expected failure is listed."""
    section = GUIDE.read_text().split("## In scikit-learn")[1].split("\n## ")[0]
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", section, flags=re.DOTALL)
    exec(compile(code, str(GUIDE), "exec"), {})
    assert capsys.readouterr().out.strip() == expected.strip()
    for (name, parameters), failures in EXPECTED_FAILURES.items():
        (reason,) = set(failures.values())
        checks = ", ".join(f"`{check}`" for check in failures)
        assert f"| `{name}({parameters})` | {checks} | {reason} |" in section


def test_gaussian_process_section_of_the_guide(capsys):
    section = GUIDE.read_text().split("## Gaussian processes on measures")[1].split("\n## ")[0]
    assert run_page(section, GUIDE, capsys)["surer"].any()


@pytest.mark.parametrize("page", ["conclusions.md", "covariates.md", "large_data.md", "means.md"])
def test_pages(page, capsys):
    assert len(run_page((GUIDE.parent / page).read_text(), GUIDE.parent / page, capsys)["X"]) > 0


@pytest.mark.parametrize("path", sorted((README.parent / "docs" / "start").glob("*s.md")), ids=lambda path: path.stem)
def test_start_pages(path, capsys):
    assert len(run_page(path.read_text(), path, capsys)["X"]) > 0


@pytest.mark.parametrize("path", sorted(README.parent.glob("*.md")), ids=lambda path: path.stem)
def test_links_of_pages_outside_the_documentation(path):
    """The build of the documentation checks its own links."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        assert "://" in target or (path.parent / target).exists(), f"{path.name} links to {target}"


def test_inspection_and_pictures_of_the_guide(capsys):
    """The numbers are printed as they stand there, and the pictures of the next section can be drawn from them."""
    numbers, pictures = (
        GUIDE.read_text().split(f"## {name}\n")[1].split("\n## ")[0] for name in ("Inspection", "Pictures")
    )
    names = run_page(numbers, GUIDE, capsys)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    (code,) = re.findall(r"```python\n(.*?)```", pictures, flags=re.DOTALL)
    exec(compile(code, str(GUIDE), "exec"), names)
    assert len(pyplot.get_fignums()) == 5
    pyplot.close("all")


def test_scale_example(capsys, tmp_path, monkeypatch):
    """The first Python block of the page on large collections prints the text block that follows it."""
    pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    text = (GUIDE.parent / "scale.md").read_text()
    code, expected = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, flags=re.DOTALL)[0]
    exec(compile(code, "scale.md", "exec"), {})
    assert capsys.readouterr().out.strip() == expected.strip()
