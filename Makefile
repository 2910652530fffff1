# Every target bootstraps what it needs; a fresh clone needs Python >= 3.11 and make, nothing else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.installed-run
DEV    := $(VENV)/.installed-dev
ADAPTERS := .venv-adapters
UV     := $(shell command -v uv 2>/dev/null)
MANAGE := $(BIN)/python manage.py
EMBEDDERS := minilm static multilingual
# What `make serve` installs: the embedder that is named, or the best one where none is.
WANTED := $(patsubst %,$(VENV)/.embedder-%,$(filter $(EMBEDDERS),$(or $(patsubst auto,minilm,$(CORTEX_EMBEDDER)),minilm)))

# Where people connect hosted clients themselves, the server needs some more.
WANTED += $(if $(filter 1 true yes on,$(CORTEX_OAUTH)),$(VENV)/.oauth)

ifdef UV
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
RESOLVE = $(UV)
else
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
RESOLVE = $(BIN)/uv
endif
COMPILE = $(RESOLVE) pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links

.PHONY: help demo serve test test-sqlite test-postgres test-browser screens check lint types coverage bench lock format clean
help: ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Cortex needs Python 3.11 or newer; say which with make PYTHON=…")'
ifdef UV
	@$(UV) venv --quiet --python $(PYTHON) $(VENV)
else
	@$(PYTHON) -m venv $(VENV)
endif

$(RUN): requirements/run.lock | $(BIN)/python
	@echo "Installing what the server needs …"
	@$(INSTALL) -r requirements/run.lock
	@touch $@

$(DEV): requirements/dev.lock $(RUN)
	@echo "Installing what the checks need …"
	@$(INSTALL) -r requirements/dev.lock
	@touch $@

demo: $(RUN) ## prove the whole protocol on a live server with a throw-away database
	@CORTEX_EMBEDDER=hash $(MANAGE) cmp_demo $(DEMO_FLAGS)

# Without a network, or on a machine that the model's packages are not made for, the server runs with `hash`.
serve: $(RUN) $(WANTED) ## run the server on 127.0.0.1:8766 (CORTEX_HOST, CORTEX_PORT)
	@$(MANAGE) serve

$(VENV)/.embedder-%: requirements/%.lock $(RUN)
	@echo "Installing the embedder '$*' …"
	@if PIP_RETRIES=1 PIP_DEFAULT_TIMEOUT=15 UV_HTTP_RETRIES=1 UV_HTTP_TIMEOUT=15 $(INSTALL) -r $<; then touch $@; \
	else echo "The embedder '$*' cannot be installed now; without CORTEX_EMBEDDER=$*, 'hash' takes its place."; fi

$(VENV)/.oauth: requirements/oauth.lock $(RUN)
	@echo "Installing what OAuth needs …"
	@$(INSTALL) -r $<
	@touch $@

test: test-sqlite test-postgres ## the test suite, on SQLite and, where one answers, on PostgreSQL

test-sqlite: $(DEV)
	@$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST_FLAGS)

test-postgres: $(DEV)
	@if $(BIN)/python -m tests.postgres; then \
	  CORTEX_DATABASE_URL="$$($(BIN)/python -m tests.postgres --url)" $(BIN)/python -m pytest -n auto $(PYTEST_FLAGS) -m "not engine_free"; \
	else echo "PostgreSQL: SKIPPED, no server answers on loopback (CORTEX_TEST_POSTGRES_URL names another)"; fi

# One browser serves all of its tests (`--dist loadgroup`); without Chromium they are skipped, and say so.
test-browser: $(DEV) ## the admin in a real browser
	@$(BIN)/python -m pytest -rs tests/browser

screens: $(DEV) ## take the screenshots of docs/screens/ anew
	@CORTEX_SCREENS=docs/screens $(BIN)/python -m pytest -rs tests/browser/test_screens.py

lint: $(DEV)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/bandit --quiet --configfile pyproject.toml --recursive cortex memories sessions contextpack oauth client/cortex_client
	@$(BIN)/python -m tests.audit requirements/dev.lock
	@$(MANAGE) makemigrations --check --dry-run
	@$(MANAGE) spectacular --validate --fail-on-warn --file /dev/null

types: $(DEV)
	@$(BIN)/mypy .

check: lint types test ## all that CI runs

coverage: $(DEV) ## which branches the tests reach (tracing doubles their time, so CI does without)
	@$(BIN)/coverage erase
	@$(MAKE) test-sqlite PYTEST_FLAGS="--cov --cov-report=term"

bench: $(RUN) ## latency, ingest and packing figures of this machine, and what each installed embedder costs and finds
	@CORTEX_EMBEDDER=hash $(BIN)/python -m bench
	@$(BIN)/python -m bench.embedders

.PHONY: adapters
$(ADAPTERS)/.installed: requirements/adapters.lock
	@echo "Installing the frameworks that the adapters are for (550 MB) …"
	@$(PYTHON) -m venv $(ADAPTERS)
	@$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/adapters.lock
	@touch $@

adapters: $(ADAPTERS)/.installed ## the adapters and recipes against the real frameworks (LangGraph, OpenAI Agents, LlamaIndex, Anthropic)
	@$(ADAPTERS)/bin/python -m pytest tests/adapters $(PYTEST_FLAGS)

.PHONY: generated conformance fuzz
OUTSIDE := $(or $(CORTEX_VAR_DIR),var)/outside
$(OUTSIDE)/.installed: tests/outside/package-lock.json
	@command -v npm >/dev/null || { echo "npm is not here: nothing can be installed from it"; exit 1; }
	@mkdir -p $(OUTSIDE)
	@cp tests/outside/package.json tests/outside/package-lock.json $(OUTSIDE)
	@cd $(OUTSIDE) && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

generated: $(ADAPTERS)/.installed $(OUTSIDE)/.installed ## types that generators make of the OpenAPI document, in TypeScript and Python
	@CORTEX_NODE_MODULES=$(abspath $(OUTSIDE)/node_modules) $(ADAPTERS)/bin/python -m pytest tests/outside $(PYTEST_FLAGS)

conformance: $(RUN) $(OUTSIDE)/.installed ## the protocol's own conformance suite against a live server (needs node 22)
	@CORTEX_EMBEDDER=hash $(BIN)/python -m tests.outside.conformance $(OUTSIDE)/node_modules

FUZZ_SECONDS := 480
fuzz: $(DEV) ## requests that nobody wrote, over the whole OpenAPI document (FUZZ_SECONDS, FUZZ_SEED)
	@nice -n 15 $(BIN)/python -m tests.fuzzing $(FUZZ_SECONDS) $(or $(FUZZ_SEED),1)

format: $(DEV) ## rewrite the sources in the house style
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: $(BIN)/python ## resolve the dependencies anew and pin them
ifndef UV
	@$(INSTALL) 'uv>=0.9'
endif
	@$(COMPILE) --extra postgres pyproject.toml -o requirements/run.lock
	@$(COMPILE) -c requirements/run.lock --group adapters pyproject.toml -o requirements/adapters.lock
	@for embedder in $(EMBEDDERS); do \
	  $(COMPILE) --extra postgres --extra $$embedder -c requirements/run.lock pyproject.toml -o requirements/$$embedder.lock || exit 1; \
	done
	@$(COMPILE) --extra postgres --extra oauth -c requirements/run.lock pyproject.toml -o requirements/oauth.lock
	@$(COMPILE) --extra postgres --extra minilm --extra static --extra oauth --group dev --group e2e pyproject.toml -o requirements/dev.lock

clean: ## drop the virtual environment and caches (var/ stays)
	@rm -rf $(VENV) $(ADAPTERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
