# Every target works alone on a fresh clone. `make` prints the list.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# What is slow to get (compiled crates, torch, downloads) is kept in the user's cache and shared by all clones.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pyburn
export CARGO_TARGET_DIR ?= $(CACHE)/target
export PIP_CACHE_DIR ?= $(CACHE)/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1

VENV := .venv
PY := $(VENV)/bin/python
DEVICE ?= cpu
PIP_INSTALL := $(PY) -m pip install --quiet
# Two clones that build at once would otherwise pick up each other's library from the shared directory.
LOCKED := $(if $(shell command -v flock),flock $(CACHE)/build.lock)
# One process per core, each on one thread: faster than one process on all of them, since most tests are tiny.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
PYTEST := source tools/vulkan_env.sh && OMP_NUM_THREADS=1 $(PY) -m pytest -n $(JOBS) --dist worksteal
# Under Linux zig links against glibc 2.17 instead of this machine's; elsewhere the system's linker is right.
ZIG := $(if $(filter Linux,$(shell uname -s)),--zig)
PYTHON_SOURCES := $(wildcard python tests tools examples benchmarks)

.PHONY: help setup demo test test-all test-gpu bench lint lint-quick stub clippy wheel docs build test-deps clean

help: ## print this list
	@echo 'pyburn: make <target>'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 14

setup: build ## check Python and Rust, create .venv, build, install editable
	@echo 'Ready: activate with `source $(VENV)/bin/activate`, or try `make demo`.'

demo: build $(VENV)/.demo ## train a network on handwritten digits (DEVICE=wgpu for the GPU backend)
	@echo 'Training on handwritten digits; pictures go to demo_out/.'
	@$(PY) examples/digits_cnn.py --device $(DEVICE)

test: lint-quick test-deps ## quick checks, tests and doctests: what CI runs
	@echo 'Running the tests and the examples of the documentation.'
	@$(PYTEST) -m 'not slow and not gpu'
	@bash tools/test_rust.sh $(PY)

test-all: lint test-deps ## everything: all checks, slow tests, all wgpu cases
	@echo 'Running all tests, the slow ones and every wgpu case included.'
	@$(PYTEST)
	@bash tools/test_rust.sh $(PY)

test-gpu: build test-deps ## every op and dtype on wgpu (half an hour on a software driver)
	@echo 'Running every case on wgpu.'
	@$(PYTEST) -m gpu

bench: build test-deps ## time pyburn and torch side by side
	@echo 'Timing pyburn and torch with two threads each.'
	@$(PY) -m compileall -q python/pyburn  # as pip does for torch, so that imports are compared fairly
	@$(PY) benchmarks/run.py
	@$(PY) benchmarks/compare.py
	@$(PY) benchmarks/learner.py
	@$(PY) benchmarks/loading.py

lint: lint-quick clippy ## all static checks (clippy compiles the dependencies once more)

lint-quick: build $(VENV)/.dev
	@echo 'Checking format, lints, types and stubs.'
	@$(PY) -m ruff format --check --quiet $(PYTHON_SOURCES)
	@$(PY) -m ruff check --quiet $(PYTHON_SOURCES)
	@cargo fmt --check
	@$(PY) -m mypy
	@$(PY) tools/make_stub.py --check
	@$(PY) -m mypy.stubtest pyburn._core --mypy-config-file pyproject.toml --concise

stub: build ## write python/pyburn/_core.pyi from the built extension
	@echo 'Writing python/pyburn/_core.pyi.'
	@$(PY) tools/make_stub.py

clippy: | $(CACHE)
	@echo 'Running clippy.'
	@cargo clippy --quiet --all-targets --locked -- -D warnings

wheel: $(VENV)/.wheel ## build dist/*.whl with LTO and check its size (about twenty minutes)
	@echo 'Building the wheel with link-time optimisation: about twenty minutes from nothing.'
	@rm -rf dist
	@CARGO_ZIGBUILD_PYTHON_PATH=$(PY) $(LOCKED) $(PY) -m maturin build --profile dist --locked --out dist $(ZIG)
	@$(PY) tools/check_wheel.py dist/*.whl

docs: build $(VENV)/.docs ## build the documentation into site/
	@echo 'Building the documentation into site/.'
	@$(PY) -m mkdocs build --quiet --strict

clean: ## remove what make created in this clone; the shared cache stays
	rm -rf $(VENV) dist site demo_out python/pyburn/*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis

build: $(VENV)/.editable | $(CACHE)
	@if compgen -G '$(CARGO_TARGET_DIR)/release/deps/libburn_dispatch-*' >/dev/null; \
	then echo 'Building pyburn (only what changed).'; \
	else echo 'Building pyburn: the first build takes ten to thirty minutes.'; fi
	@$(LOCKED) bash tools/build.sh

test-deps: $(VENV)/.dev $(VENV)/.demo
	@bash tools/system_packages.sh dataset-fashion-mnist || echo 'The tests that need it will say so.'
	@$(PY) tools/link_test_deps.py requirements/test.txt requirements/oracles.txt
	@[ "$$(uname -s)" != Linux ] || bash tools/system_packages.sh chromium  # opens the report of a run

$(CACHE):
	@mkdir -p $@

$(PY): | $(CACHE)
	@python=$$(bash tools/prerequisites.sh); \
	echo "Creating $(VENV) with $$($$python --version)."; \
	$$python -m venv $(VENV)

$(VENV)/.%: requirements/%.txt | $(PY)
	@echo 'Installing $< into $(VENV).'
	@$(PIP_INSTALL) --requirement $<
	@touch $@

$(VENV)/.dev $(VENV)/.wheel: requirements/build.txt

$(VENV)/.editable: pyproject.toml Cargo.toml $(VENV)/.build
	@$(PY) tools/install_editable.py
	@touch $@
