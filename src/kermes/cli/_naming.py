"""Divergences and kernels by short names with parameters: ``sinkhorn:epsilon=0.4,cost=euclidean``.

The short names of the command line, and the candidates that ``fit`` and ``compare`` make of them. Summaries,
parameters, defaults and claims are read from the classes; here is only which class a name means, and an example of it.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import kermes

from .._checks import choice
from .._scales import median_distance
from ..exceptions import InvalidParameterError

#: Parameters that are objects, with the names of those objects; classes are loaded at first use.
OBJECTS: dict[str, Callable[[], dict[str, Any]]] = {
    "ground": lambda: {
        name.lower(): getattr(kermes.ground, name) for name in ("Linear", "Gaussian", "Polynomial", "Laplacian")
    },
    "smoothing": lambda: {"gaussian": kermes.ground.Gaussian},
    "cost": lambda: kermes.ground.COSTS,
}
#: What the command line calls such a parameter, of which it gives the parameters.
NEEDED = {"ground": "a point kernel", "smoothing": "a smoothing kernel", "cost": "a cost"}
#: What turns a distance into a kernel: exp(-(d / length_scale)^power / 2), or exp(-t d^2) of a Jensen difference.
PROFILE = ("length_scale", "power", "t", "normalized")
#: Rates of semigroup kernels that are tried.
RATES = (0.3, 1.0, 3.0, 10.0)
#: What the command line calls a learner, for classes and for numbers.
LEARNERS = {"svm": ("svc", "svr"), "lssvm": ("lssvm", "ridge"), "gp": ("gp", "gp")}


class Spec(NamedTuple):
    """A name and its parameters, as written."""

    name: str
    options: dict[str, Any]


class Named(NamedTuple):
    """A divergence or kernel, the name by which it was asked for, and the parameters in that."""

    name: str
    made: Any
    given: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Entry:
    """What a short name means."""

    name: str
    target: str  # the package and the class
    example: str  # the name with parameters that work
    featured: bool = False  # whether the ground must be a point kernel: the kernelised form of the class

    @property
    def cls(self) -> Any:
        """The class."""
        return operator.attrgetter(self.target)(kermes)

    @property
    def summary(self) -> str:
        """The first line of the class's documentation."""
        first = (inspect.getdoc(self.cls) or "").splitlines()[0]
        return f"{first.removesuffix('.')}, in the feature space of a point kernel." if self.featured else first

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters with their defaults; ``inspect.Parameter.empty`` where one must be given."""
        items = getattr(self.cls, "__dataclass_fields__", {}).values()
        made = {item.name: item.default_factory for item in items if item.default_factory is not dataclasses.MISSING}
        given = inspect.signature(self.cls).parameters.values()
        kept = [item for item in given if not item.name.endswith(("engine", "_bounds"))]
        found = {item.name: made[item.name]() if item.name in made else item.default for item in kept}
        return found | ({"ground": inspect.Parameter.empty} if self.featured else {})

    @property
    def accepted(self) -> dict[str, str]:
        """Names that may be given, each with the object parameter it belongs to, or ''."""
        names = dict.fromkeys(self.parameters, "")
        for owner in [name for name in self.parameters if name in OBJECTS]:
            for cls in OBJECTS[owner]().values():
                names |= {name: owner for name in inspect.signature(cls).parameters if name not in names}
        return names

    def make(self, options: dict[str, Any]) -> Any:
        """Return the object with these parameters."""
        accepted = self.accepted
        for name in options:
            choice(name, f"parameter of {self.name}", accepted)
        given = {name: value for name, value in options.items() if not accepted[name]}
        for owner in [name for name in self.parameters if name in OBJECTS]:
            inner = {name: value for name, value in options.items() if accepted[name] == owner}
            if owner in given or inner:
                given[owner] = _object(owner, given.get(owner), inner)
        empty = inspect.Parameter.empty
        lacking = [name for name, default in self.parameters.items() if default is empty and name not in given]
        if lacking:
            what = NEEDED.get(lacking[0], f"the parameter {lacking[0]}")
            raise InvalidParameterError(f"{self.name} needs {what}, such as {self.example}.")
        return self.cls(**given)


_DIVERGENCES = (
    Entry("wasserstein", "divergences.Wasserstein", "wasserstein:p=1"),
    Entry("sinkhorn", "divergences.Sinkhorn", "sinkhorn:epsilon=0.4"),
    Entry("sliced", "divergences.SlicedWasserstein", "sliced:n_slices=50"),
    Entry("gaussian-wasserstein", "divergences.GaussianWasserstein", "gaussian-wasserstein"),
    Entry("kernel-wasserstein", "divergences.GaussianWasserstein", "kernel-wasserstein:sigma=1", featured=True),
    Entry("gaussian-kl", "divergences.GaussianKL", "gaussian-kl:reg=0.1"),
    Entry("kernel-kl", "divergences.GaussianKL", "kernel-kl:sigma=1,reg=0.1", featured=True),
    Entry("mmd", "divergences.MMD", "mmd:sigma=2"),
    Entry("jensen-shannon", "divergences.JensenShannon", "jensen-shannon:sigma=1"),
    Entry("variance", "divergences.GeneralizedVariance", "variance:eta=0.1"),
    Entry("exponential-family", "divergences.ExponentialFamily", "exponential-family:family=gaussian,beta=1"),
    Entry("euclidean", "divergences.Euclidean", "euclidean"),
)
_KERNELS = (
    Entry("igv", "kernels.IGV", "igv:eta=0.1"),
    Entry("kigv", "kernels.IGV", "kigv:eta=0.01,sigma=0.1", featured=True),
    Entry("entropy", "kernels.Entropy", "entropy:t=1,sigma=1"),
    Entry("bhattacharyya", "kernels.Bhattacharyya", "bhattacharyya:ground=linear,eta=0.1"),
    Entry("mass-laplace", "kernels.MassLaplace", "mass-laplace:family=gaussian,beta=0.1"),
)
DIVERGENCES, KERNELS = ({entry.name: entry for entry in listed} for listed in (_DIVERGENCES, _KERNELS))


def parse(string: str) -> Spec:
    """Return the name and the parameters of ``name:key=value,key=value``."""
    name, _, rest = string.partition(":")
    if {"=", ","} & set(name):
        raise InvalidParameterError(f"{string!r} must have the form name:parameter=value,parameter=value.")
    options: dict[str, Any] = {}
    for item in [part.strip() for part in rest.split(",") if part.strip()]:
        key, value = (side.strip() for side in item.partition("=")[::2])
        if not key or not value:
            raise InvalidParameterError(f"{item!r} in {string!r} must have the form parameter=value.")
        if key in options:
            raise InvalidParameterError(f"the parameter {key} is given twice in {string!r}.")
        options[key] = _value(value)
    return Spec(name.strip(), options)


def divergence(string: str) -> Any:
    """Return the divergence that ``string`` names.

    Point kernels and costs are given by their own names and parameters: ``mmd:sigma=2``,
    ``mmd:ground=laplacian,gamma=0.5``, ``wasserstein:cost=torus,period=24``.
    """
    spec = parse(string)
    return DIVERGENCES[choice(spec.name, "divergence", DIVERGENCES)].make(spec.options)


def kernel(string: str) -> Any:
    """Return the kernel that ``string`` names.

    A divergence is ``Exponential`` with ``length_scale`` and ``power``: ``wasserstein:p=1,length_scale=0.5``; a Jensen
    difference with a parameter ``t`` is ``Semigroup``.
    """
    spec = parse(string)
    choice(spec.name, "kernel", [*KERNELS, *DIVERGENCES])
    if spec.name in KERNELS:
        return KERNELS[spec.name].make(spec.options)
    entry = DIVERGENCES[spec.name]
    for name in spec.options:
        choice(name, f"parameter of the kernel {entry.name}", [*entry.accepted, *PROFILE])
    profile = {name: value for name, value in spec.options.items() if name in PROFILE}
    made = entry.make({name: value for name, value in spec.options.items() if name not in PROFILE})
    if "t" not in profile and "normalized" not in profile:
        return kermes.kernels.Exponential(made, **profile)
    if not isinstance(made, kermes.divergences.Jensen) or not profile.keys() <= {"t", "normalized"}:
        raise InvalidParameterError(
            f"t and normalized are parameters of Jensen differences, without length_scale and power; got {string!r}."
        )
    return kermes.kernels.Semigroup(made, **profile)


def entries() -> list[tuple[str, Entry]]:
    """Return ('divergence' or 'kernel', entry) for every name."""
    return [("divergence", entry) for entry in _DIVERGENCES] + [("kernel", entry) for entry in _KERNELS]


def candidate(named: Named, task: str, dim: int, learner: str = "auto") -> Any:
    """Return a named kernel with a learner; length scale and rate are searched unless the name has them."""
    from ..comparison._candidate import Candidate, definite_power

    kernels = kermes.kernels
    kernel, given = named.made, named.given
    open_scale = isinstance(kernel, kernels.Exponential) and "length_scale" not in given
    if open_scale and "power" not in given:
        kernel.set_params(power=definite_power(kernel.divergence, dim))
    if learner == "auto":
        proved = bool(kernel.is_positive_definite(dim))
        learner = "gp" if task == "regression" else "svm" if proved else "lssvm"
    chosen = LEARNERS[learner][task == "regression"]
    if open_scale:
        power = {"power": [float(given["power"])]} if "power" in given else None
        return Candidate(named.name, kernel.divergence, learner=chosen, grid=power)
    rate = isinstance(kernel, (kernels.Semigroup, kernels.Entropy)) and "t" not in given and learner != "gp"
    return Candidate(named.name, kernel=kernel, learner=chosen, grid={"t": RATES} if rate else None)


def with_length_scale(named: Named, X: Any) -> Any:
    """Return the kernel; at the median distance if its name says no length scale."""
    kernel = named.made
    if not isinstance(kernel, kermes.kernels.Exponential) or "length_scale" in named.given:
        return kernel
    return kernel.set_params(length_scale=median_distance(kermes.pairwise(X, divergence=kernel.divergence)))


def _object(owner: str, given: Any, options: dict[str, Any]) -> Any:
    """Return the point kernel or cost named ``given``, or the one that has all these options (the Gaussian first)."""
    known = OBJECTS[owner]()
    if given is None:
        order = sorted(known, key=lambda name: name != "gaussian")
        fitting = [name for name in order if options.keys() <= inspect.signature(known[name]).parameters.keys()]
        if not fitting:
            raise InvalidParameterError(f"no {owner} has the parameters {', '.join(options)} together.")
        given = fitting[0]
    cls = known[choice(given, owner, known)]
    for name in options:
        choice(name, f"parameter of {owner}={given}", inspect.signature(cls).parameters)
    return cls(**options)


def _value(string: str) -> Any:
    """Return a number, True, False or None if the string is one, otherwise the string."""
    word = {"true": True, "false": False, "none": None}
    if string.lower() in word:
        return word[string.lower()]
    try:
        value = ast.literal_eval(string)
    except (ValueError, SyntaxError):
        return string
    return value if isinstance(value, (int, float)) else string
