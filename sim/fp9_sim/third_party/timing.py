"""Add back-pressure to a third-party unit.

A pipeline of fixed latency without an enable cannot stall, so the wrapper stores results in a queue. A DUT with an
enable input is stopped while its result waits for `out_ready`. If the DUT itself has a ready input for results, the
wrapper connects this input to `out_ready` without further logic. If the DUT runs one operation at a time, the wrapper
holds the operands until the result comes.
"""

from __future__ import annotations

from fp9.units import Port
from fp9_sim.third_party.mapping import Design


def timing(design: Design, latency: int, kept: list[Port]) -> list[str]:
    named = design.handshake
    if design.holds_operands:
        return _one_at_a_time(design, kept)
    if "out_ready" in named:
        ready = "takes" if "in_ready" in named else "1'b1"
        return [
            "  wire give_valid = in_valid;",
            "  wire give_ready = out_ready;",
            f"  assign in_ready = {ready};",
            "  assign out_valid = comes;",
            *(f"  assign {port.name} = raw_{port.name};" for port in kept),
        ]
    if design.enable:
        return _enabled(latency, kept, "out_valid" in named)
    return _queue(latency, kept, "in_ready" in named, "out_valid" in named)


def unclocked(kept: list[Port]) -> list[str]:
    return [
        "  wire go = 1'b1;",
        "  wire give_valid = in_valid;",
        "  wire give_ready = out_ready;",
        "  assign in_ready = 1'b1;",
        "  assign out_valid = in_valid;",
        *(f"  assign {port.name} = raw_{port.name};" for port in kept),
    ]


def operand(design: Design, port: Port) -> str:
    """Return the signal that drives a DUT input: the input port, or a register that holds the operand."""
    return f"standing_{port.name}" if design.holds_operands else port.name


def _one_at_a_time(design: Design, kept: list[Port]) -> list[str]:
    # `done` is ignored in the clock cycle of `start`, so `done` may stay high until the next operation.
    inputs = [port for port in design.spec.inputs if port.name not in design.held]
    takes = " && takes" if "in_ready" in design.handshake else ""
    return [
        *(f"  reg [{port.width - 1}:0] {operand(design, port)};" for port in inputs),
        *(f"  reg [{port.width - 1}:0] given_{port.name};" for port in kept),
        "  reg busy, begun, full;",
        "  assign in_ready = !busy && !full;",
        "  assign out_valid = full;",
        *(f"  assign {port.name} = given_{port.name};" for port in kept),
        "  wire take = in_valid && in_ready;",
        "  wire give_start = busy && !begun;",
        "  wire ends = busy && begun && comes;",
        "  always @(posedge clk) begin",
        "    if (take) begin",
        *(f"      {operand(design, port)} <= {port.name};" for port in inputs),
        "    end",
        "    if (ends) begin",
        *(f"      given_{port.name} <= raw_{port.name};" for port in kept),
        "    end",
        "    busy <= !rst && (take || busy && !ends);",
        f"    begun <= !rst && !take && (begun || give_start{takes});",
        "    full <= !rst && (ends || full && !out_ready);",
        "  end",
    ]


def _under_way(latency: int, take: str, advance: str) -> list[str]:
    """Return Verilog of a shift register whose last bit marks the clock cycle of a result."""
    return [
        f"  reg [{latency - 1}:0] under_way;",
        f"  wire comes = under_way[{latency - 1}];",
        f"  wire [{latency}:0] moved = {{under_way, {take}}};",
        f"  always @(posedge clk) under_way <= rst ? 0 : {advance} ? moved[{latency - 1}:0] : under_way;",
    ]


def _enabled(latency: int, kept: list[Port], own: bool) -> list[str]:
    """Return handshake logic that stops a pipeline while its result waits."""
    return [
        *([] if own else _under_way(latency, "in_valid", "go")),
        # The pipeline runs during reset.
        "  wire go = out_ready || !comes || rst;",
        "  wire give_valid = in_valid;",
        "  assign in_ready = go;",
        "  assign out_valid = comes;",
        *(f"  assign {port.name} = raw_{port.name};" for port in kept),
    ]


def _queue(latency: int, kept: list[Port], may_wait: bool, own: bool) -> list[str]:
    """Return Verilog of a queue for the results of a pipeline that cannot stall."""
    width = sum(port.width for port in kept)
    places = latency + 2
    bits = places.bit_length()
    return [
        *([] if own else _under_way(latency, "take", "1'b1")),
        f"  wire [{width - 1}:0] raw = {{{', '.join(f'raw_{port.name}' for port in kept)}}};",
        f"  reg [{width - 1}:0] held [0:{places - 1}];",
        f"  reg [{bits}:0] results, promised;",
        "  integer place;",
        f"  wire room = promised < {places};",
        "  wire give_valid = in_valid && room;",
        f"  assign in_ready = room{' && takes' if may_wait else ''};",
        "  wire take = in_valid && in_ready;",
        "  wire give = out_valid && out_ready;",
        "  assign out_valid = comes || results != 0;",
        f"  assign {{{', '.join(port.name for port in kept)}}} = results != 0 ? held[0] : raw;",
        "  always @(posedge clk) begin",
        f"    promised <= rst ? 0 : promised + {{{bits}'d0, take}} - {{{bits}'d0, give}};",
        f"    results <= rst ? 0 : results + {{{bits}'d0, comes}} - {{{bits}'d0, give}};",
        f"    if (give) for (place = 0; place < {places - 1}; place = place + 1) held[place] <= held[place + 1];",
        "    if (comes && !(give && results == 0)) held[give ? results - 1 : results] <= raw;",
        "  end",
    ]
