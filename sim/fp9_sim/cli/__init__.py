"""The commands that generate, simulate, prove, sweep and check."""

from fp9_sim.cli import campaign, energy, gemm, hardware, prove, sweep, third_party, toggles

COMMANDS = (
    *hardware.COMMANDS,
    *gemm.COMMANDS,
    *prove.COMMANDS,
    *sweep.COMMANDS,
    *campaign.COMMANDS,
    *third_party.COMMANDS,
    *toggles.COMMANDS,
    *energy.COMMANDS,
)

__all__ = ["COMMANDS"]
