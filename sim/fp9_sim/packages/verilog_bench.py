"""Write the self-checking Verilog-2005 test bench of a package, for any Verilog simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fp9.units import Handshake, Port, Unit
from fp9.vectors import VectorSet
from fp9.vectors.encodings import hex_digits, word_places
from fp9_sim.bench.exchange import prefix_of
from fp9_sim.coverage.covergroups import has_coverage
from fp9_sim.packages.numbers import verilog_functions, verilog_shown
from fp9_sim.templates import filled, width

MAX_SHOWN = 10

STALLED = 4096
"""Number of vectors that a test bench drives with stalls. More stalls take minutes and cover nothing new."""

PATIENCE = 500
"""Number of idle clock cycles after which a test bench reports the unit as stuck."""


LONGEST_RESET = 3


def uncompared(vectors: VectorSet) -> dict[str, int]:
    """Return the number of don't-care results for each output port with at least one don't-care result."""
    counts = {name: int(np.count_nonzero(~care)) for name, care in vectors.care.items()}
    return {name: count for name, count in counts.items() if count}


def connections(unit: Unit) -> str:
    held = {unit.reset.port: "rst" if unit.reset.active else "!rst", "enable": "1'b1", "flush": "1'b0"}
    names = [port.name for port in (*unit.control_ports, *unit.inputs, *unit.outputs)]
    return ", ".join(f".{name}({held.get(name, name)})" for name in names)


def verilog_bench(vectors: VectorSet) -> str:
    """Return the self-checking test bench `NAME_tb`, which reads vectors from +vectors=FILE."""
    unit = vectors.unit
    drive = _CLOCKED if unit.stages else _COMBINATIONAL
    return filled(_HEAD, _words(vectors)) + filled(drive, _words(vectors) | _clocked_words(vectors))


def _words(vectors: VectorSet) -> dict[str, object]:
    unit, meaningless = vectors.unit, uncompared(vectors)
    columns, places = vectors.columns, word_places(vectors.columns)
    digits = sum(map(hex_digits, columns))
    sliced = {p.name: f"vectors[index][{places[p.name] + p.width - 1}:{places[p.name]}]" for p in columns}
    takes = [f"operand_{p.name} = {sliced[p.name]};" for p in unit.inputs]
    takes += [f"expected_{p.name} = {sliced[p.name]};" for p in unit.outputs]
    unknown = [f"^operand_{p.name} === 1'bx" for p in unit.inputs]
    unknown += [f"^expected_{p.name} === 1'bx{_but_x(p, meaningless)}" for p in unit.outputs]
    names = [*(f"operand_{p.name}" for p in unit.inputs), *(p.name for p in unit.outputs)]
    counts = [f"(expected_{p.name} === {_all_x(p)})" for p in unit.outputs if p.name in meaningless]
    return {
        "name": unit.name,
        "count": len(vectors),
        "uncompared": sum(meaningless.values()),
        "characters": digits + len(columns) - 1,
        "bits": 4 * digits,
        "declarations": "\n".join(_declarations(unit)),
        "takes": "\n".join(f"      {line}" for line in takes),
        "unknown": f"{' || '.join(unknown)}",
        "counted": f" + {' + '.join(counts)}" if counts else "",
        "check": _check(unit, meaningless),
        "numbers": verilog_functions(unit),
        "connections": connections(unit),
        "sampled": _if_covered(unit, f"sample({', '.join(names)})"),
        "reported": _if_covered(unit, "report()"),
        "restarted": _if_covered(unit, "restart()"),
    }


def _if_covered(unit: Unit, call: str) -> str:
    if not has_coverage(unit):
        return ""
    return f"`ifdef COVERAGE\n      {unit.name}_coverage::{call};\n`endif\n"


def _all_x(port: Port) -> str:
    return f"{{{port.width}{{1'bx}}}}"


def _but_x(port: Port, meaningless: Mapping[str, int]) -> str:
    return f" && expected_{port.name} !== {_all_x(port)}" if port.name in meaningless else ""


def _declarations(unit: Unit) -> list[str]:
    return [
        *(f"  reg {width(p)}{p.name}, operand_{p.name};" for p in unit.inputs),
        *(f"  wire {width(p)}{p.name};" for p in unit.outputs),
        *(f"  reg {width(p)}expected_{p.name};" for p in unit.outputs),
    ]


def _check(unit: Unit, meaningless: Mapping[str, int]) -> str:
    differs = {p: f"({p.name} !== expected_{p.name}{_but_x(p, meaningless)})" for p in unit.outputs}
    lines = [
        f"      if ({' || '.join(differs.values())}) begin",
        "        mismatches = mismatches + 1;",
        f"        if (mismatches <= {MAX_SHOWN}) begin",
        '          $write("vector %0d:", index);',
    ]
    for place, port in enumerate(unit.inputs):
        text, values = verilog_shown(unit, port, f"operand_{port.name}")
        lines.append(f'          $write("{"," * bool(place)} {port.name} = {text}", {values});')
    for port, condition in differs.items():
        shown = [verilog_shown(unit, port, name) for name in (port.name, f"expected_{port.name}")]
        (found, value), (expected, other) = shown
        lines.append(f'          if ({condition}) $write("; {port.name} is {found}, not {expected}",')
        lines.append(f"            {value}, {other});")
    return "\n".join([*lines, '          $display("");', "        end", "      end"])


_HEAD = """\
// Self-checking bench of @{name} for @{count} golden vectors: it ends with PASS, or with FAIL by $fatal.
// +vectors=FILE names the memory file; without it, it is vectors/@{name}.memh where the simulator runs.
module @{name}_tb;
  localparam COUNT = @{count};
  localparam UNCOMPARED = @{uncompared};  // undefined results, which the file shows as x
  localparam DIGITS = @{characters};  // characters of a line

  reg [@{bits}-1:0] vectors [0:COUNT-1];
@{declarations}
  integer mismatches;

@{numbers}
  // --- vectors

  reg [8*4096-1:0] path;

  task read_vectors;
    reg [8*(DIGITS+1)-1:0] line;
    reg [@{bits}-1:0] word;
    reg [7:0] after;
    integer file, first, length, number, held, index, meaningless;
    begin
      if (!$value$plusargs("vectors=%s", path)) path = "vectors/@{name}.memh";
      file = $fopen(path, "r");
      if (file == 0) $fatal(1, "FAIL: %0s cannot be read; name the vectors by +vectors=FILE", path);
      number = 0;
      held = 0;
      first = $fgetc(file);
      while (first != -1) begin
        number = number + 1;
        if (first == "/") begin  // a comment
          while (first != "\\n" && first != -1) first = $fgetc(file);
        end else begin
          first = $ungetc(first, file);
          length = $fgets(line, file);
          after = 0;
          if ($sscanf(line, "%h%c", word, after) != 2 || after != "\\n" || length != DIGITS + 1)
            $fatal(1, "FAIL: line %0d of %0s is no vector of @{name}", number, path);
          if (held < COUNT) vectors[held] = word;
          held = held + 1;
        end
        first = $fgetc(file);
      end
      $fclose(file);
      if (held != COUNT) $fatal(1, "FAIL: %0s holds %0d vectors, not %0d", path, held, COUNT);
      meaningless = 0;
      for (index = 0; index < COUNT; index = index + 1) begin
        take(index);
        if (@{unknown})
          $fatal(1, "FAIL: vector %0d of %0s has unknown bits", index, path);
        meaningless = meaningless@{counted};
      end
      if (meaningless != UNCOMPARED)
        $fatal(1, "FAIL: %0d results of %0s are x, not %0d", meaningless, path, UNCOMPARED);
    end
  endtask

  task take(input integer index);
    begin
@{takes}
    end
  endtask

  // An unknown bit of a result differs from every expected one.
  task check(input integer index);
    begin
      take(index);
@{check}
@{sampled}    end
  endtask

  task finish;
    begin
      if (mismatches != 0) $fatal(1, "FAIL: %0d mismatches in %0d vectors", mismatches, COUNT);
      $display("PASS: %0d vectors", COUNT);
@{reported}      $finish;
    end
  endtask

"""

_COMBINATIONAL = """\
  // --- operations

  @{name} unit (@{connections});
  integer index;

  initial begin
    read_vectors;
    mismatches = 0;
    for (index = 0; index < COUNT; index = index + 1) begin
      take(index);
@{drive}
      #1 check(index);
    end
    finish;
  end
endmodule
"""


def _clocked_words(vectors: VectorSet) -> dict[str, object]:
    unit = vectors.unit
    waits = unit.handshake is Handshake.READY
    outputs = ", ".join(p.name for p in unit.outputs)
    return {
        "drive": "\n".join(f"      {p.name} = operand_{p.name};" for p in unit.inputs),
        "idle": "\n".join(f"          {p.name} = {_all_x(p)};" for p in unit.inputs),
        "start": "\n".join(f"    {p.name} = 0;" for p in unit.inputs),
        "latency": unit.latency,
        "prefix": prefix_of(vectors),
        "patience": PATIENCE,
        "stalled": STALLED,
        "outputs": outputs,
        "width": sum(p.width for p in unit.outputs),
        "in_ready": "wire in_ready;" if waits else "wire in_ready = 1'b1;",
        "takes_results": "ends != BLOCKED && !(stalls && received < STALLED && pauses(clock / 128))" if waits else "1",
        "late": late(unit),
        "full": 1 + unit.extra_clocks,
        "waits": "" if unit.extra_clocks else _AT_ONCE,
        "longest": LONGEST_RESET,
        "blocked": "    stream(PREFIX, 1, 0, BLOCKED);\n" if waits else "",
    }


def late(unit: Unit) -> str:
    """Return an expression, valid in Verilog and C++, that is true if a result comes in a wrong clock cycle."""
    if unit.handshake is Handshake.VALID:
        return "late != LATENCY"
    return "late < LATENCY" if unit.extra_clocks else "late < LATENCY || (late > LATENCY && !stalls)"


_AT_ONCE = """\
      if (in_valid && !taken && !stalls && ends != BLOCKED)
        $fatal(1, "FAIL: operation %0d was not taken at once; the unit takes one a clock", sent);
"""

_CLOCKED = """\
  // --- streams: inputs change and outputs are read while the clock is low

  localparam LATENCY = @{latency};
  localparam PREFIX = @{prefix};  // vectors of the streams before the one with all of them
  localparam STALLED = @{stalled};  // number of vectors after which a stream has no more stalls
  localparam LONGEST = @{longest};  // clocks of the longest reset
  localparam DRAINED = 0, TAKEN = 1, BLOCKED = 2;  // when a stream ends
  reg clk, rst, in_valid, out_ready, taken, waiting;
  reg [@{width}-1:0] held;
  wire out_valid;
  @{in_ready}
  integer taken_at [0:COUNT-1];
  integer sent, received, clock, clocks, idle, seed;
  @{name} unit (@{connections});

  // Return whether a side pauses: never, sometimes, often or nearly always, depending on the phase.
  function pauses(input integer phase);
    case (phase % 4)
      0: pauses = 0;
      1: pauses = ($random(seed) & 7) < 1;
      2: pauses = ($random(seed) & 7) < 4;
      default: pauses = ($random(seed) & 7) < 7;
    endcase
  endfunction

  // Simulate one clock cycle: transfers at both sides, and checks of the handshake.
  task tick(input stalls, input integer ends);
    integer late;
    begin
      #4;
      if (^{in_ready, out_valid} === 1'bx) $fatal(1, "FAIL: in_ready is %b, out_valid is %b", in_ready, out_valid);
      if (waiting && (!out_valid || held !== {@{outputs}}))
        $fatal(1, "FAIL: result %0d was withdrawn or changed before it was taken", received);
      taken = in_valid && in_ready;
      if (taken) begin
        taken_at[sent] = clock;
        sent = sent + 1;
        idle = 0;
      end
@{waits}      waiting = out_valid && !out_ready;
      held = {@{outputs}};
      if (out_valid && out_ready) begin
        if (received >= sent) $fatal(1, "FAIL: result %0d belongs to no operation", received);
        late = clock - taken_at[received];
        if (@{late})
          $fatal(1, "FAIL: result %0d comes %0d clocks after its operation, not %0d", received, late, LATENCY);
        check(received);
        received = received + 1;
        idle = 0;
      end
      #1 clk = 1;
      #5 clk = 0;
      if (taken) in_valid = 0;
      clock = clock + 1;
      idle = idle + 1;
      if (idle > @{patience} && ends != BLOCKED)
        $fatal(1, "FAIL: stuck: %0d operations taken, %0d results given", sent, received);
    end
  endtask

  // Stream the first `count` vectors after a reset of `clocks` clocks. The reset may cut an earlier stream.
  task stream(input integer count, input integer clocks, input stalls, input integer ends);
    begin
      {rst, in_valid, waiting} = 3'b100;
      repeat (clocks) begin
        #5 clk = 1;
        #5 clk = 0;
      end
      rst = 0;
@{restarted}      sent = 0;
      received = 0;
      clock = 0;
      idle = 0;
      while (ends == BLOCKED ? idle <= LATENCY + @{full} : (ends == TAKEN ? sent : received) < count) begin
        if (!in_valid && sent < count && !(stalls && sent < STALLED && pauses(clock / 32))) begin
          in_valid = 1;
          take(sent);
@{drive}
        end else if (!in_valid) begin
@{idle}
        end
        out_ready = @{takes_results};
        tick(stalls, ends);
      end
      if (ends == DRAINED) begin
        out_ready = 1;
        repeat (2 * LATENCY + 2) tick(stalls, ends);
      end
    end
  endtask

  initial begin
    read_vectors;
    mismatches = 0;
    seed = 1;
    {clk, out_ready} = 0;
@{start}
    stream(PREFIX, 1, 0, DRAINED);
@{blocked}    for (clocks = 1; clocks <= LONGEST; clocks = clocks + 1)
      stream(PREFIX < 2 * LATENCY + 2 ? PREFIX : 2 * LATENCY + 2, clocks, 0, TAKEN);
    stream(COUNT, 1, 1, DRAINED);
    finish;
  end
endmodule
"""
