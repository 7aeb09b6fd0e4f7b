"""Write data sheets of units: ports, formats, rounding, timing, steps, area and delay."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path

from fp9.engines import Engine
from fp9.formats import FixedFormat, Format
from fp9.formats.rounding import Overflow
from fp9.system.files import write_whole
from fp9.units import Cast, Decoder, Dot, Fpu, Handshake, Mul, MultiFpu, Port, Quantiser, Unit, Upcast
from fp9.units.hooks import Hook
from fp9_rtl.datasheets import diagram
from fp9_rtl.datasheets.conditions import CONDITIONS
from fp9_rtl.datasheets.timing import picture, timing_svg
from fp9_rtl.export.interfaces import port_formats
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, Library
from fp9_rtl.synthesis.records import NOTE, Estimate
from fp9_rtl.synthesis.report import markdown_table, um2
from fp9_rtl.synthesis.run import Progress, Synthesis, synthesise_unit

INDEX = "README.md"

AREA = "## Area and delay"


def write(
    units: Sequence[Unit],
    folder: Path,
    *,
    libraries: Sequence[str | Library] = SIDE_BY_SIDE,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write a data sheet NAME.md and a timing diagram for each unit, and return the paths of the files.

    Areas that are not cached are measured first. Raises ValueError for a unit without hardware. Raises MissingTool if
    WaveDrom, Yosys or a cell library is not installed.
    """
    paths = []
    for done, unit in enumerate(units, start=1):
        measured = [synthesise_unit(unit, library=cells, cache=cache) for cells in libraries]
        write_whole(folder / f"{unit.name}.md", sheet(unit, measured))
        paths.append(folder / f"{unit.name}.md")
        if drawn := picture(unit):
            write_whole(folder / drawn, timing_svg(unit))
            paths.append(folder / drawn)
        if progress:
            progress(f"{unit.name}: data sheet", done, len(units))
    return list(dict.fromkeys(paths))


def index(units: Sequence[Unit]) -> str:
    rows = [[f"[{unit.name}]({unit.name}.md)", unit.kind, str(unit.stages)] for unit in units]
    intro = "One data sheet for each unit of the catalogue, built from specification and record by `fp9 records pages`."
    refused = f"[What the RTL takes]({CONDITIONS}) lists the values of fields that have no circuit, and why."
    return "\n\n".join(["# Data sheets", intro, refused, markdown_table(["unit", "kind", "stages"], rows)]) + "\n"


def sheet(unit: Unit, measured: Sequence[Synthesis] = ()) -> str:
    """Return the data sheet of a unit as Markdown text.

    `measured` holds one synthesis result for each cell library. Raises ValueError for a unit without hardware.
    """
    parts = [f"# {unit.name}", body(unit)]
    if drawn := picture(unit):
        parts.append(f"![Timing of {unit.name}]({drawn})")
    parts += ["## Steps", diagram.section(unit)]
    if measured:
        parts += [AREA, _areas(unit, measured)]
    return "\n\n".join(parts) + "\n"


def body(unit: Unit) -> str:
    """Return the sections of a data sheet that need neither a measurement nor a diagram."""
    parts = [
        inspect.getdoc(type(unit)) or "",
        "## Spec",
        "\n".join(f"- {line}" for line in unit.describe()),
        "## Ports",
        markdown_table(["port", "direction", "bits", "meaning"], _ports(unit)),
        "## Formats",
        markdown_table(_FORMAT_COLUMNS, [_format_row(fmt) for fmt in port_formats(unit)]),
        "## Rounding",
        "\n".join(_rounding(unit)),
        "## Timing",
        _timing(unit),
    ]
    return "\n\n".join(parts)


def unmeasured(text: str) -> str:
    return text.partition(f"\n{AREA}")[0]


# --- sections ------------------------------------------------------------------------------------------------------


def _ports(unit: Unit) -> list[list[str]]:
    ports = [*(("in", port) for port in unit.inputs), *(("out", port) for port in unit.outputs)]
    data = [[f"`{port.name}`", way, str(port.width), _meaning(port)] for way, port in ports]
    given = [port.name for port in unit.control_outputs]
    control = [[f"`{p.name}`", "out" if p.name in given else "in", "1", p.doc] for p in unit.control_ports]
    return control + data


def _meaning(port: Port) -> str:
    parts = [port.doc]
    if port.signed:
        parts.append("two's complement")
    if port.choices:
        parts.append(", ".join(f"{value} {name}" for value, name in enumerate(port.choices)))
        if len(port.choices) < 1 << port.width:
            parts.append("unused encodings select the last")
    elif port.formats:
        names = ", ".join(fmt.name for fmt in port.formats)
        parts.append(f"by `{port.select}`: {names}" if port.select else names)
    return "; ".join(parts)


_FORMAT_COLUMNS = ["format", "bits", "fields", "bias", "largest", "smallest normal", "smallest", "inf", "NaN", "source"]


def _format_row(fmt: Format) -> list[str]:
    fields, bias = "tapered", ""
    if isinstance(fmt, FixedFormat):
        fields, bias = f"1.{fmt.exponent_bits}.{fmt.fraction_bits}", str(fmt.bias)
    limits = [f"{value:.6g}" for value in (fmt.max, fmt.smallest_normal, fmt.smallest)]
    return [fmt.name, str(fmt.bits), fields, bias, *limits, _yes(fmt.has_inf), _yes(fmt.has_nan), fmt.source]


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _cast_rounding(unit: Cast) -> list[str]:
    return [
        *_offered("Roundings", [f"{r.value}: {r.words}" for r in unit.roundings]),
        f"Magnitudes above the largest number: {' or '.join(o.value for o in unit.overflow)}.",
    ]


def _quantiser_rounding(unit: Quantiser) -> list[str]:
    return [
        *_offered("Rules of the scale", [f"{rule.name}: {rule.source}" for rule in unit.rules]),
        f"Elements: {unit.block.rounding.words}; magnitudes above the largest saturate.",
    ]


def _sum_rounding(unit: Dot) -> list[str]:
    return [_step(unit.engine), *([] if unit.scale is None else ["", _scaled(unit, unit.scale)])]


_rounding: Hook[[], list[str]] = Hook(
    "data sheet",
    {
        Decoder: lambda unit: ["Nothing is rounded."],
        Upcast: lambda unit: [f"Exact, but for numbers above the largest of {unit.result.name}."],
        Cast: _cast_rounding,
        Quantiser: _quantiser_rounding,
        Mul: lambda unit: [f"The exact product, {unit.rounding.words}."],
        Dot: _sum_rounding,
        Fpu: lambda unit: [_step(unit.engine)],
        MultiFpu: _cast_rounding,
    },
)


def _scaled(unit: Dot, scale: Format) -> str:
    engine, several = unit.engine, unit.products_of_scales < unit.products
    each = f" of each {unit.products_of_scales} products" if several else ""
    if engine.step.group is not None:
        factors = f"the two {scale.name} scales{each}"
        sums = f"the exact sum of {engine.step.group} products is multiplied, exactly, by {factors}"
        return f"A term is a group: {sums}. It is aligned by the exponents of the scales alone."
    if engine.window.width is not None:
        return f"Before they are aligned, products are multiplied by two {scale.name} scales{each}."
    sums = f"the sum{each} is" if several else "the products' sum is"
    return f"Before it meets the addend, {sums} multiplied, exactly, by two {scale.name} scales."


def _step(engine: Engine) -> str:
    terms = (
        f"{engine.step.products} products and the addend" if engine.step.products > 1 else "the product and the addend"
    )
    summed = f"Engine {engine.name}: the exact sum of {terms}"
    if engine.window.width is not None:
        summed = (
            f"Engine {engine.name}: the sum of {terms}, of which {engine.window.width} fraction bits below the largest "
            f"exponent are kept (truncation: {engine.window.truncation.value}; addend: {engine.window.addend.value}),"
        )
    sentence = f"{summed} is rounded once to {_rounded_to(engine)}."
    if engine.chunk.length is None:
        return sentence
    return (
        f"{sentence} The addend of a step is the open chunk. After {engine.chunk.length} products, the exact sum of "
        f"chunk and total is rounded once to {_rounded_to(engine.joining)}.{_interleaved(engine)}"
    )


def _interleaved(engine: Engine) -> str:
    if engine.chunk.interleave is None:
        return ""
    steps, run = engine.steps_of_chunk, engine.chunk.interleave
    return f" The elements of a chunk go to its {steps} steps in turn, {run} at a time."


def _rounded_to(engine: Engine) -> str:
    beyond = "" if engine.result.overflow is Overflow.INF else f", overflow {engine.result.overflow.value}"
    return f"{engine.result.format.name}, {engine.result.rounding.value} ({engine.result.rounding.words}){beyond}"


def _offered(what: str, lines: Iterable[str]) -> list[str]:
    return [f"{what}, selected for each operation if there are several:", "", *(f"- {line}" for line in lines), ""]


def _timing(unit: Unit) -> str:
    if not unit.stages:
        return "The unit is combinational. Results follow the inputs after the delay stated below."
    together = (
        f" A block has {unit.group} operations. Its results begin when it is complete, while the next block enters."
    )
    return (
        f"The latency is {unit.latency} clock cycles, and the throughput one operation per cycle. "
        f"{unit.slow_operations}{' ' if unit.slow_operations else ''}"
        f"{_TRANSFERS[unit.handshake]}"
        f"{' Cycles in which enable is 0 do not count.' if unit.enable else ''}"
        f"{' A flush discards all operations in the unit.' if unit.flush else ''}{together if unit.group > 1 else ''}"
    )


_TRANSFERS = {
    Handshake.READY: "A transfer occurs at a rising edge where valid and ready are 1. A result stays until it is "
    "taken, and no result is lost or repeated.",
    Handshake.VALID: "No operation waits: a result is valid for one clock cycle.",
}


def _areas(unit: Unit, measured: Sequence[Synthesis]) -> str:
    rows = [
        _figures(one, e)
        for estimates in zip(*([(one, e) for e in one.estimates] for one in measured), strict=True)
        for one, e in estimates
    ]
    again = " ".join(["fp9 synth", unit.name, *(f"--library {one.library}" for one in measured)])
    basis = (
        f"Figures are estimates: {NOTE}. Area-optimised synthesis gives the smallest netlist; delay-balanced synthesis "
        f"also sizes gates. Areas are from Yosys {measured[0].yosys}, delays from {measured[0].delay_by}. Measure "
        f"again: `{again}`"
    )
    heads = ["mapping", "library", "area um2", "NAND2", "logic um2", "flip-flops", "delay ns"]
    return f"{markdown_table(heads, rows)}\n\n{basis}"


def _figures(one: Synthesis, e: Estimate) -> list[str]:
    areas = [um2(e.area_um2), f"{e.nand2:.0f}", um2(e.logic_um2)]
    return [e.mapping, one.library, *areas, str(e.flip_flops), f"{e.delay_ns:.2f}"]
