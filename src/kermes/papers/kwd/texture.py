"""Texture features of images: 25 numbers from the co-occurrences of grey levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...exceptions import InvalidParameterError, UnsuitableDataError
from .._paper import AnyArray, FloatArray
from .dental import scikit_image

ANGLES = (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4)
ROUNDING = 1e-12  # differences below this are those of rounding


def texture_features(images: ArrayLike, levels: int = 64, percentile: float = 5.0) -> FloatArray:
    """Return the 25 texture features of each image (n, height, width), those of Table 1 of the paper `kwd`, as (n, 25).

    Pixels not above the given percentile of their image are left out (air, in a CT slice). The others are put into
    ``levels`` bins of equal width between their smallest and largest value. The co-occurrence matrix counts the pairs
    of neighbours in the four directions 0, 45, 90 and 135 degrees, both ways, and is divided by its sum: one matrix for
    all directions. Pairs with a pixel that was left out do not count. Columns are in the order of ``TEXTURE_FEATURES``
    and not scaled: the paper scales each to [0, 1] over its data, as ``sklearn.preprocessing.minmax_scale`` does.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes.papers.kwd.texture import TEXTURE_FEATURES, texture_features
    >>> stripes = np.tile([1.0, 2.0, 3.0], (1, 4, 1))
    >>> features = texture_features(stripes, levels=2)
    >>> dict(zip(TEXTURE_FEATURES, features[0].round(3)))["contrast"]
    np.float64(0.625)
    """
    return glcm_features(cooccurrences(images, levels, percentile))


def cooccurrences(images: ArrayLike, levels: int = 64, percentile: float = 5.0) -> FloatArray:
    """Return the normalised co-occurrence matrix of each image, of shape (n, levels, levels)."""
    count_pairs = scikit_image("feature").graycomatrix
    images = np.asarray(images)
    if images.ndim != 3:
        raise InvalidParameterError(f"`images` must be an array of shape (n, height, width); got {images.shape}.")
    if levels < 2:
        raise InvalidParameterError(f"`levels` must be an integer of at least 2; got {levels!r}.")
    matrices = np.empty((len(images), levels, levels))
    for i, image in enumerate(images):
        # Level 0 is for the pixels left out: graycomatrix knows no mask, so their row and column are dropped.
        grey = _quantise(image, levels, percentile, i)
        counts = count_pairs(grey, [1], ANGLES, levels=levels + 1, symmetric=True)[1:, 1:].sum(axis=(2, 3))
        if counts.sum() == 0:
            raise UnsuitableDataError(
                f"image {i} has no two neighbouring pixels above its percentile {percentile:g}, so it has no texture. "
                "Remove it, or lower `percentile`."
            )
        matrices[i] = counts / counts.sum()
    return matrices


def _quantise(image: AnyArray, levels: int, percentile: float, index: int) -> AnyArray:
    """Return grey levels 1 to ``levels`` in bins of equal width, 0 for the pixels left out."""
    image = np.asarray(image, dtype=np.float64)
    if not np.isfinite(image).all():
        raise UnsuitableDataError(f"image {index} has values that are not finite numbers. Replace or remove them.")
    kept = image > np.percentile(image, percentile) if image.size else np.zeros(image.shape, dtype=bool)
    grey = np.zeros(image.shape, dtype=np.uint16)
    if kept.any():
        low, high = image[kept].min(), image[kept].max()
        width = (high - low) / levels
        bins = (image[kept] - low) / width if width > 0.0 else np.zeros(kept.sum())
        grey[kept] = np.minimum(bins.astype(np.int64), levels - 1) + 1
    return grey


def glcm_features(matrix: ArrayLike) -> FloatArray:
    r"""Return 25 features of symmetric co-occurrence matrices that sum to one.

    With levels :math:`i, j = 1 \ldots L`, marginal :math:`p_i = \sum_j P_{ij}` of mean :math:`\mu` and variance
    :math:`\sigma^2`, :math:`d = |i - j|`, :math:`s = i + j`, and entropies in bits:

    =================================== ============================================================================
    auto-correlation                    :math:`\sum P\, i j`
    joint average, joint variance       :math:`\mu`, :math:`\sigma^2`
    cluster tendency, shade, prominence :math:`\sum P\, (s - 2 \mu)^k` for k = 2, 3, 4
    contrast, dissimilarity             :math:`\sum P\, d^2`, :math:`\sum P\, d`
    correlation                         :math:`\sum P\, (i - \mu)(j - \mu) / \sigma^2`
    difference entropy, variance        of the distribution of d
    sum average, entropy, variance      of the distribution of s
    joint energy, entropy, maximum      :math:`\sum P^2`, :math:`-\sum P \log_2 P`, :math:`\max P`
    inverse difference (normalized)     :math:`\sum P / (1 + d)` (:math:`\sum P / (1 + d / L)`)
    inverse difference moment (norm.)   :math:`\sum P / (1 + d^2)` (:math:`\sum P / (1 + (d / L)^2)`)
    inverse variance                    :math:`\sum_{d > 0} P / d^2`
    first informational correlation     :math:`(H_{xy} - 2 H_x) / H_x`
    second informational correlation    :math:`\sqrt{1 - \exp(-2 (2 H_x - H_{xy}))}`
    Haralick correlation                :math:`(\sum P\, i j - m^2) / v`, with mean m and variance v of the :math:`p_i`
    =================================== ============================================================================

    These are the definitions of the Image Biomarker Standardisation Initiative; the last one is that of CERR, which the
    paper used (and of ITK). Cluster tendency and sum variance are the same number, in Table 1 of the paper as here.

    Where a definition divides zero by zero the feature is 0: the correlations of an image of one grey level, and the
    Haralick correlation when all levels are equally frequent.

    ``matrix`` has shape (L, L) or (n, L, L); features are in the order of ``TEXTURE_FEATURES``.

    Examples
    --------
    >>> from kermes.papers.kwd.texture import glcm_features
    >>> glcm_features([[0.5, 0.0], [0.0, 0.5]])[:3]
    array([2.5, 1.5, 1. ])
    """
    P = np.asarray(matrix, dtype=np.float64)
    if P.ndim not in (2, 3) or P.shape[-1] != P.shape[-2] or P.shape[-1] == 0:
        raise InvalidParameterError(f"`matrix` must be square, or a stack of square matrices; got shape {P.shape}.")
    symmetric = np.allclose(P, np.swapaxes(P, -1, -2), rtol=0.0, atol=ROUNDING)
    if not (symmetric and P.min(initial=0.0) >= 0.0 and np.allclose(P.sum(axis=(-1, -2)), 1.0)):
        raise InvalidParameterError(
            "`matrix` must be symmetric, without negative entries, and sum to 1. Divide by the sum."
        )
    features = np.column_stack([*_features(P.reshape(-1, *P.shape[-2:])).values()])
    return features if P.ndim == 3 else features[0]


def _features(P: FloatArray) -> dict[str, FloatArray]:
    """Return the features of a stack of matrices, in the order of Table 1 of the paper."""
    L = P.shape[-1]
    level = np.arange(1.0, L + 1.0)
    gaps, sums = np.arange(float(L)), np.arange(2.0, 2.0 * L + 1.0)
    px, flipped = P.sum(axis=2), P[:, :, ::-1]
    # The distributions of |i - j|, P being symmetric, and of i + j.
    pd = np.stack([np.trace(P, k, 1, 2) * (2.0 if k else 1.0) for k in range(L)], axis=1)
    ps = np.stack([np.trace(flipped, L - 1 - k, 1, 2) for k in range(2 * L - 1)], axis=1)
    mean = px @ level
    variance = _moment(px, level, mean, 2)
    product = np.einsum("nij,i,j->n", P, level, level)
    centred = level - mean[:, None]
    covariance = np.einsum("nij,ni,nj->n", P, centred, centred)
    Hxy, Hx = _entropy(P.reshape(len(P), L * L)), _entropy(px)
    # For a symmetric matrix the cross entropies HXY1 and HXY2 of the definitions are both 2 Hx.
    shared = np.maximum(2.0 * Hx - Hxy, 0.0)  # mutual information; rounding must not make it negative
    return {
        "auto-correlation": product,
        "joint average": mean,
        "cluster prominence": _moment(ps, sums, 2 * mean, 4),
        "cluster shade": _moment(ps, sums, 2 * mean, 3),
        "cluster tendency": _moment(ps, sums, 2 * mean, 2),
        "contrast": pd @ gaps**2,
        "correlation": _ratio(covariance, variance, ROUNDING),
        "difference entropy": _entropy(pd),
        "dissimilarity": pd @ gaps,
        "difference variance": _moment(pd, gaps, pd @ gaps, 2),
        "joint energy": np.einsum("nij,nij->n", P, P),
        "joint entropy": Hxy,
        "inverse difference": pd @ (1 / (1 + gaps)),
        "inverse difference moment": pd @ (1 / (1 + gaps**2)),
        "first informational correlation": _ratio(-shared, Hx, ROUNDING),
        "second informational correlation": np.sqrt(-np.expm1(-2.0 * shared)),
        "inverse difference moment normalized": pd @ (1 / (1 + (gaps / L) ** 2)),
        "inverse difference normalized": pd @ (1 / (1 + gaps / L)),
        "inverse variance": pd[:, 1:] @ (1 / gaps[1:] ** 2),
        "sum average": ps @ sums,
        "sum entropy": _entropy(ps),
        "sum variance": _moment(ps, sums, ps @ sums, 2),
        "haralick correlation": _ratio(product - 1 / L**2, np.mean((px - 1 / L) ** 2, axis=1), (ROUNDING / L) ** 2),
        "joint maximum": P.max(axis=(1, 2)),
        "joint variance": variance,
    }


def _moment(p: FloatArray, values: FloatArray, centre: FloatArray, power: int) -> FloatArray:
    return np.asarray(np.einsum("nk,nk->n", p, (values - centre[:, None]) ** power))


def _entropy(p: FloatArray) -> FloatArray:
    """Return the entropy of each row in bits; 0 log 0 = 0."""
    logarithm = np.log2(p, out=np.zeros_like(p), where=p > 0.0)
    return np.asarray(-np.einsum("nk,nk->n", p, logarithm)) + 0.0  # + 0.0: no negative zero


def _ratio(numerator: FloatArray, denominator: FloatArray, smallest: float) -> FloatArray:
    """Return the quotient, and 0 where the denominator is zero up to rounding."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > smallest)


#: The names of the features, in the order of Table 1 of the paper `kwd`.
TEXTURE_FEATURES = tuple(_features(np.ones((1, 1, 1))))
