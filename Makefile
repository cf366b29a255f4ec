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
DEEP := $(addprefix check-,live versions rates stories systems spark site integrations)

.PHONY: check run test format lint types layers rust unit smoke check-all $(DEEP) site servers wheels bench lock \
  clean help

check: test  ## the same as `make test`

run: .venv/core .venv/lab  ## set up, and diagnose the bundled incident; write its report to build/
	@mkdir -p build
	@$(PY) -m plimsoll diagnose $(STORY) --html $(REPORT) || [ $$? -eq 1 ]  # 1: a limit binds

test: format lint types layers rust unit smoke  ## set up, and check all but what `make check-all` checks
	@.ci/slowest build/log/tests.xml build/log/smoke.xml build/log/tests-in-Rust.log

format: .venv/dev
	$(STEP) "format Python" $(PY) -m ruff format --check .
	$(STEP) "format Rust" cargo fmt --all --check

lint: .venv/dev
	$(STEP) "lint Python" $(PY) -m ruff check .
	$(STEP) "lint Rust" cargo clippy --locked --workspace --all-targets -- -D warnings
	$(STEP) "lint workflows" .venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(STEP) "permissions of workflows" .venv/bin/zizmor --offline --no-progress --quiet --persona auditor \
	  --min-severity medium .github/workflows integrations/github-action
	$(STEP) "size" $(PY) bench/house.py --require

types: .venv/dev .venv/core
	$(STEP) "types" $(PY) -m mypy --strict
	$(STEP) "types of the Rust core" $(PY) -m mypy.stubtest plimsoll._core

layers: .venv/dev .venv/lab
	$(STEP) "layers" .venv/bin/lint-imports --no-cache

rust: .venv/dev
	$(STEP) "tests in Rust" .ci/rust-tests

unit: .venv/dev .venv/core .venv/lab
	$(STEP) "tests" $(PY) -m pytest -n 2 --ignore tests/live -m "not (smoke or deep or spark)" --junitxml=build/log/tests.xml

# One for each edge, with the PostgreSQL 18 of a wheel; one by one, because one of them measures a rate.
smoke: .venv/dev .venv/core .venv/lab
	$(STEP) "one test per edge" $(PY) -m pytest -m smoke tests/smoke --junitxml=build/log/smoke.xml

# What `make test` leaves out. Each target prints what it covers, what it took and its slowest tests; what passes is
# kept in .ci/passed.toml. With CHANGED=--changed, only what changed since it passed runs.
check-all: $(DEEP)  ## run every deep check; takes about an hour

check-live: .venv/dev .venv/core .venv/lab servers  ## servers, accounts, browsers, gates, installation
check-versions: .venv/dev .venv/core .venv/lab servers  ## PostgreSQL 14 to 17, Airflow 2.11
check-rates: .venv/dev .venv/core .venv/lab servers  ## rates in real time
check-stories: .venv/dev .venv/core .venv/lab servers  ## published incidents, failovers, storms, played
check-systems: .venv/lab servers  ## the published systems
check-spark: .venv/spark .venv/lab servers  ## fleets on Spark
check-site: site  ## the documentation as a site
check-integrations: .venv/lab servers  ## the Airflow provider, the Helm chart
$(DEEP):
	@.ci/deep $(@:check-%=%) $(CHANGED)

# With a report of every kind, made now; nothing is sent or requested.
site: .venv/dev .venv/lab .venv/site/installed servers  ## build the documentation as a site, in build/site
	$(STEP) "pages and reports" $(PY) -m website.stage build/site-pages
	$(STEP) "site" env NO_MKDOCS_2_WARNING=1 .venv/site/bin/mkdocs build --strict -f build/mkdocs.json
	$(STEP) "links of the site" $(PY) -m website.check build/site

# Servers for deep checks besides the wheel's PostgreSQL 18: 14 to 17, PgBouncer and Pgpool-II, Prometheus, sysstat.
servers: | $(PY)
	$(STEP) "servers for tests" .ci/servers

wheels: .venv/wheels  ## build the wheels for Linux and the source distributions into dist/
	@rm -rf dist
	$(STEP) "wheels and sdists" $(PY) packaging/backend.py --manylinux --lab --sdist dist
	@ls dist

bench: .venv/dev .venv/core .venv/lab  ## measure speed and accuracy; takes minutes, needs an idle machine
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
	find src lab tests bench examples -name __pycache__ -prune -exec rm -rf {} +

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## *(.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 25

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

# The lab, with the daemon of `plimsoll gate`: a separate program, installed next to the commands.
.venv/lab: $(RUST) lab/pyproject.toml | .venv/core
	$(STEP) "build the gate" sh -c 'cd lab && exec ../.venv/bin/maturin develop --release --locked'
	@touch $@
