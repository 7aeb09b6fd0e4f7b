"""The dot engine's parameters: which sums are exact, where they are rounded, and to what (spec section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import FixedFormat, Format, Rounding, Specials, format


@dataclass(frozen=True)
class Engine:
    """One step is result = round(C + sum of `products` products): exact inside, one rounding at the end.

    Raises ValueError for a result format or rounding that no accumulator can have.
    """

    name: str
    result: Format
    rounding: Rounding
    products: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.result, FixedFormat) or self.result.specials not in (Specials.IEEE, Specials.MERGED):
            raise ValueError(
                f"engine {self.name}: {self.result.name} given as result; give fp32, fp16, bf16 or dlfloat16"
            )
        if self.rounding in (Rounding.HYBRID, Rounding.SR):
            raise ValueError(
                f"engine {self.name}: rounding {self.rounding.value} given; give rne, rna, rtz, rup or rdn"
            )
        if self.products < 1:
            raise ValueError(f"engine {self.name}: {self.products} products a step given; give 1 or more")


ENGINES: dict[str, Engine] = {
    e.name: e
    for e in (
        Engine("fma_fp32", format("fp32"), Rounding.RNE),  # IEEE 754 fused multiply-add
        Engine("fma_fp16", format("fp16"), Rounding.RNE),
        Engine("fma_bf16", format("bf16"), Rounding.RNE),
        Engine("dlfloat", format("dlfloat16"), Rounding.RNA),  # DLF: fused, NaN-Inf absorbs, nearest-up
    )
}


def engine(name: str | Engine) -> Engine:
    """The preset of a name; an `Engine` is returned as it is. Raises ValueError for an unknown name."""
    if isinstance(name, Engine):
        return name
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    return ENGINES[name]
