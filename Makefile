# Every task of the project. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup check fix test lowest coverage acceptance torture demo serve bench bench-peers sim docs fuzz mutants clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
FUZZ_RUNS ?= 20000
SEEDS ?= 1000
MUTANTS ?= 200
DATA ?= build/data
# Tests start hundreds of processes, and pytest rewrites 700 modules: what is compiled is kept.
unexport PYTHONDONTWRITEBYTECODE
COVERED := $(addprefix tests/unit/,app_protocol bodies errors names packet properties security soap types wire \
	test_clock.py test_limits.py) tests/vectors tests/hostile
# A third of the time, tests wait for processes and timers: two workers more than processors.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)
# In a clean checkout, each worker would compile all tests.
COMPILE := $(BIN)/python -m pytest -n 0 --collect-only --quiet >/dev/null 2>&1
LOWEST := $(addprefix tests/unit/,bodies cli/messages cli/packets cli/test_main.py cli/test_queue.py service/metrics \
	service/test_http.py soap store/test_lmdb.py store/test_memory.py)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## build .venv with everything in it

$(READY): pyproject.toml tools/setup tools/build_console.py $(wildcard frontend/src/* frontend/package-lock.json)
	tools/setup "$(PYTHON)"
	@touch $@

check: $(READY)  ## format, lint, types, house rules, fast tests; before every commit
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	HYPOTHESIS_PROFILE=quick $(PYTEST) -q -m "not slow and not extra and not torture and not acceptance"

fix: $(READY)  ## format, mend lint, write the generated pages again
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet
	$(BIN)/python -m tools.generate_sync
	$(BIN)/python -m tools.generate_docs

test: $(READY)  ## everything that must hold; what CI runs
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(COMPILE) & $(BIN)/mypy; types=$$?; wait; exit $$types
	$(PYTEST) -m "not torture and not acceptance" --durations=40

coverage: $(READY)  ## branch coverage of the value layers by their own tests, against the gate of each
	$(PYTEST) -q -m "not slow and not torture and not acceptance" --cov=openmsmq --cov-branch --cov-report= \
		--cov-report=json:build/coverage.json $(COVERED)
	$(BIN)/python -m tools.coverage_gates build/coverage.json

lowest: $(READY)  ## a part of the tests with the lowest allowed versions of all dependencies
	$(PYTHON) -m venv build/lowest
	$(BIN)/python -m tools.lowest > build/lowest/requirements.txt
	build/lowest/bin/python -m pip install --quiet -r build/lowest/requirements.txt \
		cryptography hypothesis pytest pytest-timeout pytest-xdist
	build/lowest/bin/python -m pip install --quiet --no-deps --editable .
	build/lowest/bin/python -m pytest -q -n auto -m "not slow and not torture and not acceptance" $(LOWEST)

acceptance: $(READY)  ## whole systems at work, such as a cluster of Spark; longer than CI should take
	$(PYTEST) -n 0 -m acceptance

torture: $(READY)  ## the long kill runs, a few of which are in `make test`
	$(PYTEST) -n 0 -m torture

bench: $(READY)  ## how fast, beside hand-written code and peers in the same run
	$(BIN)/python -m bench

bench-peers: $(READY)  ## the service beside RabbitMQ, NATS and Redis; root gets them from Debian
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends \
			rabbitmq-server nats-server redis-server; fi
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m bench.peers
	$(BIN)/python -m bench.latency
	$(BIN)/python -m bench.singles

fuzz: $(READY)  ## coverage-guided fuzzing of every decoder; FUZZ_RUNS=n inputs each
	$(BIN)/python -m pip install --quiet --group fuzz
	$(BIN)/python -m tests.fuzz --runs $(FUZZ_RUNS)

mutants: $(READY)  ## do tests notice wrong code? MUTANTS=n of engine, sessions and store; SEED=n repeats
	$(BIN)/python -m tools.mutants --count $(MUTANTS) $(if $(SEED),--seed $(SEED))

docs: $(READY)  ## write the generated pages again and check all of docs/
	$(BIN)/python -m tools.generate_sync
	$(BIN)/python -m tools.generate_docs
	$(PYTEST) -q tests/docs tests/tidy

serve: $(READY)  ## run a manager in the foreground; DATA=directory
	$(BIN)/openmsmq serve --data $(DATA)

sim: $(READY)  ## managers in virtual time, on disks and wires that fail; SEEDS=n
	$(BIN)/python -m tests.simulation --keep-going --seeds $(SEEDS)

demo: $(READY)  ## the whole product in two minutes: two managers, a crash, Spark, exact counts
	@mkdir -p build
	@$(BIN)/openmsmq demo --plot build/demo.svg

clean:  ## remove what was built
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
