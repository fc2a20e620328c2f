"""Models come back from files with the same bits, and files with anything else are refused."""

import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.cases import clouds
from tests.model_files import contents, json_node, nodes, rewrite, tamper
from tests.test_public_api import HEAVY

import kermes
from kermes import (
    Engine,
    Measures,
    _model_types,
    _persistence,
    clustering,
    definiteness,
    divergences,
    features,
    ground,
    kernels,
)
from kermes.comparison import Candidate, CandidateModel
from kermes.estimators import (
    LSSVMClassifier,
    LSSVMClassifierCV,
    LSSVMRegressor,
    MeasureGPRegressor,
    NearestMeasures,
    StreamingLSSVMClassifier,
)
from kermes.exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError
from kermes.features import KernelFeatures, MixtureFeatures

skops = pytest.importorskip("skops.io")

X, LABELS = clouds(24)
NAMES = np.array(["up", "down", "left"])[LABELS]
TARGETS = np.linspace(0.0, 1.0, 24) ** 2
SLICED = kernels.Exponential(divergences.SlicedWasserstein(n_slices=10), length_scale=1.0)

KERNELS = {
    "sliced": SLICED,
    "engine": kernels.Exponential(divergences.Euclidean(), engine=Engine("serial", tile=3)),
    "wasserstein": kernels.Exponential(divergences.Wasserstein(p=1, cost=ground.Torus(3.0)), power=1.0),
    "matern": kernels.Matern(divergences.SlicedWasserstein(n_slices=9), 0.7, nu=2.5),
    "sinkhorn": kernels.Exponential(divergences.Sinkhorn(0.5, value="debiased")),
    "mmd": kernels.Exponential(divergences.MMD(ground.Gaussian(sigma=2.0))),
    "kernel-wasserstein": kernels.Exponential(divergences.GaussianWasserstein(ground.Gaussian(gamma=0.5))),
    "gaussian-kl": kernels.Exponential(divergences.GaussianKL(reg=0.3)),
    "family": kernels.Semigroup(divergences.ExponentialFamily(divergences.Family(1, -9.0, 9.0, intervals=16)), t=0.5),
    "gaussian-family": kernels.Semigroup(divergences.ExponentialFamily("gaussian-diagonal")),
    "igv": kernels.IGV(0.1, ground.Gaussian(sigma=1.0)),
    "entropy": kernels.Entropy(smoothing=ground.Gaussian(sigma=1.0)),
    "bhattacharyya": kernels.Bhattacharyya(ground.Linear(), 0.2),
    "mass": kernels.MassWeighted(SLICED),
    "mixture": kernels.SemigroupMixture(kernels.Bumps(np.eye(2), 0.4)),
    "sum": ConstantKernel(2.0) * SLICED + WhiteKernel(0.1),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_comes_back(name, tmp_path):
    model = LSSVMClassifier(KERNELS[name]).fit(X, NAMES)
    back = round_trip(model, tmp_path)
    assert_array_equal(back.predict(X), model.predict(X))
    assert_array_equal(back.decision_function(X), model.decision_function(X))


MODELS = {
    "lssvm": (LSSVMClassifier(), NAMES),
    "primal": (LSSVMClassifier(SLICED, solver="primal", n_core=9, random_state=0), NAMES),
    "lssvm-cv": (LSSVMClassifierCV(gammas=[1.0, 10.0]), NAMES),
    "lssvm-cv-primal": (LSSVMClassifierCV(SLICED, gammas=[1.0], solver="primal", n_core=9, random_state=0), NAMES),
    "regressor": (LSSVMRegressor(), TARGETS),
    "gp": (MeasureGPRegressor(SLICED + WhiteKernel(0.1)), TARGETS),
    "sklearn-gp": (GaussianProcessRegressor(SLICED + WhiteKernel(0.1)), TARGETS),
    "gp-classifier": (GaussianProcessClassifier(SLICED, optimizer=None), NAMES),
    "svc": (SVC(kernel=SLICED), NAMES),
    "pipeline": (make_pipeline(KernelFeatures(SLICED, 5), StandardScaler(), LogisticRegression()), NAMES),
    "mixture": (make_pipeline(MixtureFeatures(random_state=0), LogisticRegression()), NAMES),
    "search": (
        GridSearchCV(SVC(kernel=SLICED), {"C": [0.1, 1.0]}, cv=StratifiedKFold(3, shuffle=True, random_state=0)),
        NAMES,
    ),
    "neighbours": (
        make_pipeline(
            NearestMeasures(divergences.Wasserstein(p=2), n_neighbors=3),
            KNeighborsClassifier(3, metric="precomputed"),
        ),
        NAMES,
    ),
    "k-medoids": (clustering.KMedoids(divergences.Wasserstein(), n_clusters=3), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_with_the_same_bits(name, tmp_path):
    estimator, y = MODELS[name]
    model = estimator.fit(X, y)
    back = round_trip(model, tmp_path)
    new, _ = clouds(7, seed=5)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            assert_array_equal(getattr(back, method)(new), getattr(model, method)(new))


ESTIMATORS = [
    thing
    for package in (kermes, features)
    for thing in (getattr(package, name) for name in sorted(package.__all__))
    if isinstance(thing, type) and issubclass(thing, BaseEstimator)
]
#: Parameters without which an estimator cannot be fitted to measures.
NEEDED = {
    "MeasureGPRegressor": {"kernel": SLICED},
    "MapPoints": {"transformer": StandardScaler()},
    "ConformalClassifier": {"estimator": kermes.LSSVMClassifier()},
    "ConformalRegressor": {"estimator": kermes.LSSVMRegressor()},
}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_every_estimator_that_is_promised_comes_back(estimator, tmp_path):
    bins = np.random.default_rng(0).uniform(0.1, 1.0, (12, 3))
    Z = Measures.from_histograms(bins, [0.0, 1.0, 2.0])
    if estimator.__name__ == "DistanceToKernel":
        Z = kermes.pairwise(Z, divergence=divergences.Wasserstein())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three bins and noise: whatever the fit says of them
        model = estimator(**NEEDED.get(estimator.__name__, {})).fit(Z, np.arange(12) % 3 * 1.0)
        back = round_trip(model, tmp_path)
        method = "predict" if hasattr(model, "predict") else "transform"
        ours, theirs = getattr(back, method)(Z), getattr(model, method)(Z)
    if sparse.issparse(theirs):
        ours, theirs = ours.toarray(), theirs.toarray()
    if isinstance(theirs, Measures):
        ours, theirs = ours.points, theirs.points
    assert_array_equal(ours, theirs)


def test_the_best_of_a_comparison_comes_back(tmp_path):
    names = {"svc": None, "knn": "knn", "lssvm": "lssvm"}
    for name, learner in names.items():
        candidate = Candidate(name, divergences.SlicedWasserstein(n_slices=5), learner=learner)
        model = CandidateModel(candidate, engine=Engine("serial")).fit(X, NAMES)
        assert_array_equal(round_trip(model, tmp_path).predict(X), model.predict(X))
    gp = CandidateModel(Candidate("gp", divergences.Euclidean(), learner="gp"), "regression").fit(X, TARGETS)
    assert_array_equal(round_trip(gp, tmp_path).predict(X), gp.predict(X))


def test_engines_with_a_store_are_refused(tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor(kernels.Exponential(divergences.Euclidean(), engine=Engine("serial"))), path)

    def give_a_store(node):
        if isinstance(node, dict) and node.get("__class__") == "Engine":
            executor = node["content"]["content"]["executor"]
            node["content"]["content"]["store"] = executor | {"content": '"elsewhere"', "__id__": 1}
        for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            give_a_store(item)

    tamper(path, give_a_store)
    with pytest.raises(InvalidFileError, match="an engine with a store"):
        kermes.load(path)


def test_clusters_repairs_and_histograms(tmp_path):
    tree = clustering.HierarchicalClustering(divergences.Wasserstein(), n_clusters=3).fit(X)
    assert_array_equal(round_trip(tree, tmp_path).cut(4), tree.cut(4))
    K = SLICED(X)
    repair = definiteness.SpectrumRepair("clip").fit(K)
    assert_array_equal(round_trip(repair, tmp_path).transform(K), repair.transform(K))
    H = Measures.from_histograms(np.random.default_rng(0).uniform(size=(6, 3)), [0.0, 1.0, 2.0])
    gp = kermes.EquivalentWassersteinGP(random_state=0).fit(H, np.arange(6.0))
    back = round_trip(gp, tmp_path)
    for ours, theirs in zip(back.predict(H, return_std=True), gp.predict(H, return_std=True), strict=True):
        assert_array_equal(ours, theirs)
    table = kernels.Exponential(divergences.Precomputed(1.0 - np.eye(24)), length_scale=2.0)
    rows = Measures.from_samples(np.arange(24.0)[:, None])
    assert_array_equal(round_trip(LSSVMClassifier(table).fit(rows, NAMES), tmp_path).kernel_(rows), table(rows))


def test_measures_stay_immutable_and_share_their_collection(tmp_path):
    back = round_trip(GaussianProcessRegressor(SLICED).fit(X, TARGETS), tmp_path)
    assert len({id(measure._root) for measure in back.X_train_}) == 1
    assert not back.X_train_[0].points.flags.writeable
    assert round_trip(LSSVMRegressor().fit(X, TARGETS), tmp_path).X_fit_.fingerprint == X.fingerprint


def test_a_view_takes_its_own_rows_along_only(tmp_path):
    back = round_trip(LSSVMRegressor().fit(X[:5], TARGETS[:5]), tmp_path)
    assert len(back.X_fit_._root) == 5


def test_versions_and_notes(tmp_path):
    _persistence.write(LSSVMRegressor(), tmp_path / "m", {"by": "patient", "columns": ["x", "y"], "threshold": None})
    found = _persistence.read(tmp_path / "m")
    assert found.notes == {"by": "patient", "columns": ["x", "y"], "threshold": None}
    assert found.versions["kermes"] == kermes.__version__
    assert set(found.versions) == {"kermes", "scikit-learn", "numpy", "scipy"}
    assert isinstance(found.model, LSSVMRegressor)


def shout(Z):
    return Z


class Own(divergences.Euclidean):
    pass


def test_a_tree_is_refused_by_its_name(tmp_path):
    model = make_pipeline(KernelFeatures(SLICED, 5), DecisionTreeClassifier()).fit(X, NAMES)
    with pytest.raises(InvalidParameterError, match=r"sklearn\.tree\._tree\.Tree, a compiled .* are not supported"):
        kermes.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (FunctionTransformer(shout), "test_persistence.shout"),
        (SVC(kernel=kernels.Exponential(Own())), "test_persistence.Own"),
        (FunctionTransformer(np.save), "numpy.*save"),
        (SVC(kernel=SLICED.__call__), "cannot be saved"),
    ],
    ids=["function", "class", "numpy-function", "method"],
)
def test_what_could_not_be_loaded_is_not_saved(model, named, tmp_path):
    with pytest.raises(InvalidParameterError, match=named):
        kermes.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("numpy", "load"),
        ("kermes.engine._pairwise", "pairwise"),
        ("kermes._persistence", "write"),
        ("kermes", "compare"),
        ("kermes", "load"),
        ("kermes.estimators", "expected_failed_checks"),
        ("kermes.estimators.lssvm", "system"),
        ("kermes.papers", "load"),
        ("kermes.estimators._lssvm", "np"),
        ("sklearn.model_selection._split", "train_test_split"),
        ("sklearn.gaussian_process.kernels", "np"),
    ],
)
@pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "FunctionNode", "ObjectNode", "TypeNode"])
def test_a_file_that_names_anything_else_is_refused(module, name, loader, tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor(), path)
    tamper(path, lambda state: state["content"]["model"].update(__module__=module, __class__=name, __loader__=loader))
    with pytest.raises(InvalidFileError, match=rf"holds {module}\.{name}"):
        kermes.load(path)


def test_damaged_measures_are_refused(tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor().fit(X, TARGETS), path)
    damage(path, X.offsets + 1)
    with pytest.raises(InvalidFileError, match="do not fit together"):
        kermes.load(path)


DATA = Path(__file__).parent / "data"
#: Outputs for ``steps()``, recorded when the files of the first edition were written.
RECORDED = {
    "lssvm": [0.763496, 0.815933, 0.64154, 0.244963, -0.244963, -0.64154, -0.815933, -0.763496],
    "svc": [1.0, 1.138943, 0.982414, 0.406136, -0.406136, -0.982414, -1.138943, -1.0],
    "features": [4.093985, 2.924288, 1.754591, 0.584894, -0.584802, -1.754499, -2.924196, -4.093892],
}


def steps():
    """Eight measures on the line, the first four of the class 'low'."""
    return Measures.from_samples([[k + 0.25 * i for i in range(3)] for k in range(8)])


#: The recorded files were written with scikit-learn 1.9, whose estimators older versions read with a warning.
of_newer = pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")


@of_newer
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("writer", ["0.1", "format-2"])
def test_files_stay_readable(name, writer):
    model = kermes.load(DATA / f"model-{writer}-{name}.kermes")
    assert_array_equal(model.predict(steps()), np.repeat(["low", "high"], 4))
    assert_allclose(model.decision_function(steps()), RECORDED[name], atol=1e-6)


@of_newer
@pytest.mark.parametrize("file", ["0.1-compared", "format-2-compared", "format-2-codebook"])
def test_searches_and_codebooks_in_files_stay_readable(file):
    model = kermes.load(DATA / f"model-{file}.kermes")
    assert_array_equal(model.predict(steps()), np.repeat(["low", "high"], 4))
    assert model.score(steps(), np.repeat(["low", "high"], 4)) == 1.0


@of_newer
def test_what_was_done_to_the_data_is_in_the_file_of_a_comparison():
    model = kermes.load(DATA / "model-format-2-compared.kermes")
    assert_allclose(model.preprocessing_.transformer_.mean_, 3.75)


@of_newer
@pytest.mark.parametrize(
    ("file", "power", "error"),
    [
        ("0.1-process", 2, 0.1),
        ("format-2-process", 2, 1e-3),
        ("format-2-conformal", 2, 0.11),
        ("format-2-stream", 1, 1e-3),
    ],
)
def test_regressions_in_files_stay_readable(file, power, error):
    model = kermes.load(DATA / f"model-{file}.kermes")
    assert_allclose(model.predict(steps()), np.arange(8.0) ** power, atol=error)


@of_newer
def test_intervals_from_a_file_stay_the_same():
    low, high = kermes.load(DATA / "model-format-2-conformal.kermes").predict_interval(steps()[:2], coverage=0.7).T
    assert_allclose([low, high], [[-0.57006, 0.08525], [1.84845, 1.93370]], atol=1e-4)


def test_files_name_types_by_their_public_paths(tmp_path):
    kermes.save(make_pipeline(features.SlicedFeatures(), StreamingLSSVMClassifier()).fit(X, NAMES), tmp_path / "m")
    schema = contents(tmp_path / "m")["schema.json"].decode()
    named = set(re.findall(r'"__class__": "(\w+)", "__module__": "(kermes[\w.]*)"', schema))
    assert {("SlicedFeatures", "kermes.features"), ("StreamingLSSVMClassifier", "kermes")} <= named
    assert not [module for _, module in named if "._" in module]


@pytest.mark.parametrize("part", _model_types.PARTS)
def test_every_part_has_the_name_it_is_listed_by(part):
    assert _model_types.stable_name(_model_types.current_name(part)) == part


def test_parameters_from_a_file_are_checked(tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor(SLICED), path)
    tamper(path, lambda state: parameters(state["content"]["model"], "kernel", "divergence")["p"].update(content="-2"))
    with pytest.raises(InvalidFileError, match="`p` must be"):
        kermes.load(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(FileNotFoundError):
        kermes.load(path)
    path.write_text("no zip")
    with pytest.raises(InvalidFileError, match="is not a model file"):
        kermes.load(path)
    X.save(path)
    with pytest.raises(InvalidFileError, match="is not a model file"):
        kermes.load(path)
    skops.dump({"model": 1}, path)
    with pytest.raises(InvalidFileError, match=r"must be written by kermes\.save"):
        kermes.load(path)
    skops.dump({"model": 1, "format": 3, "versions": {"kermes": "9.0"}, "notes": {}}, path)
    with pytest.raises(InvalidFileError, match=r"written by kermes 9\.0, in another format"):
        kermes.load(path)


def test_an_old_file_survives_a_failed_save(tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor(), path)
    before = path.read_bytes()
    with pytest.raises(InvalidParameterError):
        kermes.save(FunctionTransformer(shout), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.kermes"]


def test_damaged_pickles_of_measures_are_refused():
    state = X._packed.__getstate__() | {"offsets": X.offsets + 1}
    with pytest.raises(InvalidMeasureError, match="do not fit together"):
        object.__new__(type(X._packed)).__setstate__(state)


def test_naming_save_loads_nothing_heavy():
    code = f"import sys, kermes; kermes.save; print([name for name in {HEAVY!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# -- files of others ------------------------------------------------------------------------------


def tuple_node(*items):
    return {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": list(items)}


def engine_by_constructor(schema):
    """An engine that is called into being with a store, which no dictionary names."""
    engine = next(node for node in nodes(schema) if node.get("__class__") == "Engine")
    given = [json_node(value) for value in ("serial", None, None, True, "chosen.zarr")]
    engine.clear()
    engine.update(
        {"__class__": "Engine", "__module__": "kermes", "__loader__": "ConstructorFromReduceNode"},
        content=tuple_node(*given),
    )


def engine_by_cached_store(schema):
    """The path is a node that was seen before under the number of the node that says None."""
    engine = next(node for node in nodes(schema) if node.get("__class__") == "Engine")
    schema["content"]["notes"]["content"]["path"] = json_node("chosen.zarr") | {"__id__": 77}
    schema["content"]["notes"]["key_types"]["content"].append(
        {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    )
    engine["content"]["content"]["store"] = json_node(None) | {"__id__": 77}


def engine_by_cached_dictionary(schema):
    """The attributes of the engine are a dictionary that was seen before, named by its number."""
    engine = next(node for node in nodes(schema) if node.get("__class__") == "Engine")
    attributes = json.loads(json.dumps(engine["content"]))
    attributes["content"]["store"] = json_node("chosen.zarr")
    attributes["__id__"] = 78
    schema["content"]["notes"]["content"]["kept"] = attributes
    schema["content"]["notes"]["key_types"]["content"].append(
        {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    )
    engine["content"] = {"__class__": None, "__module__": None, "__loader__": "CachedNode", "__id__": 78}


def model_last(schema):
    """Read the notes before the model."""
    schema["content"]["model"] = schema["content"].pop("model")


@pytest.mark.parametrize("hide", [engine_by_constructor, engine_by_cached_store, engine_by_cached_dictionary])
def test_a_store_cannot_be_hidden(hide, tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor(kernels.Exponential(divergences.Euclidean(), engine=Engine("serial"))), path)
    tamper(path, model_last)
    tamper(path, hide)
    with pytest.raises(InvalidFileError, match=r"m\.kermes' has an engine with a store"):
        kermes.load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.kermes"]


def test_a_store_is_not_saved(tmp_path):
    kernel = kernels.Exponential(divergences.Euclidean(), engine=Engine("serial", store="d.zarr"))
    with pytest.raises(InvalidParameterError, match="`model` has an engine with a store"):
        kermes.save(LSSVMRegressor(kernel), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_measures_that_a_constructor_makes_are_checked_too(tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor().fit(X, TARGETS), path)

    def construct(schema):
        packed = next(node for node in nodes(schema) if node.get("__class__") == "Packed")
        attributes = packed["content"]["content"]
        content = tuple_node(*[attributes[name] for name in ("points", "weights", "offsets")])
        packed.update(__loader__="ConstructorFromReduceNode", content=content)

    tamper(path, construct)
    assert kermes.load(path).X_fit_.fingerprint == X.fingerprint
    damage(path, X.offsets + 1)
    with pytest.raises(InvalidFileError, match="the arrays of Packed do not fit together"):
        kermes.load(path)


@pytest.mark.parametrize("kind", [kermes.Engine, LSSVMRegressor, StandardScaler])
def test_classes_are_no_part_of_a_model(kind, tmp_path):
    """FunctionTransformer(Engine, kw_args={"store": ...}) would make an engine when it is used."""
    path = tmp_path / "m.kermes"
    kermes.save(make_pipeline(FunctionTransformer(np.exp)), path)

    def call(schema):
        function = next(node for node in nodes(schema) if node.get("__class__") == "exp")
        function.update(__module__=kind.__module__, __class__=kind.__name__, __loader__="TypeNode")

    tamper(path, call)
    with pytest.raises(InvalidFileError, match=f"holds .*{kind.__name__}"):
        kermes.load(path)


@pytest.mark.parametrize("learner", [SVC(kernel=SLICED), SVC(kernel=SLICED, probability=True), SVR(kernel=SLICED)])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("support_", lambda a: a + 1_000_000),
        ("support_", lambda a: a - 1_000_000),
        ("support_", lambda a: a[:2]),
        ("_n_support", lambda a: a * 1000),
        ("_n_support", lambda a: a[:1]),
        ("_dual_coef_", lambda a: a[:, :2]),
        ("_dual_coef_", lambda a: a[:0]),
        ("_intercept_", lambda a: a[:0]),
        ("shape_fit_", lambda a: ()),
        ("_sparse", lambda a: None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*probability")
def test_support_vectors_that_are_not_there_are_refused(learner, name, change, tmp_path):
    model = clone(learner).fit(X, TARGETS if isinstance(learner, SVR) else NAMES)
    model.__dict__[name] = change(model.__dict__[name])
    skops.dump({"format": 2, "versions": {}, "notes": {}, "model": model}, tmp_path / "m")
    with pytest.raises(InvalidFileError, match=r"the arrays of SV[CR] do not fit together"):
        kermes.load(tmp_path / "m")


def test_machines_of_every_kind_come_back(tmp_path):
    Z = np.random.default_rng(0).normal(size=(24, 2))
    for machine in (SVC(), SVC(kernel="linear"), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM(), SVC(kernel=SLICED)):
        y = TARGETS if isinstance(machine, (SVR, NuSVR)) else NAMES
        model = machine.fit(X if callable(machine.kernel) else Z, y)
        back = round_trip(model, tmp_path)
        assert_array_equal(
            back.predict(X if callable(machine.kernel) else Z), model.predict(X if callable(machine.kernel) else Z)
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights", np.nan),
        ("weights", -1.0),
        ("weights", 0.0),
        ("weights", np.inf),
        ("points", np.nan),
        ("points", np.inf),
    ],
)
def test_numbers_that_no_measure_has_are_refused(name, value, tmp_path):
    """A weight that is not a number made a core write beyond its buffer."""
    model = LSSVMRegressor().fit(clouds(24)[0], TARGETS)
    array = np.array(getattr(model.X_fit_._root, name))
    array.flat[3] = value
    object.__setattr__(model.X_fit_._root, name, array)
    skops.dump({"format": 2, "versions": {}, "notes": {}, "model": model}, tmp_path / "m")
    with pytest.raises(InvalidFileError, match="the arrays of Packed do not fit together"):
        kermes.load(tmp_path / "m")


@pytest.mark.parametrize("levels", [[0.5, np.nan, 1.0], [0.5, 0.4, 1.0], [0.5, 0.9], [-0.5, 1.0], [], [[1.0]]], ids=str)
def test_cells_that_quantile_features_cannot_have_are_refused(levels, tmp_path):
    """A compiled loop runs through them until it has reached the end of [0, 1]."""
    model = features.SlicedFeatures(5).fit(X)
    model.levels_ = np.array(levels)
    skops.dump({"format": 2, "versions": {}, "notes": {}, "model": model}, tmp_path / "m")
    with pytest.raises(InvalidFileError, match="the arrays of SlicedFeatures do not fit together"):
        kermes.load(tmp_path / "m")


def test_a_graph_of_neighbours_that_points_nowhere_is_refused(tmp_path):
    model = NearestMeasures(divergences.Wasserstein(), n_neighbors=3).fit(X)
    model.graph_ = sparse.csr_matrix(([1.0], [9], [0, 1]), shape=(1, 10))
    model.graph_.indices[0] = 10**6
    skops.dump({"format": 2, "versions": {}, "notes": {}, "model": model}, tmp_path / "m")
    with pytest.raises(InvalidFileError, match="the arrays of csr_matrix do not fit together"):
        kermes.load(tmp_path / "m")


@pytest.mark.parametrize(
    "content",
    [
        {"versions": [], "notes": {}},
        {"versions": {}, "notes": [1]},
        {"versions": {}, "notes": None},
        {"versions": "1", "notes": {}},
    ],
    ids=str,
)
def test_versions_and_notes_of_the_wrong_type(content, tmp_path):
    skops.dump({"format": 2, "model": 1} | content, tmp_path / "m")
    with pytest.raises(InvalidFileError, match=r"m' is damaged: its (versions|notes) are \w+, not a table"):
        kermes.load(tmp_path / "m")


def test_a_model_file_expands_so_far_only(tmp_path, monkeypatch):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor(), path)
    entries = contents(path)
    for extra in ({"unused.bin": bytes(1 << 20)}, {"schema.json": entries["schema.json"] + b" " * (1 << 20)}):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in (entries | extra).items():
                archive.writestr(name, data)
        kermes.load(path)
        with monkeypatch.context() as patch:
            patch.setattr("kermes._foreign.FREE", 1 << 16)
            with pytest.raises(InvalidFileError, match=r"m\.kermes' would expand to"):
                kermes.load(path)


def test_arrays_of_a_model_are_as_large_as_they_say(tmp_path):
    path = tmp_path / "m.kermes"
    kermes.save(LSSVMRegressor().fit(X, TARGETS), path)
    entries = contents(path)
    name = next(name for name in entries if name.endswith(".npy"))
    entries[name] = re.sub(rb"'shape': \(\d+", b"'shape': (99999999999", entries[name])
    rewrite(path, entries)
    with pytest.raises(InvalidFileError, match=r"m\.kermes' is not a model file .*, or it is damaged"):
        kermes.load(path)


def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "m")
    with pytest.raises(InvalidFileError, match="is not a regular file"):
        kermes.load(tmp_path / "m")


def round_trip(model, folder):
    path = folder / "model.kermes"
    kermes.save(model, path)
    return kermes.load(path)


def parameters(node, *path):
    """Return the parameters of an object below a node of a description."""
    for name in path:
        node = node["content"]["content"][name]
    return node["content"]["content"]


def damage(path, offsets):
    """Replace the array of offsets in a model file."""
    import io

    entries = contents(path)
    for name, data in entries.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(data))
            if array.shape == offsets.shape and array.dtype == np.int64 and array[0] == 0:
                buffer = io.BytesIO()
                np.save(buffer, offsets)
                entries[name] = buffer.getvalue()
    rewrite(path, entries)
