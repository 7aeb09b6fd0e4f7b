"""Compute digests of circuits and of Verilog texts.

A circuit's digest depends on port names, cells and connections. The digest ignores net names, module names, unused
cells and the order of cells. The canonical digest also ignores the operand order of commutative cells.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_OUTPUTS = ("Y", "Q")


def digest(words: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a circuit's cells and connections. `words` is a flat module in Yosys' JSON."""
    return hashlib.sha256("\n".join(_Walk(words).lines()).encode()).hexdigest()


def code_digest(text: str) -> str:
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
    """Compute a digest of each bit from the logic that drives the bit, starting at circuit inputs and registers."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._ports = dict(sorted(words["ports"].items()))
        self._initial = {
            bit: value
            for net in words["netnames"].values()
            if "init" in net["attributes"]
            for bit, value in zip(net["bits"], reversed(net["attributes"]["init"]), strict=False)
        }
        self._terms: dict[Any, str] = {
            bit: f"{name}.{i}"
            for name, port in self._ports.items()
            if port["direction"] == "input"
            for i, bit in enumerate(port["bits"])
        }
        self._cells = list(words["cells"].values())
        self._registers = [_Operation(cell) for cell in self._cells if "Q" in cell["connections"]]
        self._logic = [_Operation(cell) for cell in self._sorted()]

    def digest(self) -> str:
        starts = [self._start(register) for register in self._registers]
        held = [_hash("register", start) for start in starts]
        self._update(held)
        for _ in range(2 * len(self._registers) + 1):
            following = [
                _hash(start, register.term(self._terms))
                for start, register in zip(starts, self._registers, strict=True)
            ]
            if following == held:
                break
            held = following
            self._update(held)
        outputs = [
            f"{name} {_bits(self._terms, port['bits'])}"
            for name, port in self._ports.items()
            if port["direction"] == "output"
        ]
        return hashlib.sha256("\n".join([f"{len(self._registers)} registers", *outputs]).encode()).hexdigest()

    def _start(self, register: _Operation) -> str:
        return "".join(str(self._initial.get(bit, "x")) for bit in register.outputs)

    def _update(self, held: Sequence[str]) -> None:
        # Store the new register digests `held`, and recompute the digest of each operation that reads a changed digest.
        changed: set[Any] = set()
        for register, digest in zip(self._registers, held, strict=True):
            self._set(register, digest, changed)
        for operation in self._logic:
            if operation.outputs[0] not in self._terms or not changed.isdisjoint(operation.inputs):
                self._set(operation, operation.term(self._terms), changed)

    def _set(self, operation: _Operation, term: str, changed: set[Any]) -> None:
        if self._terms.get(operation.outputs[0]) != f"{term}.0":
            self._terms.update({bit: f"{term}.{i}" for i, bit in enumerate(operation.outputs)})
            changed.update(operation.outputs)

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


class _Operation:
    """A cell whose digest is computed from the digests of its operands."""

    def __init__(self, cell: Any) -> None:
        connections, parameters = cell["connections"], cell["parameters"]
        self.outputs: list[Any] = next(connections[port] for port in _OUTPUTS if port in connections)
        operands = [(port, bits) for port, bits in sorted(connections.items()) if port not in _OUTPUTS]
        self.inputs = [bit for _, bits in operands for bit in bits]
        self._commutes = cell["type"] in _COMMUTATIVE
        if self._commutes:
            self._operands = [(str(int(parameters[f"{port}_SIGNED"], 2)), bits) for port, bits in operands]
            parameters = {name: value for name, value in parameters.items() if name not in _SIGNED}
        else:
            self._operands = operands
        self._words = [cell["type"], *(f"{name}={int(value, 2)}" for name, value in sorted(parameters.items()))]

    def term(self, terms: Mapping[Any, str]) -> str:
        operands = [f"{name}({_bits(terms, bits)})" for name, bits in self._operands]
        return _hash(*self._words, *(sorted(operands) if self._commutes else operands))


def _bits(terms: Mapping[Any, str], bits: list[Any]) -> str:
    return ",".join(bit if isinstance(bit, str) else terms[bit] for bit in bits)


def _hash(*parts: str) -> str:
    return hashlib.blake2b(" ".join(parts).encode(), digest_size=16).hexdigest()
