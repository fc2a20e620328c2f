"""scikit-learn's own checks: a 2-D array is read as n Dirac masses."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from kermes import ground
from kermes.embeddings import LinearTransportFeatures, QuantileFeatures, RandomFourierFeatures, SlicedFeatures

ESTIMATORS = [
    QuantileFeatures(n_quantiles=5),
    QuantileFeatures(n_quantiles=None),
    SlicedFeatures(n_slices=7, n_quantiles=3),
    RandomFourierFeatures(random_state=0),
    RandomFourierFeatures(ground.Laplacian(0.5), random_state=0),
    LinearTransportFeatures(n_reference=3, random_state=0),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
