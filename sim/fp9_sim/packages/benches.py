"""Self-checking test benches of a package: plain Verilog for any simulator, C++ for Verilator, and assertions.

Both benches read golden vectors, drive the unit, with stages behind random stalls on both sides, and compare every
output that carries meaning. They end with a line that says PASS or FAIL; the C++ one with exit code 1 where it fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from fp9.units import Handshake, Port, Unit
from fp9.vectors.encodings import hex_digits, word_places

MAX_SHOWN = 10
"""Mismatches that a bench prints; it counts all."""


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _slices(ports: Sequence[Port]) -> dict[str, str]:
    """Bits of each port in a word of a memory file."""
    lowest = word_places(tuple(ports))
    return {
        p.name: f"[{lowest[p.name] + p.width - 1}:{lowest[p.name]}]" if p.width > 1 else f"[{lowest[p.name]}]"
        for p in ports
    }


def verilog_bench(unit: Unit, count: int) -> str:
    """Plain Verilog (2005) bench `NAME_tb` that reads vectors/NAME.memh, relative to where the simulator runs."""
    ports = (*unit.inputs, *unit.outputs)
    slices = _slices(ports)
    lines = [
        f"// Self-checking bench of {unit.name}: {count} golden vectors, PASS or FAIL at the end.",
        f"module {unit.name}_tb;",
        f"  localparam COUNT = {count};",
        f"  reg [{4 * sum(map(hex_digits, ports)) - 1}:0] vectors [0:COUNT-1];",
        *(f"  reg {_range(p.width)}{p.name};" for p in unit.inputs),
        *(f"  wire {_range(p.width)}{p.name};" for p in unit.outputs),
        *(f"  reg {_range(p.width)}expected_{p.name};" for p in unit.outputs),
        "  integer received, mismatches;",
    ]
    body = _clocked_bench(unit, slices) if unit.stages else _combinational_bench(unit, slices)
    return "\n".join([*lines, *body, *_check_task(unit, slices), "endmodule", ""])


def connections(unit: Unit) -> str:
    """The pins of the unit; reset by `rst`, whatever its level, and never held by an enable."""
    held = {unit.reset.port: "rst" if unit.reset.active else "!rst", "enable": "1'b1"}
    names = [port.name for port in (*unit.control_ports, *unit.inputs, *unit.outputs)]
    return ", ".join(f".{name}({held.get(name, name)})" for name in names)


def _check_task(unit: Unit, slices: dict[str, str]) -> list[str]:
    """The comparison with one vector; a column of `x` carries no meaning and is not compared."""
    takes = [f"      expected_{p.name} = vectors[index]{slices[p.name]};" for p in unit.outputs]
    differs = [f"(^expected_{p.name} !== 1'bx && {p.name} !== expected_{p.name})" for p in unit.outputs]
    shown = ", ".join(f"{p.name} %h, not %h" for p in unit.outputs)
    values = ", ".join(f"{p.name}, expected_{p.name}" for p in unit.outputs)
    return [
        "",
        "  task check(input integer index);",
        "    begin",
        *takes,
        f"      if ({' || '.join(differs)}) begin",
        "        mismatches = mismatches + 1;",
        f"        if (mismatches <= {MAX_SHOWN})",
        f'          $display("vector %0d: {shown}", index, {values});',
        "      end",
        "    end",
        "  endtask",
        "",
        "  task finish;",
        "    begin",
        '      if (mismatches == 0 && received == COUNT) $display("PASS: %0d vectors", received);',
        '      else $display("FAIL: %0d mismatches, %0d of %0d vectors received", mismatches, received, COUNT);',
        "      $finish;",
        "    end",
        "  endtask",
    ]


def _combinational_bench(unit: Unit, slices: dict[str, str]) -> list[str]:
    return [
        f"  {unit.name} unit ({connections(unit)});",
        "",
        "  initial begin",
        f'    $readmemh("vectors/{unit.name}.memh", vectors);',
        "    mismatches = 0;",
        "    for (received = 0; received < COUNT; received = received + 1) begin",
        *(f"      {p.name} = vectors[received]{slices[p.name]};" for p in unit.inputs),
        "      #1 check(received);",
        "    end",
        "    finish;",
        "  end",
    ]


def _clocked_bench(unit: Unit, slices: dict[str, str]) -> list[str]:
    """Inputs change at the falling edge; an offer stands until it is taken, as a valid/ready stream wants it."""
    waits = unit.handshake is Handshake.READY
    return [
        "  reg clk, rst, in_valid, out_ready, taken;",
        "  wire out_valid;",
        "  wire in_ready;" if waits else "  wire in_ready = 1'b1;",
        "  integer sent, waited, seed;",
        f"  {unit.name} unit ({connections(unit)});",
        "",
        "  always #5 clk = !clk;",
        "",
        "  initial begin",
        f'    $readmemh("vectors/{unit.name}.memh", vectors);',
        "    {clk, in_valid, out_ready, taken} = 0;",
        "    rst = 1;",
        "    seed = 1;",
        "    sent = 0;",
        "    waited = 0;",
        "    received = 0;",
        "    mismatches = 0;",
        *(f"    {p.name} = 0;" for p in unit.inputs),
        "    repeat (2) @(negedge clk);",
        "    rst = 0;",
        "  end",
        "",
        "  always @(negedge clk) if (!rst) begin",
        "    if (!in_valid || taken) begin",
        "      in_valid = sent < COUNT && $random(seed) % 4 != 0;",
        "      if (in_valid) begin",
        *(f"        {p.name} = vectors[sent]{slices[p.name]};" for p in unit.inputs),
        "      end",
        "    end",
        f"    out_ready = {'$random(seed) % 4 != 0' if waits else 1};",
        "  end",
        "",
        "  always @(posedge clk) if (!rst) begin",
        "    taken = in_valid && in_ready;",
        "    if (taken) sent = sent + 1;",
        "    if (out_valid === 1'b1 && out_ready) begin",
        "      check(received);",
        "      received = received + 1;",
        "    end",
        "    waited = waited + 1;",
        "    if (received == COUNT || waited == 100 * COUNT + 1000) finish;",
        "  end",
    ]


def cpp_bench(unit: Unit) -> str:
    """C++ bench for Verilator that reads the vector file given as its argument: NAME.vec, lines of hex."""
    inputs = [f"    top.{p.name} = vector[{i}].value;" for i, p in enumerate(unit.inputs)]
    first = len(unit.inputs)
    checks = [f'  same &= agrees(vector[{first + i}], top.{p.name}, "{p.name}");' for i, p in enumerate(unit.outputs)]
    drive = _CPP_CLOCKED if unit.stages else _CPP_COMBINATIONAL
    return _CPP.format(
        name=unit.name,
        columns=len(unit.inputs) + len(unit.outputs),
        most=MAX_SHOWN,
        checks="\n".join(checks),
        drive=drive.format(inputs="\n".join(inputs), **_cpp_control(unit)),
    )


def _cpp_control(unit: Unit) -> dict[str, str]:
    """How the C++ bench resets the unit, and how both sides wait."""
    waits = unit.handshake is Handshake.READY
    return {
        "reset": f"top.{unit.reset.port}",
        "active": str(unit.reset.active),
        "idle": str(1 - unit.reset.active),
        "enabled": "\n  top.enable = 1;" if unit.enable else "",
        "is_ready": "top.in_ready" if waits else "true",
        "takes": "top.out_ready" if waits else "true",
        "may_take": "    top.out_ready = random() % 4 != 0;\n" if waits else "",
    }


_CPP = """\
// Self-checking bench of {name} for Verilator: bench FILE.vec; exit code 1 where a result differs.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "V{name}.h"
#include "verilated.h"

double sc_time_stamp() {{ return 0; }}

struct Column {{
  uint64_t value;
  bool cared;  // false: `x` in the file, a value without meaning
}};
using Vector = std::vector<Column>;

static std::vector<Vector> read(const char* path) {{
  std::ifstream file(path);
  std::vector<Vector> vectors;
  for (std::string line; std::getline(file, line);) {{
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    Vector vector;
    for (std::string cell; cells >> cell;) {{
      const bool cared = cell[0] != 'x';
      vector.push_back({{cared ? std::stoull(cell, nullptr, 16) : 0, cared}});
    }}
    if (vector.size() != {columns}) {{
      std::fprintf(stderr, "%s: a line has %zu columns, not {columns}\\n", path, vector.size());
      std::exit(2);
    }}
    vectors.push_back(vector);
  }}
  return vectors;
}}

static size_t mismatches = 0;

static bool agrees(const Column& expected, uint64_t found, const char* port) {{
  if (!expected.cared || expected.value == found) return true;
  if (mismatches < {most})
    std::printf("  %s is %llx, not %llx\\n", port, (unsigned long long)found, (unsigned long long)expected.value);
  return false;
}}

static void check(const V{name}& top, const Vector& vector, size_t index) {{
  bool same = true;
{checks}
  if (same) return;
  if (mismatches++ < {most}) std::printf("at vector %zu\\n", index);
}}

int main(int argc, char** argv) {{
  if (argc != 2) {{
    std::fprintf(stderr, "give the vector file: %s vectors/{name}.vec\\n", argv[0]);
    return 2;
  }}
  const std::vector<Vector> vectors = read(argv[1]);
  V{name} top;
  size_t received = 0;
{drive}
  const bool passed = !mismatches && received == vectors.size() && received;
  std::printf("%s: %zu vectors, %zu mismatches\\n", passed ? "PASS" : "FAIL", received, mismatches);
  return !passed;
}}
"""

_CPP_COMBINATIONAL = """\
  for (const Vector& vector : vectors) {{
{inputs}
    top.eval();
    check(top, vector, received++);
  }}"""

_CPP_CLOCKED = """\
  std::mt19937 random(1);
  top.clk = 0;
  {reset} = {active};{enabled}
  top.in_valid = 0;
  for (int clock = 0; clock < 2; ++clock) {{
    top.clk = 0;
    top.eval();
    top.clk = 1;
    top.eval();
  }}
  {reset} = {idle};
  size_t sent = 0;
  bool taken = true;
  for (size_t clock = 0; received < vectors.size() && clock < 100 * vectors.size() + 1000; ++clock) {{
    top.clk = 0;
    if (taken) top.in_valid = sent < vectors.size() && random() % 4;
    if (top.in_valid) {{
      const Vector& vector = vectors[sent];
{inputs}
    }}
{may_take}    top.eval();
    taken = !top.in_valid || {is_ready};
    sent += top.in_valid && {is_ready};
    if (top.out_valid && {takes}) {{
      check(top, vectors[received], received);
      ++received;
    }}
    top.clk = 1;
    top.eval();
  }}"""


def assertions(unit: Unit) -> str:
    """SystemVerilog assertions of the handshake, bound to the unit: what is offered stands until it is taken."""
    outputs = " && ".join(["out_valid", *(f"$stable({p.name})" for p in unit.outputs)])
    ports = [f"  input logic {_range(p.width)}{p.name}" for p in unit.outputs]
    reset = unit.reset.port if unit.reset.active else f"!{unit.reset.port}"
    clock = "@(posedge clk iff enable)" if unit.enable else "@(posedge clk)"
    stands = [
        f"  result_stands: assert property ({clock} disable iff ({reset})",
        f"    out_valid && !out_ready |=> {outputs});",
        f"  ready_when_drained: assert property ({clock} disable iff ({reset})",
        "    !out_valid && out_ready |-> in_ready);",
        f"  taken_or_waiting: cover property ({clock} disable iff ({reset}) in_valid && !in_ready);",
    ]
    in_time = [
        f"  in_time: assert property ({clock} disable iff ({reset}) in_valid |-> ##{unit.stages} out_valid);",
        f"  result_comes: cover property ({clock} disable iff ({reset}) out_valid);",
    ]
    return "\n".join(
        [
            f"// Assertions of {unit.name}: bound to every instance of it where this file is read.",
            f"module {unit.name}_sva (",
            f"  input logic {', '.join(port.name for port in unit.control_ports)},",
            ",\n".join(ports),
            ");",
            f"  empties_in_reset: assert property (@(posedge clk) {reset} |=> !out_valid);",
            *(stands if unit.handshake is Handshake.READY else in_time),
            "endmodule",
            "",
            f"bind {unit.name} {unit.name}_sva checks (.*);",
            "",
        ]
    )
