"""Addition with end-around carry, for numbers in one's complement."""

# A tree of (generate, propagate) pairs computes the carry-out and the carry into every bit, so no second adder is
# needed.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

_NEVER = Const(0, 1)


def end_around_sum(m: Module, x: Value, y: Value, plain: Value = _NEVER, carry_in: Value = _NEVER) -> Value:
    """Return x + y plus the carry-out of x + y, in the width of x and y."""
    width = len(x)
    generate, propagate = Signal(width), Signal(width)
    carries = Signal(width)
    m.d.comb += [generate.eq(x & y), propagate.eq(x ^ y)]
    tree = CarryTree(m, generate, propagate, 0, width)
    # If `plain` is 1, the sum is x + y + `carry_in` without end-around carry.
    carry = tree.generate if plain is _NEVER else Mux(plain, carry_in, tree.generate)
    m.d.comb += carries.eq(Cat(*tree.carries(m, carry)))
    total = Signal(width, name="total")
    m.d.comb += total.eq(propagate ^ carries)
    return total


class CarryTree:
    """A node of the carry tree for the bits from `first` to `end` - 1."""

    def __init__(self, m: Module, generate: Value, propagate: Value, first: int, end: int) -> None:
        self._halves: tuple[CarryTree, CarryTree] | None = None
        if end - first == 1:
            self.generate, self.propagate = generate[first], propagate[first]
            return
        middle = (first + end + 1) // 2
        low, high = (CarryTree(m, generate, propagate, *part) for part in ((first, middle), (middle, end)))
        self._halves = low, high
        self.generate, self.propagate = Signal(name=f"generate_{first}_{end}"), Signal(name=f"propagate_{first}_{end}")
        m.d.comb += [
            self.generate.eq(high.generate | (high.propagate & low.generate)),
            self.propagate.eq(high.propagate & low.propagate),
        ]
        self._middle_name = f"carry_{middle}"

    def carries(self, m: Module, carry: Value) -> list[Value]:
        if self._halves is None:
            return [carry]
        low, high = self._halves
        middle = Signal(name=self._middle_name)
        m.d.comb += middle.eq(low.generate | (low.propagate & carry))
        return [*low.carries(m, carry), *high.carries(m, middle)]
