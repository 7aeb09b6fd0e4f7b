"""Generator of a C test bench, which checks a unit's C model with golden vectors."""

from __future__ import annotations

from collections.abc import Callable

from fp9.cmodel.headers import model_text
from fp9.cmodel.operands import c_type
from fp9.cmodel.text import chosen, filled, identifier
from fp9.units import Port, Unit


def bench(unit: Unit) -> str:
    """Return the C99 source of the program `NAME_bench FILE.vec`, which checks golden vectors.

    At the first mismatch, the program prints FAIL with the operands, and exits with code 1. Otherwise, it prints PASS.
    """
    text = model_text(unit)
    inputs, outputs = unit.inputs, unit.outputs
    state = "&state, " if text.state else ""
    words = {
        "name": unit.name,
        "inputs": len(inputs),
        "outputs": len(outputs),
        "group": text.group,
        "state": f"static {unit.name}_state state;\n" if text.state else "",
        "reset": f"    {unit.name}_reset(&state);\n" if text.state else "",
        "call": f"{unit.name}_model({state}in, out);",
        "loads": "\n".join(
            f"    in->{port.name} = ({c_type(port.width)})cell[{place}].value;" for place, port in enumerate(inputs)
        ),
        "compares": "\n".join(
            f"    wrong |= cell[{place}].cared && cell[{place}].value != out->{port.name};"
            for place, port in enumerate(outputs, start=len(inputs))
        ),
        "shows": "\n".join(
            [_shown(unit, port, f"in->{port.name}", "") for port in inputs]
            + [_shown(unit, port, f"out->{port.name}", f"cell[{n}]") for n, port in enumerate(outputs, len(inputs))]
        ),
    }
    return filled(_BENCH, words)


def _shown(unit: Unit, port: Port, value: str, expected: str) -> str:
    number = _number(unit, port)
    if not expected:
        return f'    show("{port.name}", {value}, {number(value)});'
    cell = f"{expected}.value"
    return (
        f'    if ({expected}.cared && {cell} != {value}) differ("{port.name}", {value}, {number(value)}, {cell}, '
        f"{number(f'(uint32_t){cell}')});"
    )


def _number(unit: Unit, port: Port) -> Callable[[str], str]:
    bias = any(other.name == f"{port.name.rstrip('0123456789')}_bias" for other in unit.inputs)
    if not port.formats or bias:
        return lambda value: "fp9_plain()"
    select = f"in->{port.select}" if port.select else "0"
    return lambda value: "(" + chosen(select, [f"fp9_{identifier(f)}_decode({value})" for f in port.formats]) + ")"


_BENCH = """\
/* Compare golden vectors with the C model of @{name}: @{name}_bench FILE.vec */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fp9_@{name}.h"

enum { INPUTS = @{inputs}, OUTPUTS = @{outputs}, GROUP = @{group} };

typedef struct {
    uint64_t value;
    int cared; /* 0 where the file has x: a result without meaning */
} cell_t;

@{state}
FP9_FN fp9_number fp9_plain(void)
{
    fp9_number x = {FP9_UNDEFINED, 0, 0, 0, 0};
    return x;
}

/* Prints a code, and its number where it is that of a format: significand * 2^exponent. */
static void print(uint64_t code, fp9_number x)
{
    printf("0x%" PRIx64, code);
    if (x.kind == FP9_ZERO) printf(" (%s0)", x.negative ? "-" : "");
    if (x.kind == FP9_FINITE) printf(" (%s%" PRIu64 " * 2^%d)", x.negative ? "-" : "", x.significand, x.exponent);
    if (x.kind == FP9_INF) printf(" (%sinf)", x.negative ? "-" : "");
    if (x.kind == FP9_NAN) printf(" (nan)");
}

static void show(const char *port, uint64_t code, fp9_number x)
{
    printf("  %s = ", port);
    print(code, x);
    printf("\\n");
}

static void differ(const char *port, uint64_t code, fp9_number x, uint64_t expected, fp9_number y)
{
    printf("  %s is ", port);
    print(code, x);
    printf(", not ");
    print(expected, y);
    printf("\\n");
}

static int parse(char *line, cell_t *cell)
{
    int count = 0;
    char *word, *end;
    for (word = strtok(line, " \\n"); word && count < INPUTS + OUTPUTS; word = strtok(NULL, " \\n"), ++count) {
        cell[count].cared = word[0] != 'x';
        cell[count].value = cell[count].cared ? strtoull(word, &end, 16) : 0;
        if (cell[count].cared && *end) return 0;
    }
    return count == INPUTS + OUTPUTS && !word;
}

static void load(const cell_t *cell, @{name}_in *in)
{
@{loads}
}

static int is_wrong(const cell_t *cell, const @{name}_out *out)
{
    int wrong = 0;
@{compares}
    return wrong;
}

static void explain(const cell_t *cell, const @{name}_in *in, const @{name}_out *out)
{
@{shows}
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    static cell_t cell[GROUP][INPUTS + OUTPUTS];
    static @{name}_in in[GROUP];
    static @{name}_out out[GROUP];
    unsigned long number = 0, operations = 0, wrong = 0;
    int place, filled = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: @{name}_bench FILE.vec\\n");
        return 2;
    }
@{reset}\
    while (fgets(line, sizeof line, file)) {
        ++number;
        if (line[0] == '#' || line[0] == '\\n') continue;
        if (!parse(line, cell[filled])) {
            fprintf(stderr, "line %lu of %s has not %d columns of hex digits\\n", number, argv[1], INPUTS + OUTPUTS);
            return 2;
        }
        load(cell[filled], &in[filled]);
        if (++filled < GROUP) continue;
        @{call}
        for (place = 0; place < GROUP; ++place) {
            ++operations;
            if (!is_wrong(cell[place], &out[place]) || wrong++) continue;
            printf("first mismatch in line %lu:\\n", number - (unsigned long)(GROUP - 1 - place));
            explain(cell[place], &in[place], &out[place]);
        }
        filled = 0;
    }
    fclose(file);
    if (wrong || !operations || filled) {
        printf("FAIL: %lu mismatches in %lu operations\\n", wrong, operations);
        return 1;
    }
    printf("PASS: %lu operations\\n", operations);
    return 0;
}
"""
