PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := PYTHONPATH=. $(BIN)/python -m
ENGINE ?= vllm
ALGORITHM ?= TokenThroughput

.DEFAULT_GOAL := help
.PHONY: help demo test check fix e2e long plays mutants bench generate clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.ready: requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV): a minute or two, once"
	@$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.ready ## the product at work on an embedded cluster, under three minutes (ENGINE=vllm|sglang ALGORITHM=TokenThroughput|Proportional)
	@$(RUN) scaler_cli demo --engine $(ENGINE) --algorithm $(ALGORITHM)

test: $(VENV)/.ready ## lint, types, architecture and the test suite, under five minutes on two cores
	@$(MAKE) --no-print-directory check
	$(RUN) pytest -n 2 -m "not long and not e2e" tests

e2e: $(VENV)/.ready ## the product on a real control plane: KUBEBUILDER_ASSETS=DIR, or KUBECONFIG and MDS_E2E_USE_CLUSTER=1
	@test -n "$$KUBEBUILDER_ASSETS" || test "$$MDS_E2E_USE_CLUSTER" = 1 || { \
	  echo "make e2e needs a control plane: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver (setup-envtest"; \
	  echo "makes one), or KUBECONFIG together with MDS_E2E_USE_CLUSTER=1 to run on an existing cluster."; exit 2; } >&2
	$(RUN) pytest --reruns 1 e2e tests/conformance tests/chart

long: $(VENV)/.ready ## the long profiles: properties, fuzzing, and MDS_INTERLEAVINGS=5000 orders of crashes, errors and leader changes
	$(RUN) pytest -n 2 --dist worksteal -m "long and not e2e" tests --ignore=tests/sim

plays: $(VENV)/.ready ## every demo and the long scenarios, one after another on the wall clock: a quarter of an hour
	$(RUN) pytest -m "long and not e2e" tests/sim

mutants: $(VENV)/.ready ## break the product on purpose, and see that those interleavings notice each time
	$(RUN) tests.controller.faults.mutants

check: $(VENV)/.ready ## format, lint, import floors, types, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(RUN) mypy
	$(RUN) scaler_cli generate --check

fix: $(VENV)/.ready ## format, and write every generated file anew
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@$(MAKE) --no-print-directory generate
	@$(RUN) tests.chart.golden

generate: $(VENV)/.ready ## write the generated files (CRD, chart template, diagrams) anew
	$(RUN) scaler_cli generate

bench: $(VENV)/.ready ## every benchmark, as multiples of json.loads of 4 KiB in the same run
	@for script in benchmarks/bench_*.py; do PYTHONPATH=. $(BIN)/python $$script || failed=1; done; test -z "$$failed"

clean: ## remove what was set up here
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
