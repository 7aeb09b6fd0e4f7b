"""Write SystemVerilog assertions about a unit's handshake."""

from __future__ import annotations

from fp9.units import Handshake, Unit
from fp9_sim.templates import filled, width


def assertions(unit: Unit) -> str:
    """Return the SystemVerilog assertion module `NAME_sva`, and the statement that binds the module to the unit.

    The assertions check that waiting results stay stable, and that no result is lost, repeated or reordered.
    """
    waits = unit.handshake is Handshake.READY
    edge = f" or {'posedge' if unit.reset.active else 'negedge'} {unit.reset.port}" if unit.reset.is_async else ""
    reset = unit.reset.port if unit.reset.active else f"!{unit.reset.port}"
    results = "".join(f",\n  input logic {width(p)}{p.name}" for p in unit.outputs) if waits else ""
    sampled = "/* verilator lint_off SYNCASYNCNET */  // assertions sample the reset at a clock's edge\n"
    clears = f"{reset} || flush" if unit.flush else reset
    clock = "@(posedge clk iff enable)" if unit.enable else "@(posedge clk)"
    words = {
        "name": unit.name,
        "ports": ", ".join(port.name for port in unit.control_ports) + results,
        "edge": edge,
        "lint": sampled if unit.reset.is_async else "",
        "stable": " && ".join(f"$stable({p.name})" for p in unit.outputs),
        "handshake": "in_ready, out_valid" if waits else "out_valid",
        "reset": clears,
        # The result of a block comes after the block's last operation, when the next block may already have entered.
        "sizes": f"LATENCY = {unit.latency}, BLOCK = {unit.group}, MOST = LATENCY + 2 * BLOCK + 64",
        "clock": clock,
        "counts": " if (enable)" if unit.enable else "",
        "takes": "in_valid && in_ready" if waits else "in_valid",
        "gives": "out_valid && out_ready" if waits else "out_valid",
        "longest": f"LATENCY + {unit.extra_clocks}" if unit.extra_clocks else "LATENCY",
        "drained": "" if unit.extra_clocks else filled(_DRAINED, {"clock": clock, "reset": clears}),
        "in_time": ">=" if waits else "==",
    }
    return filled(_COUNTED, words) + filled(_STANDS if waits else "", words) + filled(_BOUND, words)


_COUNTED = """\
// Assertions of @{name}, bound to every instance of the module.
@{lint}module @{name}_sva (
  input logic @{ports}
);
  localparam int unsigned @{sizes};

  // Operations taken and results given since the reset, and the clock at which each operation was taken.
  int unsigned now, taken, given, idle;
  int unsigned taken_at [MOST];
  wire [31:0] under_way = taken - given;
  wire complete = taken / BLOCK != given / BLOCK;

  always @(posedge clk@{edge}) begin
    if (@{reset}) begin
      now <= 0;
      taken <= 0;
      given <= 0;
      idle <= 0;
    end else@{counts} begin
      now <= now + 1;
      idle <= complete && !out_valid ? idle + 1 : 0;
      if (@{gives}) given <= given + 1;
      if (@{takes}) begin
        taken_at[taken % MOST] <= now;
        taken <= taken + 1;
      end
    end
  end

  known: assert property (@{clock} disable iff (@{reset}) !$isunknown({@{handshake}}));
  empties_in_reset: assert property (@(posedge clk) @{reset} |=> !out_valid);
  // Every result belongs to an operation without a result.
  no_repeat: assert property (@{clock} disable iff (@{reset}) out_valid |-> under_way != 0);
  // The oldest operation advances whenever no result waits.
  no_loss: assert property (@{clock} disable iff (@{reset}) complete && !out_valid |-> idle < @{longest});
  // A result comes no earlier than the latency of the oldest operation: no younger operation overtakes it.
  in_order: assert property (@{clock} disable iff (@{reset})
    out_valid |-> now - taken_at[given % MOST] @{in_time} LATENCY);
  room_for_times: assert property (@{clock} disable iff (@{reset}) under_way < MOST);
  result_comes: cover property (@{clock} disable iff (@{reset}) out_valid);
"""

_STANDS = """\
  stable_while_stalled: assert property (@{clock} disable iff (@{reset})
    out_valid && !out_ready |=> out_valid && @{stable});
@{drained}  operation_waits: cover property (@{clock} disable iff (@{reset}) in_valid && !in_ready);
  result_waits: cover property (@{clock} disable iff (@{reset}) out_valid && !out_ready);
"""

_DRAINED = """\
  ready_when_drained: assert property (@{clock} disable iff (@{reset})
    !out_valid && out_ready |-> in_ready);
"""

_BOUND = """\
endmodule

bind @{name} @{name}_sva checks (.*);
"""
