"""User-defined code that was edited under its name is another; what was not edited is the same in every process."""

import functools
import sys
import types

import numpy as np
import pytest

from kermes import Measures, divergences, pairwise, precompute
from kermes.engine._user_code import code_of

#: Sources that define ``cost``; FACTOR is what an edit changes.
EDITS = {
    "body": "def cost(x, y): return FACTOR * abs(x - y.T)",
    "default": "def cost(x, y, s=FACTOR): return s * abs(x - y.T)",
    "keyword": "def cost(x, y, *, s=FACTOR): return s * abs(x - y.T)",
    "nested function": "def cost(x, y):\n    def inner(): return FACTOR\n    return inner() * abs(x - y.T)",
    "closure": "def make(s):\n    def cost(x, y): return s * abs(x - y.T)\n    return cost\ncost = make(FACTOR)",
    "global number": "S = FACTOR\ndef cost(x, y): return S * abs(x - y.T)",
    "global array": "S = np.full(3, FACTOR)\ndef cost(x, y): return S[0] * abs(x - y.T)",
    "global dict": "S = {'s': [FACTOR]}\ndef cost(x, y): return S['s'][0] * abs(x - y.T)",
    "helper": "def helper(): return FACTOR\ndef cost(x, y): return helper() * abs(x - y.T)",
    "helper of a helper": "def a(): return FACTOR\ndef b(): return a()\ndef cost(x, y): return b() * abs(x - y.T)",
    "module": "import settings\nsettings.S = FACTOR\ndef cost(x, y): return settings.S * abs(x - y.T)",
    "partial": "def f(x, y, s): return s * abs(x - y.T)\ncost = functools.partial(f, s=FACTOR)",
    "body in a partial": "def f(x, y, s): return FACTOR * s * abs(x - y.T)\ncost = functools.partial(f, s=1.0)",
    "wraps": "def plain(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n    return g\n"
    "@plain\ndef cost(x, y): return FACTOR * abs(x - y.T)",
    "lru_cache": "@functools.lru_cache\ndef s(): return FACTOR\ndef cost(x, y): return s() * abs(x - y.T)",
    "call": "class C:\n    def __call__(self, x, y): return FACTOR * abs(x - y.T)\ncost = C()",
    "class attribute": "class C:\n    s = FACTOR\n"
    "    def __call__(self, x, y): return self.s * abs(x - y.T)\ncost = C()",
    "static method": "class C:\n    @staticmethod\n    def s(): return FACTOR\n"
    "    def __call__(self, x, y): return self.s() * abs(x - y.T)\ncost = C()",
    "class method": "class C:\n    @classmethod\n    def s(cls): return FACTOR\n"
    "    def __call__(self, x, y): return self.s() * abs(x - y.T)\ncost = C()",
    "property": "class C:\n    @property\n    def s(self): return FACTOR\n"
    "    def __call__(self, x, y): return self.s * abs(x - y.T)\ncost = C()",
    "base class": "class B:\n    s = FACTOR\nclass C(B):\n"
    "    def __call__(self, x, y): return self.s * abs(x - y.T)\ncost = C()",
    "object of one's own": "class S:\n    def __init__(self, s): self.s = s\nS0 = S(FACTOR)\n"
    "def cost(x, y): return S0.s * abs(x - y.T)",
}


@pytest.fixture
def define(monkeypatch):
    """Run a source as the module ``own``, which is importable afterwards."""

    def run(source):
        module = types.ModuleType("own")
        monkeypatch.setitem(sys.modules, "own", module)
        monkeypatch.setitem(sys.modules, "settings", types.ModuleType("settings"))
        vars(module).update(np=np, functools=functools)
        exec(source, vars(module))
        return module

    return run


@pytest.mark.parametrize("source", EDITS.values(), ids=EDITS)
def test_what_was_edited_is_another(define, source):
    once, again, edited = (code_of(define(source.replace("FACTOR", s)).cost) for s in ("1.0", "1.0", "2.0"))
    assert once == again
    assert once != edited


def test_lines_and_comments_do_not_count(define):
    once, again = (code_of(define(source).cost) for source in (EDITS["helper"], "# a comment\n\n" + EDITS["helper"]))
    assert once == again


def test_what_refers_to_itself_ends(define):
    module = define("S = []\nS.append(S)\ndef cost(x, y): return cost, S, other\ndef other(): return cost")
    assert code_of(module.cost) == code_of(module.cost)


def test_installed_functions_are_read_without_what_they_call():
    assert len(code_of(np.linalg.norm)) < 20_000
    for function in (np.add, len, str.join, np.ndarray.ravel):
        assert code_of(function) == b""
    assert code_of(divergences.Wasserstein()) == b""


def test_the_program_itself_is_never_installed(define, monkeypatch):
    """In workers it is a script of theirs, among the installed packages."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", np.__file__, raising=False)
    codes = []
    for factor in ("1.0", "2.0"):
        module = define(EDITS["helper"].replace("FACTOR", factor))
        module.cost.__module__ = module.helper.__module__ = "__main__"
        codes.append(code_of(module.cost))
    assert codes[0] != codes[1]


@pytest.mark.parametrize("name", ["default", "call", "body in a partial", "helper"])
def test_precomputed_distances_of_code_that_was_edited(define, name):
    """They were taken for those of the new code."""
    X = Measures.from_samples([[0.0], [1.0], [3.0]])
    for factor in (1.0, 2.0):
        cost = define(EDITS[name].replace("FACTOR", str(factor))).cost
        precompute(X, divergences.Wasserstein(p=1, cost=cost))
        found = pairwise(X, divergence=divergences.Wasserstein(p=1, cost=cost))
        np.testing.assert_array_equal(found[0], [0.0, factor, 3.0 * factor])
