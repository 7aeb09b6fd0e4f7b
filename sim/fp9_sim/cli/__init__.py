"""The commands that generate, simulate, prove, sweep and check."""

from fp9_sim.cli import energy, gemm, hardware, prove, records, sweep, third_party, toggles

COMMANDS = (
    *hardware.COMMANDS,
    *gemm.COMMANDS,
    *prove.COMMANDS,
    *sweep.COMMANDS,
    *records.COMMANDS,
    *third_party.COMMANDS,
    *toggles.COMMANDS,
    *energy.COMMANDS,
)

__all__ = ["COMMANDS"]
