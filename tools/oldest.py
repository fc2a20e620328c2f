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


def main(folder: str) -> None:
    """Create FOLDER, pin every lower bound of pyproject.toml, and install kermes with its tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["test"] + extras["persist"]
    pins = [re.sub(r">=", "==", requirement) for requirement in wanted if ">=" in requirement]
    venv.create(folder, with_pip=True)
    python = Path(folder) / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-e", f"{ROOT}[test,persist]", *pins], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
