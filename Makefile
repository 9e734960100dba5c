# The only door: what CI runs is what you run.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
URL ?=
JOB ?=
ARGS ?=
STAMP := $(VENV)/.installed
PEER := .venv-scrapy
SERVICES := scheduler fetcher parser indexer api
SOURCES := shared services tests compose

# Imports are half of a service's start; where bytecode is not kept, every start pays for it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install fmt check test unit contract component e2e chaos drill audit crawl up bench bench-sweeps bench-items bench-backlog bench-frontier bench-hosts docs lock clean

help: ## list what make can do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(STAMP) ## create .venv and install Odradek with everything pinned and hashed

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

fmt: install ## format and fix what can be fixed
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

check: install ## format, lint, types, layers
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

unit contract component: install ## one layer of the tests
	$(BIN)/pytest tests/$@

e2e: install ## five processes on Apache Kafka itself [ARGS="-s tests/e2e/test_compose.py"]
	$(BIN)/pytest $(or $(ARGS),tests/e2e)

chaos: install ## kill -9 and worse
	$(BIN)/pytest tests/chaos

drill: install ## fault drills with a report, on embedded engines [FAULTS=100 SEED=1 REPORT=drill ARGS="--brokers 3"]
	$(BIN)/python -m tests.drill --faults $(or $(FAULTS),100) --seed $(or $(SEED),1) --report $(or $(REPORT),drill) $(ARGS)

audit: install ## known weaknesses of what is pinned; fails where the data cannot be had
	$(BIN)/uv tool run pip-audit@2.10.1 --strict --disable-pip --require-hashes -r requirements.lock

test: install ## everything; 19 minutes on two cores
	$(BIN)/pytest -n 2 --dist loadfile tests/unit tests/contract tests/component
	$(BIN)/pytest tests/e2e tests/chaos

crawl: install ## crawl a site: make crawl URL=https://… [JOB=job.yaml] [ARGS=--max-pages=100]
	$(BIN)/odradek crawl $(URL) $(if $(JOB),--job $(JOB)) $(ARGS)

$(PEER)/.installed: tests/bench/peer.lock
	@test -x $(PEER)/bin/python || $(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r tests/bench/peer.lock
	@touch $@

bench: install $(PEER)/.installed ## Scrapy and Odradek on the same site in one run, and where the time goes [PAGES=20000 ROUNDS=3]
	$(BIN)/python -m tests.bench.versus --pages $(or $(PAGES),20000) --rounds $(or $(ROUNDS),3) --scrapy $(PEER)/bin/python $(ARGS)

bench-sweeps: install ## throughput by number of fetchers on a slow site, and by size of pages
	$(BIN)/python -m tests.bench.sweeps $(ARGS)

bench-items: install ## items through the topic into MongoDB, each once, again with duplicates and kill -9, to Parquet and back [ITEMS=1000000]
	$(BIN)/python -m tests.bench.items --items $(or $(ITEMS),1000000) $(ARGS)

bench-backlog: install ## one scheduler with a large backlog on Apache Kafka [URLS=2000000 HOSTS=1000]
	$(BIN)/python -m tests.bench.backlog --urls $(or $(URLS),2000000) --hosts $(or $(HOSTS),1000)

bench-frontier: install ## what a URL costs the frontier's core, by the number pending [ARGS=--jobs 10000]
	$(BIN)/python -m tests.bench.frontier $(ARGS)

bench-hosts: install ## the frontier's core with a million hosts and the index of a hundred million URLs [HOSTS=1000000]
	$(BIN)/python -m tests.bench.hosts --tables made --hosts $(or $(HOSTS),1000000) --urls $(or $(HOSTS),1000000)00 $(ARGS)

up: ## the stack by docker compose
	docker compose up

LOCK := $(BIN)/uv pip compile -q --generate-hashes --no-emit-index-url --no-header --prerelease if-necessary-or-explicit
lock: install ## pin every dependency again, with hashes and without index addresses
	$(LOCK) --universal --python-version 3.11 --extra embedded --extra parquet --extra s3 --extra dev pyproject.toml -o requirements.lock
	$(LOCK) --universal --python-version 3.13 --extra parquet --extra s3 -c requirements.lock pyproject.toml -o compose/requirements.lock
	echo scrapy | $(LOCK) --universal --python-version 3.11 - -o tests/bench/peer.lock
	echo hatchling | $(LOCK) --universal --python-version 3.13 -c requirements.lock - -o compose/build.lock

docs: install ## write the generated documents again
	$(BIN)/python -m odradek.reference

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
