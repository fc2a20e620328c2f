"""The release checklist, as a script: what must be true of a release, and the files to publish.

    python tools/release.py --dry-run        # a release candidate: every check, nothing is decided
    python tools/release.py --tag v1.2.3     # as the release workflow runs it; the first failure ends it

The steps before it: set the version (pyproject.toml, CITATION.cff, packaging/meta.yaml), run
`python tools/changelog.py VERSION`, commit, tag.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    """Return the version of pyproject.toml."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command and return what it printed; an error if it fails."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def check_tree() -> None:
    """Everything is committed."""
    if run("git", "status", "--porcelain"):
        raise SystemExit("commit or remove what `git status` lists.")


def check_versions(tag: str | None) -> None:
    """The version is the same everywhere."""
    found = {
        "CITATION.cff": re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.M),
        "packaging/meta.yaml": re.search(r'version = "([^"]+)"', (ROOT / "packaging" / "meta.yaml").read_text()),
    }
    other = [
        f"{file} says {match[1] if match else None}"
        for file, match in found.items()
        if not match or match[1] != version()
    ]
    if tag is not None and tag != f"v{version()}":
        other.append(f"the tag is {tag}")
    if other:
        raise SystemExit(f"pyproject.toml says {version()}; " + "; ".join(other))


def check_changelog() -> None:
    """The changelog has a section of the version, with a date, and no fragment waits."""
    waiting = [path.name for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    if waiting or not re.search(rf"^## {re.escape(version())} \(\d", (ROOT / "CHANGELOG.md").read_text(), re.M):
        raise SystemExit(f"run python tools/changelog.py {version()}; {len(waiting)} fragments wait.")


def check_addresses() -> None:
    """The package says where the project lives; `hatch_build.py` asks the checkout."""
    report = run(
        sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check",
        "install", "--dry-run", "--no-deps", "--ignore-installed", "--report", "-", ROOT,
    )  # fmt: skip
    if not json.loads(report)["install"][0]["metadata"].get("project_url"):
        raise SystemExit(
            "the package would name no repository: the remote `origin` of this checkout is missing or a local path. "
            "Run git remote add origin ADDRESS (or set-url), or publish by the release workflow, which knows it."
        )


def check_all() -> None:
    """Lint, types, tests, documentation, demo."""
    print("         make check runs, some 20 minutes:", flush=True)
    if subprocess.run(["make", "check"], cwd=ROOT).returncode:
        raise SystemExit("see above.")


def build() -> None:
    """Build the source archive and the wheel; both hold what they must, and the wheel works where nothing else is."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        python = place / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
        run(*pip, "install", "build")
        run(python, "-m", "build", "--outdir", ROOT / "dist", ROOT)
        run(*pip, "install", *(ROOT / "dist").glob("*.whl"))
        (place / "example.py").write_text(readme_example())
        printed = run(python, place / "example.py", cwd=place)
        if "Measures(120 measures" not in printed:
            raise SystemExit(f"the example of the README printed {printed!r}.")
        run(python, "-m", "kermes", "list", cwd=place)


def readme_example() -> str:
    """Return the first Python block of the README."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[0]


def main() -> None:
    """Go through the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag of the release")
    parser.add_argument("--dry-run", action="store_true", help="go on after a failure; list what is missing")
    parser.add_argument("--only-build", action="store_true", help="only build, and try what was built")
    options = parser.parse_args()
    steps: dict[str, Callable[[], None]] = {
        "everything is committed": check_tree,
        "versions agree": lambda: check_versions(options.tag),
        "the changelog is collected": check_changelog,
        "addresses are named": check_addresses,
        "make check passes": check_all,
        "archives are built, and the wheel works": build,
    }
    if options.only_build:
        steps = dict([steps.popitem()])
    missing = 0
    for name, step in steps.items():
        try:
            step()
            print(f"ready    {name}", flush=True)
        except KeyboardInterrupt:
            print(f"interrupted at: {name}; {missing} missing before it.", flush=True)
            sys.exit(130)
        except SystemExit as error:
            print(f"missing  {name}: {error}", flush=True)
            missing += 1
            if not options.dry_run:
                break
    if options.dry_run:
        print(f"{missing} of {len(steps)} steps are missing." if missing else f"ready: tag v{version()} to publish.")
    sys.exit(int(missing > 0))


if __name__ == "__main__":
    main()
