"""Results back to AnnData: one observation for each measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import as_distances, needed
from .._typing import ArrayLike
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._data import Data


def to_anndata(
    X: Measures | Data,
    *,
    distances: ArrayLike | Mapping[str, ArrayLike] | None = None,
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    columns: Sequence[str] | None = None,
) -> Any:
    """Return an AnnData with a row for each measure (donor, sample, well).

    ``X`` of it has the mean of each coordinate (pseudo-bulk), ``obs`` the number of atoms, the mass, the labels and the
    metadata, ``obsp`` the distances.

    Parameters
    ----------
    X : Measures or Data
    distances : array of shape (n, n), or several by name
        Become ``obsp["distances"]``, or what they are called.
    labels : array of shape (n,), or several by name
        Such as clusters; become ``obs["label"]``, or what they are called. Those of ``Data`` by default.
    columns : list of str, optional
        Names of the coordinates; those of ``Data``, or x0, x1, ... by default.

    Examples
    --------
    >>> from kermes import files, pairwise, divergences
    >>> data = files.read("cells.h5ad", by="donor", use="X_pca", label="arm")  # doctest: +SKIP
    >>> D = pairwise(data.measures, divergence=divergences.SlicedWasserstein())  # doctest: +SKIP
    >>> files.to_anndata(data, distances=D).write("donors.h5ad")  # doctest: +SKIP
    """
    anndata, pd = (needed(name, "anndata", "Making an AnnData", "anndata") for name in ("anndata", "pandas"))
    data = X if isinstance(X, Data) else Data(X)
    measures = data.measures
    n = len(measures)
    obs: dict[str, Any] = {"n_atoms": measures.sizes, "mass": measures.masses, **data.metadata}
    given = data.labels if labels is None else labels
    if given is not None:
        obs |= given if isinstance(given, Mapping) else {"label": given}
    for name, values in obs.items():
        if np.shape(values) != (n,):
            raise InvalidParameterError(
                f"`{name}` has shape {np.shape(values)}; give one value for each of {n} measures."
            )
    tables = {} if distances is None else distances if isinstance(distances, Mapping) else {"distances": distances}
    obsp = {name: as_distances(table, name) for name, table in tables.items()}
    for name, table in obsp.items():
        if len(table) != n:
            raise InvalidParameterError(f"`{name}` has shape {table.shape} for {n} measures.")
    names = list(columns or data.columns or (f"x{i}" for i in range(measures.dim)))
    return anndata.AnnData(
        measures.expectation(measures.points),
        obs=pd.DataFrame(obs, index=pd.Index(map(str, data.keys), name=data.by)),
        var=pd.DataFrame(index=names),
        obsp=obsp,
    )
