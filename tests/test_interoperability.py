"""From other people's data to a fitted pipeline, in few lines: tables, text, images with intensities."""

import ast
import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kermes import KernelFeatures, LSSVMClassifier, MapPoints, Measures, datasets, divergences, kernels

SLICED = divergences.SlicedWasserstein(n_slices=20)


def cells(n=24, seed=0):
    """Return a long table of cells as columns, shuffled: sick patients have some cells that are shifted."""
    rng = np.random.default_rng(seed)
    patient = rng.permutation(np.repeat(np.arange(n), 30))
    sick = patient % 2
    shift = 3.0 * (sick & (rng.uniform(size=len(patient)) < 0.4))
    return {
        "patient": [f"p{i:02}" for i in patient],
        "cd4": rng.normal(size=len(patient)) + shift,
        "cd8": 1000.0 * (rng.normal(size=len(patient)) + shift),
        "sick": sick,
    }


def from_pandas(table):
    X = Measures.from_frame(table, by="patient", columns=["cd4", "cd8"])
    y = table.groupby("patient")["sick"].first().loc[X.keys]
    model = make_pipeline(MapPoints(StandardScaler()), LSSVMClassifier(gamma=10.0))
    return model.fit(X, y), X, y


def from_polars(table):
    X = Measures.from_frame(table, by="patient", columns=["cd4", "cd8"])
    y = table.group_by("patient", maintain_order=True).first()["sick"]  # in the order of X.keys
    model = make_pipeline(MapPoints(StandardScaler()), LSSVMClassifier(gamma=10.0))
    return model.fit(X, y), X, y


@pytest.mark.parametrize(("library", "fit"), [("pandas", from_pandas), ("polars", from_polars)])
def test_a_long_table_to_a_fitted_pipeline(library, fit):
    table = pytest.importorskip(library).DataFrame(cells())
    model, X, y = fit(table)
    truth = np.array([int(key[1:]) % 2 for key in X.keys])
    assert_array_equal(y, truth)
    assert model.score(X, y) == 1.0
    new = Measures.from_frame(type(table)(cells(seed=1)), by="patient", columns=["cd4", "cd8"])
    assert np.mean(model.predict(new) == [int(key[1:]) % 2 for key in new.keys]) > 0.9
    assert len(ast.parse(inspect.getsource(fit)).body[0].body) < 10


def test_both_tables_give_the_same_model():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    first, X, _ = from_pandas(pandas.DataFrame(cells()))
    second, Z, _ = from_polars(polars.DataFrame(cells()))
    assert X.fingerprint == Z.fingerprint
    assert_array_equal(first.decision_function(X), second.decision_function(Z))


def test_scaling_and_reducing_points_in_one_search():
    """Noise of large scale hides the classes in the raw points; scaled and reduced ones show them."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    wide = np.array([1.0, 1.0, 200.0])
    X = Measures.from_samples([wide * rng.normal([2.0 * label, 2.0 * label, 0.0], 1.0, (15, 3)) for label in y])
    svc = SVC(kernel=kernels.Exponential(SLICED))
    points = make_pipeline(StandardScaler(), PCA(random_state=0))
    model = make_pipeline(MapPoints(points), svc)
    search = GridSearchCV(model, {"mappoints__transformer__pca__n_components": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(svc, X, y, cv=3).mean() < 0.8


WORDS = {  # hand-made vectors: (animal, food, size)
    "cat": [1.0, 0.1, 0.3], "kitten": [1.0, 0.1, 0.1], "dog": [1.0, 0.0, 0.4], "puppy": [1.0, 0.0, 0.2],
    "horse": [1.0, 0.2, 0.9], "bread": [0.0, 1.0, 0.3], "cake": [0.0, 1.0, 0.4], "soup": [0.1, 1.0, 0.5],
    "apple": [0.0, 1.0, 0.1], "big": [0.4, 0.4, 1.0], "small": [0.4, 0.4, 0.0], "warm": [0.4, 0.6, 0.5],
}  # fmt: skip


def test_text_as_bags_of_word_vectors():
    texts = ["small cat", "big dog horse", "kitten puppy", "warm bread", "big cake apple", "soup bread"]
    y = ["animal"] * 3 + ["food"] * 3
    X = Measures.from_samples([[WORDS[word] for word in text.split()] for text in texts])
    model = make_pipeline(MapPoints(PCA(2)), LSSVMClassifier(gamma=10.0)).fit(X, y)
    new = Measures.from_samples([[WORDS[word] for word in text.split()] for text in ("warm puppy", "small soup")])
    assert_array_equal(model.predict(new), ["animal", "food"])


def test_images_as_clouds_of_place_and_intensity():
    """The recipe of the guide: each pixel with ink is a point (row, column, intensity) of mass 1."""
    digits = datasets.load_digits()[:200]
    images = digits.measures(spacing="unit")
    X = Measures.from_samples([np.column_stack([m.points, m.weights / 16.0]) for m in images])
    assert X.dim == 3
    assert X[3].points[:, 2].max() == digits.images[3].max() / 16.0
    assert_allclose(X.masses, images.sizes)
    features = KernelFeatures(kernels.Exponential(SLICED, length_scale=0.1), n_components=50)
    model = make_pipeline(features, SVC(C=100.0)).fit(X[:150], digits.target[:150])
    assert model.score(X[150:], digits.target[150:]) > 0.7
