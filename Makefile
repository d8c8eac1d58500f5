# Two commands for a newcomer: `make audit` and `make test`. Everything else they need they do themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: audit test test-slow test-portable install check format bench docs notebooks site dist lock clean browser fault-tests

audit: install ## audit Adult (or clinic where it cannot be fetched) and write a report
	$(BIN)/seepage audit --data adult --fallback clinic --batch-size 1,8,32 --exposure 5 --trials 10 --attacks exact:restarts=5

test: install browser ## the default test suite, under 8 minutes on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: install browser ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

fault-tests: install ## kills, failed writes, damage, fuzzing, canaries, ports: the table of docs/explanation/trust.md
	$(BIN)/python -m tests.faults

NUMERIC := tests/_core tests/attacks tests/data tests/defenses tests/federation tests/metrics tests/models tests/results tests/studies tests/testing
OTHERS  := ATEN_CPU_CAPABILITY=default ATEN_CPU_CAPABILITY=avx2 ATEN_CPU_CAPABILITY= MKL_CBWR=COMPATIBLE

test-portable: install ## the numeric rooms as other processors would run them, with one and two threads
	@for other in $(OTHERS); do for threads in 1 2; do \
	  echo "== $$other, $$threads thread(s)"; \
	  env $$other SEEPAGE_TEST_THREADS=$$threads $(BIN)/python -m pytest -q -n 2 --dist worksteal $(NUMERIC) || exit 1; \
	done; done

check: install ## format, lint, types, import contract, generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install ## the generated pages
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/generate_results.py
	$(BIN)/python docs/generate_figures.py

notebooks: install ## run the notebooks of the site and keep their outputs
	$(BIN)/python docs/execute_notebooks.py

site: install ## the documentation site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: install ## wheel, source archive, and the bill of materials they were built and tested with (CycloneDX), in dist
	$(BIN)/python -m build --quiet --outdir dist .
	(cat requirements.lock requirements.source.lock; grep '^torch==' constraints.txt) | \
	  $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o dist/seepage.cdx.json -

bench: install ## every benchmark, quick
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file --quick --json || exit 1; done

install: $(STAMP) ## only the .venv

PIP    := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
LOCKED := import platform, sys; sys.exit((sys.platform, platform.machine(), sys.version_info[:2]) != ("linux", "x86_64", (3, 11)))

lock: install ## requirements.lock: the versions of constraints.txt, with hashes
	$(BIN)/python tools/lock.py

$(STAMP): pyproject.toml constraints.txt requirements.lock requirements.source.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Seepage needs Python 3.11 or newer."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@if $(BIN)/python -c '$(LOCKED)'; then \
	  $(PIP) --require-hashes --no-deps --only-binary :all: -r requirements.lock && \
	  $(PIP) --require-hashes --no-deps --no-build-isolation -r requirements.source.lock && \
	  $(PIP) -c constraints.txt --no-build-isolation -e '.[dev]'; \
	else $(PIP) -c constraints.txt -e '.[dev]'; fi
	@touch $(STAMP)

browser: ## Debian's chromium, for the tests that look at the report
	@sh tests/e2e/install_browser.sh

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build
