"""Coverage of zero-operand gating: which factors are zero, under which operation, and what was gated before."""

from __future__ import annotations

from fp9.units import Dot
from fp9_sim.coverage.factors import Operation
from fp9_sim.coverage.model import Bin, Cross

_GATED = ("none", "a", "b", "both")


class Gating:
    """Points of a unit that gates zero operands, in its first lane; none for one that does not.

    A product is gated where it is a plain zero, and the factors held in its place are those of the last one that was
    not; zero times infinity or NaN is not gated.
    """

    def __init__(self, unit: Dot, more: tuple[str, ...] = ()) -> None:
        self._gates, self._more = unit.gate_zeros, more
        self._before: str | None = None

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        """Bins of every point."""
        gated = (*_GATED, "zero times special")
        return {"gated": gated, "gated_before": gated} if self._gates else {}

    @property
    def crosses(self) -> tuple[Cross, ...]:
        """What is gated, behind what, and with some `more`."""
        if not self._gates:
            return ()
        crosses = [Cross("gating_sequence", ("gated_before", "gated"))]
        return (*crosses, *(Cross(f"gating_{point}", (point, "gated")) for point in self._more))

    def facts(self, operation: Operation) -> dict[str, Bin]:
        """What is gated of an operation, and was of the one before."""
        if not self._gates:
            return {}
        x, y = operation.lanes[0]
        zeros = 2 * (y.name == "zero") + (x.name == "zero")
        plain = x.is_number and y.is_number
        now = _GATED[zeros] if plain or not zeros else "zero times special"
        before, self._before = self._before, now
        return {"gated": now, **({"gated_before": before} if before else {})}
