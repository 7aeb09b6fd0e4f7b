"""Find multiplexers that one word controls, to write the multiplexers as `case` statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fp9_rtl.export.text.cell_expressions import arms
from fp9_rtl.export.text.circuits.circuit import Bit, Bits, Cell

MIN_LABELS = 2


@dataclass(frozen=True)
class Case:
    """A multiplexer that selects a result by the value of the word `subject`."""

    subject: Bits
    arms: tuple[tuple[tuple[str, ...], Bits], ...]
    otherwise: Bits


def case_of(cell: Cell, driver: Mapping[Bit, Cell]) -> Case | None:
    if cell.kind != "$pmux":
        return None
    found = [(list(_labels(condition, driver)), value) for condition, value in arms(cell)]
    subjects = {subject for labels, _ in found for subject, _ in labels}
    if len(subjects) != 1 or not all(labels for labels, _ in found):
        return None
    subject = subjects.pop()
    if any(isinstance(bit, str) for bit in subject):
        return None
    chosen: dict[Bits, list[str]] = {}
    for labels, value in found:
        chosen.setdefault(value, []).extend(label for _, label in labels)
    unused = len({label for labels in chosen.values() for label in labels}) == 1 << len(subject)
    otherwise = max(chosen, key=lambda value: min(chosen[value])) if unused else cell.inputs["A"]
    arms_ = tuple((tuple(sorted(labels)), value) for value, labels in chosen.items() if value != otherwise)
    return Case(subject, arms_, otherwise) if sum(len(labels) for labels, _ in arms_) >= MIN_LABELS else None


@dataclass(frozen=True)
class Update:
    """The next value of a register, chosen by conditions in order of priority."""

    arms: tuple[tuple[Bits, Bits], ...]
    otherwise: Bits
    holds: bool


def update_of(cell: Cell, driver: Mapping[Bit, Cell], is_alone: Callable[[Cell], bool]) -> Update:
    found: list[tuple[Bits, Bits]] = []
    value = cell.inputs["D"]
    while True:
        choice = driver.get(value[0])
        if choice is None or choice.kind != "$mux" or choice.output != value or not is_alone(choice):
            break
        found.append((choice.inputs["S"], choice.inputs["B"]))
        value = choice.inputs["A"]
    return Update(tuple(found), value, value == cell.output)


def _labels(condition: Bit, driver: Mapping[Bit, Cell]) -> Iterator[tuple[Bits, str]]:
    # A condition that is not a comparison counts as the comparison of one bit with 1.
    cell = driver.get(condition)
    if cell is None:
        yield (condition,), "1"
    elif cell.kind == "$eq" and all(isinstance(bit, str) for bit in cell.inputs["B"]):
        yield cell.inputs["A"], "".join(map(str, reversed(cell.inputs["B"])))
    elif cell.kind in ("$is_zero", "$not"):
        yield cell.inputs["A"], "0" * len(cell.inputs["A"])
    elif cell.kind in ("$or", "$reduce_or"):
        for bits in cell.inputs.values():
            for bit in bits:
                yield from _labels(bit, driver)
    else:
        yield (condition,), "1"
