# kermes: everything below sets up its own environment in .venv on first use.
PYTHON ?= python3
# The oldest dependencies have wheels for Python 3.11 and 3.12 only.
OLDEST_PYTHON ?= $(PYTHON)
VENV := .venv
BIN := $(VENV)/bin
# Install again when the dependencies change; the package itself is editable.
READY := $(VENV)/.installed
# One level of parallelism: two processes run the tests, each on a core of its own.
TESTS := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2
# Against the oldest dependencies, with a cache of compiled code of their own: one file holds the code of one Numba only.
OLDEST := NUMBA_CACHE_DIR=$(CURDIR)/.venv-min/cores OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-min/bin/python -m pytest -q -n 2
# What meets other packages most, and quick files in which the oldest of them once failed.
MEETING := tests/files tests/measures tests/plot tests/datasets tests/test_frames.py tests/test_interoperability.py tests/test_values.py tests/tools \
  tests/cli/test_output.py tests/estimators/test_lssvm.py tests/estimators/test_map_points.py tests/estimators/test_routing.py \
  tests/optimization/test_optimizer.py tests/papers/kwd/test_dental.py

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-nojit coverage test-min test-min-part lint types check docs bench dist release-candidate clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

install: $(READY)  ## the environment .venv, which all targets use

demo: $(READY)  ## compare kernels on handwritten digits: the leaderboard
	$(BIN)/kermes demo

test: $(READY)  ## the tests (under 5 minutes on two cores)
	$(TESTS) $(COVER)

test-long: export KERMES_FUZZ_SECONDS ?= 3600
test-long: export KERMES_CASES ?= 10000
test-long: export KERMES_SEED ?= $(shell date +%s)
test-long: $(READY)  ## a day: random order, KERMES_CASES cases of each number, damaged files for KERMES_FUZZ_SECONDS, mutants
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[long]'
	@echo "order of the tests: make test-long KERMES_SEED=$(KERMES_SEED)"
	$(TESTS) -p randomly --randomly-seed=$(KERMES_SEED) --timeout 0 -o faulthandler_timeout=0 --ignore=tests/fuzz --ignore=tests/truth
	$(BIN)/python -m tests.truth
	$(TESTS) --timeout 0 -o faulthandler_timeout=0 tests/fuzz
	$(BIN)/python -m tests.fuzz.guided
	$(BIN)/python tools/mutants.py

test-nojit: $(READY)  ## the tests of the compiled cores, interpreted: an error in an index shows here
	NUMBA_DISABLE_JIT=1 $(TESTS) $(COVER) tests/core tests/divergences

coverage: $(READY)  ## both of these, counted: at least 95 % of the lines and branches of src are run
	$(MAKE) test COVER="--cov --cov-report= --cov-fail-under=0"
	$(MAKE) test-nojit COVER="--cov --cov-append --cov-report= --cov-fail-under=0"
	$(BIN)/coverage report

.venv-min/.installed: pyproject.toml tools/oldest.py
	$(OLDEST_PYTHON) tools/oldest.py .venv-min
	touch $@

test-min: .venv-min/.installed  ## the tests against the oldest supported dependencies
	$(OLDEST)

test-min-part: .venv-min/.installed  ## a part of them: files, frames, pictures, what is printed, what scikit-learn passes on
	$(OLDEST) $(MEETING)

lint: $(READY)  ## ruff: style, imports, docstrings; codespell: spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell *.md changelog.d docs examples src benchmarks tools packaging .github hatch_build.py

types: $(READY)  ## mypy, strict; and a script of a user
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/user_script.py

check: lint types coverage test-min-part docs demo  ## what the continuous integration runs

docs: $(READY)  ## the documentation in docs/_build/html, warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(READY)  ## speed against peers, as ratios in one run
	$(BIN)/python -m benchmarks

dist:  ## the source archive and the wheel in dist/; the wheel is tried in an environment of its own
	$(PYTHON) tools/release.py --only-build

release-candidate:  ## the release checklist, dry: what is ready, what is missing
	$(PYTHON) tools/release.py --dry-run

clean:  ## remove caches and the environments
	rm -rf $(VENV) .venv-min docs/_build docs/gallery docs/api .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
