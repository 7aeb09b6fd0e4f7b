"""Write a UVM test bench of a unit: agent, sequences, scoreboard, environment and test.

The scoreboard calls the unit's golden model through DPI-C.
"""

from __future__ import annotations

from collections.abc import Iterator

from fp9.cmodel.dpi import function
from fp9.cmodel.headers import model_text
from fp9.units import Handshake, Port, Unit
from fp9_rtl.export.interfaces import special_codes
from fp9_sim.coverage.covergroups import has_coverage
from fp9_sim.packages.uvm_classes import (
    AGENT,
    BENCH,
    CHOSEN,
    COVERAGE,
    ENVIRONMENT,
    ITEM,
    SEQUENCES,
    STALLING,
)
from fp9_sim.packages.verilog_bench import connections
from fp9_sim.templates import filled, width

_EVEN = 12
"""Weight of the whole range of codes in a random operand. The weight of a special code is 1."""


def uvm_package(unit: Unit) -> str:
    text = filled(ITEM, _words(unit)) + filled(SEQUENCES, _words(unit))
    return text + filled(AGENT, _words(unit)) + filled(ENVIRONMENT, _words(unit))


def uvm_bench(unit: Unit) -> str:
    """Return the interface `NAME_uvm_if`, and the module `NAME_uvm_tb` that runs the UVM test."""
    return filled(BENCH, _words(unit))


def uvm_rules(unit: Unit, rtl: str, types: str) -> list[str]:
    """Return Makefile lines with the target `uvm`, which runs the UVM test with Verilator."""
    asserted = ["tb/$(TOP)_sva.sv"] if unit.stages else []
    covered = ["tb/$(TOP)_coverage.sv"] if has_coverage(unit) else []
    classes = [types, "model/$(TOP)_dpi.sv", *covered, "uvm/$(TOP)_uvm_pkg.sv", "uvm/$(TOP)_uvm_tb.sv", rtl, *asserted]
    return [
        "# The UVM test. UVM_HOME is the folder of uvm_pkg.sv; Verilator solves constraints with the program z3.",
        "UVM_ARGUMENTS ?=",
        "uvm: $(BUILD)/uvm_bench",
        '\t$(BUILD)/uvm_bench "+vectors=$(CURDIR)/vectors/$(TOP).vec" $(UVM_ARGUMENTS) > $(BUILD)/uvm.log; \\',
        "\t  status=$$?; cat $(BUILD)/uvm.log; exit $$status",
        "\t@grep -q '^PASS' $(BUILD)/uvm.log",
        "",
        f"UVM_FILES := {' '.join(classes)}",
        "$(BUILD)/uvm_bench: $(BUILD)/lib$(TOP)_model.so $(UVM_FILES)",
        "\t@test -f '$(UVM_HOME)/uvm_pkg.sv' || { echo 'set UVM_HOME to the folder of uvm_pkg.sv' >&2; exit 1; }",
        "\t$(VERILATOR) --binary -j 1 --timing --assert -Wno-lint -Wno-style -Wno-fatal -fno-dfg --output-split 0 \\",
        "\t  -CFLAGS '$(COROUTINES)' -MAKEFLAGS 'OPT_FAST=-O0 OPT_SLOW=-O0 CFG_CXXFLAGS_PCH_I=-include' \\",
        "\t  -LDFLAGS '$(abspath $(BUILD))/lib$(TOP)_model.so -Wl,-rpath,$(abspath $(BUILD))' --Mdir $(BUILD)/uvm \\",
        "\t  +incdir+$(UVM_HOME) +define+UVM_NO_DPI --top-module $(TOP)_uvm_tb -o ../uvm_bench \\",
        "\t  $(UVM_HOME)/uvm_pkg.sv $(UVM_FILES)",
        "",
    ]


def _words(unit: Unit) -> dict[str, object]:
    waits, covered = unit.handshake is Handshake.READY, has_coverage(unit)
    ports = (*unit.inputs, *unit.outputs)
    state, name = bool(model_text(unit).state), unit.name
    timing = ["pause", *(["stall"] if waits else []), *(["reset"] if unit.stages else [])]
    return {
        "name": name,
        "latency": unit.latency,
        "timing": _lines(4, (f"rand int unsigned {field};  // {_TIMING[field]}" for field in timing)),
        "short": " ".join(f"{field} <= {_LONGEST[field]};" for field in timing),
        "fields": _lines(4, (f"rand logic {width(p)}{p.name};  // {p.doc}" for p in unit.inputs)),
        "results": _lines(4, (f"logic {width(p)}{p.name};" for p in unit.outputs)),
        "constraints": _lines(4, _constraints(unit)),
        "formatted": " ".join(f"{port.name}=%h" for port in ports),
        "shown": ", ".join(port.name for port in ports),
        "chosen": "".join(_sequences(unit, timing)),
        "names": ", ".join(f'"{kind}"' for kind in ("vector", *(k for k in _KINDS if k in timing or k not in _TIMING))),
        "scanned": " ".join(["%h"] * len(unit.inputs)),
        "count": len(unit.inputs),
        "lineup": ", ".join(f"req.{port.name}" for port in unit.inputs),
        "drives": _lines(6, (f"bus.{p.name} <= item.{p.name};" for p in unit.inputs)),
        "idle": _lines(6, (f"bus.{p.name} <= 'x;" for p in unit.inputs)),
        "reset_before": "      if (item.reset != 0) reset(item.reset);\n" if unit.stages else "",
        "stalls": "      stall = item.stall;\n" if waits else "",
        "started": "      fork stall_results(); join_none\n" if waits else "",
        "stalling": STALLING if waits else "",
        "takes": _lines(10, (f"item.{p.name} = bus.{p.name};" for p in unit.inputs)),
        "gives": _lines(10, (f"item.{p.name} = bus.{p.name};" for p in unit.outputs)),
        "expects": _lines(6, (f"longint unsigned {p.name};" for p in unit.outputs)),
        "restart": f"      if (item.first) {name}_dpi::{name}_model_reset();\n" if state else "",
        "call": f"{name}_dpi::{function(unit)}",
        "arguments": ", ".join([*(f"64'(item.{p.name})" for p in unit.inputs), *(p.name for p in unit.outputs)]),
        "compares": _lines(6, (_compare(place, port) for place, port in enumerate(unit.outputs))),
        "coverage": filled(COVERAGE, {"name": name, "sampled": _sampled(ports)}) if covered else "",
        "collector": f"    {name}_coverage_collector coverage;\n" if covered else "",
        "collects": f'      coverage = {name}_coverage_collector::type_id::create("coverage", this);\n'
        if covered
        else "",
        "collected": "      agent.operations.connect(coverage.analysis_export);\n" if covered else "",
        "signals": _lines(2, (f"logic {width(p)}{p.name};" for p in ports)),
        "ready": "  logic in_ready, out_ready;" if waits else "  wire in_ready = 1'b1, out_ready = 1'b1;",
        "valid": "" if unit.stages else "  assign bus.out_valid = bus.in_valid;  // the unit has no registers\n",
        "connections": _connections(unit),
    }


_SOME = "dist { 0 := 3, [1:8] :/ 1 }"
_SELDOM = "dist { 0 := 15, [1:3] :/ 1 }"

_TIMING = {
    "pause": "clocks without an operation before this one",
    "stall": "clocks for which the results are not taken",
    "reset": "clocks of reset before the operation",
}
"""Fields of a transaction that say when the driver sends it."""

_KINDS = {
    "random": ("Operations with some pauses.", {"pause": _SOME, "stall": _SOME}),
    "back_to_back": ("An operation in every clock.", {}),
    "paused": ("Pauses before every operation, and results that wait.", {"pause": "> 0", "stall": "> 0"}),
    "reset": ("Now and then a reset, while operations are under way.", {"stall": _SOME, "reset": _SELDOM}),
}
"""For each kind of random sequence, a description and the constraints of its timing fields. Other fields are 0."""

_LONGEST = {"pause": 8, "stall": 8, "reset": 3}
"""Largest value of each timing field."""


def _lines(indent: int, lines: Iterator[str]) -> str:
    return "\n".join(f"{' ' * indent}{line}" for line in lines)


def _constraints(unit: Unit) -> Iterator[str]:
    for port in unit.inputs:
        if port.choices and len(port.choices) < 1 << port.width:
            yield f"constraint offered_{port.name} {{ {port.name} < {len(port.choices)}; }}"
        # Special codes of a format, such as NaN, occur more often than with uniform random codes.
        codes = dict(code for fmt in port.formats for code in special_codes(fmt))
        if codes:
            yield f"constraint special_{port.name} {{"
            yield f"  {port.name} dist {{"
            yield from (f"    {unit.name}_pkg::{code} := 1," for code in codes)
            yield f"    [{port.width}'h0 : {port.width}'h{(1 << port.width) - 1:x}] :/ {_EVEN}"
            yield "  };"
            yield "}"


def _sequences(unit: Unit, timing: list[str]) -> Iterator[str]:
    """Yield the SystemVerilog classes of UVM sequences that send random operations.

    `timing` lists the names of a transaction's timing fields, such as "pause" or "reset".
    """
    for kind, (doc, chosen) in _KINDS.items():
        if kind in timing or kind not in _TIMING:
            constraint = " ".join(f"{field} {chosen.get(field, '== 0')};" for field in timing)
            yield filled(CHOSEN, {"name": unit.name, "kind": kind, "doc": doc, "timing": constraint})


def _compare(place: int, port: Port) -> str:
    return f'if (meaning[{place}]) check_output("{port.name}", item, 64\'(item.{port.name}), {port.name});'


def _sampled(ports: tuple[Port, ...]) -> str:
    return ", ".join(f"item.{port.name}" for port in ports)


def _connections(unit: Unit) -> str:
    named = connections(unit).replace("(", "(bus.").replace("(bus.!", "(!bus.").replace("(bus.1'b", "(1'b")
    return named.replace(".clk(bus.clk)", ".clk(clk)")
