"""The scripts of a release, and that what is written in several places is the same in all of them."""

import importlib.util
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIGURATION["project"]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fragments_become_the_section_of_a_version(tmp_path):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("how")
    (tmp_path / "changelog.d" / "b.md").write_text("- second\n")
    (tmp_path / "changelog.d" / "a.md").write_text("- first\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 2.0 (unreleased)\n\n- early\n\n## 1.0 (2020-01-01)\n\n- old\n"
    )
    script("changelog").collect("2.0", tmp_path)
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert re.search(
        r"\n## 2\.0 \(\d{4}-\d\d-\d\d\)\n\n- first\n- second\n- early\n\n## 1\.0 \(2020-01-01\)\n\n- old\n$", text
    )
    assert [path.name for path in (tmp_path / "changelog.d").iterdir()] == ["README.md"]


def test_the_version_is_the_same_everywhere():
    script("release").check_versions(f"v{PROJECT['version']}")


def test_the_conda_recipe_has_the_dependencies_of_the_package():
    recipe = (ROOT / "packaging" / "meta.yaml").read_text().replace(" >=", ">=")
    python = f"python{PROJECT['requires-python']}"
    run = re.search(r"  run:\n((?:    - .*\n)+)", recipe)[1].split("\n")
    assert {line.strip("- ") for line in run if line} == {*PROJECT["dependencies"], python}
    host = re.search(r"  host: \[(.*)\]", recipe)[1].split(", ")
    assert set(host) == {*CONFIGURATION["build-system"]["requires"], python, "pip"}
    for name, function in PROJECT["scripts"].items():
        assert f"    - {name} = {function}\n" in recipe


def test_the_container_has_what_the_build_needs():
    lines = (ROOT / "packaging" / "Containerfile").read_text().splitlines()
    copied = {name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]}
    assert {"pyproject.toml", "hatch_build.py", PROJECT["readme"], *PROJECT["license-files"], "src"} == copied
    python = re.search(r"^FROM python:3\.(\d+)-slim$", "\n".join(lines), re.M)
    assert f">=3.{python[1]}" >= PROJECT["requires-python"]


def test_the_oldest_python_is_the_same_everywhere():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Python {oldest} or newer" in (ROOT / "docs" / "install.md").read_text()
    assert CONFIGURATION["tool"]["mypy"]["python_version"] == oldest
    workflow = ROOT / ".github" / "workflows" / "check.yml"
    if workflow.exists():  # not part of the archive
        jobs = re.search(r"  oldest:.*?run: make test-min", workflow.read_text(), re.DOTALL)[0]
        assert f'python-version: "{oldest}"' in jobs
