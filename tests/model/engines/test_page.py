"""The page that says which accumulator a device has states what the records say."""

from __future__ import annotations

from pathlib import Path

from fp9.engines import DEVICES, UNMEASURED, Device, accumulators

PAGE = Path(__file__).parents[3] / "docs/which-accumulator.md"
COLUMNS = ("instruction", "operands", "accumulator", "terms per step", "aligned bits", "result", "rounding")


def section(device: Device) -> str:
    """The devices of an architecture, the source, and a row for every instruction with FP32 results, as Markdown."""
    named = {one.name: one for one in accumulators()}
    rows = [COLUMNS, tuple("---" for _ in COLUMNS)]
    for instruction in device.instructions:
        if instruction.result == "fp32":
            one = named[instruction.engine]
            fields = (one.terms_per_step, one.aligned_bits, one.result, one.rounding)
            words = ("-" if field is None else str(field) for field in fields)
            names = ", ".join(f"`{name}`" for name in instruction.names if "." not in name and "::" not in name)
            rows.append((names, ", ".join(instruction.operands.formats), f"`{one.name}`", *words))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    devices = ", ".join(f"`{product}`" for product in device.products)
    return f"### {device.architecture}\n\nDevices: {devices}.\n\n{table}\n\nSource: {device.source}.\n"


def test_the_page_has_the_tables_of_the_records() -> None:
    assert "\n".join(map(section, DEVICES)) in PAGE.read_text()


def test_the_page_lists_the_devices_that_nobody_measured() -> None:
    listed = {name: ", ".join(f"`{product}`" for product in products) for name, products in UNMEASURED.items()}
    assert "\n".join(f"| {name} | {products} |" for name, products in listed.items()) in PAGE.read_text()
