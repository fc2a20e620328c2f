"""The public names, loaded at first use."""

import subprocess
import sys

import kermes
from kermes import estimators, features


def test_estimators_are_top_level_names():
    for name in estimators.__all__:
        if hasattr(getattr(estimators, name), "fit"):
            assert getattr(kermes, name) is getattr(estimators, name)
            assert name in dir(kermes)
    assert kermes.KernelFeatures is features.KernelFeatures
    assert kermes.MixtureFeatures is features.MixtureFeatures
    assert kermes.definiteness.spectrum([[1.0]]).verdict == "positive definite"


def test_import_does_not_load_learners():
    code = "import sys, kermes; sys.exit(any(m.startswith(('sklearn.gaussian', 'sklearn.model')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
