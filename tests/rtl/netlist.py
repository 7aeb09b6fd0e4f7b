"""Amaranth's netlist of a component without registers, evaluated for many operations at once.

A net is an integer: bit i of it is the net's value in operation i. That is some twenty times as fast as Amaranth's
simulator, which the tests of components with registers run, and which agrees with it (`test_netlist.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from amaranth.hdl import Fragment
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import AssignmentList, Matches, Operator, Part, PriorityMatch
from amaranth.lib.wiring import Flow
from numpy.typing import NDArray

Bits = list[int]
"""Nets, the lowest first."""

DEEP = 1 << 20
"""Nets that hang on one another: more than Python's usual limit of calls."""


def evaluated(component: Any, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.uint64]]:
    """The outputs of every operation, of shape (n,) for each port; `inputs` are columns of one length."""
    ports = {
        "__".join(map(str, path)): (value, PortDirection.Input if member.flow is Flow.In else PortDirection.Output)
        for path, member, value in component.signature.flatten(component)
    }
    netlist = build_netlist(Fragment.get(component, None), ports=ports)
    count = len(next(iter(inputs.values())))
    nets = _Nets(netlist.cells, count)
    for name, (start, width) in netlist.top.ports_i.items():
        for place in range(width):
            nets.known[start + place] = _packed(inputs[name], place)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    try:
        return {name: _unpacked(nets.values(value), count) for name, value in netlist.top.ports_o.items()}
    finally:
        sys.setrecursionlimit(limit)


def _packed(column: NDArray[Any], place: int) -> int:
    """One bit of every operation."""
    bits = (np.asarray(column).astype(np.uint64) >> np.uint64(place)).astype(np.uint8) & 1
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _unpacked(bits: Bits, count: int) -> NDArray[np.uint64]:
    column = np.zeros(count, np.uint64)
    for place, bit in enumerate(bits):
        held = np.frombuffer(bit.to_bytes(-(-count // 8), "little"), np.uint8)
        column |= np.unpackbits(held, count=count, bitorder="little").astype(np.uint64) << np.uint64(place)
    return column


class _Nets:
    """The nets of a netlist, each evaluated when it is first asked for, as cells may hang on one another's bits."""

    def __init__(self, cells: Sequence[Any], count: int) -> None:
        self._cells, self._ones = cells, (1 << count) - 1
        self.known = {0: 0, 1: self._ones}

    def values(self, value: Sequence[int]) -> Bits:
        return [self.value(net) for net in value]

    def value(self, net: int) -> int:
        if net not in self.known:
            index, place = net >> 16, net & 0xFFFF
            cell = self._cells[index]
            alone = self._bit(cell, place)
            if alone is None:
                self.known.update(((index << 16) + place, bit) for place, bit in enumerate(self._word(cell)))
            else:
                self.known[net] = alone
        return self.known[net]

    def _bit(self, cell: Any, place: int) -> int | None:
        """A bit that hangs on some bits of the cell's inputs alone; None where it is one of a word."""
        if isinstance(cell, AssignmentList):
            bit = self.value(cell.default[place])
            for one in cell.assignments:
                if one.start <= place < one.start + len(one.value):
                    bit = self._chosen(self.value(one.cond), self.value(one.value[place - one.start]), bit)
            return bit
        if isinstance(cell, PriorityMatch):
            bit = self.value(cell.en) & self.value(cell.inputs[place])
            for net in cell.inputs[:place]:
                bit &= ~self.value(net)
            return bit
        if isinstance(cell, Operator) and cell.operator in ("~", "&", "|", "^", "m"):
            return self._gate(cell.operator, cell.inputs, place)
        return None

    def _gate(self, kind: str, inputs: Any, place: int) -> int:
        if kind == "m":
            return self._chosen(self.value(inputs[0][0]), *(self.value(net[place]) for net in inputs[1:]))
        first, *second = (self.value(net[place]) for net in inputs)
        if kind == "~":
            return first ^ self._ones
        return first & second[0] if kind == "&" else first | second[0] if kind == "|" else first ^ second[0]

    def _chosen(self, condition: int, one: int, other: int) -> int:
        return other ^ (condition & (one ^ other))

    def _word(self, cell: Any) -> Bits:
        if isinstance(cell, Matches):
            return [self._matches(self.values(cell.value), cell.patterns)]
        if isinstance(cell, Part):
            value = self.values(cell.value)
            fill = value[-1] if cell.value_signed and value else 0
            moved = self._shifted(value, self.values(cell.offset), fill, cell.stride)
            return (moved + [fill] * cell.width)[: cell.width]
        assert isinstance(cell, Operator), f"a netlist without registers has no {type(cell).__name__}"
        return self._OPERATORS[cell.operator](self, *map(self.values, cell.inputs))

    def _matches(self, value: Bits, patterns: Sequence[str]) -> int:
        found = 0
        for pattern in patterns:
            same = self._ones
            for bit, wanted in zip(value, reversed(pattern), strict=True):
                same &= {"0": ~bit, "1": bit, "-": self._ones}[wanted]
            found |= same
        return found

    def _shifted(self, value: Bits, amount: Bits, fill: int, stride: int = 1) -> Bits:
        """Bits moved down by `amount` strides."""
        for place, by in enumerate(amount):
            distance = min(stride << place, len(value))
            moved = value[distance:] + [fill] * distance
            value = [self._chosen(by, there, here) for here, there in zip(value, moved, strict=True)]
        return value

    def _sum(self, a: Bits, b: Bits, carry: int = 0) -> Bits:
        total = []
        for x, y in zip(a, b, strict=True):
            half = x ^ y
            total.append(half ^ carry)
            carry = (x & y) | (half & carry)
        return total

    def _inverted(self, a: Bits) -> Bits:
        return [bit ^ self._ones for bit in a]

    def _difference(self, a: Bits, b: Bits) -> Bits:
        return self._sum(a, self._inverted(b), self._ones)

    def _product(self, a: Bits, b: Bits) -> Bits:
        total = [0] * len(a)
        for place, bit in enumerate(b):
            if bit:
                total[place:] = self._sum(total[place:], [bit & one for one in a[: len(a) - place]])
        return total

    def _any(self, a: Bits) -> int:
        found = 0
        for bit in a:
            found |= bit
        return found

    def _odd(self, a: Bits) -> int:
        found = 0
        for bit in a:
            found ^= bit
        return found

    def _differ(self, a: Bits, b: Bits) -> int:
        return self._any([x ^ y for x, y in zip(a, b, strict=True)])

    def _below(self, a: Bits, b: Bits) -> int:
        less = 0
        for x, y in zip(a, b, strict=True):
            less = self._chosen(x ^ y, y, less)
        return less

    def _below_signed(self, a: Bits, b: Bits) -> int:
        return self._below([*a[:-1], b[-1]], [*b[:-1], a[-1]])

    _OPERATORS: Mapping[str, Callable[..., Bits]] = {
        "+": _sum,
        "-": lambda nets, *ab: nets._difference(*ab if len(ab) == 2 else ([0] * len(ab[0]), ab[0])),
        "*": _product,
        "<<": lambda nets, a, by: nets._shifted(a[::-1], by, 0)[::-1],
        "u>>": lambda nets, a, by: nets._shifted(a, by, 0),
        "s>>": lambda nets, a, by: nets._shifted(a, by, a[-1]),
        "b": lambda nets, a: [nets._any(a)],
        "r|": lambda nets, a: [nets._any(a)],
        "r&": lambda nets, a: [nets._any(nets._inverted(a)) ^ nets._ones],
        "r^": lambda nets, a: [nets._odd(a)],
        "!=": lambda nets, a, b: [nets._differ(a, b)],
        "==": lambda nets, a, b: [nets._differ(a, b) ^ nets._ones],
        "u<": lambda nets, a, b: [nets._below(a, b)],
        "u>": lambda nets, a, b: [nets._below(b, a)],
        "u<=": lambda nets, a, b: [nets._below(b, a) ^ nets._ones],
        "u>=": lambda nets, a, b: [nets._below(a, b) ^ nets._ones],
        "s<": lambda nets, a, b: [nets._below_signed(a, b)],
        "s>": lambda nets, a, b: [nets._below_signed(b, a)],
        "s<=": lambda nets, a, b: [nets._below_signed(b, a) ^ nets._ones],
        "s>=": lambda nets, a, b: [nets._below_signed(a, b) ^ nets._ones],
    }
