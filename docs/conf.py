"""Sphinx configuration."""

import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from figures import write_figures
from pages import Shown, mathjax, show_defaults, show_factories
from plots import show_plot, write_plots
from tables import write_tables

project = "kermes"
author = "the kermes developers"
release = version = installed("kermes")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "doc_module": ("kermes",),
    "backreferences_dir": "gallery/backreferences",  # examples are listed on the pages of what they use
    "reference_url": {"kermes": None},
    "capture_repr": (),  # what a script prints, not what its last line returns
    # KERMES_GALLERY=0 builds the pages without running the scripts.
    "plot_gallery": os.environ.get("KERMES_GALLERY", "1") == "1",
}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
autosummary_context = {"shown": Shown()}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
exclude_patterns = ["_build", "papers/tables"]
# Methods inherited from scikit-learn refer to labels of its own documentation.
suppress_warnings = ["ref.ref"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 9,
    "show_prev_next": False,
}
# Pages without pages below them: there is nothing to navigate to.
html_sidebars = {
    page: [] for page in ("index", "install", "command_line", "benchmarks")
}
html_context = {"default_mode": "auto"}
html_static_path = ["_static", str(mathjax())]
html_css_files = ["kermes.css"]
html_favicon = "_static/favicon.svg"
mathjax_path = "tex-svg.js"
html_show_sourcelink = False
html_title = "kermes"


def setup(app):
    """Write tables and pictures before the pages are read; complete signatures and docstrings."""
    write_tables()
    write_plots()
    write_figures()
    app.connect("autodoc-process-signature", show_factories)
    # Before numpydoc, which has the priority 500.
    app.connect("autodoc-process-docstring", show_defaults, priority=100)
    app.connect("autodoc-process-docstring", show_plot, priority=200)
