"""Measure area and delay of third-party RTL and of fp9's unit with the same synthesis flow.

For the measurement, a wrapper adapts fp9's unit to the ports of the DUT. In fp9's unit, inputs that the DUT lacks are
constants. Outputs that the DUT lacks are unconnected, so that synthesis removes the logic that drives them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from fp9.system.files import write_whole
from fp9_rtl.export.verilog import circuit_digest, verilog
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, Library
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_rtl.synthesis.run import synthesise
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.third_party.mapping import Design
from fp9_sim.third_party.wrapper import wrapped

RECORD = "areas.json"


@dataclass(frozen=True)
class Area:
    """Areas (NAND2 equivalents) and delays (ns) of a DUT and of fp9's unit."""

    # Name of the mapping file without its suffix.
    design: str
    library: str
    mapping: str
    theirs: float
    theirs_ns: float
    ours: float
    ours_ns: float
    # Digest of fp9's unit.
    circuit_sha256: str
    # Digest of the DUT's Verilog.
    verilog_sha256: str
    # Yosys tried to merge arithmetic operators.
    share: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def areas(design: Design, libraries: Sequence[str | Library] = SIDE_BY_SIDE) -> list[Area]:
    """Measure the DUT and fp9's unit with each cell library and each synthesis script."""
    # No fp9 unit rounds a sum to a narrower format, so a mapping with a [result] table has no fp9 unit to compare.
    if design.operands is not design.spec:
        raise ValueError(f"{design.path}: an area comparison needs the unit itself; leave out [result]")
    # Without `out_ready`, the wrapper's result queue would add to the area.
    if design.spec.stages and "out_ready" not in design.handshake:
        raise ValueError(
            f"{design.path}: a clocked design without out_ready given; give one without a clock, or with "
            "handshake.out_ready"
        )
    top = design.spec.name
    theirs, ours = _plain(wrapped(design, 0), top), _plain(_held(design), top)
    return [area for library in libraries for area in _measured(design, theirs, ours, library)]


def _measured(design: Design, theirs: str, ours: str, library: str | Library) -> Iterator[Area]:
    top, share = design.spec.name, design.share
    their, our = (synthesise(text, top, library=library, share=share) for text in (theirs, ours))
    for mapping in MAPPED:
        x, y = their.estimate(mapping), our.estimate(mapping)
        yield Area(
            design=design.path.stem,
            library=their.library,
            mapping=mapping,
            theirs=round(x.nand2, 1),
            theirs_ns=round(x.delay_ns, 3),
            ours=round(y.nand2, 1),
            ours_ns=round(y.delay_ns, 3),
            circuit_sha256=circuit_digest(design.spec),
            verilog_sha256=their.verilog_sha256,
            share=share,
        )


def _plain(text: str, top: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "unit.sv").write_text(text)
        read = f"read_slang --threads 1 --relax-enum-conversions --top {top} unit.sv"
        run_yosys(f"{read}\nproc\nflatten\nopt -full\nwrite_verilog -noattr plain.v", Path(folder))
        return (Path(folder) / "plain.v").read_text()


def _held(design: Design) -> str:
    spec = design.spec
    given = (*spec.control_ports, *spec.inputs, *spec.outputs)
    outputs = {port.name for port in (*spec.outputs, *spec.control_outputs)}
    ports = [f"{'output' if p.name in outputs else 'input'} wire [{p.width - 1}:0] {p.name}" for p in given]
    left_out = [f"  assign {name} = 0;" for name in design.without]
    pins = ", ".join(f".{port.name}({_pin(design, port.name, port.width)})" for port in given)
    inner = replace(spec, name=f"{spec.name}_alone")  # type: ignore[call-arg]
    head = f"module {spec.name}({', '.join(ports)});"
    return "\n".join([verilog(inner), head, *left_out, f"  {inner.name} unit({pins});", "endmodule", ""])


def _pin(design: Design, name: str, width: int) -> str:
    if name in design.held:
        return f"{width}'d{design.held[name]}"
    if name in design.without:
        return ""
    theirs = design.ports.get(name)
    return next(first for first, places in design.ports.items() if places == theirs) if theirs else name


# --- the record -----------------------------------------------------------------------------------------------------


def keep(found: Sequence[Area], record: Path) -> None:
    """Add measured areas to a record file.

    If the Verilog of a DUT or of fp9's unit has changed, the function removes the DUT's older area measurements from
    the file.
    """
    places, texts = {_place(area) for area in found}, {area.design: _text(area) for area in found}
    before = read(record) if record.exists() else []
    kept = [a for a in before if _place(a) not in places and _text(a) == texts.get(a.design, _text(a))]
    write_whole(record, json.dumps([asdict(area) for area in sorted([*kept, *found], key=_place)], indent=1) + "\n")


def _place(area: Area) -> tuple[str, str, str]:
    return area.design, area.library, area.mapping


def _text(area: Area) -> tuple[str, str, bool]:
    return area.circuit_sha256, area.verilog_sha256, area.share


def read(record: Path) -> list[Area]:
    """Return the areas in a record file. Raises ValueError if the file is not an area record."""
    names = {field.name for field in fields(Area)}
    entries = json.loads(record.read_text(encoding="utf-8"))
    if not isinstance(entries, list) or any(set(entry) != names for entry in entries):
        raise ValueError(f"{record} is no record of areas; give one that check-rtl --area wrote")
    return [Area(**entry) for entry in entries]
