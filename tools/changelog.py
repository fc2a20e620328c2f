"""Move the fragments of changelog.d/ into CHANGELOG.md, under a version.

Usage: python tools/changelog.py VERSION
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def fragments(root: Path = ROOT) -> list[Path]:
    """Return the files that wait, by name."""
    return sorted(path for path in (root / "changelog.d").glob("*.md") if path.name != "README.md")


def collect(version: str, root: Path = ROOT) -> str:
    """Write the section of ``version``, over the unreleased one if there is one, delete the fragments, return it."""
    changelog = root / "CHANGELOG.md"
    title, *sections = changelog.read_text().split("\n## ")
    earlier = sections.pop(0).split("\n", 1)[1].strip() if sections and "(unreleased)" in sections[0] else ""
    lines = [path.read_text().strip() for path in fragments(root)]
    body = "\n".join(part for part in (*lines, earlier) if part)
    sections.insert(0, f"{version} ({date.today().isoformat()})\n\n{body}\n")
    changelog.write_text("\n## ".join([title, *sections]))
    for path in fragments(root):
        path.unlink()
    return body


if __name__ == "__main__":
    print(collect(sys.argv[1]))
