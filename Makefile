# Shedlab's front door. `make` alone lists the targets. Behind them stands one command line, .venv/bin/shedlab.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
# By module, since the scripts in .venv/bin hold its path and break when the folder is moved.
VENV_PYTHON := $(VENV)/bin/python
SHEDLAB := $(VENV_PYTHON) -m lab
RUNTIME_READY := $(VENV)/.runtime-ready
TESTS_READY := $(VENV)/.tests-ready
# One set-up at a time, where flock is there to see to it.
LOCKED := $(if $(shell command -v flock),flock .setup.lock,)

# Passed through the environment, so that the shell never parses what a user typed.
export NAME RUNTIME SPEED JOBS REPEATS ONLY RUN PYTHON

.PHONY: help setup scenario images up down list validate report check doctor schema test test-system lint lock clean

help: ## List the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

setup: $(TESTS_READY) ## Make .venv with everything, tests included

scenario: $(RUNTIME_READY) ## Play a drill: NAME=slow_provider [RUNTIME=auto|local|compose] [SPEED=2] [JOBS=4] [REPEATS=3|auto] [ONLY=A,B]
	@[[ -n "$${NAME:-}" ]] || { echo "make scenario: say which, such as NAME=slow_provider; make list shows them" >&2; exit 2; }; \
	flags=(); \
	for setting in RUNTIME SPEED JOBS REPEATS ONLY; do \
	  [[ -z "$${!setting:-}" ]] || flags+=("--$${setting,,}=$${!setting}"); \
	done; \
	SHEDLAB_FROM_MAKE=1 exec $(SHEDLAB) run "$${flags[@]}" -- "$$NAME"

# A checkout made under umask 077 is closed to the containers' user, also where `docker compose up` comes next.
images: ## Build the images of compose.yaml, and pull the others
	@chmod -R go+rX deploy scenarios
	@docker compose --profile load --profile edge build
	@docker compose --profile load --profile edge pull --quiet --ignore-buildable --policy missing

up: $(RUNTIME_READY) ## Bring up the rehearsal bench, idle: [RUNTIME=auto|local|compose] [NAME=slow_provider]
	@$(SHEDLAB) up $${RUNTIME:+--runtime "$$RUNTIME"} -- $${NAME:+"$$NAME"}

down: $(RUNTIME_READY) ## Remove containers, networks and volumes of every stack of the lab, and nothing else
	@$(SHEDLAB) down --all

list: $(RUNTIME_READY) ## List the scenarios
	@$(SHEDLAB) list

validate: $(RUNTIME_READY) ## Check a scenario without running it: NAME=slow_provider
	@[[ -n "$${NAME:-}" ]] || { echo "make validate: say which, such as NAME=slow_provider" >&2; exit 2; }; \
	$(SHEDLAB) validate -- "$$NAME"

report: $(RUNTIME_READY) ## Make a run's report again from its journals: [RUN=latest]
	@$(SHEDLAB) report -- "$${RUN:-latest}"

check: $(RUNTIME_READY) ## Recompute a run from its journals and compare with its report: [RUN=latest]
	@SHEDLAB_FROM_MAKE=1 $(SHEDLAB) check -- "$${RUN:-latest}"

doctor: $(RUNTIME_READY) ## Check this machine, with a remedy for each problem
	@$(SHEDLAB) doctor

schema: $(RUNTIME_READY) ## Write scenarios/scenario.schema.json from the models
	@$(SHEDLAB) schema > scenarios/scenario.schema.json

test: $(TESTS_READY) ## Run the unit and service tests
	@$(VENV_PYTHON) -m pytest -q

test-system: $(TESTS_READY) ## Run the system tests: whole drills, on containers too where an engine answers
	@$(VENV_PYTHON) -m pytest -q --durations=15 tests/system

lint: $(TESTS_READY) ## ruff and strict mypy over code and tests
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy lab gate worker mock_model loadgen tests bench

IMAGES := gate worker mock-model loadgen schedule

lock: ## Resolve the dependencies again into requirements*.lock and, an image each, locks/
	@uv_home=$$(mktemp -d); trap 'rm -rf "$$uv_home"' EXIT; \
	python3 -m venv "$$uv_home"; "$$uv_home/bin/pip" install -q uv; \
	compile=("$$uv_home/bin/uv" pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command "make lock"); \
	"$${compile[@]}" --python-version 3.11 pyproject.toml -o requirements.lock; \
	"$${compile[@]}" --python-version 3.11 --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock; \
	for image in $(IMAGES); do \
	  "$${compile[@]}" --python-version 3.13 --group $$image -c requirements.lock -o locks/requirements-$$image.lock; \
	done

clean: ## Remove .venv and caches; reports stay
	@rm -rf $(VENV) .setup.lock .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info

# A stamp is written last, so that a set-up cut short is done again by the next make.
$(RUNTIME_READY): requirements.lock pyproject.toml
	@$(LOCKED) .ci/setup requirements.lock $@

$(TESTS_READY): requirements-dev.lock requirements.lock pyproject.toml
	@$(LOCKED) .ci/setup requirements-dev.lock $@ $(RUNTIME_READY)
