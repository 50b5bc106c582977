# Every target sets up what it needs in its own virtual environment, and does so once: the stamps in .venv are
# older than pyproject.toml and constraints.txt only when the requirements have changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
REQUIREMENTS := pyproject.toml constraints.txt
USE := $(VENV)/.ready-to-use
SERVE := $(VENV)/.ready-to-serve
DEVELOP := $(VENV)/.ready-to-develop
FRESH := .venv-fresh

.PHONY: help demo desk test check check-install format

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1	/p' $(MAKEFILE_LIST)

demo: $(USE)  ## train on the embedded knowledge base, measure, answer questions
	@$(BIN)/cear demo

desk: $(SERVE)  ## the same, and then a page in your browser on which to ask, and to review what it proposes
	@$(BIN)/cear demo --serve

test: $(DEVELOP)  ## the test suite: offline, on the CPU, within minutes
	@# A process for each core, and a thread for each process: more would wait for each other.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

check: $(DEVELOP)  ## lint, formatting, types, also of the README's Python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/check_snippets.py

# Without the extras of developers, which bring along packages that nobody has asked for.
check-install:  ## install what a user gets into a fresh environment, and import every module
	@$(PYTHON) -m venv --clear $(FRESH)
	@$(FRESH)/bin/python -m pip --disable-pip-version-check -qq install --constraint constraints.txt .
	$(FRESH)/bin/python -I scripts/import_every_module.py

format: $(DEVELOP)  ## format the code
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

$(USE): $(REQUIREMENTS)
	$(call environment)
	$(call install,.)
	@touch $@

$(SERVE): $(REQUIREMENTS)
	$(call environment)
	$(call install,.[serve])
	@touch $(USE) $@

# Whoever can develop can use and serve: all stamps, so that `make demo` does not install again.
$(DEVELOP): $(REQUIREMENTS)
	$(call environment)
	$(call install,.[dev])
	@touch $(USE) $(SERVE) $@

# pip is what venv installs last, so it is there only when the environment is whole.
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "cear needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
endef

define install
	@echo "Installing cear into $(VENV), once; this takes some minutes." >&2
	@$(PIP) install --constraint constraints.txt --editable '$(1)'
endef
