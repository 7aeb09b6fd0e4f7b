"""Cover points of zero-operand gating, for an operation and the previous operation."""

from __future__ import annotations

from fp9.units import Dot
from fp9_sim.coverage.factors import Operation
from fp9_sim.coverage.model import Bin, Cross

_GATED = ("none", "a", "b", "both")


class Gating:
    """Cover points that record which zero operands gate the operand registers of a unit's first lane."""

    # A product of zero and a finite number is gated: the operand registers keep the operands of the last ungated
    # product. A product of zero and infinity or NaN is not gated.

    def __init__(self, unit: Dot, more: tuple[str, ...] = ()) -> None:
        self._gates, self._more = unit.gate_zeros, more
        self._before: str | None = None

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        gated = (*_GATED, "zero times special")
        return {"gated": gated, "gated_before": gated} if self._gates else {}

    @property
    def crosses(self) -> tuple[Cross, ...]:
        if not self._gates:
            return ()
        crosses = [Cross("gating_sequence", ("gated_before", "gated"))]
        return (*crosses, *(Cross(f"gating_{point}", (point, "gated")) for point in self._more))

    def facts(self, operation: Operation) -> dict[str, Bin]:
        if not self._gates:
            return {}
        x, y = operation.lanes[0]
        zeros = 2 * (y.name == "zero") + (x.name == "zero")
        plain = x.is_number and y.is_number
        now = _GATED[zeros] if plain or not zeros else "zero times special"
        before, self._before = self._before, now
        return {"gated": now, **({"gated_before": before} if before else {})}
