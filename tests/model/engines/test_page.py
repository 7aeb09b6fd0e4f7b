"""The page that says which accumulator a device has states what the records say."""

from __future__ import annotations

from pathlib import Path

from fp9.engines import DEVICES, accumulators

PAGE = Path(__file__).parents[3] / "docs/which-accumulator.md"
COLUMNS = (
    "devices",
    "instruction",
    "operands",
    "accumulator",
    "terms per step",
    "aligned bits",
    "result",
    "rounding",
    "source",
)


def table() -> str:
    """A row for every instruction with FP32 results of every architecture, as Markdown."""
    named = {one.name: one for one in accumulators()}
    rows = [COLUMNS, tuple("---" for _ in COLUMNS)]
    for device in DEVICES:
        for instruction in device.instructions:
            if instruction.result == "fp32":
                one = named[instruction.engine]
                fields = (one.terms_per_step, one.aligned_bits, one.result, one.rounding)
                devices = f"{device.architecture}: {', '.join(device.products)}"
                words = ("-" if field is None else str(field) for field in fields)
                names = ", ".join(f"`{name}`" for name in instruction.names if "." not in name and "::" not in name)
                operands = ", ".join(instruction.operands.formats)
                rows.append((devices, names, operands, f"`{one.name}`", *words, device.source))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_page_has_the_table_of_the_records() -> None:
    assert table() in PAGE.read_text()
