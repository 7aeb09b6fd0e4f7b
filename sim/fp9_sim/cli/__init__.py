"""Commands that generate, simulate, prove, sweep and check hardware."""

from fp9_sim.cli import energy, gemm, hardware, prove, records, simulate, sweep, third_party, trace

COMMANDS = {
    "Units": (hardware.rtl, hardware.package, gemm.gemm),
    "Verification": (simulate.sim, trace.trace, sweep.sweep, prove.prove, prove.mutate, sweep.coverage),
    "Cost": (energy.energy,),
    "Other implementations": (third_party.check_rtl,),
    "Project": (hardware.demo, records.records),
}

__all__ = ["COMMANDS"]
