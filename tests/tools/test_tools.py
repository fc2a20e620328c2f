"""The scripts of a release, and that what is written in several places is the same in all of them."""

import importlib.util
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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
    recipe = (ROOT / "packaging" / "meta.yaml").read_text()
    needed = re.search(r"  run:\n((?:    - .*\n)+)", recipe)[1].split("\n    - ")
    names = {line.replace(" >=", ">=").strip("- \n") for line in needed}
    assert names == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
