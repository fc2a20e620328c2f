"""Checks of scikit-learn that estimators do not pass, and why: the one list, for tests and documentation."""

from __future__ import annotations

from typing import Any

_NO_ARRAYS = dict.fromkeys(
    [
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit_idempotent",
    ],
    "the check compares outputs as arrays; here they are measures (the same laws are tested for them)",
)
#: {(class, parameters that matter): {check: reason}}
EXPECTED_FAILURES: dict[tuple[str, str], dict[str, str]] = {
    ("LSSVMClassifier", "kernel='precomputed'"): {
        "check_classifiers_one_label_sample_weights": (
            "the check passes an array of random numbers as the Gram matrix; it is not symmetric, which kermes refuses"
        ),
    },
    ("Codebook", ""): _NO_ARRAYS,
    ("MapPoints", ""): _NO_ARRAYS,
}


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Return the checks that fail for an estimator, for ``sklearn.utils.estimator_checks.check_estimator``.

    Examples
    --------
    >>> from kermes import LSSVMClassifier
    >>> from kermes.estimators import expected_failed_checks
    >>> expected_failed_checks(LSSVMClassifier())
    {}
    """
    for (name, parameters), failures in EXPECTED_FAILURES.items():
        if type(estimator).__name__ == name and parameters in repr(estimator):
            return failures
    return {}
