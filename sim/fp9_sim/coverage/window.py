"""Cover points of an alignment window: the right shift of each term."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.engines import Addend, Engine
from fp9_sim.coverage.factors import Aligned, Operation
from fp9_sim.coverage.model import SIGNS, Bin, Cross
from fp9_sim.coverage.values import Code

# Bit positions above the window that have their own bins. An addend can be larger than the products.
_ABOVE = 3


class Window:
    """Cover points for the shift of every nonzero term in an accumulator's alignment window."""

    # The last bin covers all shifts by more than the window's width, which leave no bit of the term. An accumulator
    # that adds even and odd products separately has one window for each of the two sums.

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.beyond = (engine.window.width or 0) + 2
        self.lowest = 0 if engine.window.addend is Addend.INSIDE else -_ABOVE

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        if self._engine.window.width is None:
            return {}
        return {
            "product_shift": tuple(range(self.beyond + 1)),
            "product_sign": SIGNS,
            "addend_shift": tuple(range(self.lowest, self.beyond + 1)),
            "addend_sign": SIGNS,
        }

    @property
    def crosses(self) -> tuple[Cross, ...]:
        names = ("product", "addend") if self._engine.window.width is not None else ()
        return tuple(Cross(f"{name}_alignment", (f"{name}_shift", f"{name}_sign")) for name in names)

    def facts(self, operation: Operation, addend: Code) -> Iterator[dict[str, Bin]]:
        # Nothing is hit if the addend or the sum of the products is infinite or NaN.
        if self._engine.window.width is None or operation.summed is None or not addend.is_number:
            return
        products = operation.terms
        own = (addend.exponent, addend.negative) if addend.units else None
        halves = [products] if self._engine.window.interleaved is None else [products[::2], products[1::2]]
        tops = [self._top(half, own) for half in halves]
        for half, top in zip(halves, tops, strict=True):
            for term in half:
                if term is not None and top is not None:
                    yield {"product_shift": min(top - term[0], self.beyond), "product_sign": SIGNS[term[1]]}
        reached = [top for top in tops if top is not None]
        if own is not None and reached:
            highest = max(*reached, own[0]) if self._engine.window.addend is Addend.INSIDE else max(reached)
            shift = max(self.lowest, min(highest - own[0], self.beyond))
            yield {"addend_shift": shift, "addend_sign": SIGNS[own[1]]}

    def _top(self, products: list[Aligned | None], addend: Aligned | None) -> int | None:
        terms = list(products)
        if self._engine.window.addend is Addend.INSIDE and self._engine.window.interleaved is None:
            terms.append(addend)
        exponents = [term[0] for term in terms if term is not None]
        if self._engine.window.zero_exponent is not None and None in terms:
            exponents.append(self._engine.window.zero_exponent)
        return max(exponents, default=None)
