"""Compute digests of circuits and of Verilog texts.

A circuit's digest depends on port names, cells and connections. The digest ignores net names, module names, unused
cells and the order of cells. The canonical digest also ignores the operand order of commutative cells.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

_OUTPUTS = ("Y", "Q")


def digest(words: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a circuit's cells and connections. `words` is a flat module in Yosys' JSON."""
    return hashlib.sha256("\n".join(_Walk(words).lines()).encode()).hexdigest()


def code_digest(text: str) -> str:
    """Return the SHA-256 of a Verilog text without its comments and empty lines."""
    code = (line.partition("//")[0].rstrip() for line in text.splitlines())
    return hashlib.sha256("\n".join(line for line in code if line).encode()).hexdigest()


class _Walk:
    """Number the cells of a circuit in a traversal from its outputs to its inputs."""

    # The cells that drive a cell's inputs are numbered before the cell. A register is numbered when the traversal
    # first reaches it, and its inputs are traversed later.

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


# --- the canonical digest ---------------------------------------------------------------------------------------------

_COMMUTATIVE = {
    f"${name}" for name in ["add", "mul", "and", "or", "xor", "xnor", "eq", "ne", "eqx", "nex", "logic_and", "logic_or"]
}
_SIGNED = ("A_SIGNED", "B_SIGNED", "A_WIDTH", "B_WIDTH")


def canonical_digest(words: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a circuit, independent of the operand order of commutative cells."""
    # The digest of a register initially depends only on its reset value. Each update computes the digest again from
    # the logic that drives the register. With n registers in the circuit, all digests are updated 2 n + 1 times. By
    # Moore's theorem on finite automata, circuits with equal digests after 2 n + 1 updates agree in every clock
    # cycle.
    return _Terms(words).digest()


class _Terms:
    """Compute a digest of each bit from the logic between the bit and the circuit's inputs and registers."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._ports = dict(sorted(words["ports"].items()))
        self._initial = {
            bit: value
            for net in words["netnames"].values()
            if "init" in net["attributes"]
            for bit, value in zip(net["bits"], reversed(net["attributes"]["init"]), strict=False)
        }
        self._inputs = {
            bit: f"{name}.{i}"
            for name, port in self._ports.items()
            if port["direction"] == "input"
            for i, bit in enumerate(port["bits"])
        }
        self._cells = list(words["cells"].values())
        self._registers = [cell for cell in self._cells if "Q" in cell["connections"]]
        self._order = self._sorted()

    def digest(self) -> str:
        held = {id(cell): _hash("register", self._start(cell)) for cell in self._registers}
        clocks = 2 * len(self._registers) + 1
        for _ in range(clocks):
            terms = self._evaluated(held)
            following = {id(cell): _hash(self._start(cell), self._term(cell, terms)) for cell in self._registers}
            if following == held:
                break
            held = following
        terms = self._evaluated(held)
        outputs = [
            f"{name} {_bits(terms, port['bits'])}"
            for name, port in self._ports.items()
            if port["direction"] == "output"
        ]
        return hashlib.sha256("\n".join([f"{len(self._registers)} registers", *outputs]).encode()).hexdigest()

    def _start(self, register: Any) -> str:
        return "".join(str(self._initial.get(bit, "x")) for bit in register["connections"]["Q"])

    def _evaluated(self, held: Mapping[int, str]) -> dict[Any, str]:
        terms: dict[Any, str] = dict(self._inputs)
        for cell in self._registers:
            terms.update({bit: f"{held[id(cell)]}.{i}" for i, bit in enumerate(cell["connections"]["Q"])})
        for cell in self._order:
            term = self._term(cell, terms)
            terms.update({bit: f"{term}.{i}" for i, bit in enumerate(cell["connections"]["Y"])})
        return terms

    def _term(self, cell: Any, terms: Mapping[Any, str]) -> str:
        parameters, connections = cell["parameters"], cell["connections"]
        operands = [(p, bits) for p, bits in sorted(connections.items()) if p not in _OUTPUTS]
        if cell["type"] in _COMMUTATIVE:
            pair = sorted(f"{int(parameters[f'{p}_SIGNED'], 2)}({_bits(terms, bits)})" for p, bits in operands)
            rest = {name: value for name, value in parameters.items() if name not in _SIGNED}
        else:
            pair = [f"{p}({_bits(terms, bits)})" for p, bits in operands]
            rest = parameters
        return _hash(cell["type"], *(f"{name}={int(value, 2)}" for name, value in sorted(rest.items())), *pair)

    def _sorted(self) -> list[Any]:
        driver = {bit: cell for cell in self._cells for bit in cell["connections"].get("Y", ())}
        order: list[Any] = []
        entered: set[int] = set()
        for start in self._cells:
            pending = [(start, False)]
            while pending:
                cell, left = pending.pop()
                if left:
                    order.append(cell)
                elif id(cell) not in entered and "Y" in cell["connections"]:
                    entered.add(id(cell))
                    pending.append((cell, True))
                    inputs = [b for p, bits in cell["connections"].items() if p not in _OUTPUTS for b in bits]
                    pending += [(driver[bit], False) for bit in inputs if bit in driver]
        return order


def _bits(terms: Mapping[Any, str], bits: list[Any]) -> str:
    return ",".join(bit if isinstance(bit, str) else terms[bit] for bit in bits)


def _hash(*parts: str) -> str:
    return hashlib.blake2b(" ".join(parts).encode(), digest_size=16).hexdigest()
