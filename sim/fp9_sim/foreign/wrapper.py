"""A thin module with our ports around a unit that is not ours.

Without a clock it only renames. A pipeline of fixed latency has no way to wait: the wrapper takes operations as long as
all that are under way would find a place in its queue of results, and marks with a bit beside the pipeline when each
comes out. A unit with a handshake of its own is connected to ours.
"""

from __future__ import annotations

from fp9.units import Port
from fp9_sim.foreign.mapping import Foreign

_STYLE = (
    "WIDTHTRUNC WIDTHEXPAND DECLFILENAME UNUSEDSIGNAL UNUSEDPARAM VARHIDDEN BLKSEQ SYNCASYNCNET EOFNEWLINE "
    "TIMESCALEMOD ASCRANGE GENUNNAMED PINCONNECTEMPTY PINMISSING CASEINCOMPLETE IMPORTSTAR"
)
"""Verilator's remarks on style, which are no concern of a check; what changes values stays on."""


def wrapped(foreign: Foreign) -> str:
    """The wrapper and the user's Verilog as one text; the module is called as the spec is."""
    spec = foreign.spec
    kept = [port for port in spec.outputs if port.name not in foreign.without]
    body = [f"  assign {name} = 0;" for name in foreign.without]
    pins = {theirs: f"{value}" for theirs, value in foreign.constants.items()}
    pins |= {foreign.ports[port.name]: port.name for port in spec.inputs}
    declared = [_declared("input", port) for port in spec.inputs] + [_declared("output", port) for port in spec.outputs]
    if spec.stages:
        declared += ["input wire clk, rst, in_valid, out_ready", "output wire in_ready, out_valid"]
        pins |= {
            pin[0]: f"{'!' * pin[1]}{ours}" for pin, ours in ((foreign.clock, "clk"), (foreign.reset, "rst")) if pin
        }
    if spec.stages and not _streams(foreign):
        body += _queue(foreign.latency, kept)
        pins |= {foreign.handshake[name]: "take" for name in foreign.handshake}
        pins |= {foreign.ports[port.name]: f"raw_{port.name}" for port in kept}
    else:
        pins |= {theirs: ours for ours, theirs in foreign.handshake.items()}
        pins |= {foreign.ports[port.name]: port.name for port in kept}
    values = ", ".join(f".{name}({value})" for name, value in foreign.parameters.items())
    module = f"{foreign.top} #({values})" if values else foreign.top
    instance = f"  {module} unit({', '.join(f'.{theirs}({ours})' for theirs, ours in pins.items())});"
    lint = [f"/* verilator lint_off {word} */" for word in _STYLE.split()]
    head = f"module {spec.name}({', '.join(declared)});"
    return "\n".join([*lint, head, *body, instance, "endmodule", "", foreign.verilog, ""])


def _streams(foreign: Foreign) -> bool:
    """Whether the unit itself waits."""
    return "out_ready" in foreign.handshake


def _declared(direction: str, port: Port) -> str:
    return f"{direction} wire [{port.width - 1}:0] {port.name}"


def _queue(latency: int, outputs: list[Port]) -> list[str]:
    """Results of a pipeline that does not wait, held until they are taken; the first one passes without a clock."""
    width = sum(port.width for port in outputs)
    places = latency + 2
    bits = places.bit_length()
    return [
        *(f"  wire [{port.width - 1}:0] raw_{port.name};" for port in outputs),
        f"  wire [{width - 1}:0] raw = {{{', '.join(f'raw_{port.name}' for port in outputs)}}};",
        f"  reg [{width - 1}:0] held [0:{places - 1}];",
        f"  reg [{latency - 1}:0] under_way;",
        f"  reg [{bits}:0] results, promised;",
        "  integer place;",
        f"  wire comes = under_way[{latency - 1}];",
        f"  wire [{latency}:0] moved = {{under_way, take}};",
        "  wire take = in_valid && in_ready;",
        "  wire give = out_valid && out_ready;",
        f"  assign in_ready = promised < {places};",
        "  assign out_valid = comes || results != 0;",
        f"  assign {{{', '.join(port.name for port in outputs)}}} = results != 0 ? held[0] : raw;",
        "  always @(posedge clk) begin",
        f"    under_way <= rst ? 0 : moved[{latency - 1}:0];",
        f"    promised <= rst ? 0 : promised + {{{bits}'d0, take}} - {{{bits}'d0, give}};",
        f"    results <= rst ? 0 : results + {{{bits}'d0, comes}} - {{{bits}'d0, give}};",
        f"    if (give) for (place = 0; place < {places - 1}; place = place + 1) held[place] <= held[place + 1];",
        "    if (comes && !(give && results == 0)) held[give ? results - 1 : results] <= raw;",
        "  end",
    ]
