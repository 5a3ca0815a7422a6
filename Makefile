# Every target makes its own environment in .venv when it is missing, or when what it is made of has changed.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SEED ?= 1
MINUTES ?= 5
SECONDS ?= 60

.PHONY: setup serve test check conformance chaos chaos-tasks rehearsal chart bench loadtest soak

setup: $(READY)  ## install everything that development needs

serve: $(READY)  ## serve an example with two processes on a Redis of their own
	$(BIN)/mcpfleet serve examples.weather:server --workers 2

test: $(READY)  ## run all tests; ARGS="-k name" chooses
	$(BIN)/pytest -q -n auto --maxprocesses 4 --dist worksteal $(ARGS)

check: $(READY)  ## format, lint, types, layers, house rules, and the protocol's full coverage
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/house
	$(BIN)/pytest -q tests/protocol --cov

conformance: $(READY)  ## the official suite against three processes behind the hostile balancer, and two workers
	$(BIN)/python -m tests.conformance

chaos: $(READY)  ## break a fleet under load for MINUTES, as SEED decides, and check what its clients saw
	$(BIN)/python -m tests.chaos --seed $(SEED) --minutes $(MINUTES)

chaos-tasks: $(READY)  ## kill workers a hundred times under a thousand tasks, as SEED decides, and print what became of each
	$(BIN)/python -m tests.chaos.tasks --seed $(SEED)

rehearsal: $(READY)  ## roll a new version out under load behind nginx and HAProxy, as the chart does, and print what was lost
	$(BIN)/python -m tests.rehearsal --seed $(SEED)

chart: $(READY)  ## render the Helm chart with Helm 3 and 4, and hold every manifest to Kubernetes' own schemas
	$(BIN)/pytest -q tests/chart

bench: $(READY)  ## requests a second of our calls beside a bare ASGI app, what they ask of Redis, and how fast tasks are
	$(BIN)/python -m loadtest.bench

loadtest: $(READY)  ## put a fleet under the load of real clients, each scenario for SECONDS, and write loadtest/report
	$(BIN)/python -m loadtest.load --seconds $(SECONDS)

soak: $(READY)  ## the same under one load for MINUTES, and see that memory, descriptors and keys do not grow
	$(BIN)/python -m loadtest.load --soak $(MINUTES)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or later is needed: make PYTHON=...'; exit 1; }
	@if command -v uv >/dev/null; then \
		uv venv --quiet --seed --allow-existing --python "$$(command -v $(PYTHON))" .venv && \
		uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	else \
		$(PYTHON) -m venv .venv && \
		$(BIN)/pip install --quiet --disable-pip-version-check --no-input -c constraints.txt -e '.[dev]'; \
	fi
	@touch $@
