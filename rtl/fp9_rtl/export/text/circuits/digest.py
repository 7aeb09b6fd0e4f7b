"""What a circuit is, apart from every name and the text that it is written in: one number. And what a text is.

Two circuits have the same digest where their ports have the same names and the same cells stand behind them, connected
alike. Names inside, modules, the order of the netlist and cells that nothing reads count for nothing.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

_OUTPUTS = ("Y", "Q")


def digest(words: Mapping[str, Any]) -> str:
    """SHA-256 of the circuit that a flat module of Yosys' JSON describes."""
    return hashlib.sha256("\n".join(_Walk(words).lines()).encode()).hexdigest()


def code_digest(text: str) -> str:
    """SHA-256 of Verilog without its comments and empty lines: of what a tool reads."""
    code = (line.partition("//")[0].rstrip() for line in text.splitlines())
    return hashlib.sha256("\n".join(line for line in code if line).encode()).hexdigest()


class _Walk:
    """From the outputs towards the inputs: every cell gets its number when all that drives it has one, a register when
    it is met; what it takes follows."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._ports = dict(sorted(words["ports"].items()))
        self._names: dict[int | str, str] = {}
        self._driver: dict[int, Any] = {}
        for name, port in self._ports.items():
            if port["direction"] == "input":
                self._names.update({bit: f"{name}.{i}" for i, bit in enumerate(port["bits"])})
        for cell in words["cells"].values():
            for port in _OUTPUTS:
                self._driver.update(dict.fromkeys(cell["connections"].get(port, ()), cell))
        self._registers: deque[Any] = deque()
        self._count = 0

    def lines(self) -> Iterator[str]:
        """The circuit as lines: what drives each output, each register, each cell."""
        for name, port in self._ports.items():
            if port["direction"] == "output":
                yield from self._behind(port["bits"])
                yield f"{name} {self._said(port['bits'])}"
        while self._registers:
            register = self._registers.popleft()
            inputs = self._inputs(register)
            yield from self._behind([bit for bits in inputs.values() for bit in bits])
            yield f"{self._said(register['connections']['Q'])} {self._operation(register)}"

    def _behind(self, bits: list[Any]) -> Iterator[str]:
        """Lines for the cells that drive bits, drivers first."""
        pending = [(bit, False) for bit in reversed(bits)]
        while pending:
            bit, entered = pending.pop()
            if bit in self._names or isinstance(bit, str):
                continue
            cell = self._driver[bit]
            if "Q" in cell["connections"]:
                self._number(cell["connections"]["Q"])
                self._registers.append(cell)
            elif entered:
                self._number(cell["connections"]["Y"])
                yield f"{self._said(cell['connections']['Y'])} {self._operation(cell)}"
            else:
                pending.append((bit, True))
                inputs = self._inputs(cell)
                pending += [(b, False) for bits in reversed(inputs.values()) for b in reversed(bits)]

    def _number(self, bits: list[Any]) -> None:
        self._names.update({bit: f"{self._count}.{i}" for i, bit in enumerate(bits)})
        self._count += 1

    def _inputs(self, cell: Any) -> dict[str, list[Any]]:
        return {p: bits for p, bits in sorted(cell["connections"].items()) if p not in _OUTPUTS}

    def _operation(self, cell: Any) -> str:
        parameters = " ".join(f"{name}={int(value, 2)}" for name, value in sorted(cell["parameters"].items()))
        inputs = " ".join(f"{port}({self._said(bits)})" for port, bits in self._inputs(cell).items())
        return f"{cell['type']} {parameters} {inputs}"

    def _said(self, bits: list[Any]) -> str:
        return ",".join(bit if isinstance(bit, str) else self._names[bit] for bit in bits)
