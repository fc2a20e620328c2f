"""Mutation testing of core/, divergences/ and engine/: would the tests notice a wrong operator, number or condition?

    python tools/mutants.py --sample 300 --seed 1

works on a copy of the tree. One run of the tests with interpreted cores records which tests execute which line; then
each mutant of cosmic-ray's that was drawn is written to the copy, and the tests of its line run until one fails. The
share of killed mutants and the survivors, as patches, are printed and appended to a file as JSON lines: the same
command goes on where it stopped.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "divergences", "engine")
TESTS = [f"tests/{package}" for package in PACKAGES]
#: What changes no behaviour here: unions in annotations, decorators of interpreted cores.
EQUIVALENT = ("BitOr", "RemoveDecorator")
#: Tests tried first; a mutant that survives them meets all tests of its line.
FIRST = 40
SECONDS = 600


def main() -> None:
    """Draw mutants, test each, print the share that was killed and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=1000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--output", type=Path, default=ROOT / "mutants.jsonl", help="where results are appended")
    parser.add_argument(
        "--least", type=float, default=0.9, help="share of killed mutants below which the exit code is 1"
    )
    options = parser.parse_args()
    output = options.output.resolve()
    os.environ.update(NUMBA_DISABLE_JIT="1", PYTHONPATH="src", PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    with tempfile.TemporaryDirectory(prefix="kermes-mutants-") as folder:
        os.chdir(_copy(Path(folder)))
        tests_of = _tests_by_line()
        drawn = random.Random(options.seed).sample(candidates := _mutants(), min(options.sample, len(candidates)))
        known = {_name(entry["mutant"]): entry for entry in _read(output)}
        for number, mutant in enumerate(drawn, 1):
            if _name(mutant) not in known:
                known[_name(mutant)] = entry = {"mutant": mutant, **_outcome(mutant, tests_of)}
                with output.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
            print(f"{number}/{len(drawn)} {_name(mutant)}: {known[_name(mutant)]['outcome']}", flush=True)
    survivors = [known[_name(mutant)] for mutant in drawn if known[_name(mutant)]["outcome"] == "survived"]
    for entry in survivors:
        print(entry["diff"], end="\n\n")
    share = 1.0 - len(survivors) / len(drawn)
    print(f"{share:.1%} of {len(drawn)} mutants (of {len(candidates)}) were killed; {len(survivors)} survived.")
    sys.exit(share < options.least)


def _copy(folder: Path) -> Path:
    for name in ("src", "tests", "pyproject.toml", "README.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    return folder


def _mutants() -> list[dict]:
    paths = [path for package in PACKAGES for path in sorted(Path("src/kermes", package).rglob("*.py"))]
    database = WorkDB("mutants.sqlite", WorkDB.Mode.create)
    init(paths, database, {})
    specs = [spec for item in database.work_items for spec in item.mutations]
    return sorted(
        (
            {
                "path": str(s.module_path),
                "line": s.start_pos[0],
                "operator": s.operator_name,
                "occurrence": s.occurrence,
            }
            | {"arguments": s.operator_args}
            for s in specs
            if not any(word in s.operator_name for word in EQUIVALENT)
        ),
        key=_name,
    )


def _name(mutant: dict) -> str:
    return f"{mutant['path']}:{mutant['line']} {mutant['operator']} {mutant['occurrence']} {mutant['arguments']}"


def _tests_by_line() -> dict[tuple[str, int], list[str]]:
    """Run the tests once and return those that execute each line."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--cov=kermes"]
    subprocess.run([*command, "--cov-report=", "--cov-fail-under=0", "--cov-context=test", *TESTS], check=True)
    data = CoverageData()
    data.read()
    found: dict[tuple[str, int], list[str]] = {}
    for path in data.measured_files():
        for line, contexts in data.contexts_by_lineno(path).items():
            tests = sorted({context.split("|")[0] for context in contexts} - {""})
            found[str(Path(path).relative_to(Path.cwd())), line] = tests
    return found


def _outcome(mutant: dict, tests_of: dict[tuple[str, int], list[str]]) -> dict[str, str]:
    """Return whether a test of the line fails; a line that no test executes is a survivor."""
    tests = tests_of.get((mutant["path"], mutant["line"]), [])
    first = random.Random(0).sample(tests, min(FIRST, len(tests)))
    for chosen in (first, tests if len(tests) > FIRST else []):
        if chosen:
            result = _test(mutant, chosen)
            if result.test_outcome.value != "survived":
                return {"outcome": result.test_outcome.value, "diff": result.diff or ""}
    return {"outcome": "survived", "diff": result.diff if tests else f"no test executes {_name(mutant)}"}


def _test(mutant: dict, tests: list[str]):
    from cosmic_ray.work_item import MutationSpec

    Path("chosen.txt").write_text("\n".join(tests))
    spec = MutationSpec(
        module_path=Path(mutant["path"]),
        operator_name=mutant["operator"],
        occurrence=mutant["occurrence"],
        start_pos=(mutant["line"], 0),
        end_pos=(mutant["line"], 1),
        operator_args=mutant["arguments"],
    )
    command = f"{sys.executable} -m pytest -q -x -p no:cacheprovider -p no:xdist @chosen.txt"
    return mutate_and_test([spec], command, SECONDS)


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
