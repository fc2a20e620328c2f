"""Errors and warnings of kermes.

::

    KermesError
    ├── InvalidMeasureError (ValueError)      a measure breaks a rule; names its index
    ├── InvalidParameterError (ValueError)    a parameter of a divergence, kernel or engine is out of range
    ├── UnsuitableDataError (ValueError)      valid measures that a divergence cannot compare
    ├── InvalidFileError (ValueError)         a file that is damaged, of another kind, or holds what is refused
    ├── EvaluationError (RuntimeError)        a function that is optimised failed; has the result so far
    ├── NumericalError (ArithmeticError)      a pair gave no finite number; names the pair
    ├── StoreError (ValueError)               a store of distances holds something else; names what differs
    └── MissingDependencyError (ImportError)  an optional package is not installed; names the extra

    KermesWarning (UserWarning)
    ├── ConvergenceWarning                    some pairs did not reach their tolerance; says how many
    ├── DegenerateDataWarning                 constant targets, equal inputs: the data leave something undetermined
    ├── IllConditionedWarning                 a linear system lost most of its digits
    ├── IndefiniteKernelWarning               a good part of a spectrum is negative and was left out
    └── StoreWarning                          stored distances were damaged, or are of another version

Every message has the form "what is wrong; the rule; the remedy".
"""

from __future__ import annotations

from typing import Any

from ._names import public_dir

__all__ = [
    "ConvergenceWarning",
    "DegenerateDataWarning",
    "EvaluationError",
    "IllConditionedWarning",
    "IndefiniteKernelWarning",
    "InvalidFileError",
    "InvalidMeasureError",
    "InvalidParameterError",
    "KermesError",
    "KermesWarning",
    "MissingDependencyError",
    "NumericalError",
    "StoreError",
    "StoreWarning",
    "UnsuitableDataError",
]
__dir__ = public_dir(__all__)


class KermesError(Exception):
    """Base of every error raised on purpose by kermes."""


class InvalidMeasureError(KermesError, ValueError):
    """Input that is not a measure: the message names the index, the rule and the remedy."""


class InvalidParameterError(KermesError, ValueError):
    """A parameter outside its range."""


class UnsuitableDataError(KermesError, ValueError):
    """Valid measures that this divergence cannot compare, such as points of different dimensions."""


class InvalidFileError(KermesError, ValueError):
    """A file that is damaged, of another kind, or holds something that is refused."""


class EvaluationError(KermesError, RuntimeError):
    """A function that is optimised failed, at ``weights``; ``result`` has all evaluations before, or is None."""

    def __init__(self, message: str, weights: Any = None, result: Any = None) -> None:
        super().__init__(message)
        self.weights = weights
        self.result = result


class NumericalError(KermesError, ArithmeticError):
    """A pair of measures for which no finite value could be computed."""


class StoreError(KermesError, ValueError):
    """A store of distances that cannot be used: other data, another divergence, unfinished."""


class MissingDependencyError(KermesError, ImportError):
    """An optional package is needed and not installed."""


class KermesWarning(UserWarning):
    """Base of every warning of kermes."""


class ConvergenceWarning(KermesWarning):
    """Some pairs stopped before reaching their tolerance."""


class DegenerateDataWarning(KermesWarning):
    """Constant targets, or two targets for one input: the documented fallback was used."""


class IllConditionedWarning(KermesWarning):
    """A linear system is nearly singular; its solution may have few correct digits."""


class IndefiniteKernelWarning(KermesWarning):
    """A good part of the spectrum of a Gram matrix is negative and was left out."""


class StoreWarning(KermesWarning):
    """Chunks of a store were damaged and are computed anew, or come from another version."""
