"""Means and Gaussians in feature space against inner products in mpmath."""

import pytest
from mpmath import mp, mpf
from tests.strategies import pairs
from tests.truth import truths
from tests.truth.judge import RECORDS, Record, check, each, for_cases, guarded, judge_all
from tests.truth.oracles import feature_space, measures

from kermes import divergences


@each(truths.FEATURE_SPACE)
def test_feature_space(truth):
    judge_all(truth)


@pytest.mark.parametrize("kernel", truths.KERNELS)
def test_divergences_in_one_direction(kernel):
    """With equal, collinear and far measures, of which rounding may leave some undetermined."""
    point_kernel, values = truths.KERNELS[kernel]
    divergence = divergences.GaussianKL(point_kernel, truths.RIDGE)
    record = RECORDS.setdefault(f"GaussianKL.directed, {kernel}", Record())

    def judge(pair):
        record.cases += 1
        X, Y = pair.collections()
        found = guarded(lambda: divergence.directed(X, Y))
        if isinstance(found, str):
            record.refused[found] += 1
            return
        mu, nu = measures(pair)
        with truths.in_features(mu, nu, kernel):
            f = feature_space.Features(mu, nu, values, 3 if kernel == "cubic" else 2)
            true = feature_space.directed_kl(f, mpf(truths.RIDGE))
            bound = truths.directed_bound(f, true, kernel)
        with mp.workdps(40):
            check(record, mpf(float(found[0, 0])), (true, bound), False, f"GaussianKL.directed, {kernel}")

    for_cases(judge, pairs(3 if kernel == "cubic" else 2, most=3))
