"""Generate random bits for stochastic rounding with a linear feedback shift register."""

# The sequence of bits is s[n + degree] = s[n] ^ s[n + tap] ^ ... Each step shifts by a whole word, so that no random
# bit is used twice:
#
#     state       s[n]         ... s[n + degree - 1]           the word is its first `width` bits
#     next state  s[n + width] ... s[n + width + degree - 1]
#
# All degrees are exponents of Mersenne primes. If 2^degree - 1 is prime, every irreducible polynomial of this degree
# is primitive. A register with a primitive polynomial has the full period for every word width up to the degree.

from __future__ import annotations

import functools
import operator

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

TAPS = {
    2: (1,),
    3: (1,),
    5: (2,),
    7: (1,),
    13: (1, 2, 5),
    17: (3,),
    19: (1, 2, 5),
    31: (3,),
    61: (1, 2, 5),
    89: (38,),
    107: (2, 3, 12),
    127: (1,),
    521: (32,),
    607: (105,),
    1279: (216,),
    2281: (715,),
}
"""Taps for each degree, which define an irreducible polynomial over GF(2).

The taps are the exponents between 0 and `degree` in the polynomial x^degree + ... + 1.
"""

MAX_WIDTH = max(TAPS)


class Lfsr(wiring.Component):
    """Hardware generator of `width` random bits per step, with a period of 2^degree - 1 steps.

    Within the 2^degree - 1 steps of a period, every output word occurs equally often, except 0, which occurs once less.
    `width` is 1 to `MAX_WIDTH`. `seed` is the state after reset, modulo 2^degree, and must not be 0.

    The output `bits` is the current word. If the input `step` is 1, the register advances to the next word. If the
    input `load` is 1, the register stores the input `state`, and ignores the input `step`. A state of 0 would never
    change, so a loaded 0 becomes 1.

    To feed a `cast` unit, connect `bits` to its inputs `random`, and drive `step` with `in_valid & in_ready`.
    """

    bits: Signal
    step: Signal
    load: Signal
    state: Signal

    def __init__(self, width: int, seed: int = 1) -> None:
        if not 1 <= width <= MAX_WIDTH:
            raise ValueError(f"an LFSR of {width} bits asked for; give 1 to {MAX_WIDTH}")
        self.degree = min(degree for degree in TAPS if degree >= width)
        if seed % (1 << self.degree) == 0:
            raise ValueError(f"seed {seed} given; a register of {self.degree} bits stays at 0, give another")
        self._seed = seed % (1 << self.degree)
        super().__init__({"bits": Out(width), "step": In(1), "load": In(1), "state": In(self.degree)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(self.degree, init=self._seed)
        m.d.comb += self.bits.eq(held)
        with m.If(self.load):
            m.d.sync += held.eq(Mux(self.state.any(), self.state, 1))
        with m.Elif(self.step):
            m.d.sync += held.eq(self._next(m, held))
        return m

    def _next(self, m: Module, held: Signal) -> Value:
        sequence: list[Value] = list(held)
        for number in range(len(self.bits)):
            bit = Signal(name=f"fresh{number}")
            terms = [sequence[number + exponent] for exponent in (0, *TAPS[self.degree])]
            m.d.comb += bit.eq(functools.reduce(operator.xor, terms))
            sequence.append(bit)
        return Cat(sequence[len(self.bits) :])
