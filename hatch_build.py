"""What the build asks this file for: the addresses of the project, [project.urls].

No file names the repository: a checkout knows where it came from. An archive of the sources has the addresses in its
PKG-INFO, which hatchling reads by itself; one that was made without any stays without.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Fill in the dynamic field `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses, if the repository is known."""
        if "urls" not in metadata and (home := repository(Path(self.root))):
            metadata["urls"] = addresses(home)


def repository(root: Path) -> str | None:
    """Return the address of the repository that `root` is a checkout of, or None."""
    if not (root / ".git").exists():  # it might still lie within a checkout of something else
        return None
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and Path(workspace).resolve() == root.resolve():  # a workflow may also build the packages of others
        server, name = (os.environ.get(f"GITHUB_{part}") for part in ("SERVER_URL", "REPOSITORY"))
        return f"{server}/{name}" if server and name else None
    try:
        remote = subprocess.run(["git", "remote", "get-url", "origin"], cwd=root, capture_output=True, text=True)
    except OSError:  # no git
        return None
    return public(remote.stdout.strip())


def public(remote: str) -> str | None:
    """Return what a browser opens for https://host/path, ssh://git@host/path or git@host:path; None for all else."""
    try:
        parts = urlsplit(re.sub(r"^[^/@:]+@([^/:]+):/*", r"ssh://\1/", remote))
        port = parts.port
    except ValueError:  # no address at all
        return None
    named = re.fullmatch(r"[\w.-]+\.[a-z]{2,}", parts.hostname or "")
    if not named or parts.scheme not in {"https", "http", "ssh"} or (port and parts.scheme != "ssh"):
        return None
    return f"https://{parts.hostname}{parts.path.rstrip('/').removesuffix('.git')}"


def addresses(home: str) -> dict[str, str]:
    """Return the addresses that follow from that of the repository; the release workflow publishes the pages."""
    found = {"Homepage": home, "Source": home, "Issues": f"{home}/issues"}
    if match := re.fullmatch(r"https://github\.com/([^/]+)/([^/]+)", home):
        pages = f"https://{match[1].lower()}.github.io/{match[2]}/stable"
        found |= {"Documentation": f"{pages}/", "Changelog": f"{pages}/changelog.html"}
    return found
