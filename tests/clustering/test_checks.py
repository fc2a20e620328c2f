"""scikit-learn's own checks: a 2-D array is read as n Dirac masses."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from kermes.clustering import HierarchicalClustering, KMedoids

ESTIMATORS = [
    HierarchicalClustering(),
    HierarchicalClustering(linkage="ward", optimal_ordering=True),
    KMedoids(),
    KMedoids(init="random"),
    KMedoids(init="k-medoids++"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
