"""Compare a DUT's outputs with the expected results, in cocotb and for compiled units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Format, Kind, with_bias
from fp9.units import Port, Unit
from fp9.vectors.sets import VectorSet, port_dtype
from fp9_sim.bench.golden import results_of
from fp9_sim.bench.pins import Violation

if TYPE_CHECKING:
    from fp9_sim.coverage import FunctionalCoverage

# All mismatches are counted, but only these are stored with their operands.
KEPT = 100


@dataclass(frozen=True)
class Answers:
    """Outputs of a DUT: an array of codes (n,) for each output port."""

    values: Mapping[str, NDArray[Any]]
    # `unknown[port][index]` is the bit string of an output with x or z bits, most significant bit first.
    unknown: Mapping[str, Mapping[int, str]]

    def wrong(self, vectors: VectorSet) -> NDArray[np.bool_]:
        """Return a mask (n,) of the operations whose outputs are wrong or contain x or z."""
        wrong = np.zeros(len(vectors), dtype=np.bool_)
        for port in vectors.unit.outputs:
            wrong |= self._differs(port, vectors) & _cares(port, vectors)
        return wrong

    def _differs(self, port: Port, vectors: VectorSet) -> NDArray[np.bool_]:
        differs: NDArray[np.bool_] = self.values[port.name] != vectors.expected[port.name]
        differs[list(self.unknown.get(port.name, {}))] = True
        return differs


def answers_of(unit: Unit, rows: Sequence[Sequence[str]]) -> Answers:
    # `rows` has one entry for each operation, with a bit string for each output.
    values: dict[str, Any] = {}
    unknown: dict[str, Mapping[int, str]] = {}
    for port, column in zip(unit.outputs, zip(*rows, strict=True) if rows else [()] * len(unit.outputs), strict=True):
        unsure = {i: bits for i, bits in enumerate(column) if set(bits) - {"0", "1"}}
        numbers = [0 if i in unsure else int(bits, 2) for i, bits in enumerate(column)]
        values[port.name] = np.array(numbers, dtype=port_dtype(port))
        if unsure:
            unknown[port.name] = unsure
    return Answers(values, unknown)


def _cares(port: Port, vectors: VectorSet) -> NDArray[np.bool_]:
    return vectors.care.get(port.name, np.ones(len(vectors), dtype=np.bool_))


@dataclass(frozen=True)
class Value:
    """Value of a port: its code in hexadecimal, with x for an unknown digit, and its number in decimal."""

    hex: str
    decimal: str

    def __str__(self) -> str:
        return f"0x{self.hex} ({self.decimal})"


@dataclass(frozen=True)
class Mismatch:
    """Operation with wrong outputs: operands, expected outputs and DUT outputs, except don't-care outputs."""

    index: int
    inputs: dict[str, Value]
    expected: dict[str, Value]
    got: dict[str, Value]

    def __str__(self) -> str:
        operands = ", ".join(f"{name} = {value}" for name, value in self.inputs.items())
        results = ", ".join(
            f"{name} expected {value}, got {self.got[name]}"
            for name, value in self.expected.items()
            if value != self.got[name]
        )
        return f"operation {self.index}: {operands}: {results}"

    def to_dict(self) -> dict[str, Any]:
        """Return the mismatch as a dictionary for JSON, with a full sentence in `text`."""
        return {**asdict(self), "text": str(self)}


def mismatches(vectors: VectorSet, answers: Answers, limit: int = KEPT) -> tuple[list[Mismatch], int]:
    indices = np.flatnonzero(answers.wrong(vectors))
    return [mismatch(vectors, answers, int(i)) for i in indices[:limit]], len(indices)


def mismatch(vectors: VectorSet, answers: Answers, index: int) -> Mismatch:
    codes = {port.name: int(vectors.inputs[port.name][index]) for port in vectors.unit.inputs}
    outputs = [port for port in vectors.unit.outputs if _cares(port, vectors)[index]]
    got = {}
    for port in outputs:
        bits = answers.unknown.get(port.name, {}).get(index)
        got[port.name] = (
            _value(vectors.unit, port, int(answers.values[port.name][index]), codes) if bits is None else _unknown(bits)
        )
    return Mismatch(
        index,
        {port.name: _value(vectors.unit, port, codes[port.name], codes) for port in vectors.unit.inputs},
        {port.name: _value(vectors.unit, port, int(vectors.expected[port.name][index]), codes) for port in outputs},
        got,
    )


class Scoreboard:
    """Collect a unit's operations and results in any test bench, and compare the results with the golden model.

    Call `take` for each operation that the unit accepts, `give` for each result, and `reset` for each reset. Results
    are compared in order, and operations that a reset interrupts need no result.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        # Operations and results after each reset.
        self.passes: list[tuple[list[Mapping[str, int]], list[Sequence[str]]]] = [([], [])]

    def reset(self) -> None:
        """Begin a new sequence of operations after a reset."""
        self.passes.append(([], []))

    def take(self, operation: Mapping[str, int]) -> None:
        """Record an operation that the unit accepted, as a mapping from input port names to codes."""
        self.passes[-1][0].append(operation)

    def give(self, outputs: Mapping[str, int | str]) -> None:
        """Record a result, given as codes or as bit strings, which may contain x and z.

        Raises Violation if no operation waits for a result.
        """
        taken, given = self.passes[-1]
        if len(given) >= len(taken):
            raise Violation(f"result {len(given)} belongs to no operation")
        given.append([_bits(outputs[port.name], port) for port in self.unit.outputs])

    def compared(self) -> Iterator[tuple[VectorSet, Answers]]:
        """For each sequence of operations between resets, yield the golden vectors and the DUT outputs."""
        for taken, given in self.passes:
            if given:
                whole = len(given) + -len(given) % self.unit.group
                yield first_of(results_of(self.unit, taken[:whole]), len(given)), answers_of(self.unit, given)

    def check(self, limit: int = 5) -> int:
        """Return the number of checked results.

        Raises AssertionError if any result is wrong, or if there are no results. The message lists the first wrong
        operations.
        """
        count, wrong, shown = 0, 0, list[str]()
        for vectors, answers in self.compared():
            found, total = mismatches(vectors, answers, limit - len(shown))
            shown += [str(each) for each in found]
            count, wrong = count + len(vectors), wrong + total
        if wrong:
            raise AssertionError(f"{wrong} of {count} results are wrong: " + "; ".join(shown))
        if not count:
            raise AssertionError(f"{self.unit.name} gave no result, so nothing was checked")
        return count

    def coverage(self, xml: Path | str | None = None) -> FunctionalCoverage:
        """Return the functional coverage of the recorded results. `xml` is the path of an optional report file.

        For a unit with state or blocks, the coverage includes only the longest sequence of operations after a reset.
        """
        from fp9_sim.coverage import measure  # slow to load

        runs = [(made.inputs, answers.values) for made, answers in self.compared()]
        if self.unit.has_state or self.unit.group > 1:
            runs = [max(runs, key=lambda run: len(run[0][self.unit.inputs[0].name]))]
        inputs, outputs = (_joined(columns) for columns in zip(*runs, strict=True))
        return measure(self.unit, inputs, outputs, xml)


def _joined(parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def first_of(vectors: VectorSet, count: int) -> VectorSet:
    inputs, expected, care = (
        {name: column[:count] for name, column in part.items()}
        for part in (vectors.inputs, vectors.expected, vectors.care)
    )
    return VectorSet(vectors.unit, inputs, expected, care, {})


def _bits(value: int | str, port: Port) -> str:
    return value if isinstance(value, str) else f"{value:0{port.width}b}"


# --- codes as text ---------------------------------------------------------------------------------------------------


def _value(unit: Unit, port: Port, code: int, inputs: Mapping[str, int]) -> Value:
    return Value(f"{code:0{(port.width + 3) // 4}x}", _decimal(unit, port, code, inputs))


def _decimal(unit: Unit, port: Port, code: int, inputs: Mapping[str, int]) -> str:
    if port.formats:
        fmt = port.formats[min(inputs[port.select], len(port.formats) - 1) if port.select else 0]
        return _number(_biased(unit, fmt, port, inputs), code & ((1 << fmt.bits) - 1))
    if port.choices:
        return port.choices[min(code, len(port.choices) - 1)]
    return str(_signed(code, port.width) if port.signed else code)


def _biased(unit: Unit, fmt: Format, port: Port, inputs: Mapping[str, int]) -> Format:
    bias = next((p for p in unit.inputs if p.name == f"{port.name}_bias"), None)
    if bias is None or not fmt.programmable_bias:
        return fmt
    return with_bias(fmt, _signed(inputs[bias.name], bias.width))


def _signed(code: int, width: int) -> int:
    return code - (1 << width) if code >> (width - 1) else code


def _number(fmt: Format, code: int) -> str:
    sign = "-" if fmt.is_negative(code) else ""
    match fmt.kind_of(code):
        case Kind.NAN:
            return "NaN"
        case Kind.INF:
            return f"{sign}inf"
        case Kind.ZERO:
            return f"{sign}0.0"
        case _:
            return repr(float(fmt.value_of(code)))


def _unknown(bits: str) -> Value:
    padded = "0" * (-len(bits) % 4) + bits.lower()
    nibbles = [padded[i : i + 4] for i in range(0, len(padded), 4)]
    digits = (f"{int(n, 2):x}" if set(n) <= {"0", "1"} else "z" if set(n) == {"z"} else "x" for n in nibbles)
    return Value("".join(digits), "unknown bits")
