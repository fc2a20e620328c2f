"""Targets, folds and scores: what makes two candidates comparable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn import metrics
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from .._checks import as_labels, choice, integer
from .._quantities import counted
from .._typing import AnyArray, IndexArray
from .._values import as_array, as_values, class_array, missing_rows, plain, refuse_dates, refuse_scale
from ..exceptions import DegenerateDataWarning, InvalidParameterError, UnsuitableDataError

Split = tuple[IndexArray, IndexArray]

_OTHER_FOLDS = "Add samples, or give other folds as `cv`."


class Fold(NamedTuple):
    """Rows to train on, rows to test on, and splits of the training rows (as positions in ``train``)."""

    train: IndexArray
    test: IndexArray
    inner: list[Split]


class Score(NamedTuple):
    """A name, a function of (truth, predicted), and the one that searches use; more is better."""

    name: str
    function: Callable[[AnyArray, AnyArray], float]
    search: Callable[[AnyArray, AnyArray], float]


_SCORES: dict[str, dict[str, Callable[..., Any]]] = {
    "classification": {
        # scikit-learn's own, with its checks, takes a third of the time of a search in small samples.
        "accuracy": lambda truth, predicted: np.mean(truth == predicted),
        # The mean recall of the classes that occur.
        "balanced_accuracy": lambda truth, found: np.mean([np.mean(found[truth == c] == c) for c in np.unique(truth)]),
        "f1_macro": partial(metrics.f1_score, average="macro", zero_division=0.0),
    },
    "regression": {
        "r2": metrics.r2_score,
        "neg_mean_absolute_error": lambda truth, predicted: -np.mean(np.abs(truth - predicted)),
        "neg_root_mean_squared_error": lambda truth, predicted: -np.sqrt(np.mean((truth - predicted) ** 2)),
    },
}


def as_score(scoring: str | None, task: str) -> Score:
    """Return a score by its name in scikit-learn; accuracy or R^2 by default."""
    known = _SCORES[task]
    name = next(iter(known)) if scoring is None else choice(scoring, "scoring", known)
    function = known[name]
    # R^2 is not defined for one sample, which is what a search in few samples may test on.
    search = known["neg_root_mean_squared_error" if name == "r2" else name]
    return Score(name, lambda t, p: float(function(t, p)), lambda t, p: float(search(t, p)))


def task_of(labels: AnyArray, most_classes: int = 20) -> str:
    """Return 'regression' for numbers with fractions or with more than ``most_classes`` values, or 'classification'."""
    if labels.dtype.kind not in "iuf":
        return "classification"
    whole = labels.dtype.kind != "f" or bool((labels == np.round(labels)).all())
    return "classification" if whole and len(np.unique(labels)) <= most_classes else "regression"


def read_target(y: Any, n: int, task: str) -> tuple[AnyArray, str]:
    """Return y as labels or as finite numbers, and the task; or say which task it is made for."""
    choice(task, "task", ["auto", *_SCORES])
    target = read_column(y, n)
    task = task_of(target) if task == "auto" else task
    if task == "classification":
        if target.dtype.kind == "f" and (target != np.floor(target)).any():
            raise UnsuitableDataError(
                f"`y` has {len(np.unique(target))} distinct values, all real: use task='regression'. Classes are whole "
                "numbers or strings."
            )
        labels, codes = as_labels(class_array(target, "y"), "y")
        if len(labels) < 2:
            raise UnsuitableDataError(f"`y` must have at least two classes; it holds only one, {labels[0]!s}.")
        return np.asarray(labels[codes]), task
    refuse_dates(target, "y", UnsuitableDataError)
    try:
        numbers = target.astype(np.float64)
    except (TypeError, ValueError):
        raise UnsuitableDataError("`y` holds values that are not numbers: use task='classification'.") from None
    if target.dtype.kind not in "biufO" or not np.isfinite(numbers).all():
        raise UnsuitableDataError("`y` must hold finite numbers; for names of classes use task='classification'.")
    refuse_scale(numbers, "y", UnsuitableDataError)
    if np.ptp(numbers) == 0:
        raise UnsuitableDataError(f"all values of `y` are equal, {numbers[0]:g}: there is nothing to learn.")
    return numbers, task


def read_groups(groups: Any, n: int) -> AnyArray | None:
    """Return a number for the group of each measure."""
    return None if groups is None else as_labels(groups, "groups", n)[1]


def outer_folds(y: AnyArray, task: str, cv: Any, inner_cv: int, groups: Any, seed: int) -> list[Fold]:
    """Return the folds that all candidates share, none of which parts samples of one of the groups."""
    codes = read_groups(groups, len(y))
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        splits = _split(y, task, _affordable(y, task, integer(cv, "cv", low=2), codes), codes, seed)
    else:
        splits = _given(cv, y, codes)
    if codes is not None:
        _refuse_parted(splits, groups, codes)
    folds = [
        Fold(train, test, inner_folds(y[train], task, inner_cv, None if codes is None else codes[train], seed))
        for train, test in splits
    ]
    learned = [y[fold.train[train]] for fold in folds for train, _ in fold.inner] if task == "classification" else []
    single = [labels[0] for labels in learned if len(np.unique(labels)) == 1]
    if single:  # there is nothing to tell apart
        what = "2 samples of each class" if codes is None else "samples of each class in two groups"
        raise UnsuitableDataError(
            f"a search needs {what} in every training set, but one of its folds would learn from class {single[0]!s} "
            f"only. {_OTHER_FOLDS}"
        )
    return folds


def inner_folds(y: AnyArray, task: str, cv: int, groups: AnyArray | None, seed: int) -> list[Split]:
    """Return splits for a search; fewer than asked where classes or groups are small, and two at least.

    Raises UnsuitableDataError where there is nothing to split.
    """
    if task == "regression" and len(y) < 2:
        raise UnsuitableDataError(
            f"a search needs 2 samples to split into folds, but a training set has {counted(len(y), 'sample')}. "
            f"{_OTHER_FOLDS}"
        )
    labels, counts = np.unique(y, return_counts=True)
    if task == "classification" and counts.max() < 2:
        raise UnsuitableDataError(
            "a search needs 2 samples of each class to split into folds, but in a training set class "
            f"{labels[0]!s} has 1 sample. {_OTHER_FOLDS}"
        )
    if groups is not None and len(np.unique(groups)) == 1:
        groups = None  # one group cannot be kept on one side; the outer test rows are of others anyway
    k = max(2, min(integer(cv, "inner_cv", low=2), _most_folds(y, task, groups)[0]))
    with warnings.catch_warnings():  # a class of one sample is in no training set of its split: it cannot be helped
        warnings.filterwarnings("ignore", message="The least populated class")
        return _split(y, task, k, groups, seed)


def _split(y: AnyArray, task: str, k: int, groups: AnyArray | None, seed: int) -> list[Split]:
    kinds = (StratifiedKFold, StratifiedGroupKFold) if task == "classification" else (KFold, GroupKFold)
    folds = kinds[groups is not None](k, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y, groups))


def _most_folds(y: AnyArray, task: str, groups: AnyArray | None) -> tuple[int, str]:
    """Return how many folds the data allow, and why not more."""
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        limit = int(counts.min())
        reason = f"class {labels[counts.argmin()]!s} has {counted(limit, 'sample')}"
    else:
        limit, reason = len(y) // 2, f"there are {counted(len(y), 'sample')}, and each fold needs 2 to test on"
    if groups is not None and len(np.unique(groups)) < limit:
        limit = len(np.unique(groups))
        reason = f"there {'is 1 group' if limit == 1 else f'are {limit} groups'}"
    return limit, reason


def _affordable(y: AnyArray, task: str, cv: int, groups: AnyArray | None) -> int:
    """Return the number of folds, fewer than asked with a warning; refuse data too few for nested folds."""
    limit, reason = _most_folds(y, task, groups)
    if groups is not None and len(np.unique(groups)) < 2:
        raise UnsuitableDataError(
            f"cross-validation needs groups to learn from and others to test on, but {reason}. Add groups."
        )
    if task == "classification":
        rarest, why = _most_folds(y, task, None)
        needed = 4 if cv == 2 else 3  # of 3 samples, 2 folds test on 2 and leave 1; 3 folds leave 2
        if rarest < needed:
            advice = " If `y` are numbers to be predicted, use task='regression'." if y.dtype.kind in "iuf" else ""
            raise UnsuitableDataError(
                f"nested cross-validation{' with 2 folds' if cv == 2 else ''} needs {needed} samples of each class, "
                f"for 2 to be left to the search when the others are tested on, but {why}. Add samples, or leave that "
                f"class out.{advice}"
            )
    elif limit < 2:
        raise UnsuitableDataError(
            f"nested cross-validation needs 4 samples, 2 to test on and 2 to split again for the search, but `y` holds "
            f"{len(y)}. Add samples."
        )
    if limit < cv:
        warnings.warn(
            f"{cv} folds were asked for, but {reason}: {limit} folds are used.", DegenerateDataWarning, stacklevel=4
        )
    return min(limit, cv)


def _given(cv: Any, y: AnyArray, groups: AnyArray | None) -> list[Split]:
    """Return the splits of a scikit-learn splitter or an iterable of (train, test)."""
    listed = isinstance(cv, Iterable) and not isinstance(cv, str)
    splits = []
    for split in list(cv) if listed else _of_splitter(cv, y, groups):
        if not hasattr(split, "__len__") or len(split) != 2:
            raise _no_folds(cv)
        train, test = (_rows(part, len(y)) for part in split)
        if not len(train) or not len(test) or np.intersect1d(train, test).size:
            raise InvalidParameterError("each split of `cv` must have rows to train on and others to test on.")
        splits.append((train, test))
    if not splits:
        raise InvalidParameterError("`cv` must hold at least one split; got none.")
    return splits


def _of_splitter(cv: Any, y: AnyArray, groups: AnyArray | None) -> list[Any]:
    """Return the splits of a scikit-learn splitter, whose complaints have other names for things."""
    try:
        splitter = check_cv(cv)
    except ValueError:
        raise _no_folds(cv) from None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")  # the splits are checked
            return list(splitter.split(np.zeros(len(y)), y, groups))
    except (TypeError, ValueError) as error:
        remedy = " Pass `groups`, or other folds." if groups is None and "groups" in str(error) else ""
        raise InvalidParameterError(f"`cv` does not split these {len(y)} measures: {error}{remedy}") from None


def _no_folds(cv: Any) -> InvalidParameterError:
    return InvalidParameterError(
        f"`cv` must be a number of folds, a scikit-learn splitter or an iterable of (train, test); got {cv!r:.200}."
    )


def _rows(part: Any, n: int) -> IndexArray:
    """Return one side of a split as row numbers; an empty one is left for the caller to refuse."""
    try:
        rows = as_array(part, "cv")
    except ValueError:  # ragged
        rows = np.asarray(part, dtype=object)
    if rows.shape == (0,):
        return np.zeros(0, dtype=np.int64)
    whole = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not whole or rows.min() < 0 or rows.max() >= n or len(np.unique(rows)) < len(rows):
        remedy = "; numpy.flatnonzero(mask) makes rows of a mask" if rows.dtype.kind == "b" else ""
        raise InvalidParameterError(
            f"each split of `cv` must hold distinct rows, whole numbers from 0 to {n - 1}; got {part!r:.60}{remedy}."
        )
    return rows.astype(np.int64)


def _refuse_parted(splits: list[Split], groups: Any, codes: AnyArray) -> None:
    """Refuse splits that have samples of one group on both sides."""
    for train, test in splits:
        both = np.intersect1d(codes[train], codes[test])
        if both.size:
            raise InvalidParameterError(
                "`cv` must keep the samples of each of the `groups` on one side of a split, but one trains and tests "
                f"on group {as_labels(groups, 'groups')[0][both[0]]!s}. Use a number of folds, or a splitter of groups "
                "such as GroupKFold."
            )


def read_column(y: Any, n: int) -> AnyArray:
    """Return y as an array with a value for every measure."""
    target = plain(as_values(y, "y"))
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1 or len(target) != n:
        raise InvalidParameterError(f"`y` must hold {n} values, one per measure; got shape {target.shape}.")
    if target.dtype.kind == "c":
        raise InvalidParameterError("`y` must hold labels or real numbers; got complex ones. Take y.real.")
    missing = missing_rows(target)
    if len(missing):
        raise InvalidParameterError(
            f"`y` must have a value for every measure; that of measure {missing[0]} is missing "
            f"({len(missing)} in all). Leave such measures out."
        )
    return target
