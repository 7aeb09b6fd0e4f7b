"""The dot product that one step of a unit computes, and its possible results."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.engines import Addend, Engine, Truncation
from fp9.formats import FixedFormat, Format, Rounding, floor_log2, pow2
from fp9.units import Dot, ProductRange, product_range
from fp9_sim.coverage.model import FAR, classes_of, impossible_rounding
from fp9_sim.coverage.values import lowest_place


@dataclass(frozen=True)
class Sum:
    """Products and addend that an accumulator adds in one step."""

    engine: Engine
    # Formats of the two factors of each product.
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    products: ProductRange
    # Largest number of products.
    depth: int
    # Sum inside one chunk, if the accumulator adds in chunks.
    within: Sum | None = None
    # Format of block scales, and the two scale ports of each block.
    scale: Format | None = None
    scales: tuple[tuple[str, str], ...] = ()

    @property
    def result(self) -> FixedFormat:
        assert isinstance(self.engine.output, FixedFormat)
        return self.engine.output

    @property
    def results(self) -> tuple[str, ...]:
        """Return the classes of numbers that the rounded sum can have."""
        classes = classes_of(self.result)
        return tuple(name for name in classes if name != "subnormal") if self.engine.result.flush else classes

    @property
    def longest(self) -> int:
        # Cancellation is largest if product and addend are next to the same power of two, or differ by the product's
        # last bit.
        factors = [max(fmt.precision for fmt in formats) for formats in (self.a, self.b)]
        return max(self.engine.addend_format.precision, sum(factors) - 1)

    @property
    def lowest_cut(self) -> int | None:
        """Return the lowest possible exponent of an alignment window's last bit."""
        if self.engine.window.width is None:
            return None
        lowest = self.products.ulp
        if self.engine.window.addend is Addend.INSIDE:
            zero = -FAR if self.engine.window.zero_exponent is None else self.engine.window.zero_exponent
            lowest = max(self.result.min_normal_exponent, zero)
        return min(lowest, self.products.ulp) - self.engine.window.width

    @property
    def exact_when_small(self) -> bool:
        # With subnormals, no term may have bits below the smallest ulp, and no window may truncate a term. Without
        # subnormals, truncation does not matter: the smallest number has an odd significand, but every truncated sum is
        # even.
        if self.products.ulp < lowest_place(self.result):
            return False
        if self.lowest_cut is None or not self.result.subnormals:
            return lowest_place(self.engine.addend_format) >= lowest_place(self.result)
        with_products = self.products.ulp - (self.engine.window.width or 0) > self.result.min_normal_exponent
        return with_products and self.lowest_cut <= lowest_place(self.engine.addend_format)

    def raises(self, flags: str) -> bool:
        # `invalid` needs an operand format with infinity, and `underflow` a term below the result's smallest ulp.
        # `overflow` needs products of at least an ulp of the largest result, or rounding or truncation away from zero.
        if self.within is not None and self.within.raises(flags):
            return True
        if flags == "invalid":
            return any(fmt.has_inf for fmt in (*self.a, *self.b))
        if flags == "overflow":
            place = self.result.quantum(floor_log2(self.result.max_magnitude))
            rounding = self.engine.output_rounding
            needed = pow2(place - 1) if rounding.is_nearest else pow2(place)
            floors = self.engine.window.width is not None and self.engine.window.truncation is Truncation.FLOOR
            stays = rounding is Rounding.RTO and self.result.max_code % 2 == 1
            away = floors or not (rounding.grows_from_half or stays)
            return away or self.depth * self.products.largest >= needed
        return flags != "underflow" or not (self.result.subnormals and self.exact_when_small)

    def impossible_outcome(self, outcome: str, flags: str) -> str | None:
        """Return why the result class cannot occur together with the flag, or None."""
        lasting = {
            "no operation of the unit raises it": not self.raises(flags),
            "only NaN is invalid": flags == "invalid" and outcome != "nan",
            "overflow gives infinity, or NaN where there is none": flags == "overflow"
            and outcome not in self._overflown(),
        }
        if self.within is not None:
            return next((reason for reason, holds in lasting.items() if holds), None)
        cut_to_zero = self.engine.window.width is not None and (outcome, flags) == ("zero", "inexact")
        reasons = lasting | {
            "sums of this size are exact": outcome in ("subnormal", "smallest normal")
            and flags in ("inexact", "underflow")
            and self.exact_when_small,
            "a window drops bits below the smallest number": (outcome, flags) == ("zero", "underflow")
            and self.lowest_cut is not None
            and self.result.subnormals
            and self.lowest_cut >= lowest_place(self.result),
        }
        own = next((reason for reason, holds in reasons.items() if holds), None)
        roundings = (self.engine.output_rounding,)
        return own or (None if cut_to_zero else impossible_rounding(self.result, roundings, outcome, flags))

    def _overflown(self) -> tuple[str, ...]:
        # If a chunk's sum is infinite, the final result can also be NaN.
        if self.within is not None:
            return "infinity", "nan"
        return ("infinity",) if self.result.has_inf else ("nan",)


def sum_of(unit: Dot) -> Sum:
    products = product_range(unit.a, unit.b, unit.bias_port)
    if unit.scale is not None:
        place, largest = 2 * lowest_place(unit.scale), unit.scale.max_magnitude**2
        products = ProductRange(products.ulp + place, products.largest * largest)
    operands = unit.a, unit.b, products, unit.products
    scales = tuple(zip(unit.scale_names("a"), unit.scale_names("b"), strict=True)) if unit.scale else ()
    if unit.engine.chunk.length is None or unit.has_state:
        return Sum(unit.engine, *operands, None, unit.scale, scales)
    within = Sum(unit.engine.within_chunk, *operands, None, unit.scale, scales)
    return Sum(unit.engine.joining, *operands, within, unit.scale, scales)
