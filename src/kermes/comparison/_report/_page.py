"""The frame of a report: one file, nothing fetched, readable on a phone, in print, light and dark."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import NamedTuple

__all__ = ["Section", "page"]


class Section(NamedTuple):
    """A heading with its anchor, and what stands below it."""

    title: str
    html: str

    @property
    def anchor(self) -> str:
        """The name by which the page links to the section."""
        return "-".join(self.title.lower().split())


def page(title: str, lead: str, sections: list[Section]) -> str:
    """Return the whole HTML file."""
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in sections)
    body = "".join(
        f'<section id="{section.anchor}"><h2>{escape(section.title)}</h2>{section.html}</section>\n'
        for section in sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # no request for an icon
        f"<title>{escape(title)}</title>\n<style>\n{_file('style.css')}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p><nav>{links}</nav></header>\n'
        f'{body}<div id="tip" role="tooltip"></div>\n<script>\n{_file("script.js")}</script>\n</body>\n</html>\n'
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
