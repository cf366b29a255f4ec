# `make help` lists the targets. Every recipe is a few steps; .ci/step shows and logs them.

SHELL := /bin/bash
.DEFAULT_GOAL := check
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Images of containers often set it; each of thousands of programs and all workers of pytest would compile every file.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
STEP := @.ci/step
# Pinned, hashed, wheels only: an install gives the locked versions, or fails.
PIP := $(PY) -m pip install --disable-pip-version-check --no-input --progress-bar off \
  --only-binary :all: --require-hashes
RUST := $(shell find crates -path '*/src/*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
export PYO3_PYTHON := $(CURDIR)/$(PY)
# Without a writable cargo home, build below target/ instead.
ifneq ($(shell c="$${CARGO_HOME:-$$HOME/.cargo}"; test -e "$$c" || c=$${c%/*}; test -w "$$c" && echo yes),yes)
export CARGO_HOME := $(CURDIR)/target/cargo
endif

STORY := examples/search-service
REPORT := build/search-service.html

.PHONY: check run test format lint types layers rust site python systems integrations servers wheels bench lock clean \
  help

check: test  ## the same as `make test`

run: .venv/core .venv/gate  ## set up, and diagnose the bundled incident; write its report to build/
	@mkdir -p build
	@$(PY) -m plimsoll diagnose $(STORY) --html $(REPORT) || [ $$? -eq 1 ]  # 1: a limit binds

test: format lint types layers rust site python systems  ## set up and check everything
	@$(PY) .ci/slowest

format: .venv/dev
	$(STEP) "format Python" $(PY) -m ruff format --check .
	$(STEP) "format Rust" cargo fmt --all --check

lint: .venv/dev
	$(STEP) "lint Python" $(PY) -m ruff check .
	$(STEP) "lint Rust" cargo clippy --locked --workspace --all-targets -- -D warnings

types: .venv/dev .venv/core
	$(STEP) "types" $(PY) -m mypy --strict
	$(STEP) "types of the Rust core" $(PY) -m mypy.stubtest plimsoll._core

layers: .venv/dev .venv/core
	$(STEP) "layers" .venv/bin/lint-imports --no-cache

rust: .venv/dev
	$(STEP) "tests in Rust" .ci/rust-tests

# With a report of every kind, made now; nothing is sent or requested. Tests in Python open its pages in Chromium.
site: .venv/dev .venv/core .venv/site/installed servers  ## build the documentation as a site, in build/site
	$(STEP) "pages and reports" $(PY) -m website.stage build/site-pages
	$(STEP) "site" env NO_MKDOCS_2_WARNING=1 .venv/site/bin/mkdocs build --strict -f build/mkdocs.json
	$(STEP) "links of the site" $(PY) -m website.check build/site

# More workers than the two processors that most machines for checks have: tests with servers mostly wait. Tests
# that measure rates run afterwards; tests/conftest.py says which of them run at the same time.
python: .venv/dev .venv/spark .venv/core .venv/gate servers
	$(STEP) "tests in Python" $(PY) -m pytest -n 4 --dist loadgroup -m "not realtime and not experiment" \
	  --junitxml=build/log/tests-in-Python.xml
	$(STEP) "tests in real time" $(PY) -m pytest -n 2 --dist loadgroup -m realtime \
	  --junitxml=build/log/tests-in-real-time.xml
	$(STEP) "experiments" $(PY) -m pytest -n 2 --dist loadgroup -m "experiment and not alone" \
	  --junitxml=build/log/experiments.xml
	$(STEP) "storms of connections" $(PY) -m pytest -m alone --junitxml=build/log/storms-of-connections.xml

# The published systems: packages of their own, each with its own environment and real servers. Tests of the pooled
# cluster run one by one and mostly wait; those of the two others have several workers each.
systems: .venv/core servers
	@.ci/together "pooled cluster" "$(MAKE) -C systems/pooled-cluster test" \
	  "search, then claims" "$(MAKE) -C systems/search-service test && $(MAKE) -C systems/claims-pipeline test"

# With the newest Airflow; `make -C integrations/airflow test` tests with 2.11 too. Not a part of `test`: installation and
# tests of each version take minutes, and so does the build of helm.
integrations: .venv/core servers  ## test the Airflow provider and the Helm chart
	$(STEP) "Airflow provider" $(MAKE) -C integrations/airflow airflow-3
	$(STEP) "Helm chart" $(MAKE) -C integrations/helm test PYTHON=$(CURDIR)/$(PY)

# Servers for tests besides the wheel's PostgreSQL 18: 14 to 17, PgBouncer and Pgpool-II, Prometheus, sysstat's tools.
servers: | $(PY)
	$(STEP) "servers for tests" .ci/servers

wheels: .venv/wheels  ## build the wheel for Linux and the source distribution into dist/
	@rm -rf dist
	$(STEP) "wheel and sdist" $(PY) packaging/backend.py --manylinux --sdist dist
	@ls dist

bench: .venv/dev .venv/core .venv/gate  ## measure speed and accuracy; takes minutes, needs an idle machine
	cargo bench --locked --package plimsoll-core
	@status=0; for script in bench/*.py; do echo "== $$script"; $(PY) "$$script" || status=1; done; \
	  exit $$status

lock:  ## compile requirements/*.in to hashed *.txt (needs uv)
	@cd requirements && for name in build run wheels dev spark site; do \
	  uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal \
	    --python-version 3.11 "$$name.in" -o "$$name.txt"; done; \
	  for name in postgresql-*.in; do \
	  uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal \
	    --python-version 3.12 "$$name" -o "$${name%.in}.txt"; done

clean:  ## remove everything built or installed here
	$(MAKE) -C systems/search-service clean
	$(MAKE) -C systems/claims-pipeline clean
	$(MAKE) -C systems/pooled-cluster clean
	$(MAKE) -C integrations/airflow clean
	$(MAKE) -C integrations/recipes clean
	$(MAKE) -C integrations/helm clean
	rm -rf .venv build dist target bench/out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/plimsoll/_core*.so
	find src tests bench examples -name __pycache__ -prune -exec rm -rf {} +

help:  ## list the targets
	@sed -nE 's/^([a-z]+):[^#]*## *(.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

$(PY):
	@.ci/venv

.venv/run: requirements/run.txt requirements/build.txt | $(PY)
	$(STEP) "run-time packages" $(PIP) -r requirements/run.txt -r requirements/build.txt
	@touch $@

.venv/wheels: requirements/wheels.txt | $(PY)
	$(STEP) "packages for wheels" $(PIP) -r requirements/wheels.txt
	@touch $@

.venv/dev: requirements/dev.txt | $(PY)
	$(STEP) "packages for checks" $(PIP) -r requirements/dev.txt
	@touch $@

# Spark is on the package index as source only. A wheel of it is built with the pinned setuptools of dev.txt.
.venv/spark: requirements/spark.txt .venv/dev
	$(STEP) "Spark for tests" $(PIP) --no-binary pyspark --no-build-isolation -r requirements/spark.txt
	@touch $@

# An environment of its own: what renders the documentation changes nothing that Plimsoll runs with.
.venv/site/installed: requirements/site.txt | $(PY)
	$(STEP) "packages for the site" $(PY) -m venv --clear .venv/site
	$(STEP) "packages for the site" $(subst $(PY),.venv/site/bin/python,$(PIP)) -r requirements/site.txt
	@touch $@

.venv/core: $(RUST) pyproject.toml .venv/run
	$(STEP) "build the Rust core" .venv/bin/maturin develop --release --locked
	@touch $@

# The daemon of `plimsoll gate`: a separate program, installed next to the commands.
.venv/gate: $(RUST) | .venv/run
	$(STEP) "build the gate" cargo build --locked --release --package plimsoll-gate
	@install -m 755 target/release/plimsoll-gate .venv/bin/plimsoll-gate
	@touch $@
