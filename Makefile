# The tasks of this repository; `make` alone lists them. Works with GNU make 3.81 and newer.

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r

.PHONY: help setup hooks demo story serve test soak check bench mutate lock release

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: ## create .venv with the locked packages; fetch Java and the Iceberg jar; compile the guard
	@tools/setup

hooks: setup ## check format, lint and English at every commit of this clone
	@git config core.hooksPath tools/hooks
	@echo "every commit of this clone is checked from now on: format, lint, English"

demo: setup ## start a guarded lakehouse with real data and four users; HEADGATE_DEMO_ONCE=1 exits after the story; delete .headgate-demo to start over
	@$(BIN)/headgate demo

story: setup ## run an airline's pipelines with ten users' privileges, and print each attempt with its expected and actual result
	@$(BIN)/python -m examples.airline

serve: setup ## start Headgate on the data folder ./.headgate
	@$(BIN)/headgate serve

test: setup ## run every test except the soak tests
	@tools/test

soak: setup ## run the long tests part by part, with a summary; PART=kills runs one part, PART=--list lists them
	@$(INSTALL) requirements-bench.lock
	@$(BIN)/python tools/soak $(PART)

check: setup ## check format, lint, types, import contracts, sizes, names, English, documents
	@tools/check

bench: setup ## run the benchmarks; each executable file in bench/ is one
	@$(INSTALL) requirements-bench.lock
	@for bench in bench/*; do \
		if [ -f "$$bench" ] && [ -x "$$bench" ]; then echo "$$bench"; $(BIN)/python "$$bench" || exit 1; fi; \
	done

mutate: setup ## mutation testing of the decision and the model; MUTATE=all tries every mutant
	@$(INSTALL) requirements-mutate.lock
	@$(BIN)/python tools/mutate.py

lock: setup ## update the locks from pyproject.toml (needs uv)
	@tools/setup_lock

release: setup ## build wheel, sdist and SBOM into dist/; check version, changelog, licences, a clean install and an upgrade
	@$(INSTALL) requirements-release.lock
	@$(BIN)/python -m tools.release
