"""Lemmas that specify the positions of products in fixed-point words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fp9.formats import floor_log2
from fp9.units import Dot, product_range
from fp9_rtl.sums.fixed.places import product_bias
from fp9_sim.proofs.cones import ConeLemma, cone
from fp9_sim.proofs.specs.sums.product import Products
from fp9_sim.proofs.specs.sums.round import EXPONENT


@dataclass(frozen=True)
class Places:
    """The products of a unit, each shifted to its position in a fixed-point word of `bits` bits."""

    unit: Dot
    # The least significant bit of each word is worth one ulp of the smallest product.
    bits: int
    # A word is inverted if the product's sign differs from this Verilog expression.
    sign: str
    zeros: bool

    @property
    def longest(self) -> int:
        products = product_range(self.unit.a, self.unit.b)
        return floor_log2(products.largest) - products.ulp + 1

    @property
    def products(self) -> Products:
        return Products(self.unit, product_bias(self.unit), self.zeros)

    def negative(self, product: str) -> str:
        return f"(multiply.{product}_sign ^ {self.sign})"

    def row(self, product: str) -> str:
        return f"(place.{product}_placed ^ {{{self.bits}{{{self.negative(product)}}}}})"

    def fact(self, product: str) -> str:
        net = f"multiply.{product}"
        return f"{net}_inf || {net}_nan || {self.row(product)} >> {self.longest} == 0"

    def lemmas(self) -> Iterator[ConeLemma]:
        of = self.products
        for lemma, product in zip(of.lemmas(), of.names, strict=True):
            yield cone(lemma, gives=(*lemma.gives, *self._facts(product)))
        for product in of.names:
            yield self._placed(product)

    @property
    def _last(self) -> int:
        return product_bias(self.unit) + product_range(self.unit.a, self.unit.b).ulp + self.products.bits - 1

    def _facts(self, product: str) -> tuple[str, str]:
        net, of = f"multiply.{product}", self.products
        number = of.number(f"{net}_exponent")
        special = f"{of.zero(product)} || {net}_inf || {net}_nan"
        above = f"({number} - {self._last + self.longest - of.bits})"
        below = f"({self._last} - {number})"
        value = of.significand(product)
        return (
            f"{special} || {above} <= 0 || {value} >> ({of.bits} - {above}) == 0",
            f"{special} || {below} <= 0 || ({value} & (({of.bits}'d1 << {below}) - 1)) == 0",
        )

    def _placed(self, product: str) -> ConeLemma:
        of, net = self.products, f"multiply.{product}"
        wide = self.bits + of.bits
        inverted = f"(exact ^ {{{self.bits}{{{self.negative(product)}}}}})"
        return ConeLemma(
            f"{product}: its place",
            (),
            (
                f"  wire {EXPONENT} up = {of.number(f'{net}_exponent')} - {self._last};",
                f"  wire [{wide - 1}:0] long = {{{self.bits}'d0, {of.significand(product)}}};",
                f"  wire [{wide - 1}:0] moved = up < 0 ? long >> -up : long << up;",
                f"  wire [{self.bits - 1}:0] exact = {of.zero(product)} ? 0 : moved;",
            ),
            {f"place.{product}_placed": f"{net}_inf || {net}_nan || place.{product}_placed == {inverted}"},
            (inverted, f"({inverted} ^ 1)"),
            assumes=(*of.facts(product), *self._facts(product)),
            gives=(self.fact(product),),
        )
