# From a fresh clone: `make demo`, then `make ui`; `make test` for the tests. Everything lives in .venv and data/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BOOTSTRAP_PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PY := $(VENV)/bin/python
TCG := $(VENV)/bin/tcg
# MLX on Linux needs one of cpu, cuda12, cuda13; on a Mac the plain package brings Metal.
BACKEND ?= $(if $(filter Linux,$(shell uname -s)),cpu,)
comma := ,
EXTRAS := $(if $(BACKEND),[$(BACKEND)],)
DEV_EXTRAS := [$(if $(BACKEND),$(BACKEND)$(comma),)dev]
UI_EXTRAS := [$(if $(BACKEND),$(BACKEND)$(comma),)dev,ui-test]
PINS := pyproject.toml constraints.txt requirements-engine.txt
export PIP_DISABLE_PIP_VERSION_CHECK = 1

help:  ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(PY):
	@$(BOOTSTRAP_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	  { echo "Python 3.11 is needed (the Kaggle sandbox runs it); found: $$($(BOOTSTRAP_PYTHON) --version). Set BOOTSTRAP_PYTHON=/path/to/python3.11"; exit 2; }
	$(BOOTSTRAP_PYTHON) -m venv $(VENV)

$(VENV)/.run: $(PINS) | $(PY)
	@echo "installing pinned dependencies into $(VENV) ..."
	@$(PY) -m pip install -q -c constraints.txt -e ".$(EXTRAS)"
	@$(PY) -m pip install -q --no-deps -r requirements-engine.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@$(PY) -m pip install -q -c constraints.txt -e ".$(DEV_EXTRAS)"
	@touch $@

$(VENV)/.ui: $(VENV)/.dev
	@$(PY) -m pip install -q -c constraints.txt -e ".$(UI_EXTRAS)"
	@touch $@

setup: $(VENV)/.run  ## Make .venv and install the pinned dependencies and the engine

engine: | $(PY)  ## Install the game engine's wheel without its dependencies
	$(PY) -m pip install -q --no-deps -r requirements-engine.txt

demo: $(VENV)/.run  ## Record 3 days of real games and materialize the whole graph on them
	@$(TCG) demo

ui: $(VENV)/.run  ## Serve the Dagster UI on what is in the data home
	@$(TCG) ui

test: $(VENV)/.dev  ## Unit, integration (real engine) and Dagster tests
	$(PY) -m pytest -n 2 --dist loadscope

test-ui: $(VENV)/.ui  ## Browser tests (Debian's chromium)
	$(PY) -m pytest -m ui tests/ui

test-slow: $(VENV)/.dev  ## Proofs that take long
	$(PY) -m pytest -m slow

check: $(VENV)/.dev  ## Formatter, linter, type checker, definitions
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(TCG) validate

clean:  ## Remove the environment (the data home stays)
	rm -rf $(VENV)

.PHONY: help setup engine demo ui test test-ui test-slow check clean
