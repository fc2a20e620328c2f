"""Reproductions use kermes as its users do: public names only, read off the syntax of every module."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import kermes
from kermes import papers

ROOT = Path(papers.__file__).parent
#: What else a reproduction may import: how cores are compiled, for the compiled loops of `gpm`, and their exponential;
#: what makes `dir()` of a package show its public names.
ALLOWED = {
    "kermes._names": {"public_dir"},
    "kermes.core.jit": {"drop_stale_cache", "strict_core", "tile_core"},
    "kermes.core.exp": {"exp"},
}


def public(module, name):
    """Whether users may import ``name`` from ``module``."""
    if name in ALLOWED.get(module, ()):
        return True
    if any(part.startswith("_") or part == "core" for part in [*module.split("."), name]):
        return False
    return name in importlib.import_module(module).__all__


def is_private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def module_of(node, package):
    """Return the full name of the module that ``from ... import`` names."""
    if not node.level:
        return node.module
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def faults(source, package):
    """Return every use of kermes beyond its public names, in a module of ``package``."""
    tree = ast.parse(source)
    found, modules = [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [f"line {node.lineno}: import {a.name}" for a in node.names if a.name.split(".")[0] == "kermes"]
        elif isinstance(node, ast.ImportFrom):
            module = module_of(node, package)
            if module.split(".")[0] != "kermes" or module.split(".")[1:2] == ["papers"]:
                continue
            for alias in node.names:
                if not public(module, alias.name):
                    found.append(f"line {node.lineno}: {module}.{alias.name}")
                elif inspect.ismodule(getattr(importlib.import_module(module), alias.name)):
                    modules[alias.asname or alias.name] = f"{module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of = node.value.id if isinstance(node.value, ast.Name) else None
            if is_private(node.attr) and of not in ("self", "cls"):
                found.append(f"line {node.lineno}: .{node.attr}")
            elif of in modules and not public(modules[of], node.attr):
                found.append(f"line {node.lineno}: {modules[of]}.{node.attr}")
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_papers_use_public_names_only(path):
    package = ".".join(["kermes", "papers", *path.parent.relative_to(ROOT).parts])
    assert faults(path.read_text(), package) == []


@pytest.mark.parametrize(
    "source",
    [
        "from ..._typing import FloatArray",
        "from ...datasets._images import read_idx",
        "from ...core import jit",
        "from ...core.jit import OPTIONS",
        "from ... import divergences\ndivergences.jensen",
        "from ... import nonsense",
        "import kermes",
        "from kermes.engine import _memo",
        "def f(model):\n    return model._y_train_std",
    ],
)
def test_private_names_are_seen(source):
    assert faults(source, "kermes.papers.gpm")


def test_public_names_are_not():
    source = """
from ... import Measures, datasets, kernels
from ...core.jit import tile_core
from ...exceptions import InvalidParameterError
from .._paper import Run
from .data import anything
import numpy as np

class A:
    def f(self):
        return self._own, datasets.load_digits(), kernels.IGV(1.0).__class__, np.linalg.norm
"""
    assert faults(source, "kermes.papers.gpm") == []
    assert "papers" not in kermes.__all__
