"""Damaged files end in an error of kermes, within bounded memory: a few hundred of each kind, or as long as one likes.

``KERMES_FUZZ_SECONDS=60`` damages each kind for a minute, from a seed of its own; what fails is kept in ``found`` and
tried again from then on.
"""

import hashlib
import itertools
import os
import random
import resource
import time
from pathlib import Path

import pytest
from tests.fuzz.readers import READERS, attempt

SECONDS = float(os.environ.get("KERMES_FUZZ_SECONDS", 0))
#: Files of each kind without a time; reading a model or a store takes longer.
FILES = {"model.kermes": 120, "store": 120}
#: Kibibytes by which reading files of a few kilobytes may raise the largest memory of this process. The HDF5 library
#: takes the length of a string from the file, up to 4 GiB, before it looks for the string.
MOST = 768 * 1024
MOST_OF = {"a.h5ad": 4608 * 1024}
FOUND = Path(__file__).parent / "found"


@pytest.fixture(params=READERS)
def reader(request):
    if request.param == "a.png":
        pytest.importorskip("PIL")
    if request.param == "model.kermes":
        pytest.importorskip("skops")
    if request.param == "store":
        pytest.importorskip("zarr")
    return READERS[request.param]


def numbers(reader):
    """Yield the numbers of the damaged files."""
    if not SECONDS:
        yield from range(FILES.get(reader.name, 300))
        return
    start, end = random.SystemRandom().randrange(2**40), time.monotonic() + SECONDS
    yield from itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(start))


def test_valid_files_are_read(reader, tmp_path):
    for content in reader.seeds:
        path = tmp_path / reader.name
        path.write_bytes(content)
        reader.read(path)


def test_damaged_files_are_refused(reader, tmp_path):
    failures = {}
    for number in numbers(reader):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        content = reader.damaged(number)
        wrong = attempt(reader, content, tmp_path)
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if wrong is None and taken > MOST_OF.get(reader.name, MOST):
            wrong = f"{taken // 1024} MiB were taken"
        if wrong is not None and wrong[:60] not in failures:
            failures[wrong[:60]] = f"{number}: {wrong}"
            keep(reader, content)
    assert not failures, "\n".join(failures.values())


def keep(reader, content):
    """Keep what was found, if somebody is looking for it."""
    if SECONDS:
        folder = FOUND / reader.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)


@pytest.mark.parametrize(
    "path", sorted(path for path in FOUND.rglob("*") if path.is_file()), ids=lambda path: path.name
)
def test_what_was_found_stays_found(path, tmp_path):
    assert attempt(READERS[path.parent.name], path.read_bytes(), tmp_path) is None
