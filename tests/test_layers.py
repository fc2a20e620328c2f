"""Imports go down this list only: a module may import from the layers above its own."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "kermes"
LAYERS = [
    ["exceptions", "_typing"],
    ["_atomic", "_checks", "_frozen", "_linalg", "_scales"],
    ["core"],
    ["measures"],
    ["ground"],
    ["divergences"],
    ["engine"],
    ["kernels"],
    ["equivalence"],
    ["definiteness"],
    ["_estimator"],
    ["features"],
    ["estimators"],
    ["clustering"],
    ["inspection"],
    ["plot"],
    ["_model_types"],
    ["_persistence"],
    ["optimization"],
    ["comparison"],
    ["datasets"],
    ["files"],
    ["papers"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
#: What a layer may import from outside; the rest of the world belongs to the layers that name it.
CORE_ONLY = {"numpy", "numba"}
STANDARD = {"contextlib", "hashlib", "pathlib", "typing", "__future__", "math"}


def imports(path):
    """Yield (layer or package, line) for each import of a module of kermes."""
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0], node.lineno, False
        elif isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            yield from ((name, node.lineno, True) for name in names)


MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_from_layers_above(path):
    layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert layer in RANK, f"{layer} has no place in LAYERS"
    for name, line, inside in imports(path):
        # From the package itself (`from .. import Measures`) only the outermost layer may import.
        if inside and name not in RANK:
            assert layer in ("cli", "papers"), f"{path}:{line} imports {name} from the package itself"
        elif inside:
            assert RANK[name] < RANK[layer] or name == layer, f"{path}:{line} imports {name}"
        if layer == "core" and not inside:
            assert name in CORE_ONLY | STANDARD, f"{path}:{line}: core imports {name}"


def test_numba_is_named_in_core_only():
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] != "core":
            assert all(name != "numba" for name, _, _ in imports(path)), path


def test_scikit_learns_kernel_is_named_in_one_file():
    named = [p for p in MODULES if "import Kernel\n" in p.read_text()]
    assert [str(p.relative_to(ROOT)) for p in named] == ["kernels/_base.py"]
