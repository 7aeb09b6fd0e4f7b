"""Choose names for values, from the Python source or from the names of the operands."""

from __future__ import annotations

from collections.abc import Callable

from fp9_rtl.export.text import source
from fp9_rtl.export.text.cases import Case
from fp9_rtl.export.text.circuits.circuit import Bits, Cell

_WORDS = {
    "$and": "{a}_and_{b}",
    "$or": "{a}_or_{b}",
    "$xor": "{a}_xor_{b}",
    "$not": "not_{a}",
    "$neg": "minus_{a}",
    "$add": "{a}_plus_{b}",
    "$sub": "{a}_minus_{b}",
    "$mul": "{a}_times_{b}",
    "$eq": "{a}_is_{b}",
    "$ne": "{a}_is_not_{b}",
    "$lt": "{a}_below_{b}",
    "$le": "{a}_at_most_{b}",
    "$gt": "{a}_above_{b}",
    "$ge": "{a}_at_least_{b}",
    "$is_zero": "{a}_is_zero",
    "$reduce_or": "any_{a}",
    "$reduce_and": "all_{a}",
    "$reduce_xor": "parity_of_{a}",
    "$shl": "{a}_shifted",
    "$shr": "{a}_shifted",
}
_LONGEST_NAME = 40


def said(cell: Cell, word: Callable[[Bits], str], case: Case | None, follows: str | None) -> str:
    """Return a name for a cell's value, from the Python source or from the operands."""
    name = source.value_name(cell.source, cell.kind) or follows or _of_operands(cell, word)
    subject = word(case.subject) if case else ""
    return name or f"{source.context_name(cell.source) or 'value'}_{f'by_{subject}' if subject else 'term'}"


def _of_operands(cell: Cell, word: Callable[[Bits], str]) -> str:
    if cell.kind not in _WORDS:
        return ""
    words = [word(bits) for bits in cell.inputs.values()]
    name = _WORDS[cell.kind].format(a=words[0], b=words[-1])
    return name if all(words) and len(name) <= _LONGEST_NAME else ""
