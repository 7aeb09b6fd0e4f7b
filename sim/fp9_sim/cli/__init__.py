"""The commands that generate, simulate, prove, sweep and check."""

from fp9_sim.cli import campaign, energy, foreign, gemm, hardware, prove, sweep, toggles

COMMANDS = (
    *hardware.COMMANDS,
    *gemm.COMMANDS,
    *prove.COMMANDS,
    *sweep.COMMANDS,
    *campaign.COMMANDS,
    *foreign.COMMANDS,
    *toggles.COMMANDS,
    *energy.COMMANDS,
)

__all__ = ["COMMANDS"]
