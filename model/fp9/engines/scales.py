"""Functions that check whether an accumulator model accepts scale formats, block lengths and operand formats."""

from __future__ import annotations

from numbers import Integral

from fp9.engines.engine import Engine
from fp9.engines.groups import Scaling
from fp9.formats import Format, floor_log2, format
from fp9.formats.host import BINARY64

SCALE_BITS = 8
"""Maximum width of a scale format in bits."""


def format_of_scales(
    engine: Engine, name: Format | str | None, block: int | None, field: str = "scale_format"
) -> Format | None:
    """Return the scale format with the given name, after checking that the accumulator model accepts it.

    If `name` is None, return None, which means that scales are integer exponents instead of codes. Raises ValueError if
    the accumulator model does not accept the scale format or the block length. Scale formats with infinities are not
    accepted, because no source defines an infinite scale. Error messages call the argument `field`.
    """
    if block is not None:
        _check_block(engine, block)
    if name is None:
        return None
    fmt = format(name)
    if fmt.signed or fmt.has_inf or fmt.bits > SCALE_BITS:
        raise ValueError(
            f"{field}={fmt.name} given; give an unsigned format without infinity, such as e8m0, ue4m3, ue5m3 or e6m2"
        )
    if engine.nan.zero_bypass:
        raise ValueError(
            f"{field}={fmt.name} given, and engine {engine.name} has zero_bypass, which no source defines for scaled "
            "products; leave out one of the two"
        )
    aligned = engine.window.width is not None and engine.step.group is None and engine.step.scaling is Scaling.PRODUCTS
    if aligned and fmt.precision > 1:
        raise ValueError(
            f"{field}={fmt.name} given, and engine {engine.name} aligns scaled products, for which scales are powers "
            "of two; give e8m0, or an engine such as blackwell_nvfp4 or mx"
        )
    return fmt


def _check_block(engine: Engine, block: int) -> None:
    if isinstance(block, bool) or not isinstance(block, Integral):
        raise TypeError(f"block of type {type(block).__name__} given; give the number of products that share a scale")
    if block < 1:
        raise ValueError(f"block of {block} given; give the number of products that share a scale, 1 or more")
    if engine.chunk.interleave is not None and engine.chunk.length is not None and block % engine.chunk.length:
        raise ValueError(
            f"block of {block} given; engine {engine.name} interleaves chunks of {engine.chunk.length}: "
            "give a multiple of it"
        )
    sums = engine.step.scaling is Scaling.SUMS and not engine.step.exact
    if sums and (engine.chunk.length is None or block % engine.chunk.length):
        raise ValueError(
            f"engine {engine.name} scales the sums of chunks; for scales of blocks of {block}, give it "
            f"chunk={block} or a divisor, as in '{engine.name.partition('(')[0]}(chunk={block})'"
        )
    if engine.step.group is not None and block % engine.step.group:
        raise ValueError(
            f"block of {block} given, and engine {engine.name} scales groups of {engine.step.group}; give a multiple"
        )


def check_grouped(engine: Engine, a: Format, b: Format) -> None:
    """Raise ValueError if an accumulator model with scaled groups of products does not accept the operand formats.

    The formats must have no infinity and no NaN, and the exact sum of a group must fit into the window.
    """
    assert engine.step.group is not None and engine.window.width is not None, "an engine with groups has a window"
    for operand, fmt in (("a", a), ("b", b)):
        if fmt.has_nan or fmt.has_inf:
            raise ValueError(
                f"{operand}={fmt.name} given with engine {engine.name}; give formats of numbers alone, such as e2m1"
            )
    largest = a.max_magnitude * b.max_magnitude * engine.step.group
    bits = engine.window.width + floor_log2(largest) + 3 + (engine.step.products // engine.step.group).bit_length()
    if bits > BINARY64.fraction_bits + 1:
        raise ValueError(
            f"a={a.name} and b={b.name} given with engine {engine.name}; groups of {engine.step.group} such "
            "products are wider than its window allows; give narrower formats, such as e2m1"
        )
