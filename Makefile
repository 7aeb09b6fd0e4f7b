# `make` sets everything up and runs the demo; `make test` runs the tests. Neither needs anything before it.
# PYTHON: an interpreter of 3.11 or later. OUT: the output folder. UNITS: the units of vectors, rtl, sim and synth.

PYTHON ?= $(firstword $(foreach p,python3 python3.11 python3.12 python3.13 python3.14,$(shell command -v $p)))
OUT ?= build
PROVEN ?= decoder_ocp decoder_hfp8 decoder_hif8 decoder_all upcast_fp32 upcast_dlfloat16_hfp8 \
  cast_fp32 cast_fp32_ocp_rne cast_fp16_hif8 cast_fp32_hfp8 cast_fp32_sr cast_bf16 cast_fp32_x4 \
  fma_fp32 fma_fp32_ocp fma_fp32_e5m2 fma_dlfloat16_bias mac_fp32 mac_dlfloat16
DESIGNS ?= cvfpu_cast_e5m2 cvfpu_fma_multi hardfloat_cast mxdotp_8 nvfp4_dotprod sherpa_bf16_to_e5m2 \
  sherpa_e4m3_to_fp32 sherpa_fp32_to_e4m3 ttihp_mul $(addprefix cvfpu_fpu_,16 16_mixed 16_hif8 32 32_mixed 32_hif8)
UNITS ?= fma_fp32 fma_dlfloat16 mac_fp32 mac_dlfloat16 cast_fp32

PYTHONS ?= python3.11 python3.12 python3.13 python3.14
# The first lines that run with the model alone: a cast, a matrix product, the list of formats.
FIRST_LINES := 'import fp9, numpy; x = fp9.array(numpy.float32([[0.3, 16]]), "hif8"); print(x, fp9.matmul(x, x.T), len(fp9.formats()))'

BIN := .venv/bin
READY := .venv/.ready
COMPLETE := .venv/.complete
UV := uv==0.13.9
# With two threads in each of two processes, NumPy's matrix products take five times as long: the threads wait actively.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist worksteal --costs
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

# Otherwise some hundred processes would each compile the packages.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := demo
.PHONY: nightly records-check fuzz fuzz-units demo test test-slow test-long setup prove records comparable mutants vectors rtl sim synth exhaustive bench exhaustive-casts wheel lint docs lock clean docs-site

demo: $(READY)    ## run the demo: one layer of a network from its formats to gates, with a report
	$(BIN)/fp9 demo --out $(OUT)

test: $(COMPLETE) ## run the fast tests; minutes
	$(PYTEST)

test-slow: $(COMPLETE) ## run the slow tests: solvers, simulators and more rows of each test
	$(PYTEST) -m "slow and not long"

test-long: $(COMPLETE) ## run all tests, with every row of the long sweeps; hours
	$(PYTEST) -m "long or not long"

setup: $(COMPLETE) ## create .venv with all pinned packages; install Icarus, OpenSTA and a cell library with apt

vectors: $(READY) ## write the golden vectors of UNITS
	$(BIN)/fp9 vectors export $(UNITS) --suite corner --out $(OUT)/vectors

rtl: $(READY)     ## write the Verilog of UNITS
	for unit in $(UNITS); do $(BIN)/fp9 rtl $$unit -o $(OUT)/rtl/$$unit.v || exit; done

sim: $(READY)     ## simulate UNITS against their golden vectors on both simulators
	for unit in $(UNITS); do $(BIN)/fp9 sim $$unit || exit; done

synth: $(READY)   ## measure area and delay of UNITS
	$(BIN)/fp9 synth $(UNITS)

exhaustive: $(READY) ## sweep every unit, or those in SWEPT; resumes a stopped run
	for unit in $(or $(SWEPT),$$($(BIN)/python -c 'from fp9.units import CATALOGUE; print(*CATALOGUE)')); do $(BIN)/fp9 sweep $$unit || exit; done

prove: $(READY)   ## run and record the proofs that end within an hour
	$(BIN)/fp9 prove $(PROVEN) --record

records-check: $(READY) ## list stale and missing records, and the hours that they need
	$(BIN)/fp9 records status --quiet

records: $(READY) ## update stale records by proof, and measure missing ones for HOURS
	$(BIN)/fp9 records update $(if $(HOURS),--hours $(HOURS))

nightly: $(READY) ## check what has no record: RTL source, reference model, coverage, area, and every kind x preset x operands; 90 minutes
	for unit in $$($(BIN)/python -c 'from fp9.units import CATALOGUE; print(*CATALOGUE)'); do \
	  $(BIN)/fp9 prove $$unit --source && $(BIN)/fp9 records verify $$unit --whole && $(BIN)/fp9 coverage $$unit \
	    && $(BIN)/fp9 synth $$unit --library osu018 || exit; done
	$(BIN)/python -m tests.units.cells $(OUT)/cells.json

comparable: $(READY) ## measure third-party DESIGNS, cloned in docs/comparable/clones, beside fp9's units
	for design in $(DESIGNS); do $(BIN)/fp9 check-rtl docs/comparable/$$design.toml --area records/third-party/areas.json || exit; done

mutants: $(READY) ## measure the mutation scores of the suites of UNITS; minutes
	$(BIN)/fp9 mutate $(UNITS) --record

fuzz: $(COMPLETE) ## run random command lines for MINUTES, and print those that crash
	$(BIN)/python -m tests.cli.fuzz --minutes $(or $(MINUTES),60) --out $(OUT)/fuzz.json

fuzz-units: $(COMPLETE) ## test random unit specifications for HOURS; resumes a stopped run
	$(BIN)/python -m tests.units.fuzz --hours $(or $(HOURS),1) --out $(OUT)/fuzz-units

bench: $(COMPLETE) ## measure the speed of fp9 and of other packages
	$(BIN)/python -m benchmarks

exhaustive-casts: $(COMPLETE) ## compare every cast of every float32 number with other packages and the oracle
	$(BIN)/python -m fp9.studies.exhaustive --out $(OUT)/exhaustive-casts

wheel: $(READY)   ## build the wheel and the source distribution, and try them with each of PYTHONS
	rm -rf $(OUT)/dist && $(BIN)/python -m hatchling build -d $(OUT)/dist
	@for python in $(PYTHONS); do \
	  $$python -c '' 2>/dev/null || { echo "$$python: not there, not tried"; continue; }; \
	  for made in $(OUT)/dist/*.whl $(OUT)/dist/*.tar.gz; do \
	    rm -rf $(OUT)/empty && $$python -m venv $(OUT)/empty \
	    && $(OUT)/empty/bin/pip install --quiet --disable-pip-version-check $$made \
	    && $(OUT)/empty/bin/fp9 cast 16 --to hif8 --rounding hybrid >/dev/null \
	    && $(OUT)/empty/bin/python -c $(FIRST_LINES) \
	    && echo "$$python: $$made installs and runs" || exit 2; \
	  done; \
	done

lint: $(COMPLETE) ## check formatting, types, import contracts and spelling
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(BIN)/lint-imports --no-logo && $(BIN)/codespell

docs: $(COMPLETE) ## run the examples of the documentation
	$(BIN)/pytest -q tests/test_docs.py

docs-site:        ## build the documentation site in OUT/site/VERSION
	$(PYTHON) -m venv $(OUT)/site-env && $(OUT)/site-env/bin/pip install --quiet --disable-pip-version-check -e '.[site]'
	$(OUT)/site-env/bin/pip install --quiet --disable-pip-version-check --no-deps -r requirements.cells
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(OUT)/site-env/bin/mkdocs build --quiet --site-dir $(OUT)/site

# Of scikit-learn fp9 reads a file, of cocotb-coverage one module: what else they need is left out.
UNUSED := $(foreach p,fp9 pip setuptools uv scipy joblib threadpoolctl narwhals python-constraint,--exclude $p)
FREEZE = $(OUT)/lock/bin/pip freeze --all $(UNUSED)

lock:             ## pin the versions of all packages in the lock files
	$(PYTHON) -m venv $(OUT)/lock && $(OUT)/lock/bin/pip install --quiet '.[demo]' hatchling==1.33.0
	{ sed -n 1p requirements.lock; $(FREEZE); } > $(OUT)/main.lock && mv $(OUT)/main.lock requirements.lock
	$(OUT)/lock/bin/pip install --quiet '.[demo,cluster,docs,parquet,test,lint]'
	{ sed -n 1p requirements-test.lock; $(FREEZE) | grep -vxFf requirements.lock; } > $(OUT)/test.lock \
	  && mv $(OUT)/test.lock requirements-test.lock

help:             ## show this list
	@grep -hE '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):[^#]*## */\1|/' | awk -F'|' '{printf "  %-18s %s\n", $$1, $$2}'

changelog: $(COMPLETE) ## collect the fragments of docs/changelog.d into CHANGELOG.md, for a release
	$(BIN)/pip install --quiet towncrier==26.9.0 && $(BIN)/towncrier build --yes

clean:            ## delete everything that was built, except .venv
	rm -rf $(OUT) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml requirements.lock requirements.cells
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "fp9 needs Python 3.11 or later; install it, or run: make PYTHON=/path/to/python3" >&2; exit 2; }
	@command -v g++ >/dev/null || { echo "fp9 needs a C++ compiler for Verilator; run: apt-get install g++" >&2; exit 2; }
	@echo "Creating .venv with the packages of the demo, 540 MB on disk"
	@$(PYTHON) -m venv .venv
	@$(call INSTALL,requirements.lock)
	@$(call INSTALL,requirements.cells)
	@$(BIN)/python rtl/fp9_rtl/tools/yosys_server.py &
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(APT_TOOLS)
	@touch $@

$(COMPLETE): $(READY) requirements-test.lock
	@echo "Adding the packages of tests and checks to .venv"
	@$(call INSTALL,requirements-test.lock)
	@touch $@

# uv takes a tenth of pip's time; where it cannot be had, or is not set up for the index that pip uses, pip installs.
define INSTALL
uv=$$(command -v uv) || { $(PIP) install $(UV) >/dev/null 2>&1 && uv=$(BIN)/uv; }; \
{ [ -n "$$uv" ] && $$uv pip install --quiet --python $(BIN)/python --no-deps -r $(1) 2>/dev/null; } \
  || $(PIP) install --no-deps -r $(1)
endef

# What apt can add: without Icarus its regressions are skipped, without the Liberty files synthesis, without OpenSTA
# delays are ABC's own.
define APT_TOOLS
need=""; \
command -v iverilog >/dev/null || need="iverilog"; \
[ -e /usr/share/qflow/tech/osu018/osu018_stdcells.lib ] || need="$$need qflow-tech-osu018"; \
command -v sta >/dev/null || need="$$need opensta"; \
[ -z "$$need" ] && exit 0; \
[ "$$(id -u)" = 0 ] && as_root="" || as_root="sudo -n"; \
install="$$as_root apt-get install -qq -y --no-install-recommends"; \
echo "Installing $$need"; \
$$install $$need >/dev/null 2>&1 || { $$as_root apt-get update -qq && $$install $$need >/dev/null; } 2>/dev/null \
  || echo "Missing, and the parts that need them will be skipped: $$need; install them with: sudo apt-get install $$need" >&2
endef
