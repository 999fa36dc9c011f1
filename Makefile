# Everything there is to do here; `make` alone lists it. Works with GNU make 3.81 and newer.

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r

.PHONY: help setup demo story serve test soak check bench mutate lock

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with the locked packages, and get Java, the Iceberg jar and the guard ready
	@tools/setup

demo: setup ## a guarded lakehouse with real data, people and refusals; HEADGATE_DEMO_ONCE=1 ends after the story; to start over, delete .headgate-demo
	@$(BIN)/headgate demo

story: setup ## an airline's pipelines under the rights of ten people: each run and each attempt, expected and as it came
	@$(BIN)/python -m examples.airline

serve: setup ## start Headgate on the data folder ./.headgate
	@$(BIN)/headgate serve

test: setup ## every test but the soak: the fast ones first, then those on Spark
	@tools/test

soak: setup ## the long tests, part by part, with a summary; PART=kills runs one, PART=--list names them
	@$(INSTALL) requirements-bench.lock
	@$(BIN)/python tools/soak $(PART)

check: setup ## format, lint, types, import contract, sizes, documentation
	@tools/check

bench: setup ## measure and print; each file in bench/ is one measurement
	@$(INSTALL) requirements-bench.lock
	@for bench in bench/*; do \
		if [ -f "$$bench" ] && [ -x "$$bench" ]; then echo "$$bench"; $(BIN)/python "$$bench" || exit 1; fi; \
	done

mutate: setup ## which small changes of the decision and the model no test notices; MUTATE=all tries every one
	@$(INSTALL) requirements-mutate.lock
	@$(BIN)/python tools/mutate.py

lock: setup ## write the locks anew from pyproject.toml
	@tools/setup_lock
