# Two commands start everything: `make demo` and `make test`. Each installs what it needs.
.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast fuzz kill-test sanitize test-oldest test-newest test-no-compiler test-wheel wheel lint check format pictures figures bench-conv bench-layouts bench-pooling bench-scale bench-structure docs docs-pages bench-compare bench-importance bench-intervals bench-tables clean \
	reproduce reproduce-mnist reproduce-grid reproduce-merck reproduce-graphs reproduce-traffic \
	reproduce-transfer reproduce-oriented reproduce-smoke results

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv/.bench-ready
CONSTRAINTS ?= constraints.txt
TORCH ?= $(shell sed -n 's/^torch==//p' constraints.txt)
PIP_INSTALL := pip install --quiet --disable-pip-version-check
JOBS ?= 2
SET ?= METAB
SANITIZED ?= tests/test_native.py tests/test_native_threads.py tests/walks tests/coarsening tests/graphs tests/conv tests/layers/test_largest.py
WATCHED ?= -k thread tests/test_native_threads.py tests/conv/test_engines.py tests/layers/test_largest.py
NATIVE := $(wildcard src/walkconv/_native/*/*.[ch])

help: ## show the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## make .venv with the package and its development tools (does nothing if nothing changed)

$(READY): pyproject.toml setup.py $(CONSTRAINTS) $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit("walkconv needs Python 3.11 or newer; `$(PYTHON)` is %d.%d. Try: make PYTHON=python3.11 $(MAKECMDGOALS)" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[dev]'
	@touch $@

demo: install ## install, then train on MNIST and draw the learned filters (about three minutes)
	$(BIN)/python examples/demo.py

test: install ## install, then run the whole suite
	@bash .ci/browser.sh
	$(BIN)/python -m pytest

test-fast: install ## the part of the suite without its long tests (some minutes)
	$(BIN)/python -m pytest -q -m 'not slow'

test-oldest: ## the fast tests with the lower bounds of pyproject.toml, in .venv-oldest
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) .ci/oldest.py $(TORCH) > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m $(PIP_INSTALL) -c .venv-oldest/constraints.txt -e '.[test]'
	.venv-oldest/bin/python -m pytest -q -m 'not slow' \
		-W ignore::DeprecationWarning -W ignore::FutureWarning:dask.dataframe # of each other

test-newest: ## the fast tests with the newest versions but torch's, in .venv-newest
	$(PYTHON) -m venv --clear .venv-newest
	echo torch==$(TORCH) > .venv-newest/constraints.txt
	.venv-newest/bin/python -m $(PIP_INSTALL) --upgrade -c .venv-newest/constraints.txt -e '.[test]'
	.venv-newest/bin/python -m pytest -q -m 'not slow'

test-no-compiler: ## build and install without a compiler in .venv-no-compiler, then the fast tests
	rm -rf build
	$(PYTHON) -m venv --clear .venv-no-compiler
	CC=/bin/false .venv-no-compiler/bin/python -m $(PIP_INSTALL) -c constraints.txt '.[test]'
	.venv-no-compiler/bin/python -c 'from walkconv.conv import native; assert native.supported() == ()'
	CC=/bin/false .venv-no-compiler/bin/python -m pytest -q -m 'not slow' tests

wheel: ## build the wheel of this platform into dist
	rm -rf build dist
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

test-wheel: wheel ## install the wheel without a compiler in .venv-wheel, then the fast tests against it
	$(PYTHON) -m venv --clear .venv-wheel
	CC=/bin/false .venv-wheel/bin/python -m $(PIP_INSTALL) -c constraints.txt "$$(echo dist/*.whl)[test]"
	.venv-wheel/bin/python -c 'from walkconv.conv import native; assert native.supported()'
	CC=/bin/false .venv-wheel/bin/python -m pytest -q -m 'not slow' tests

sanitize: sanitize-address,undefined sanitize-thread ## run the native tests with sanitizers of addresses, undefined behaviour and threads (gcc)

# ThreadSanitizer watches the tests of threads only, and of them only our own code: Python, torch and
# BLAS are built without it.
sanitize-%: install
	CFLAGS='-g -O1 -fsanitize=$* -fno-sanitize-recover=undefined' LDFLAGS='-fsanitize=$*' \
		$(BIN)/python setup.py -q build_ext --build-temp build/$* --build-lib build/$*
	LD_PRELOAD="$$(gcc -print-file-name=lib$(if $(findstring thread,$*),tsan,asan).so) $$(gcc -print-file-name=libstdc++.so)" \
		PYTHONMALLOC=malloc OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		TSAN_OPTIONS='halt_on_error=1 ignore_noninstrumented_modules=1' \
		WALKCONV_NATIVE="$$(ls build/$*/walkconv/_native/_library*)" \
		$(BIN)/python -m pytest -q -m 'not slow' -p no:cacheprovider --capture=sys $(if $(findstring thread,$*),$(WATCHED),$(SANITIZED))

lint: install ## format check, lint, types, import rule
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports

MINUTES ?= 60
KILLS ?= 1000

fuzz: install ## hostile files for an hour (MINUTES=5 for less); findings are kept in tests/hostile/corpus
	$(BIN)/python -m tests.hostile.campaign --minutes $(MINUTES)

kill-test: install ## a thousand processes killed while they fit, save, select and predict (KILLS=50 for less)
	$(BIN)/python -m tests.hostile.kills --kills $(KILLS)

check: lint test ## what a change must pass: lint, then the whole suite

format: install ## format the code and fix what ruff can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

DOCS_READY := .venv/.docs-ready
docs: $(DOCS_READY) ## build the documentation site with its gallery in docs/_build/html (some minutes); warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-pages: $(DOCS_READY) ## the same without running the gallery
	WALKCONV_DOCS_PAGES=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[docs]'
	@touch $@

pictures: install ## draw the pictures of the README again (those of reports need Chromium)
	$(BIN)/python docs/pictures/neighborhoods.py
	$(BIN)/python docs/pictures/groups.py
	$(BIN)/python docs/pictures/layout.py
	$(BIN)/python docs/pictures/columns.py
	$(BIN)/python docs/pictures/report.py

figures: install ## draw the paper's figures again, from the library, the data and the records
	$(BIN)/python -m experiments.figures

bench-layouts: install ## time layouts and oriented slots as the graph grows
	$(BIN)/python benchmarks/bench_layouts.py

bench-pooling: install ## time coarsening and the pooled step on 100,000 columns
	$(BIN)/python benchmarks/bench_pooling.py

.PHONY: bench-latency bench-out-of-core bench-verdicts
bench-latency: install ## time predictions for one row and for many, beside onnxruntime and LightGBM
	$(BIN)/python benchmarks/bench_latency.py

bench-out-of-core: install ## train on a table larger than the memory it may take (GB=20 of disk)
	$(BIN)/python benchmarks/bench_out_of_core.py $(GB)

bench-scale: install ## time large graphs and wide tables beside scipy and numpy, as graphs grow, and training in two processes
	$(BIN)/python benchmarks/bench_scale.py

bench-structure: install ## lay out shuffled tables of known structure, beside other methods
	$(BIN)/python benchmarks/bench_structure.py

bench-compare: install ## how often `compare` says that a planted, random or useless graph helps
	$(BIN)/python benchmarks/bench_compare.py

bench-verdicts: install ## what `compare` says of the graph on MNIST and METAB
	$(BIN)/python benchmarks/bench_verdicts.py

bench-importance: install ## how well rankings of columns find those that matter
	$(BIN)/python benchmarks/bench_importance.py

bench-intervals: install ## how often prediction intervals hold the truth, on twelve tables
	$(BIN)/python benchmarks/bench_intervals.py

bench-tables: install ## fit every method on every table with no settings (hours)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[bench-tables]'
	$(BIN)/python benchmarks/bench_tables.py

bench-conv: $(BENCH_READY) ## time the convolution against the usual implementations
	$(BIN)/python benchmarks/bench_conv.py

$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[bench]'
	@touch $@

reproduce: reproduce-mnist reproduce-grid reproduce-oriented reproduce-merck reproduce-graphs reproduce-traffic reproduce-transfer ## run the missing rows of all tables (hours)

reproduce-mnist: install ## the paper's Table 2: MNIST without the grid
	$(BIN)/python -m experiments.run mnist --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-grid: install ## MNIST on the grid
	$(BIN)/python -m experiments.run grid --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-merck: install ## the paper's Table 1 on METAB; SET=DPP4 if you have the files
	$(BIN)/python -m experiments.run merck --set $(SET) --jobs $(JOBS)
	$(BIN)/python -m experiments.tables
	$(BIN)/python -m experiments.tables --set $(SET)

reproduce-graphs: install ## one graph per sample: MUTAG, PROTEINS, ENZYMES, ten folds
	for table in mutag proteins enzymes; do $(BIN)/python -m experiments.run $$table --jobs $(JOBS) || exit 1; done
	$(BIN)/python -m experiments.tables

reproduce-oriented: install ## slots that are directions, and tables without a planar layout
	for table in oriented breast-cancer wine diabetes; do $(BIN)/python -m experiments.run $$table --jobs $(JOBS) || exit 1; done
	$(BIN)/python -m experiments.run merck --row c10-fc100 c10-fc100-auto --protocol sound --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-traffic: install ## a prediction for every node: METR-LA
	$(BIN)/python -m experiments.run traffic --jobs $(JOBS)
	$(BIN)/python -m experiments.tables

reproduce-transfer: install ## transferred filters: smaller digits, other descriptors
	for table in transfer-digits transfer-metab; do $(BIN)/python -m experiments.run $$table --jobs $(JOBS) || exit 1; done
	$(BIN)/python -m experiments.tables

reproduce-smoke: install ## every row of every table once, tiny (two minutes, no data needed)
	for table in mnist grid oriented merck mutag proteins enzymes traffic transfer-digits transfer-metab breast-cancer wine diabetes; do $(BIN)/python -m experiments.run $$table --smoke || exit 1; done

results: install ## write docs/results.md again from the records
	$(BIN)/python -m experiments.tables

clean: ## remove the environment and the caches
	rm -rf docs/_build docs/api docs/gallery .venv .venv-oldest .venv-newest .venv-no-compiler .venv-wheel .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
