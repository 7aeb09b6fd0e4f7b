"""Lemmas that specify exact products, with tables of the fields of each operand code.

A significand is an integer whose leading bit may be 0. The exponent of a subnormal operand is the lowest exponent of
the operand's format.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from fp9.engines import alignment_exponent
from fp9.formats import Format, Kind, ScaledInteger, floor_log2, pow2
from fp9.oracle import casts as oracle
from fp9.units import Dot, significand_bits
from fp9_sim.proofs.parts import Lemma
from fp9_sim.proofs.specs.sums.round import EXPONENT

STEPS = ("decode", "multiply")


@dataclass(frozen=True)
class Products:
    """The products of a unit. `bias` is the constant that the circuit adds to the products' exponents."""

    unit: Dot
    bias: int
    # If false, no net of the circuit marks a zero product, and a product is zero if its significand is 0.
    zeros: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return self.unit.lane_names("product")

    @property
    def bits(self) -> int:
        return significand_bits(self.unit.a) + significand_bits(self.unit.b)

    @property
    def exponents(self) -> range:
        """Return the range of biased exponents that the products of a unit can have."""
        sides = [set(_exponents(formats)) for formats in (self.unit.a, self.unit.b)]
        first = 1 + self.bias
        return range(sum(map(min, sides)) + first, sum(map(max, sides)) + first + 1)

    def number(self, net: str) -> str:
        return f"$signed({net})" if self.exponents.start < 1 else f"$signed({{1'b0, {net}}})"

    def zero(self, product: str) -> str:
        return f"multiply.{product}_zero" if self.zeros else f"multiply.{product}_significand == 0"

    def facts(self, product: str) -> tuple[str, str]:
        net, zero = f"multiply.{product}", self.zero(product)
        number, special = self.number(f"{net}_exponent"), f"{zero} || {net}_inf || {net}_nan"
        within = f"{number} >= {self.exponents.start} && {number} <= {self.exponents[-1]}"
        return f"!({zero}) || {net}_significand == 0", f"{special} || {within}"

    def significand(self, product: str) -> str:
        net = f"multiply.{product}_significand"
        return f"({{{self.bits}'d0, {net}}} << ({self.bits} - $bits({net})))"

    def lemmas(self) -> Iterator[Lemma]:
        """For each lane, yield a lemma that derives the product's fields from the operand codes."""
        lanes = zip(*(self.unit.lane_names(name) for name in ("a", "b", "product")), strict=True)
        for a, b, product in lanes:
            field = f"multiply.{product}"
            special = f"{a}_nan || {b}_nan || {a}_inf || {b}_inf"
            nothing = f"{special} || {a}_zero || {b}_zero"
            yield Lemma(
                f"{product}: significand, exponent, kind",
                STEPS,
                (
                    *_operand(a, "a_format", self.unit.a),
                    *_operand(b, "b_format", self.unit.b),
                    f"  wire {EXPONENT} rank = {a}_exponent + {b}_exponent + {1 + self.bias};",
                    f"  wire [{self.bits - 1}:0] exact = {a}_significand * {b}_significand;",
                ),
                {
                    f"{field}_significand": f"{special} || {self.significand(product)} == exact",
                    f"{field}_exponent": f"{nothing} || {self.number(f'{field}_exponent')} == rank",
                    f"{field}_sign": f"{a}_nan || {b}_nan || {field}_sign == ({a}_sign ^ {b}_sign)",
                    **({f"{field}_zero": f"{field}_zero == ({a}_zero || {b}_zero)"} if self.zeros else {}),
                    f"{field}_inf": f"{field}_inf == ({a}_inf || {b}_inf)",
                    f"{field}_nan": f"{field}_nan == ({a}_nan || {b}_nan)",
                    f"{field}_invalid": f"{field}_invalid == ({a}_inf && {b}_zero || {a}_zero && {b}_inf)",
                },
                (f"{a}_significand * {b}_significand", f"({a}_significand * {b}_significand | 1)"),
                gives=self.facts(product),
            )


def _exponents(formats: tuple[Format, ...]) -> Iterator[int]:
    for fmt in formats:
        for code in range(1 << fmt.bits):
            number = oracle.decode(code, fmt)
            if number.kind is Kind.FINITE:
                yield _exponent(fmt, number.magnitude)


def _exponent(fmt: Format, magnitude: Fraction) -> int:
    # In an integer format, the most negative number has one magnitude bit more, so its exponent is larger by one.
    leading = floor_log2(magnitude)
    aligned = alignment_exponent(fmt, leading)
    return max(aligned, leading) if isinstance(fmt, ScaledInteger) else aligned


@functools.lru_cache(maxsize=64)
def _operand(name: str, select: str, formats: tuple[Format, ...]) -> tuple[str, ...]:
    bits = significand_bits(formats)
    index = f"({select} >= {len(formats) - 1} ? {len(formats) - 1} : {select})" if len(formats) > 1 else "0"
    kinds = ", ".join(f"{name}_{kind}" for kind in ("zero", "inf", "nan"))
    rows = [
        f"    {place << 8 | code}: begin {name}_sign = {sign}; {name}_exponent = {exponent}; "
        f"{name}_significand = {significand}; {{{kinds}}} = 3'b{flags}; end"
        for place, fmt in enumerate(formats)
        for code in range(256)
        for sign, exponent, significand, flags in [_fields(fmt, code & ((1 << fmt.bits) - 1), bits)]
    ]
    return (
        f"  reg {name}_sign, {kinds}; reg {EXPONENT} {name}_exponent; reg [{2 * bits - 1}:0] {name}_significand;",
        f"  wire [15:0] {name}_row = {index} << 8 | {name};",
        f"  always @* case ({name}_row)",
        *rows,
        f"    default: begin {name}_sign = 0; {name}_exponent = 0; {name}_significand = 0; {{{kinds}}} = 0; end",
        "  endcase",
    )


def _fields(fmt: Format, code: int, bits: int) -> tuple[int, int, int, str]:
    number = oracle.decode(code, fmt)
    exponent = significand = 0
    if number.kind is Kind.FINITE:
        exponent = _exponent(fmt, number.magnitude)
        scaled = number.magnitude / pow2(exponent - bits + 1)
        assert scaled.denominator == 1, f"{fmt.name} has more than {bits} significand bits"
        significand = int(scaled)
    kinds = "".join(str(int(number.kind is kind)) for kind in (Kind.ZERO, Kind.INF, Kind.NAN))
    return int(number.negative), exponent, significand, kinds
