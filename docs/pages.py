"""What the pages of the reference show: members that users call, and defaults of parameters."""

import dataclasses
import importlib
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Members(NamedTuple):
    """The public members of a class: those of kermes, and the names of those that scikit-learn gives it."""

    methods: list[str]
    attributes: list[str]
    inherited: list[str]


@dataclasses.dataclass(frozen=True)
class Shown:
    """``members`` for templates: a value that Sphinx can keep with its configuration."""

    def __call__(self, fullname):
        """Return the members of a class that belong on its page."""
        return members(fullname)


def members(fullname):
    """Return the members of a class that belong on its page.

    What the engine calls (``prepare``, ``tile``, ``work`` and the like) is on the pages of the base classes only;
    fields of dataclasses are parameters, which the docstring has.
    """
    module, _, name = fullname.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    from kermes.divergences import Divergence, Jensen, JensenRoute, Route

    contract = set()
    if issubclass(cls, Route | Divergence) and cls not in (
        Divergence,
        Jensen,
        JensenRoute,
        Route,
    ):
        contract = {n for base in (Divergence, Jensen, Route) for n in vars(base)} - {
            "claims"
        }
    fields = (
        {field.name for field in dataclasses.fields(cls)}
        if dataclasses.is_dataclass(cls)
        else set()
    )
    found = Members([], [], [])
    for member in sorted(dir(cls)):
        if member.startswith("_") or member in contract | fields:
            continue
        home = next(base for base in cls.__mro__ if member in vars(base))
        value = inspect.getattr_static(cls, member)
        callable_ = callable(value) or isinstance(value, classmethod | staticmethod)
        if not home.__module__.startswith("kermes"):
            if home.__module__.startswith("sklearn") and callable_:
                found.inherited.append(member)
        elif callable_ and inspect.getdoc(getattr(cls, member)):
            found.methods.append(member)
        elif isinstance(value, property) and value.__doc__:
            found.attributes.append(member)
    return found


def shown_default(cls, name, parameter):
    """Return the default of a parameter as it would be typed, or None."""
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            if field.name == name and field.default_factory is not dataclasses.MISSING:
                return repr(field.default_factory())
    return (
        None
        if parameter.default is inspect.Parameter.empty
        else repr(parameter.default)
    )


def _parameters(thing):
    try:
        return {
            name: shown_default(thing, name, p)
            for name, p in inspect.signature(thing).parameters.items()
        }
    except (TypeError, ValueError):
        return {}


def show_factories(app, what, name, thing, options, signature, returns):
    """Write the default that a factory makes in place of ``<factory>``."""
    if not signature or "<factory>" not in signature:
        return None
    for parameter, default in _parameters(thing).items():
        signature = signature.replace(
            f"{parameter}=<factory>", f"{parameter}={default}"
        )
    return signature, returns


def show_defaults(app, what, name, thing, options, lines):
    """Add the default of each parameter to its line in the docstring, unless the line says it."""
    if what not in ("class", "function", "method") or "Parameters" not in lines:
        return
    defaults = _parameters(thing)
    start = lines.index("Parameters") + 2
    for i in range(start, len(lines)):
        if i + 1 < len(lines) and re.fullmatch("-{3,}", lines[i + 1].strip()):
            break
        entry = re.fullmatch(r"(\w+(?:, \w+)*) : (.*)", lines[i])
        if entry and "default" not in entry[2] and "optional" not in entry[2]:
            shown = {defaults.get(each) for each in entry[1].split(", ")} - {None}
            if len(shown) == 1 and len(text := shown.pop()) < 60:
                lines[i] += f", default ``{text}``"


def mathjax():
    """Return the file of MathJax that draws formulas without a network, one file with its fonts."""
    spec = find_spec("sphinx-mathjax-offline")
    return Path(spec.origin).parent / "static" / "mathjax" / "tex-svg.js"
