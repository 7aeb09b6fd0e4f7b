"""The small files of a package: constraints, FuseSoC core, VHDL component, Makefile, README."""

from __future__ import annotations

from fp9.cmodel import has_model
from fp9.units import Port, Unit
from fp9.version import __version__


def constraints(unit: Unit) -> str:
    """Synopsys design constraints: a clock, and every port timed against it."""
    clock = "[get_ports clk]" if unit.stages else ""
    inputs = "[remove_from_collection [all_inputs] [get_ports clk]]" if unit.stages else "[all_inputs]"
    of_clock = "" if unit.stages else " (a virtual one: the unit has no registers)"
    return "\n".join(
        [
            f"# Timing of {unit.name}. period, in ns, is yours to set; so are the shares that its neighbours take.",
            "if {![info exists period]} { set period 10.0 }",
            "if {![info exists neighbours]} { set neighbours 0.2 }",
            f"# the clock{of_clock}",
            f"create_clock -name clk -period $period {clock}".rstrip(),
            f"set_input_delay [expr {{$period * $neighbours}}] -clock clk {inputs}",
            "set_output_delay [expr {$period * $neighbours}] -clock clk [all_outputs]",
            "",
        ]
    )


def fusesoc_core(unit: Unit, rtl: list[str], sv: list[str]) -> str:
    """FuseSoC core description (CAPI2) with a lint target and the Verilog bench as simulation."""

    def fileset(name: str, files: list[str], file_type: str) -> list[str]:
        return [f"  {name}:", "    files:", *(f"      - {file}" for file in files), f"    file_type: {file_type}"]

    bench = f"tb/{unit.name}_tb.v"
    return "\n".join(
        [
            "CAPI=2:",
            f"name: fp9:units:{unit.name}:{__version__}",
            f'description: "{unit.kind} {unit.name}, made by fp9 {__version__}"',
            "filesets:",
            *fileset("rtl", rtl, "verilogSource"),
            *fileset("interfaces", sv, "systemVerilogSource"),
            *fileset("tb", [bench], "verilogSource"),
            f"  vectors:\n    files:\n      - vectors/{unit.name}.memh: {{copyto: vectors/{unit.name}.memh}}",
            "    file_type: user",
            "parameters:",
            f"  vectors:\n    datatype: str\n    default: vectors/{unit.name}.memh\n    paramtype: plusarg",
            "    description: The memory file of golden vectors",
            "targets:",
            f"  default: &default\n    filesets: [rtl]\n    toplevel: {unit.name}",
            f"  sim:\n    <<: *default\n    default_tool: icarus\n    filesets: [rtl, tb, vectors]\n"
            f"    toplevel: {unit.name}_tb\n    parameters: [vectors]",
            "  lint:\n    <<: *default\n    default_tool: verilator\n    tools: {verilator: {mode: lint-only}}",
            "",
        ]
    )


def vhdl_component(unit: Unit) -> str:
    """VHDL component declaration for an instance in a VHDL design, and a note on mixed languages."""

    def line(name: str, direction: str, width: int, doc: str = "") -> str:
        kind = f"std_logic_vector({width - 1} downto 0)" if width > 1 else "std_logic"
        return f"    {name} : {direction} {kind}" + (f"  -- {doc}" if doc else "")

    given = unit.control_outputs
    ports = [line(p.name, "out" if p in given else "in", 1, p.doc) for p in unit.control_ports]
    ports += [line(p.name, "in", p.width, p.doc) for p in unit.inputs]
    ports += [line(p.name, "out", p.width, p.doc) for p in unit.outputs]
    declared = [_separated(port, last=index == len(ports)) for index, port in enumerate(ports, 1)]
    return "\n".join(
        [
            "-- Mixed language: compile the Verilog of rtl/ and this declaration into one library; an instance is",
            "-- bound by its name. A simulator of VHDL alone cannot take the unit.",
            "library ieee;",
            "use ieee.std_logic_1164.all;",
            "",
            f"package {unit.name}_component is",
            f"  component {unit.name} is port (",
            *declared,
            "  );",
            f"  end component {unit.name};",
            f"end package {unit.name}_component;",
            "",
        ]
    )


def _separated(line: str, *, last: bool) -> str:
    """A port's line with the semicolon before its comment; the last has none."""
    declared, dash, doc = line.partition("  -- ")
    return f"{declared}{'' if last else ';'}{dash}{doc}"


def makefile(unit: Unit, rtl: str, wrappers: list[str], types: str, interface: str) -> str:
    """Makefile that lints and simulates with Icarus and Verilator, without Python."""
    bound = f"--assert tb/{unit.name}_sva.sv " if unit.stages else ""
    reads = [
        "\tyosys -q -p 'read_verilog $(RTL); hierarchy -check -top $(TOP)'",
        f"\tyosys -q -p 'read_verilog -sv {types}'",
        *(f"\tyosys -q -p 'read_verilog {wrapper}; hierarchy -check'" for wrapper in wrappers),
    ]
    return "\n".join(
        [
            f"# {unit.name}: make runs both benches; make lint reads every file with every tool. No Python is needed.",
            f"TOP := {unit.name}",
            f"RTL := {rtl}",
            "IVERILOG ?= iverilog",
            "VERILATOR ?= verilator",
            "# A file holds all modules of its design, not the one that it is named after.",
            "CHECKS := -Wall -Wno-DECLFILENAME",
            "BUILD ?= build",
            "CC ?= cc",
            "",
            ".PHONY: all check icarus verilator model lint yosys dpi clean",
            "# The benches of the simulators that are installed; without any of them make fails.",
            "FOUND = $(shell command -v $(1) 2>/dev/null)",
            "BENCHES := $(strip $(if $(call FOUND,$(IVERILOG)),icarus) $(if $(call FOUND,$(VERILATOR)),verilator))",
            "all: $(BENCHES)",
            "\t@$(if $(BENCHES),echo 'benches run: $(BENCHES)',echo 'install Icarus or Verilator' >&2; exit 1)",
            "",
            f"check: all{' model' if has_model(unit) else ''}",
            "",
            "icarus: $(BUILD)/$(TOP).vvp",
            '\tvvp -n $< "+vectors=$(CURDIR)/vectors/$(TOP).memh" > $(BUILD)/icarus.log; \\',
            "\t  status=$$?; cat $(BUILD)/icarus.log; exit $$status",
            "\t@grep -q '^PASS' $(BUILD)/icarus.log",
            "",
            "$(BUILD)/$(TOP).vvp: $(RTL) tb/$(TOP)_tb.v",
            "\tmkdir -p $(BUILD)",
            "\t$(IVERILOG) -g2005 -Wall -o $@ -s $(TOP)_tb $^",
            "",
            "verilator: $(BUILD)/bench",
            "\t$(BUILD)/bench vectors/$(TOP).vec",
            "",
            "$(BUILD)/bench: $(RTL) tb/$(TOP)_tb.cpp",
            "\tmkdir -p $(BUILD)",
            f"\t$(VERILATOR) --cc --exe --build $(CHECKS) --top-module $(TOP) {bound}--Mdir $(BUILD)/verilated \\",
            "\t  -o ../bench $^",
            "",
            *(_MODEL if has_model(unit) else []),
            "lint:",
            "\t$(VERILATOR) --lint-only $(CHECKS) --top-module $(TOP) $(RTL)",
            *(f"\t$(VERILATOR) --lint-only $(CHECKS) {wrapper}" for wrapper in wrappers),
            f"\t$(VERILATOR) --lint-only {types} {interface}",
            "\t$(IVERILOG) -g2005 -Wall -t null -s $(TOP) $(RTL)",
            f"\t$(IVERILOG) -g2012 -t null -s $(TOP) {types} $(RTL)",
            "",
            "yosys:",
            *reads,
            "",
            *_dpi(unit, rtl),
            "clean:",
            "\trm -rf $(BUILD)",
            "",
        ]
    )


_MODEL = [
    "model: $(BUILD)/model_bench",
    "\t$(BUILD)/model_bench vectors/$(TOP).vec",
    "",
    "$(BUILD)/model_bench: model/$(TOP)_bench.c model/fp9_$(TOP).h",
    "\tmkdir -p $(BUILD)",
    "\t$(CC) -O2 -std=c99 -Wall -Werror -o $@ $<",
    "",
]
"""The rules of the golden model in C and its bench."""


def _has_import(unit: Unit) -> bool:
    """Whether the golden model can be imported by DPI-C."""
    return has_model(unit) and unit.group == 1


def _dpi(unit: Unit, rtl: str) -> list[str]:
    """The rules of the golden model as a shared library, and of the bench that asks it."""
    if not _has_import(unit):
        return []
    return [
        "dpi: $(BUILD)/dpi_bench",
        "\t$(BUILD)/dpi_bench | tee $(BUILD)/dpi.log",
        "\t@grep -q '^PASS' $(BUILD)/dpi.log",
        "",
        "$(BUILD)/lib$(TOP)_model.so: model/$(TOP)_dpi.c model/fp9_$(TOP).h",
        "\tmkdir -p $(BUILD)",
        "\t$(CC) -O2 -Wall -Werror -shared -fPIC -o $@ $<",
        "",
        f"$(BUILD)/dpi_bench: $(BUILD)/lib$(TOP)_model.so {rtl} model/$(TOP)_dpi.sv $(wildcard tb/$(TOP)_dpi_tb.*)",
        "\t$(VERILATOR) --cc --exe --build --top-module $(TOP)_dpi_tb --Mdir $(BUILD)/dpi \\",
        "\t  -LDFLAGS '$(abspath $(BUILD))/lib$(TOP)_model.so -Wl,-rpath,$(abspath $(BUILD))' -o ../dpi_bench \\",
        f"\t  {rtl} model/$(TOP)_dpi.sv tb/$(TOP)_dpi_tb.sv tb/$(TOP)_dpi_tb.cpp",
        "",
    ]


_BENCHES = (
    "The benches read golden vectors: the Verilog one from `+vectors=FILE`, the C++ one from its argument. They fail, "
    "with an exit code, on a wrong or unknown result, and on a file that is missing, damaged or not theirs."
)

_BENCHES_CLOCKED = (
    f"{_BENCHES} They stall both sides. They reset the unit for one clock in mid-stream: where every stage is full, "
    "and at full rate. They check the latency, that a result stands until it is taken, and that none is lost, "
    "repeated or out of order. The assertions in `tb` check the same in every bench that reads them."
)


def readme(unit: Unit, files: dict[str, str], count: int, missing: str | None) -> str:
    """What lies where, and how to run it; `missing` says why there is no timing diagram."""
    rows = [f"| `{path}` | {what} |" for path, what in files.items()]
    timing = f"Latency is {unit.latency} clocks, throughput one operation a clock." if unit.stages else "Combinational."
    lines = [
        f"# {unit.name}",
        f"A {unit.kind} made by fp9 {__version__}. {timing} Nothing here needs fp9 or Python.",
        "    make            # the benches of the simulators that are installed: Icarus, Verilator\n"
        + (
            "    make check      # those, and the golden model in C held to the vectors: make model\n"
            if has_model(unit)
            else ""
        )
        + "    make lint yosys # every file read by every tool"
        + ("" if not _has_import(unit) else "\n    make dpi        # the unit beside its golden model, asked by DPI-C"),
        _BENCHES_CLOCKED if unit.stages else _BENCHES,
        "\n".join(["| file | what it is |", "|---|---|", *rows]),
        f"The {count} golden vectors come from a model that is exact in every bit. The generated files are yours, "
        "under any licence.",
        _ports(unit),
    ]
    if missing:
        lines.append(f"The data sheet has no timing diagram: {missing}.")
    return "\n\n".join(lines) + "\n"


def _ports(unit: Unit) -> str:
    """Every port of the module: clock, reset and handshake, then operands and results."""

    def row(port: Port, direction: str) -> str:
        formats = ", ".join(f.name for f in port.formats) or ", ".join(
            f"{value} {choice}" for value, choice in enumerate(port.choices)
        )
        return f"| `{port.name}` | {direction} | {port.width} | {port.doc} | {formats} |"

    given = (*unit.control_outputs, *unit.outputs)
    ports = (*unit.control_ports, *unit.inputs, *unit.outputs)
    rows = [row(port, "out" if port in given else "in") for port in ports]
    return "\n".join(["| port | | bits | | formats or values |", "|---|---|---:|---|---|", *rows])
