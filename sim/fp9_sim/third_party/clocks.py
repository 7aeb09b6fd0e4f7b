"""Read a third-party unit's latency from a mapping file, and check the handshake keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_CLOCKS = 64

HELD = ("start", "done")
"""Handshake keys of a unit that runs one operation at a time, with stable operands from `start` to `done`."""


def latency_of(path: Path, said: Mapping[str, Any]) -> int | None:
    """Return the latency of the DUT in clock cycles, or None if the latency is unknown."""
    latency = said.get("latency")
    handshake = said.get("handshake", {})
    if latency is not None and not 0 <= latency <= MOST_CLOCKS:
        raise ValueError(f"{path}: latency {latency} given; give 0 to {MOST_CLOCKS}")
    if "clock" not in said:
        if latency:
            raise ValueError(f"{path}: latency {latency} needs a [clock]; add one with its port")
        if handshake or "enable" in said:
            raise ValueError(f"{path}: handshake and enable need a [clock]; add one with its port")
        return 0
    # `MOST_CLOCKS` stands for results that a handshake output such as `out_valid` signals.
    if latency is None and ("out_valid" in handshake or "done" in handshake):
        return MOST_CLOCKS
    return None if latency is None else int(latency)


def check_handshake(path: Path, handshake: Mapping[str, Any], latency: int | None, enabled: bool) -> None:
    """Raise ValueError if handshake keys are incomplete, or contradict another key, such as `latency`."""
    if handshake and latency == 0:
        raise ValueError(f"{path}: handshake given with latency 0; leave it out, or give the latency")
    if held := [name for name in HELD if name in handshake]:
        if len(held) < len(HELD):
            raise ValueError(f"{path}: handshake.{held[0]} given alone; give both start and done")
        others = [f"handshake.{name}" for name in handshake if name not in (*HELD, "in_ready")]
        others += ["[enable]"] * enabled + ["latency"] * (latency != MOST_CLOCKS)
        if others:
            raise ValueError(
                f"{path}: {others[0]} given beside handshake.{held[0]}; done states when a result comes: leave it out"
            )
        return
    if handshake and "in_valid" not in handshake:
        raise ValueError(f"{path}: handshake given without in_valid; give handshake.in_valid")
    if "out_ready" in handshake and "out_valid" not in handshake:
        raise ValueError(f"{path}: handshake.out_ready given without out_valid; give both")
    if enabled and "out_ready" in handshake:
        raise ValueError(f"{path}: [enable] given beside handshake.out_ready; a unit waits by one of them")
