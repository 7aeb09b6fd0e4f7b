"""The random bits beside a stochastic cast: their period, their words, and the polynomials behind them."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext

from fp9_rtl.export.lfsr import MAX_WIDTH, TAPS, Lfsr


def words(lfsr: Any, count: int, load: int | None = None) -> list[int]:
    """The first `count` words after reset, or after a state was loaded."""
    found: list[int] = []

    async def bench(ctx: SimulatorContext) -> None:
        if load is not None:
            ctx.set(lfsr.load, 1)
            ctx.set(lfsr.state, load)
            await ctx.tick()
            ctx.set(lfsr.load, 0)
        ctx.set(lfsr.step, 1)
        for _ in range(count):
            found.append(ctx.get(lfsr.bits))
            await ctx.tick()

    simulator = Simulator(lfsr)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.every(2)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 10])
def test_the_words_have_the_full_period_and_are_equally_frequent(width: int) -> None:
    """A word of all the state's bits takes every value but zero once a period; of fewer, zero once less than others."""
    lfsr = Lfsr(width)
    period = (1 << lfsr.degree) - 1
    sequence = words(lfsr, 2 * period)
    assert sequence[:period] == sequence[period:]
    counts = Counter(sequence[:period])
    share = 1 << (lfsr.degree - width)
    assert counts == Counter({word: share - (word == 0) for word in range(1 << width)})


def test_the_seed_is_where_the_sequence_begins() -> None:
    one, other = words(Lfsr(16, seed=1), 20), words(Lfsr(16, seed=0xACE1), 20)
    assert one != other
    assert words(Lfsr(16), 20, load=0xACE1) == other
    assert words(Lfsr(16), 20, load=0) == one


def test_without_a_step_the_word_stays() -> None:
    lfsr: Any = Lfsr(8, seed=5)
    found: list[int] = []

    async def bench(ctx: SimulatorContext) -> None:
        for step in (0, 0, 1, 0):
            ctx.set(lfsr.step, step)
            found.append(ctx.get(lfsr.bits))
            await ctx.tick()

    simulator = Simulator(lfsr)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert found[0] == found[1] == found[2] != found[3]


@pytest.mark.parametrize("degree", TAPS)
def test_the_polynomials_are_irreducible(degree: int) -> None:
    """Of prime degree p without a root, f is irreducible where x^(2^p) = x mod f; 2^p - 1 is prime by Lucas' test."""
    polynomial = sum(1 << exponent for exponent in (0, *TAPS[degree], degree))
    assert polynomial.bit_count() % 2 == 1
    power = 2
    for _ in range(degree):
        power = int("0".join(bin(power)[2:]), 2)  # squared
        while power.bit_length() > degree:
            power ^= polynomial << (power.bit_length() - 1 - degree)
    assert power == 2
    term = 4
    for _ in range(degree - 2):
        term = (term * term - 2) % ((1 << degree) - 1)
    assert degree == 2 or term == 0


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize(("width", "seed"), [(0, 1), (MAX_WIDTH + 1, 1), (16, 0), (16, 1 << 17)])
def test_widths_and_seeds_that_cannot_be_are_refused(width: int, seed: int) -> None:
    with pytest.raises(ValueError, match="give"):
        Lfsr(width, seed)
    gc.collect()
