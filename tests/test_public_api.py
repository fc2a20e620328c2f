"""The public names: what is promised exists, and what exists is promised."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kermes

NAMES = [
    "measures",
    "ground",
    "divergences",
    "engine",
    "kernels",
    "definiteness",
    "features",
    "estimators",
    "clustering",
    "inference",
    "inspection",
    "plot",
    "optimization",
    "comparison",
    "datasets",
    "files",
]
PACKAGES = ["kermes", *[f"kermes.{n}" for n in NAMES]]
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "start").glob("*.md"))


def constants_classes_functions(name):
    """The order of ruff's rule on __all__: CONSTANTS (and names like them), Classes, functions; each by name."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_sorted_true_and_documented(name):
    module = importlib.import_module(name)
    assert module.__all__ == sorted(set(module.__all__), key=constants_classes_functions)
    assert module.__doc__
    for public in module.__all__:
        thing = getattr(module, public)
        assert inspect.getdoc(thing) or not callable(thing), f"{name}.{public} has no docstring"


@pytest.mark.parametrize("name", [*PACKAGES, "kermes.cli", "kermes.exceptions", "kermes.papers"])
def test_dir_shows_the_public_names(name):
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)


def test_names_in_pages_work_after_one_import():
    named = {name for page in PAGES for name in re.findall(r"\bkermes(?!\.papers)(?:\.\w+)+(?=[`(])", page.read_text())}
    assert len(named) > 20
    code = f"import kermes\nfor name in {sorted(named)!r}: eval(name)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_reference_lists_every_name():
    page = (ROOT / "docs" / "api.rst").read_text()
    listed = {entry.split(".")[-1] for entry in re.findall(r"^   ([\w.]+)$", page, flags=re.MULTILINE)}
    public = {name for package in PACKAGES for name in importlib.import_module(package).__all__}
    constants = {"COSTS", "DEFAULT"}
    assert public - {*NAMES} - constants == listed


def test_top_level_names():
    expected = {"Engine", "Measures", "datasets", "divergences", "ground", "kernels", "pairwise"}
    assert expected <= set(kermes.__all__)
    assert kermes.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = kermes.nonsense


HEAVY = [
    "numba",
    "ot",
    "dask",
    "zarr",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "skimage",
    "skops",
    "narwhals",
    "rich",
]
HEAVY += ["scipy", "sklearn", "importlib.metadata"]


def test_import_loads_nothing_heavy():
    code = f"import sys, kermes; print([name for name in {HEAVY!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_divergences_are_made_without_loading_numba():
    code = "import sys; from kermes import divergences; divergences.Wasserstein(); print('numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
