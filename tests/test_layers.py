"""Who may import whom: each package names what it uses, and uses what it names."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "kermes"
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")

#: Small things that every package may use.
LEAVES = {"exceptions", "_names", "_typing", "_values", "_checks", "_quantities"}
#: What each package uses beyond the leaves and itself. The papers take public names of all; so does the command line,
#: but for the parts of readers, reports and estimates that have none.
EDGES = {
    "_atomic": {"_dry_run"},
    "_checks": set(),
    "_dry_run": set(),
    "_estimator": {"_frozen", "_scales", "divergences", "engine", "kernels", "measures"},
    "_foreign": set(),
    "_frozen": set(),
    "_linalg": set(),
    "_model_checks": {"engine", "features", "measures"},
    "_model_types": {"_frozen"},
    "_names": set(),
    "_persistence": {"_atomic", "_foreign", "_model_checks", "_model_types"},
    "_quantities": set(),
    "_scales": set(),
    "_typing": set(),
    "_values": set(),
    "clustering": {"_estimator", "_scales", "divergences", "engine", "inference", "measures"},
    "comparison": {
        "_atomic",
        "_estimator",
        "_frozen",  # arrays in code that is shown
        "_linalg",
        "_scales",
        "clustering",
        "core",
        "definiteness",
        "divergences",
        "engine",
        "estimators",
        "features",
        "ground",
        "inference",  # the report tests the classes
        "inspection",
        "kernels",
        "measures",
        "plot",
    },
    "core": set(),
    "datasets": {"_foreign", "core", "measures"},  # core: offsets of packed cells
    "definiteness": {"_linalg", "core"},
    "divergences": {"_frozen", "_scales", "core", "ground", "measures"},  # plans in units of the largest cost
    "engine": {"_atomic", "_dry_run", "_linalg", "core", "divergences", "measures"},
    "estimators": {
        "_estimator",
        "_linalg",
        "_scales",
        "core",
        "definiteness",
        "divergences",
        "engine",
        "features",
        "ground",
        "kernels",
        "measures",
    },
    "exceptions": set(),
    "features": {"_estimator", "_linalg", "core", "divergences", "ground", "kernels", "measures"},
    "files": {"_atomic", "_foreign", "core", "datasets", "measures"},
    "ground": {"_frozen", "core", "measures"},
    "inference": {"_estimator", "_linalg", "_scales", "core", "divergences", "engine", "ground", "measures"},
    "inspection": {
        "_estimator",
        "_linalg",
        "_scales",
        "core",
        "divergences",
        "engine",
        "estimators",
        "ground",
        "inference",
        "measures",
    },
    "kernels": {"_frozen", "_scales", "core", "divergences", "engine", "ground", "measures"},
    "measures": {"_atomic", "_foreign", "_linalg", "core"},  # k-means keeps BLAS to one thread
    "optimization": {"_linalg", "_scales", "divergences", "engine", "estimators", "ground", "kernels", "measures"},
    "plot": {"clustering", "core", "definiteness", "estimators", "ground", "inspection", "measures"},
}
OUTERMOST = {"cli", "papers"}


def package_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Yield the absolute dotted name and the line of everything a module imports, relative imports resolved."""
    parents = ("kermes", *path.relative_to(ROOT).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # Inside a package's __init__ one dot is the package itself; its "module" part is `__init__`.
            base = ".".join(parents[: len(parents) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def edges(path):
    """Yield the packages of kermes, or names of the top level, that a module imports, with the line."""
    for name, line in imported(path):
        head, *rest = name.split(".")
        if head == "kermes" and rest:
            yield rest[0], line


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_are_allowed(path):
    package = package_of(path)
    if package in OUTERMOST | {"__main__"}:
        return
    allowed = LEAVES | EDGES[package] | {package}
    for name, line in edges(path):
        assert name in allowed, f"{path.relative_to(ROOT)}:{line} imports {name}, which {package} does not name"


def test_every_allowed_edge_is_used():
    used = {package: set() for package in EDGES}
    for path in MODULES:
        if package_of(path) in EDGES:
            used[package_of(path)] |= {name for name, _ in edges(path)}
    assert {package: allowed - used[package] for package, allowed in EDGES.items() if allowed - used[package]} == {}


def test_allowed_edges_have_no_cycle():
    done, waiting = set(LEAVES), dict(EDGES)
    while ready := [package for package, allowed in waiting.items() if allowed <= done]:
        for package in ready:
            done.add(package)
            del waiting[package]
    assert not waiting, f"a cycle among {sorted(waiting)}"


def test_core_imports_numpy_and_numba_only():
    for path in MODULES:
        if package_of(path) == "core":
            for name, line in imported(path):
                inside = name.startswith(("kermes.core.", "kermes._typing."))
                outside = name.split(".")[0] in sys.stdlib_module_names | {"numpy", "numba"}
                assert inside or outside, f"{path.relative_to(ROOT)}:{line} imports {name}"


def test_numba_is_named_in_core_only():
    named = {package_of(path) for path in MODULES for name, _ in imported(path) if name.split(".")[0] == "numba"}
    assert named == {"core"}


def test_scikit_learns_kernel_is_named_where_kernels_and_model_files_are():
    kernel = "sklearn.gaussian_process.kernels.Kernel"
    named = [path for path in MODULES if any(name == kernel for name, _ in imported(path))]
    assert [str(path.relative_to(ROOT)) for path in named] == ["_model_types.py", "kernels/_base.py"]
