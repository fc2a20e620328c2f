"""Clusters against known classes: the table, its chi-square test, and rates."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, silhouette_score

from .._checks import as_distances, as_labels, require_order
from .._quantities import counted, shortened
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..exceptions import InvalidParameterError

#: Width of the text in columns, and of a name in it.
WIDTH, NAME = 100, 14


class ChiSquare(NamedTuple):
    """Statistic, p-value and degrees of freedom of a chi-square test."""

    statistic: float
    p_value: float
    dof: int


@dataclass(frozen=True, eq=False, repr=False)
class ClusterReport:
    """How clusters and classes meet; made by :func:`cluster_report`.

    Parameters
    ----------
    clusters, classes : ndarray
        The names, sorted.
    table : ndarray of shape (n_clusters, n_classes)
        Number of measures of each cluster in each class.
    adjusted_rand : float
        Adjusted Rand index: 1 for equal partitions, 0 on average for independent ones.
    silhouette : float or None
        Mean silhouette of the clusters; None without distances, and where it is not defined: for one cluster, or if
        every measure is a cluster.
    """

    clusters: AnyArray
    classes: AnyArray
    table: IndexArray
    adjusted_rand: float
    silhouette: float | None

    @property
    def sizes(self) -> IndexArray:
        """Number of measures of each cluster."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def chi_square(self) -> ChiSquare:
        """Pearson's test that clusters and classes are independent; (0, 1, 0) for one cluster or one class."""
        return self._chi_square(correction=False)

    @property
    def chi_square_yates(self) -> ChiSquare:
        """The same with Yates' correction, which applies to two clusters and two classes only."""
        return self._chi_square(correction=True)

    @property
    def assigned(self) -> AnyArray:
        """The class each cluster is taken for.

        With as many clusters as classes, the pairing with the most measures in agreement; otherwise the class that
        most measures of the cluster have (the first of several).
        """
        from scipy.optimize import linear_sum_assignment

        if self.table.shape[0] == self.table.shape[1]:
            return np.asarray(self.classes[linear_sum_assignment(self.table, maximize=True)[1]])
        return np.asarray(self.classes[self.table.argmax(axis=1)])

    @property
    def rates(self) -> FloatArray:
        """Share of each class that lies in the clusters taken for it, as in the paper; 0 if there are none."""
        return np.asarray(self._agreeing().sum(axis=0) / self.table.sum(axis=0))

    @property
    def accuracy(self) -> float:
        """Share of all measures that lie in a cluster taken for their class."""
        return float(self._agreeing().sum() / self.table.sum())

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table by columns, as ``pandas.DataFrame`` takes it: cluster, size, assigned, n_<class>."""
        columns = {"cluster": self.clusters.tolist(), "size": self.sizes.tolist(), "assigned": self.assigned.tolist()}
        return columns | {f"n_{name}": self.table[:, j].tolist() for j, name in enumerate(self.classes.tolist())}

    def scores(self) -> dict[str, float | None]:
        """Return the numbers by name: a row in a table of several methods."""
        return {
            "chi_square": self.chi_square.statistic,
            "chi_square_yates": self.chi_square_yates.statistic,
            "p_value": self.chi_square.p_value,
            "accuracy": self.accuracy,
            **{f"rate_{name}": rate for name, rate in zip(self.classes.tolist(), self.rates.tolist(), strict=True)},
            "adjusted_rand": self.adjusted_rand,
            "silhouette": self.silhouette,
        }

    def __repr__(self) -> str:
        return "\n".join([self._title(), *_lines(self._cells()), *self._summary()])

    def _repr_html_(self) -> str:
        head, *body = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells()]
        table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody>"
        return f"<div>{escape(self._title())}<table>{table}</table>{'<br>'.join(map(escape, self._summary()))}</div>"

    def _chi_square(self, correction: bool) -> ChiSquare:
        from scipy.stats import chi2_contingency

        result = chi2_contingency(self.table, correction=correction)
        return ChiSquare(float(result.statistic), float(result.pvalue), int(result.dof))

    def _agreeing(self) -> IndexArray:
        """Return the table with zeros where the class is not the one assigned to the cluster."""
        return np.where(self.assigned[:, np.newaxis] == self.classes, self.table, 0)

    def _title(self) -> str:
        k, c = self.table.shape
        return f"ClusterReport: {counted(self.table.sum(), 'measure')}, {counted(k, 'cluster')}, {counted(c, 'class')}"

    def _cells(self) -> list[list[str]]:
        """Return the rows of the printed table."""
        rows = [["cluster", "taken for", "size", *(shortened(str(name), NAME) for name in self.classes.tolist())]]
        for name, taken, size, counts in zip(
            self.clusters.tolist(), self.assigned.tolist(), self.sizes.tolist(), self.table.tolist(), strict=True
        ):
            rows.append([shortened(str(name), NAME), shortened(str(taken), NAME), str(size), *map(str, counts)])
        rows.append(["rate", "", f"{self.accuracy:.1%}", *(f"{rate:.1%}" for rate in self.rates.tolist())])
        return rows

    def _summary(self) -> list[str]:
        plain, yates = self.chi_square, self.chi_square_yates
        corrected = f" ({yates.statistic:.4g} with Yates' correction)" if plain.dof == 1 else ""
        p_value = f"p = {plain.p_value:.2g}" if plain.p_value > 0 else "p < 1e-300"
        silhouette = "" if self.silhouette is None else f", silhouette {self.silhouette:.3f}"
        return [
            f"chi-square {plain.statistic:.4g}{corrected}, {counted(plain.dof, 'degree')} of freedom, {p_value}",
            f"adjusted Rand index {self.adjusted_rand:.3f}{silhouette}",
        ]


def cluster_report(labels: ArrayLike, y: ArrayLike, distances: ArrayLike | None = None) -> ClusterReport:
    r"""Compare clusters with known classes.

    Parameters
    ----------
    labels : array of shape (n,)
        The cluster of each measure, numbers or names; the noise of DBSCAN, -1, is a cluster like the others.
    y : array of shape (n,)
        The class of each measure.
    distances : array of shape (n, n), optional
        Distances of the measures, for the silhouette.

    Returns
    -------
    ClusterReport
        ``sizes``, ``table``, ``chi_square``, ``assigned``, ``rates``, ``accuracy``, ``adjusted_rand``, ``silhouette``.
        It prints as a table.

    Notes
    -----
    "Kernel Wasserstein distance" reports a chi-square of 436 for the table of the example: that is Pearson's
    statistic, 436.05. With Yates' correction it would be 433.15. Its prediction rates, 97.1 % and 74.1 %, are the
    ``rates``, and its overall rate of 79.6 % is the ``accuracy``.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import clustering
    >>> y = np.repeat(["clean", "noisy", "clean", "noisy"], [658, 8, 230, 268])
    >>> labels = np.repeat([0, 1], [666, 498])
    >>> clustering.cluster_report(labels, y)
    ClusterReport: 1164 measures, 2 clusters, 2 classes
    cluster  taken for   size  clean  noisy
    0        clean        666    658      8
    1        noisy        498    230    268
    rate                79.6%  74.1%  97.1%
    chi-square 436.1 (433.1 with Yates' correction), 1 degree of freedom, p = 7.8e-97
    adjusted Rand index 0.345
    """
    require_order(labels, "labels", y=y)
    require_order(distances, "distances", labels=labels, y=y)
    clusters, rows = as_labels(labels, "labels")
    classes, columns = as_labels(y, "y", len(rows))
    table = np.zeros((len(clusters), len(classes)), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    silhouette = None
    if distances is not None:
        D, n = as_distances(distances, "distances"), len(rows)
        if len(D) != n:
            raise InvalidParameterError(
                f"`distances` must hold {n} x {n} numbers, one row per measure; got {len(D)} x {len(D)}."
            )
        if 1 < len(clusters) < n:
            silhouette = float(silhouette_score(D, rows, metric="precomputed"))
    return ClusterReport(clusters, classes, table, float(adjusted_rand_score(columns, rows)), silhouette)


def _lines(rows: list[list[str]], fixed: int = 3) -> list[str]:
    """Return aligned lines of at most WIDTH columns; classes, after the ``fixed`` ones, that do not fit are counted."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ends = np.cumsum(np.array(widths) + 2) - 2
    shown = max(fixed + 1, int(np.count_nonzero(ends <= WIDTH)))
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if j < 2 else cell.rjust(w) for j, (cell, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells[:shown]).rstrip())
    left = len(widths) - shown
    return lines if not left else [*lines, f"(and {counted(left, 'class')} more)"]
