"""Draw the waveform of a mismatch from a VCD file: a unit's ports around one operation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from vcd.reader import TokenKind, tokenize

from fp9.units import Port, Unit
from fp9_sim.bench.scoreboard import Mismatch

Record = dict[str, Any]

# Operations that are shown before and after the failed operation.
BESIDE = 2


def around(dump: Path, unit: Unit, mismatch: Mismatch) -> Record:
    """Return the hexadecimal port values of a combinational unit for the operations around a failed operation."""
    first = max(0, mismatch.index - BESIDE)
    # Each operation takes one time unit in the test bench, so the simulation time is the operation's index.
    times = range(first, mismatch.index + BESIDE + 1)
    ports = [*unit.inputs, *unit.outputs]
    seen = _values(dump, unit.name, {port.name for port in ports})
    return {
        "first": first,
        "index": mismatch.index,
        "rows": [{"name": port.name, "values": [_hex(_at(seen[port.name], t), port) for t in times]} for port in ports],
        "expected": {name: value.hex for name, value in mismatch.expected.items() if value != mismatch.got[name]},
    }


def _values(dump: Path, top: str, names: set[str]) -> dict[str, list[tuple[int, str]]]:
    # Signals inside submodules of `top` are not read.
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in names}
    for name, time, bits in _changes(dump, top, names):
        found[name].append((time, bits))
    return found


def _changes(dump: Path, top: str, names: set[str]) -> Iterator[tuple[str, int, str]]:
    scope, codes, now = list[str](), dict[str, str](), 0
    with dump.open("rb") as opened:
        for token in tokenize(opened):
            kind = token.kind
            if kind is TokenKind.SCOPE:
                scope.append(token.scope.ident)
            elif kind is TokenKind.UPSCOPE:
                scope.pop()
            elif kind is TokenKind.VAR and scope == [top] and token.var.reference in names:
                codes[token.var.id_code] = token.var.reference
            elif kind is TokenKind.CHANGE_TIME:
                now = token.time_change
            elif kind in _CHANGES and (change := _CHANGES[kind](token)).id_code in codes:
                yield codes[change.id_code], now, _bits(change.value)


_CHANGES: dict[TokenKind, Callable[[Any], Any]] = {
    TokenKind.CHANGE_SCALAR: operator.attrgetter("scalar_change"),
    TokenKind.CHANGE_VECTOR: operator.attrgetter("vector_change"),
}


def _bits(value: int | str) -> str:
    return f"{value:b}" if isinstance(value, int) else value


def _at(changes: Sequence[tuple[int, str]], time: int) -> str:
    return next((bits for when, bits in reversed(changes) if when <= time), "x")


def _hex(bits: str, port: Port) -> str:
    digits = -(-port.width // 4)
    return f"{int(bits, 2):0{digits}x}" if set(bits) <= {"0", "1"} else "x" * digits


# --- the picture ---------------------------------------------------------------------------------------------------

# Pixels: width of a signal name, width of one operation, height of a row, and width of a slanted edge.
_NAME, _CELL, _ROW, _EDGE = 125, 105, 28, 5


def pictures(waves: Mapping[str, Any]) -> str:
    # The drawing for narrow pages shows fewer operations.
    return "".join(f'<div class="{name}">{picture(cut)}</div>' for name, cut in _cuts(waves))


def _cuts(waves: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "on-wide", waves
    first = max(waves["first"], waves["index"] - 1)
    shown = slice(first - waves["first"], waves["index"] - waves["first"] + 2)
    rows = [row | {"values": row["values"][shown]} for row in waves["rows"]]
    yield "on-narrow", {**waves, "first": first, "rows": rows}


def picture(waves: Mapping[str, Any]) -> str:
    count = len(waves["rows"][0]["values"])
    rows = [(row["name"], row["values"], "") for row in waves["rows"]]
    place = waves["index"] - waves["first"]
    for name, value in waves["expected"].items():
        rows.append((f"{name} expected", [""] * place + [value] + [""] * (count - place - 1), "lost"))
    height = _ROW * (len(rows) + 1)
    said = f"Ports around operation {waves['index']}: " + "; ".join(
        f"{n} {' '.join(filter(None, v))}" for n, v, _ in rows
    )
    parts = [f'<rect class="chosen" x="{_NAME + _CELL * place}" y="0" width="{_CELL}" height="{height}"/>']
    parts.append(_text(_NAME - 8, _ROW * 0.7, "operation", "end", "hint"))
    parts += [
        _text(_NAME + _CELL * (i + 0.5), _ROW * 0.7, str(waves["first"] + i), "middle", "hint") for i in range(count)
    ]
    for line, (name, values, kind) in enumerate(rows, start=1):
        parts.append(_text(_NAME - 8, _ROW * (line + 0.7), name, "end", kind))
        parts += _lane(values, _ROW * line, kind)
    inner = "".join(parts)
    width = _NAME + _CELL * count
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return f'<svg class="waves" {size} role="img" aria-label="{escape(said)}">{inner}</svg>'


def _lane(values: Sequence[str], y: float, kind: str) -> Iterator[str]:
    top, bottom, middle = y + 4, y + _ROW - 4, y + _ROW / 2
    start = 0
    while start < len(values):
        end = start + 1
        while end < len(values) and values[end] == values[start]:
            end += 1
        left, right = _NAME + _CELL * start, _NAME + _CELL * end
        if values[start]:
            inside, outside = (left + _EDGE, right - _EDGE), (left, right)
            points = [(outside[0], middle), (inside[0], top), (inside[1], top), (outside[1], middle)]
            points += [(inside[1], bottom), (inside[0], bottom)]
            yield f'<polygon class="{kind}" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>'
            yield _text((left + right) / 2, y + _ROW * 0.7, values[start], "middle", kind)
        start = end


def _text(x: float, y: float, text: str, anchor: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
