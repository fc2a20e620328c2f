"""Make an environment with the oldest supported version of each dependency.

Usage: python tools/oldest.py FOLDER
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


#: What is not installed: tools with versions of their own, data sets whose packages allow few versions of others.
LEFT_OUT = {"data", "long", "lint", "docs", "bench", "all", "dev"}
#: What NumPy 2.0, SciPy 1.13 and pyarrow 17 were built for.
PYTHONS = {(3, 11), (3, 12)}
#: Packages that others bring, of which the newest warn when the oldest of others call them.
NOT_NEWEST = ["pyparsing<3.3"]  # matplotlib 3.9


def main(folder: str) -> None:
    """Create FOLDER, pin every lower bound of pyproject.toml, and install kermes with all extras and its tests."""
    if sys.version_info[:2] not in PYTHONS:
        raise SystemExit(
            f"the oldest dependencies have no wheels for Python {sys.version_info[0]}.{sys.version_info[1]}: name one "
            "that has, make check OLDEST_PYTHON=python3.12."
        )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in LEFT_OUT}
    wanted = {*project["dependencies"], *(need for needs in extras.values() for need in needs)}
    pins = sorted(re.sub(r">=", "==", need) for need in wanted)
    venv.create(folder, with_pip=True)
    python = Path(folder) / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-e", f"{ROOT}[{','.join(extras)}]", *pins, *NOT_NEWEST], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
