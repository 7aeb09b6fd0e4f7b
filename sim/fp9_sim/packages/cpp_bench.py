"""Write the self-checking C++ test bench of a package, for Verilator."""

from __future__ import annotations

from fp9.units import Handshake, Unit
from fp9.vectors import VectorSet
from fp9.vectors.encodings import hex_digits
from fp9_sim.bench.exchange import prefix_of
from fp9_sim.packages.numbers import cpp_functions, cpp_shown
from fp9_sim.packages.verilog_bench import LONGEST_RESET, MAX_SHOWN, PATIENCE, STALLED, late, uncompared
from fp9_sim.templates import filled


def cpp_bench(vectors: VectorSet) -> str:
    """Return a self-checking C++ test bench, which takes the path of the vector file as its argument."""
    unit = vectors.unit
    drive = _CLOCKED if unit.stages else _COMBINATIONAL
    return filled(_HEAD, _words(vectors)) + filled(drive, _clocked_words(vectors) | {"drive": _drive(unit)})


def _words(vectors: VectorSet) -> dict[str, object]:
    unit, meaningless = vectors.unit, uncompared(vectors)
    columns = [
        f'    {{"{p.name}", {p.width}, {hex_digits(p)}, {str(p.name in meaningless).lower()}}},'
        for p in vectors.columns
    ]
    return {
        "name": unit.name,
        "count": len(vectors),
        "uncompared": sum(meaningless.values()),
        "columns": "\n".join(columns),
        "size": len(columns),
        "numbers": cpp_functions(unit),
        "most": MAX_SHOWN,
        "check": _check(unit),
    }


def _drive(unit: Unit) -> str:
    return "\n".join(f"  top.{p.name} = vector[{place}].value;" for place, p in enumerate(unit.inputs))


def _check(unit: Unit) -> str:
    places = {p.name: place for place, p in enumerate((*unit.inputs, *unit.outputs))}

    def operand(name: str) -> str:
        return f"vector[{places[name]}].value"

    differs = {p: f"differs({operand(p.name)[:-6]}, top.{p.name})" for p in unit.outputs}
    lines = [f"  if (!({' || '.join(differs.values())})) return;", "  if (mismatches++ >= MOST_SHOWN) return;"]
    lines.append('  std::printf("vector %zu:", index);')
    for place, port in enumerate(unit.inputs):
        text, values = cpp_shown(unit, port, operand(port.name), operand)
        lines.append(f'  std::printf("{"," * bool(place)} {port.name} = {text}", {values});')
    for port, condition in differs.items():
        shown = [cpp_shown(unit, port, value, operand) for value in (f"top.{port.name}", operand(port.name))]
        (found, value), (expected, other) = shown
        lines.append(f'  if ({condition}) std::printf("; {port.name} is {found}, not {expected}",')
        lines.append(f"    {value}, {other});")
    return "\n".join([*lines, '  std::printf("\\n");'])


_HEAD = """\
// Self-checking bench of @{name} for Verilator and @{count} golden vectors: bench FILE.vec; it ends with PASS, or with
// FAIL and exit code 1.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "V@{name}.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

static const size_t COUNT = @{count};  // vectors that the bench was made for
static const size_t UNCOMPARED = @{uncompared};  // undefined results, which the file shows as x
static const size_t MOST_SHOWN = @{most};

struct Column {
  const char* name;
  int bits, digits;
  bool may_lack_meaning;
};
static const Column columns[] = {
@{columns}
};

struct Cell {
  uint64_t value;
  bool cared;  // false: x in the file, an undefined result
};
using Vector = std::vector<Cell>;

template <typename... Values>
[[noreturn]] static void fail(const char* said, Values... values) {
  std::printf("FAIL: ");
  std::printf(said, values...);
  std::printf("\\n");
  std::exit(1);
}

// --- codes as numbers

[[maybe_unused]] static int signed_value(uint64_t code, int bits) {
  return code >> (bits - 1) & 1 ? int(code) - (1 << bits) : int(code);
}

@{numbers}
// --- vectors

static Cell cell(const std::string& text, const Column& column, size_t number, const char* path) {
  if (column.may_lack_meaning && text == std::string(column.digits, 'x')) return {0, false};
  const bool is_hex = text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!is_hex || text.size() != size_t(column.digits))
    fail("line %zu of %s: %s is no hex number of %d digits", number, path, column.name, column.digits);
  const uint64_t value = std::stoull(text, nullptr, 16);
  if (column.bits < 64 && value >> column.bits)
    fail("line %zu of %s: %s does not fit %d bits", number, path, column.name, column.bits);
  return {value, true};
}

static Vector parsed(const std::string& line, size_t number, const char* path) {
  Vector vector;
  size_t from = 0;
  for (const Column& column : columns) {
    const size_t end = std::min(line.find(' ', from), line.size());
    const std::string text = from <= line.size() ? line.substr(from, end - from) : "";
    vector.push_back(cell(text, column, number, path));
    from = end + 1;
  }
  if (from != line.size() + 1) fail("line %zu of %s has more than @{size} columns", number, path);
  return vector;
}

static std::vector<Vector> read(const char* path) {
  std::ifstream file(path);
  if (!file) fail("%s cannot be read; give the vectors: bench FILE.vec", path);
  std::vector<Vector> vectors;
  size_t number = 0, meaningless = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (file.eof()) fail("line %zu of %s is cut off", number, path);
    if (line[0] == '#') continue;
    vectors.push_back(parsed(line, number, path));
    for (const Cell& one : vectors.back()) meaningless += !one.cared;
  }
  if (vectors.size() != COUNT) fail("%s holds %zu vectors, not %zu", path, vectors.size(), COUNT);
  if (meaningless != UNCOMPARED) fail("%zu results of %s are x, not %zu", meaningless, path, UNCOMPARED);
  return vectors;
}

// --- results

using Top = V@{name};
static size_t mismatches = 0;

static bool differs(const Cell& expected, uint64_t found) { return expected.cared && expected.value != found; }

static void check(const Top& top, const Vector& vector, size_t index) {
@{check}
}

static int finish() {
  if (mismatches) fail("%zu mismatches in %zu vectors", mismatches, COUNT);
  std::printf("PASS: %zu vectors\\n", COUNT);
  return 0;
}

static void drive(Top& top, const Vector& vector) {
"""

_COMBINATIONAL = """\
@{drive}
}

int main(int argc, char** argv) {
  const std::vector<Vector> vectors = read(argc == 2 ? argv[1] : "");
  Top top;
  for (size_t index = 0; index < COUNT; ++index) {
    drive(top, vectors[index]);
    top.eval();
    check(top, vectors[index], index);
  }
  return finish();
}
"""


def _clocked_words(vectors: VectorSet) -> dict[str, object]:
    unit = vectors.unit
    waits = unit.handshake is Handshake.READY
    return {
        "reset": f"top.{unit.reset.port}",
        "active": unit.reset.active,
        "idle": 1 - unit.reset.active,
        "enabled": ("  top.enable = 1;\n" if unit.enable else "") + ("  top.flush = 0;\n" if unit.flush else ""),
        "latency": unit.latency,
        "prefix": prefix_of(vectors),
        "patience": PATIENCE,
        "stalled": STALLED,
        "is_ready": "top.in_ready" if waits else "true",
        "ready": "top.out_ready" if waits else "ready",
        "held": ", ".join(f"top.{p.name}" for p in unit.outputs),
        "late": late(unit),
        "full": 1 + unit.extra_clocks,
        "waits": "" if unit.extra_clocks else _AT_ONCE,
        "takes": "ends != BLOCKED && !(stalls && received < STALLED && pauses(clock / 128))" if waits else "true",
        "blocked": "  stream(top, vectors, PREFIX, 1, false, BLOCKED);\n" if waits else "",
        "longest": LONGEST_RESET,
    }


_AT_ONCE = """\
    if (top.in_valid && !taken && !stalls && ends != BLOCKED)
      fail("operation %zu was not taken at once; the unit takes one a clock", sent);
"""

_CLOCKED = """\
@{drive}
}

// --- streams: inputs change and outputs are read while the clock is low

static const size_t LATENCY = @{latency}, PREFIX = @{prefix}, PATIENCE = @{patience};
static const size_t STALLED = @{stalled};  // number of vectors after which a stream has no more stalls
enum Ends { DRAINED, TAKEN, BLOCKED };

// Return whether a side pauses: never, sometimes, often or nearly always, depending on the phase.
static bool pauses(size_t phase) {
  static std::mt19937 random(1);
  static const unsigned eighths[] = {0, 1, 4, 7};
  return random() % 8 < eighths[phase % 4];
}

static void edge(Top& top) {
  top.clk = 1;
  top.eval();
  top.clk = 0;
}

// Stream the first `count` vectors after a reset of `clocks` clocks. The reset may cut an earlier stream.
static void stream(Top& top, const std::vector<Vector>& vectors, size_t count, int clocks, bool stalls, Ends ends) {
  std::vector<size_t> taken_at;
  std::vector<uint64_t> held;
  size_t received = 0, idle = 0, after = 0;
  bool waiting = false, ready = true;
  @{reset} = @{active};
  top.in_valid = 0;
  for (int clock = 0; clock < clocks; ++clock) {
    top.eval();
    edge(top);
  }
  @{reset} = @{idle};
  for (size_t clock = 0;; ++clock) {
    if (ends == BLOCKED ? idle > LATENCY + @{full} : ends == TAKEN && taken_at.size() == count) return;
    if (ends == DRAINED && received == count && after++ > 2 * LATENCY + 2) return;
    if (idle > PATIENCE && ends != BLOCKED && !after)
      fail("stuck: %zu operations taken, %zu results given", taken_at.size(), received);
    const size_t sent = taken_at.size();
    if (!top.in_valid && sent < count && !(stalls && sent < STALLED && pauses(clock / 32))) {
      top.in_valid = 1;
      drive(top, vectors[sent]);
    }
    @{ready} = @{takes};
    top.eval();
    ++idle;
    const bool taken = top.in_valid && @{is_ready};
    if (waiting && (!top.out_valid || held != std::vector<uint64_t>{@{held}}))
      fail("result %zu was withdrawn or changed before it was taken", received);
@{waits}    if (taken) {
      taken_at.push_back(clock);
      idle = 0;
    }
    waiting = top.out_valid && !@{ready};
    held = {@{held}};
    if (top.out_valid && @{ready}) {
      if (received >= taken_at.size()) fail("result %zu belongs to no operation", received);
      const size_t late = clock - taken_at[received];
      if (@{late})
        fail("result %zu comes %zu clocks after its operation, not %zu", received, late, LATENCY);
      check(top, vectors[received], received);
      ++received;
      idle = 0;
    }
    edge(top);
    if (taken) top.in_valid = 0;
  }
}

int main(int argc, char** argv) {
  const std::vector<Vector> vectors = read(argc == 2 ? argv[1] : "");
  // Registers start at random values, so that a register without a reset is not 0 by chance.
  Verilated::randReset(2);
  Verilated::randSeed(1);
  Top top;
@{enabled}  top.clk = 0;
  stream(top, vectors, PREFIX, 1, false, DRAINED);
@{blocked}  for (int clocks = 1; clocks <= @{longest}; ++clocks)
    stream(top, vectors, std::min(PREFIX, 2 * LATENCY + 2), clocks, false, TAKEN);
  stream(top, vectors, COUNT, 1, true, DRAINED);
  return finish();
}
"""
