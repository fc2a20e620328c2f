"""A column of measures: what pandas asks of an extension array, by its own tests, and what kermes asks of it."""

import numpy as np
import pandas as pd
import pytest
from pandas.tests.extension import base

from kermes import Measures
from kermes.exceptions import InvalidMeasureError
from kermes.measures import as_measures
from kermes.measures._pandas import MeasureArray, MeasureDtype


def collection(n=10, seed=0):
    rng = np.random.default_rng(seed)
    return Measures.from_samples([rng.normal(size=(1 + i % 3, 2)) for i in range(n)])


X = collection()
# The tests of pandas before version 3 count on a hundred, and match against an empty string, of which pytest warns.
DATA = X if int(pd.__version__.split(".")[0]) >= 3 else collection(100)
pytestmark = pytest.mark.filterwarnings("ignore:matching against an empty string")


@pytest.fixture
def dtype():
    return MeasureDtype()


@pytest.fixture
def data():
    return MeasureArray.of(DATA)


@pytest.fixture
def data_missing():
    return MeasureArray._from_sequence([None, X[0]])


@pytest.fixture(params=["data", "data_missing"])
def all_data(request, data, data_missing):
    return data if request.param == "data" else data_missing


@pytest.fixture
def data_repeated(data):
    return lambda count: (data for _ in range(count))


@pytest.fixture
def na_cmp():
    return lambda a, b: pd.isna(a) and pd.isna(b)


@pytest.fixture
def data_for_grouping():
    b, a, c = X[1], X[0], X[2]
    return MeasureArray._from_sequence([b, b, None, None, a, a, b, c])


@pytest.fixture(params=[True, False])
def box_in_series(request):
    return request.param


@pytest.fixture(params=[True, False])
def as_series(request):
    return request.param


@pytest.fixture(params=[True, False])
def as_frame(request):
    return request.param


@pytest.fixture(params=[True, False])
def as_array(request):
    return request.param


@pytest.fixture(params=["ffill", "bfill"])
def fillna_method(request):
    return request.param


@pytest.fixture
def na_value(dtype):
    return dtype.na_value


@pytest.fixture(params=[True, False])
def using_nan_is_na(request):
    return request.param


@pytest.fixture
def invalid_scalar():
    return "no measure"


class TestCasting(base.BaseCastingTests):
    pass


class TestConstructors(base.BaseConstructorsTests):
    pass


class TestDtype(base.BaseDtypeTests):
    pass


class TestGetitem(base.BaseGetitemTests):
    pass


class TestIndex(base.BaseIndexTests):
    pass


class TestInterface(base.BaseInterfaceTests):
    pass


class TestMissing(base.BaseMissingTests):
    pass


class TestPrinting(base.BasePrintingTests):
    pass


class TestReshaping(base.BaseReshapingTests):
    pass


class TestSetitem(base.BaseSetitemTests):
    #: The array of objects is a fresh one; pandas marks it as read-only nevertheless.
    test_readonly_propagates_to_numpy_array_method = None


# -- what kermes asks of it ---------------------------------------------------------------------------


def test_columns_turn_back_into_views_of_their_collection():
    series = X.to_series(name="cells")
    assert series.dtype == "measure"
    assert series.name == "cells"
    picked = as_measures(series.iloc[[3, 1]])
    assert picked.fingerprint == X.fingerprint
    assert picked.rows.tolist() == [3, 1]
    assert as_measures(series.to_frame()).rows.tolist() == list(range(len(X)))
    assert series.array.to_measures().rows.tolist() == list(range(len(X)))


def test_keys_are_the_index_unless_another_is_given():
    frame = pd.DataFrame({"donor": ["b", "a", "b"], "x": [1.0, 2.0, 3.0]})
    Y = Measures.from_frame(frame, by="donor", columns="x")
    assert Y.to_series().index.tolist() == ["b", "a"]
    assert Y.to_series(index=[7, 8]).index.tolist() == [7, 8]


def test_joined_columns_of_several_collections_are_one_collection():
    Y = collection(3, seed=1)
    both = pd.concat([X.to_series(), Y.to_series(), X.to_series()], ignore_index=True)
    measures = as_measures(both)
    np.testing.assert_array_equal(measures.points, np.concatenate([X.points, Y.points, X.points]))
    assert measures.rows.tolist() == [*range(13), *range(10)]


def test_entries_set_from_another_collection_leave_views_as_they_are():
    column = MeasureArray.of(X)
    view = column[:]
    column[0] = collection(1, seed=5)[0]
    np.testing.assert_array_equal(column[0].points, collection(1, seed=5).points)
    assert view[0] == X[0]
    assert column[1].weights.tolist() == X[1].weights.tolist()


def test_missing_measures_are_refused_with_the_remedy():
    gaps = X.to_series().reindex([1, 99])
    assert gaps.isna().tolist() == [False, True]
    with pytest.raises(InvalidMeasureError, match=r"entry 1 of the column holds no measure .*dropna"):
        gaps.array.to_measures()
    with pytest.raises(InvalidMeasureError, match="holds no measures"):
        X.to_series().iloc[:0].array.to_measures()
    with pytest.raises(InvalidMeasureError, match="entry 1 is a float"):
        as_measures(gaps)
    with pytest.raises(InvalidMeasureError, match="no numeric form"):
        np.asarray(X.to_series().array, dtype=float)


def test_measures_are_equal_if_they_are_the_same_row_of_equal_collections():
    twin = collection()
    assert X[2] == twin[2]
    assert hash(X[2]) == hash(twin[2])
    assert X[2] != twin[3]
    assert X[2] != collection(seed=1)[2]
    assert X[2] != "a measure"
    assert (X.to_series() == twin.to_series()).all()
    assert (X.to_series() == X[4]).tolist() == [i == 4 for i in range(10)]
    with pytest.raises(ValueError, match="Lengths"):
        _ = MeasureArray.of(X) == [X[0]]
