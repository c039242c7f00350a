# Two commands start everything: `make demo` and `make test`. Each sets itself up.
.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast check format pictures figures bench-conv bench-layouts bench-pooling bench-scale clean \
	reproduce reproduce-mnist reproduce-grid reproduce-merck reproduce-graphs reproduce-traffic \
	reproduce-transfer reproduce-oriented reproduce-smoke results

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv/.bench-ready
JOBS ?= 2
SET ?= METAB
KERNEL := $(wildcard src/walkconv/conv/kernel/*.[ch])

help: ## show the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## make .venv with the package and its development tools (nothing when nothing changed)

$(READY): pyproject.toml setup.py constraints.txt $(KERNEL)
	@$(PYTHON) -c 'import sys; sys.exit("walkconv needs Python 3.11 or newer; `$(PYTHON)` is %d.%d. Try: make PYTHON=python3.11 $(MAKECMDGOALS)" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install ## install, then train on MNIST and draw what was learned (about two minutes)
	$(BIN)/python examples/demo.py

test: install ## install, then run the whole suite
	$(BIN)/python -m pytest

test-fast: install ## the part of the suite to run all day (under a minute)
	$(BIN)/python -m pytest -q -m 'not slow'

check: install ## format, lint, types, import rule, tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest

format: install ## format the code and mend what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

pictures: install ## draw the pictures of the README anew
	$(BIN)/python docs/pictures/neighborhoods.py
	$(BIN)/python docs/pictures/groups.py
	$(BIN)/python docs/pictures/layout.py

figures: install ## draw the paper's figures anew, from the library, the data and the records
	$(BIN)/python -m experiments.figures

bench-layouts: install ## time layouts and oriented slots as the graph grows
	$(BIN)/python benchmarks/bench_layouts.py

bench-pooling: install ## time coarsening and the pooled step on 100,000 columns
	$(BIN)/python benchmarks/bench_pooling.py

bench-scale: install ## time large graphs and wide tables beside scipy and numpy, as graphs grow, and training in two processes
	$(BIN)/python benchmarks/bench_scale.py

bench-conv: $(BENCH_READY) ## time the convolution beside the usual ways
	$(BIN)/python benchmarks/bench_conv.py

$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

reproduce: reproduce-mnist reproduce-grid reproduce-oriented reproduce-merck reproduce-graphs reproduce-traffic reproduce-transfer ## run what is missing of all tables (hours)

reproduce-mnist: install ## the paper's Table 2: MNIST without the grid
	$(BIN)/python -m experiments.run mnist --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-grid: install ## MNIST on the grid
	$(BIN)/python -m experiments.run grid --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-merck: install ## the paper's Table 1 on METAB; SET=DPP4 for whoever has the files
	$(BIN)/python -m experiments.run merck --set $(SET) --jobs $(JOBS)
	$(BIN)/python -m experiments.tables
	$(BIN)/python -m experiments.tables --set $(SET)

reproduce-graphs: install ## one graph per sample: MUTAG, PROTEINS, ENZYMES, ten folds
	for table in mutag proteins enzymes; do $(BIN)/python -m experiments.run $$table --jobs $(JOBS) || exit 1; done
	$(BIN)/python -m experiments.tables

reproduce-oriented: install ## slots that are directions, and where there is no plane
	for table in oriented breast-cancer wine diabetes; do $(BIN)/python -m experiments.run $$table --jobs $(JOBS) || exit 1; done
	$(BIN)/python -m experiments.run merck --row c10-fc100 c10-fc100-auto --protocol sound --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-traffic: install ## an answer at every node: METR-LA
	$(BIN)/python -m experiments.run traffic --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-transfer: install ## filters that move: smaller digits, other descriptors
	for table in transfer-digits transfer-metab; do $(BIN)/python -m experiments.run $$table --jobs $(JOBS) || exit 1; done
	$(BIN)/python -m experiments.tables

reproduce-smoke: install ## every row of every table once, tiny (two minutes, no data needed)
	for table in mnist grid oriented merck mutag proteins enzymes traffic transfer-digits transfer-metab breast-cancer wine diabetes; do $(BIN)/python -m experiments.run $$table --smoke || exit 1; done

results: install ## write docs/results.md anew from the records
	$(BIN)/python -m experiments.tables

clean: ## remove the environment and the caches
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
