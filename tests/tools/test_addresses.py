"""The addresses in the metadata of the package come from the checkout that it is built from."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
ON_GITHUB = {
    "Homepage": "https://github.com/Some/kermes",
    "Source": "https://github.com/Some/kermes",
    "Issues": "https://github.com/Some/kermes/issues",
    "Documentation": "https://some.github.io/kermes/stable/",
    "Changelog": "https://some.github.io/kermes/stable/changelog.html",
}
ELSEWHERE = {
    "Homepage": "https://example.org/some/group/kermes",
    "Source": "https://example.org/some/group/kermes",
    "Issues": "https://example.org/some/group/kermes/issues",
}


def run(folder, *command, **environment):
    """Run a command where no workflow runs, except for `environment`."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    done = subprocess.run(
        command, cwd=folder, env={**outside, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


def urls(folder, **environment):
    return json.loads(run(folder, sys.executable, "-m", "hatchling", "metadata", "urls", **environment) or "{}")


def workflow(folder, repository):
    return {
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": repository,
    }


@pytest.fixture
def checkout(tmp_path):
    """Return a repository of the files that the metadata is made of."""
    folder = tmp_path / "checkout"
    (folder / "src" / "kermes").mkdir(parents=True)
    (folder / "src" / "kermes" / "__init__.py").touch()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    run(folder, "git", "init", "--quiet")
    return folder


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("https://github.com/Some/kermes.git", ON_GITHUB),
        ("https://name:secret@github.com/Some/kermes", ON_GITHUB),
        ("git@github.com:Some/kermes.git", ON_GITHUB),
        ("git@github.com:/Some/kermes.git", ON_GITHUB),
        ("ssh://git@example.org:2222/some/group/kermes.git", ELSEWHERE),
        ("https://example.org:abc/some/kermes", {}),
        ("https://[::1/some/kermes", {}),
        ("http://example.org/some/group/kermes/", ELSEWHERE),
        ("http://example.org:8080/some/kermes", {}),
        ("http://localhost/some/kermes", {}),
        ("http://127.0.0.1/some/kermes", {}),
        ("/some/where/kermes", {}),
        ("file:///some/where/kermes", {}),
        ("../kermes.git", {}),
        (r"C:\some\kermes", {}),
    ],
)
def test_a_remote_on_a_host_is_named(checkout, remote, expected):
    run(checkout, "git", "remote", "add", "origin", remote)
    assert urls(checkout) == expected


def test_no_remote_no_addresses(checkout):
    assert urls(checkout) == {}


def test_a_workflow_names_its_repository(checkout):
    run(checkout, "git", "remote", "add", "origin", "/some/where/kermes")
    assert urls(checkout, **workflow(checkout, "Some/kermes")) == ON_GITHUB


def test_a_workflow_of_others_does_not_name_theirs(checkout):
    shutil.rmtree(checkout / ".git")  # as an archive that was unpacked within their repository
    run(checkout.parent, "git", "init", "--quiet")
    run(checkout.parent, "git", "remote", "add", "origin", "https://github.com/other/theirs")
    assert urls(checkout, **workflow(checkout.parent, "other/theirs")) == {}


@pytest.mark.parametrize("known", [True, False])
def test_an_archive_keeps_what_was_known(checkout, tmp_path, known):
    environment = workflow(checkout, "Some/kermes") if known else {}
    run(checkout, sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, **environment)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.glob("kermes-*/"))
    assert urls(unpacked, **workflow(tmp_path, "other/theirs")) == (ON_GITHUB if known else {})
