"""Mutation testing of core/, divergences/ and engine/: would the tests notice a wrong operator, number or condition?

    python tools/mutants.py --sample 15 core/transport/certificate.py engine/_tiling.py

For each module it draws mutants (one changed operator, number or condition each), runs the tests that call the changed
function with interpreted cores until one fails, and records the outcome in ``tests/mutants.json``: the same command
goes on where it stopped. Survivors are judged there by hand: ``"verdict": "equivalent: ..."``, or ``"killed by
tests/...::test_x, which takes longer"`` if a test kills it that is not among those run here; those without a verdict
are tests that are missing.

Each mutant runs in a fork of this process, which has imported everything but kermes: the changed module is compiled
from its syntax tree, no file is written. Which tests call which function is recorded once, in ``.mutants-calls.json``.
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache, partial
from importlib import abc, machinery, util
from pathlib import Path

os.environ.update(NUMBA_DISABLE_JIT="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PYTHONHASHSEED="0")

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kermes"
PACKAGES = ("core", "divergences", "engine")
#: Folders of the tests that may kill a mutant.
TESTS = (*PACKAGES, "definiteness", "features", "ground", "inference", "kernels")
RECORD, CALLS = ROOT / "tests" / "mutants.json", ROOT / ".mutants-calls.json"
#: Seconds of processor time: of the tests of a mutant (those of its name first, then the quickest), of one of them, of
#: a file of tests.
BUDGET, LONGEST, FILE = 6.0, 2.0, 60
OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def main() -> None:
    """Test the drawn mutants of each module; print what survived and the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="paths below src/kermes; all by default")
    parser.add_argument("--sample", type=int, default=15, help="mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--again", action="store_true", help="test survivors without a verdict again")
    parser.add_argument("--least", type=float, default=0.9, help="share killed or judged equivalent, for exit code 0")
    options = parser.parse_args()
    record = current(json.loads(RECORD.read_text()) if RECORD.exists() else {})
    RECORD.write_text(_lines(record))
    warm_up()
    calls = recorded_calls()
    drawn = []
    for module in options.modules or all_modules():
        mutants = mutants_of(module)
        names = sorted(mutants, key=lambda name: _rank(name, options.seed))[: options.sample]
        drawn += names
        for name in names:
            known = record.get(name)
            if known is None or (options.again and known["outcome"] == "survived" and "verdict" not in known):
                record[name] = outcome(module, mutants[name], calls)
                RECORD.write_text(_lines(record))
            print(f"{name}: {record[name]['outcome']}", flush=True)
    report([(name, record[name]) for name in drawn], options.least)


def current(record: dict[str, dict]) -> dict[str, dict]:
    """Return the entries whose mutants still exist: the others are of lines that are gone."""
    modules = {name.split(" ", maxsplit=1)[0] for name in record}
    names = {name for module in modules if (SOURCE / module).exists() for name in mutants_of(module)}
    return {name: entry for name, entry in record.items() if name in names}


def _lines(record: dict[str, dict]) -> str:
    return json.dumps(dict(sorted(record.items())), indent=1) + "\n"


def _rank(name: str, seed: int) -> bytes:
    """Return a random number that depends on the mutant alone: an edit elsewhere in its module draws no others."""
    return hashlib.blake2b(f"{seed} {name}".encode()).digest()


def report(drawn: list[tuple[str, dict]], least: float) -> None:
    """Print survivors and shares; exit with 1 if too few were killed or judged equivalent."""
    verdicts = [entry.get("verdict", "") for _, entry in drawn if entry["outcome"] == "survived"]
    longer = sum(verdict.startswith("killed by") for verdict in verdicts)
    judged = sum("equivalent" in verdict for verdict in verdicts)
    killed = len(drawn) - len(verdicts) + longer
    for name, entry in drawn:
        if entry["outcome"] == "survived":
            print(f"survived: {name}  [{entry.get('verdict', 'not judged')}]")
    open_ = len(drawn) - killed - judged
    shares = f"{killed} of {len(drawn)} mutants killed, {longer} of them by longer tests"
    print(f"{shares}, {judged} judged equivalent, {open_} open.")
    sys.exit(killed + judged < least * len(drawn))


def all_modules() -> list[str]:
    """Return the modules of the three packages."""
    return [p.relative_to(SOURCE).as_posix() for package in PACKAGES for p in sorted((SOURCE / package).rglob("*.py"))]


def warm_up() -> None:
    """Import what the tests import, except kermes: forks share it."""
    import mpmath  # noqa: F401
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.spatial
    import scipy.special
    import scipy.stats  # noqa: F401
    import sklearn.base
    import sklearn.gaussian_process
    import sklearn.utils.validation  # noqa: F401

    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]


# -- mutants --------------------------------------------------------------------------------------


def mutants_of(module: str) -> dict[str, tuple[str, Callable[[], ast.Module]]]:
    """Return the mutants of a module by name: the function that is changed, and what makes the changed tree.

    Annotations, decorators, docstrings and imports stay as they are.
    """
    tree = ast.parse((SOURCE / module).read_text())
    found = {}
    for function, statement, node in _nodes(tree, "", "", None):
        for change in _changes(node):
            before = ast.unparse(statement)
            with _changed(node, change):
                base = f"{module} {function or 'module'}: {_difference(before, ast.unparse(statement))}"
            number = sum(name.startswith(base) for name in found)
            found[f"{base} ({number + 1})" if number else base] = (function, partial(_mutated, tree, node, change))
    return found


@contextmanager
def _changed(node, change):
    kept = dict(node.__dict__)
    change(node)
    yield
    node.__dict__.update(kept)


def _mutated(tree, node, change):
    with _changed(node, change):
        return copy.deepcopy(tree)


def _difference(before: str, after: str) -> str:
    """Return the line that changed, before and after."""
    lines = zip(before.splitlines(), after.splitlines(), strict=True)
    return next(f"{old.strip()} -> {new.strip()}" for old, new in lines if old != new)


def _nodes(node, function, prefix, statement):
    """Yield the qualified name of its function, its statement, and each node that may change."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        function = prefix + node.name if isinstance(node, ast.FunctionDef) else function
        inside = prefix + node.name + (".<locals>." if isinstance(node, ast.FunctionDef) else ".")
        for child in node.body:
            yield from _nodes(child, function, inside, None)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_text(node):
        return
    statement = node if isinstance(node, ast.stmt) else statement
    yield function, statement, node
    skipped = {id(node.annotation)} if isinstance(node, ast.AnnAssign) else set()
    for child in ast.iter_child_nodes(node):
        if id(child) not in skipped:
            yield from _nodes(child, function, prefix, statement)


def _is_text(node):
    return isinstance(node, (ast.Raise, ast.JoinedStr)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _changes(node):
    """Yield functions that change a node in place."""
    if isinstance(node, ast.Compare):
        for k, op in ((k, op) for k, op in enumerate(node.ops) if type(op) in OTHER):
            yield lambda n, k=k, op=op: setattr(n, "ops", [*n.ops[:k], OTHER[type(op)](), *n.ops[k + 1 :]])
    elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in OTHER:
        yield lambda n: setattr(n, "op", OTHER[type(n.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield lambda n: setattr(n, "operand", ast.UnaryOp(n.op, n.operand))
    elif isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        yield lambda n: setattr(n, "value", _other_number(n.value))
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, (ast.UnaryOp, ast.Compare)):
        yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def _other_number(value):
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else (2.0 * value or 1.0)


# -- tests ----------------------------------------------------------------------------------------


def recorded_calls() -> dict[str, dict[str, list[str]]]:
    """Return for each test its seconds and, by module, the functions it calls; recorded on first use."""
    calls = json.loads(CALLS.read_text()) if CALLS.exists() else {}
    for path in (p for folder in TESTS for p in sorted((ROOT / "tests" / folder).glob("test_*.py"))):
        name = path.relative_to(ROOT).as_posix()
        if name not in calls:
            part = Path(f"{CALLS}.part")
            part.write_text("{}")
            _in_fork(lambda name=name, part=part: _record(name, part), FILE, 8 * FILE)
            calls[name] = json.loads(part.read_text())
            part.unlink()
            CALLS.write_text(json.dumps(calls))
            print(f"{name}: {len(calls[name])} tests", flush=True)
    return {test: entry for tests in calls.values() for test, entry in tests.items()}


def _record(name: str, part: Path) -> int:
    """Run a file of tests and write, after each test, what it called."""
    import threading

    import pytest

    entries: dict[str, dict] = {}
    called: set[tuple[str, str]] = set()
    roots = tuple(str(SOURCE / package) + os.sep for package in PACKAGES)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(roots):
            called.add((code.co_filename, code.co_qualname))

    class Plugin:
        failed = False

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(self, item):
            start, self.failed = time.process_time(), False
            called.clear()
            yield
            functions: dict[str, list[str]] = {}
            for file, function in sorted(called):
                functions.setdefault(Path(file).relative_to(SOURCE).as_posix(), []).append(function)
            if not self.failed:
                entries[item.nodeid] = {"seconds": round(time.process_time() - start, 3), "calls": functions}
                part.with_suffix(".new").write_text(json.dumps(entries))
                part.with_suffix(".new").replace(part)

        def pytest_runtest_logreport(self, report):
            self.failed |= report.failed

    threading.setprofile(note)
    sys.setprofile(note)
    return int(pytest.main([*OPTIONS, name], plugins=[Plugin()]))


OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-p", "no:cov"]


def outcome(module: str, mutant: tuple[str, Callable[[], ast.Module]], calls: dict) -> dict:
    """Return whether a test that calls the changed function fails, or takes too long."""
    function, make = mutant
    tree = make()
    users = {module} if function else importers(module)  # a constant is read where nothing of its module is called
    times = {
        test: entry["seconds"]
        for test, entry in calls.items()
        if entry["seconds"] <= LONGEST
        and (_calls(entry["calls"].get(module, []), function) if function else users & entry["calls"].keys())
    }
    chosen, total = [], 0.0
    for test in sorted(times, key=lambda test: (not _mirrors(test, module), times[test])):
        if total + times[test] <= BUDGET:
            chosen.append(test)
            total += times[test]
    if not chosen:
        return {"outcome": "survived", "tests": 0}
    random.Random(0).shuffle(chosen)
    code = _in_fork(lambda: _test(module, tree, chosen), int(3 * total) + 20, 10 * (int(3 * total) + 20))
    return {"outcome": "survived", "tests": len(chosen)} if code == 0 else {"outcome": "killed"}


@cache
def importers(module: str) -> set[str]:
    """Return the module and those that import it by its name."""
    name = Path(module).stem
    found = {module}
    for other in all_modules():
        imports = [n for n in ast.walk(ast.parse((SOURCE / other).read_text())) if isinstance(n, ast.ImportFrom)]
        if any((n.module or "").split(".")[-1] == name or name in [a.name for a in n.names] for n in imports):
            found.add(other)
    return found


def _mirrors(test: str, module: str) -> bool:
    """Whether the file of a test has the name of the module, or of its folder."""
    names = {part.removesuffix(".py").strip("_") for part in module.split("/")[1:]}
    return Path(test.split("::", maxsplit=1)[0]).stem.removeprefix("test_") in names


def _calls(functions: list[str], function: str) -> bool:
    """Whether the function is among those called, or one inside it (comprehensions have frames of their own)."""
    return any(name == function or name.startswith(function + ".") for name in functions)


def _test(module: str, tree: ast.Module, tests: list[str]) -> int:
    import pytest

    sys.meta_path.insert(0, _Mutated(module, tree))
    return int(pytest.main([*OPTIONS, "-x", *tests]))


class _Mutated(abc.MetaPathFinder):
    """Finds the one module that was changed."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.name = "kermes." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.path, self.tree = str(SOURCE / module), tree

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        loader = machinery.SourceFileLoader(fullname, self.path)
        loader.get_code = lambda name: compile(ast.fix_missing_locations(self.tree), self.path, "exec")
        return util.spec_from_file_location(fullname, self.path, loader=loader)


def _in_fork(run, seconds: int, wall: int) -> int:
    """Return the exit code of a function in a process of its own, with limits of processor time and time."""
    child = os.fork()
    if child == 0:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        code = 99
        try:
            code = run()
        finally:
            os._exit(code)
    end = time.monotonic() + wall
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.05)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
