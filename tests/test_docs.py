"""Every example in a docstring, in the README and in the pages runs and prints what it says."""

import doctest
import importlib
import json
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from click.testing import CliRunner
from numpy.testing import assert_allclose
from sklearn.utils.fixes import parse_version

import kermes
from kermes.cli import main
from kermes.estimators._expected_failures import EXPECTED_FAILURES

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kermes.__path__, "kermes.")
    if ">>> " in Path(module.module_finder.find_spec(module.name).origin).read_text()
)
ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if {"python", "console"} & {language for language, _ in BLOCK.findall(path.read_text())}
)
#: Blocks that are not run, by a text they hold, and why.
EXCEPTIONS = {
    ("docs/guide/scale.md", "from dask_jobqueue import"): "needs a batch system",
    ("docs/guide/scale.md", "from dask_kubernetes"): "needs a Kubernetes cluster",
    ("docs/index.md", "result = compare("): "half a minute; the same call as `kermes demo`, which is tested on less",
}
#: scikit-learn before 1.8 does not stratify shuffled folds of groups: it draws others, which have other scores.
OTHER_FOLDS = parse_version(sklearn.__version__) < parse_version("1.8")
#: Times differ from run to run, and with them the width of their column; long decimals from machine to machine; which
#: of the two options for help click names, from version to version.
VARYING = re.compile(
    r"\d[\d.e-]* (s|ms|min)\b|^  seconds.*|[─ ]{2,}|\d+\.\d{4,}|\d[\d.]*e-\d+|(-h|--help)(?=' for help)"
)


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


@pytest.mark.parametrize("page", PAGES)
def test_page(page, capsys, tmp_path, monkeypatch):
    """Run all blocks of a page: Python prints the text block that follows it, commands what stands below them."""
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")  # what other examples left open
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / page).read_text())
    names = {"__name__": page}
    for (language, body), following in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python" and not any(page == name and text in body for name, text in EXCEPTIONS):
            exec(compile(body, page, "exec"), names)
            assert capsys.readouterr().out.strip() == (following[1].strip() if following[0] == "text" else "")
        if language == "console":
            run_commands(body)
    CHECKS.get(page, lambda names: None)(names)


def run_commands(body):
    for command, expected in re.findall(r"^\$ kermes (.*)\n((?:(?!\$ ).*\n)*)", body, flags=re.MULTILINE):
        found, told = masked(CliRunner().invoke(main, shlex.split(command)).output), masked(expected)
        if OTHER_FOLDS and "--units" in command:
            found, told = found[:2], told[:2]  # not the scores
        assert found == told, command


def masked(text):
    """Return the lines without what varies."""
    return [VARYING.sub(" ", line).strip() for line in text.splitlines() if line.strip()]


def check_extending(names):
    X = kermes.Measures.from_samples(np.random.default_rng(0).normal(size=(15, 4, 2)) * np.arange(1, 16)[:, None, None])
    gaps = kermes.pairwise(X, divergence=names["MeanDistance"](), squared=True)
    assert_allclose(gaps[0, 1], ((X[0].points.mean(axis=0) - X[1].points.mean(axis=0)) ** 2).sum())
    h, (x, y) = names["LogMeanDistance"](), (X[0].points, X[1].points)
    uniform = np.full(4, 0.25)
    assert_allclose(h.of_mean(x, uniform, y, uniform), h.value(np.vstack([x, y]), np.full(8, 0.125)))
    for t in (0.1, 1.0, 7.3):
        kernel = kermes.kernels.Semigroup(names["JensenDifference"](h), t=t)
        assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12


def check_pictures(names):
    assert len(importlib.import_module("matplotlib.pyplot").get_fignums()) == 8


#: What is asked of the names that a page leaves, beyond what it prints.
CHECKS = {
    "docs/extending.md": check_extending,
    "docs/guide/pictures.md": check_pictures,
}
NEEDS = {
    "docs/guide/clustering.md": "matplotlib.pyplot",
    "docs/guide/pictures.md": "matplotlib.pyplot",
    "docs/guide/scale.md": "zarr",
    "docs/guide/files.md": "skops",
}


@pytest.mark.parametrize(("page", "text"), EXCEPTIONS)
def test_exceptions_are_needed(page, text):
    assert sum(text in body for language, body in BLOCK.findall((ROOT / page).read_text()) if language == "python") == 1


def test_expected_failures_are_listed():
    page = (ROOT / "docs" / "guide" / "scikit_learn.md").read_text()
    for (name, parameters), failures in EXPECTED_FAILURES.items():
        (reason,) = set(failures.values())
        checks = ", ".join(f"`{check}`" for check in failures)
        assert f"| `{name}({parameters})` | {checks} | {reason} |" in page


#: Rows of the README, by how their work begins, and of the recorded benchmarks.
SPEEDS = {
    "entropic W_1": "sinkhorn_euclidean",
    "entropic W_2": "sinkhorn_grid",
    "k-IGV": "igv_80",
    "kernel Wasserstein": "kernel_wasserstein",
    "W_2 of Gaussians": "gaussian_wasserstein",
}


def test_the_speeds_of_the_readme_are_those_recorded_last():
    """They are copied by hand."""
    recorded = {}
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        recorded |= json.loads(path.read_text())["rows"]
    printed = re.findall(r"^\| (.*?) \| .*? \| (\d+ x) \|$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    found = {row: ratio for begin, row in SPEEDS.items() for work, ratio in printed if work.startswith(begin)}
    assert len(found) == len(printed) == len(SPEEDS)
    assert found == {row: recorded[row]["figure"] for row in SPEEDS.values()}


def test_the_page_on_trust_names_tests_that_exist():
    page = (ROOT / "docs" / "guide" / "trust.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 40
    missing = [f"{file}::{test}" for file, test in named if test and f"def {test}(" not in (ROOT / file).read_text()]
    assert missing == []
    assert all((ROOT / file).is_file() for file, _ in named)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.stem)
def test_links_of_pages_outside_the_documentation(path):
    """The build of the documentation checks its own links."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        assert "://" in target or (path.parent / target).exists(), f"{path.name} links to {target}"
