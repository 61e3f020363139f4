# Two targets matter on a fresh machine: `make demo` and `make test`. Both need Python 3.11 or later and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test test-unit lint kubernetes crds bench oracle-full crash-full watchers-full soak-full day-full conformance-full suite ci lock clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(STAMP) ## fill .venv from the lock file

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "vcray needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1). Say PYTHON=python3.x make $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "install: filling $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $(STAMP)

demo: install ## run the main job on the embedded cluster, by itself
	@$(BIN)/python -m vcray.cli.main demo

kubernetes: install ## build the Kubernetes programs for the tests (needs Go; without it their tests skip aloud)
	@$(BIN)/python tools/kubernetes/build.py || test $$? -eq 3

SLOW := oracle properties scenarios
PLAIN := -n 2 --dist loadgroup -q -m "not bench and not apiserver and not embedded and not ray"
SERVERS := -n 2 --dist loadfile -q -m "(apiserver or embedded) and not suite and not ray"

test: install kubernetes test-unit ## all tests; those of a real kube-apiserver skip aloud without Go
	@$(BIN)/python -m pytest $(PLAIN) $(SLOW:%=tests/%)
	@$(BIN)/python -m pytest -q -m bench tests
	@$(BIN)/python -m pytest -q -m ray tests
	@$(BIN)/python -m pytest $(SERVERS) tests

test-unit: install ## the fast part: no server, no random clusters by the thousand
	@$(BIN)/python -m pytest $(PLAIN) $(SLOW:%=--ignore tests/%) tests

lint: install ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy --explicit-package-bases -p tools.openapi -p tools.kubernetes
	@$(BIN)/lint-imports

crds: install ## write deploy/crds from the models
	@$(BIN)/vcray crds --write deploy/crds

bench: install ## the benchmark of the issue of record: 10,000 nodes, 10,000 pods
	@$(BIN)/vcray bench allocate --nodes 10000 --pods 10000 --gang 64 --shapes 20

oracle-full: install ## 20,000 random clusters against the scalar oracle
	@$(BIN)/python -m pytest -q tests/oracle --count 20000 --timeout 3600

crash-full: install kubernetes ## kill -9 of each process ten times while 50 gangs are being bound
	@VCRAY_CRASHES=10 $(BIN)/python -m pytest -q tests/e2e -k crash --timeout 3600

watchers-full: install kubernetes ## 5,000 changes to each of 100 watchers, on both servers
	@VCRAY_WATCHERS=100 VCRAY_EVENTS=5000 $(BIN)/python -m pytest -q tests/conformance/server/test_many_watchers.py

soak-full: install ## 1,000 rounds of random demand in which evictions must come to rest
	@VCRAY_SOAK=1000 $(BIN)/python -m pytest -q tests/properties/test_soak.py --timeout 3600

day-full: install ## a mixed day of 1,000 objects in six queues on 500 nodes that fail
	@VCRAY_FULL=1 $(BIN)/python -m pytest -q -rP tests/bench/test_day.py

conformance-full: install kubernetes ## all scenarios and Volcano's end-to-end behaviours on a real cluster, and a churn of 500 jobs
	@VCRAY_REQUIRE_APISERVER=1 $(BIN)/python -m pytest -q tests/scenarios/test_servers.py --timeout 600
	@VCRAY_FULL=1 VCRAY_REQUIRE_APISERVER=1 $(BIN)/python -m pytest -q tests/e2e/release --timeout 600
	@VCRAY_CHURN=500,10 VCRAY_REQUIRE_APISERVER=1 $(BIN)/python -m pytest -q tests/e2e/test_churn.py --timeout 3600

suite: install kubernetes ## Kubernetes' own end-to-end suite against the embedded server
	@$(BIN)/python -m pytest -q -m suite tests

lock: ## resolve requirements.lock anew (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --group dev --output-file requirements.lock pyproject.toml

clean: ## forget the environment and all caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
