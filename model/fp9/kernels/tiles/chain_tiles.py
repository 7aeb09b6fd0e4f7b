"""Generator of vector code that multiplies matrices in register tiles, without an alignment window."""

from __future__ import annotations

from typing import Any

from fp9.kernels.compiled import inlined
from fp9.kernels.tiles.vectors import VECTORS, Code, vector_function

BLOCK = 64
"""Number of products that are packed at once, rounded down to whole steps, but at least one step."""


def none(_code: Code, x: Any) -> Any:
    return x


def to_even(code: Code, x: Any, scale: Any) -> Any:
    # Add and then subtract s, where s is 2^drop times the largest power of two up to |x|. The last bit of the
    # intermediate sum has the same weight as the last bit of the result.
    sign_and_exponent = code.constant(-1 << code.fraction_bits)
    power = code.as_numbers(code.builder.and_(code.as_bits(x), sign_and_exponent))
    return code.fma(power, code.builder.fneg(scale), code.fma(power, scale, x))


def away(code: Code, x: Any, scale: Any) -> Any:
    one = code.constant(1)
    drop = code.builder.sub(
        code.builder.lshr(code.as_bits(scale), code.constant(code.fraction_bits)),
        code.constant(code.exponent_field >> 1),
    )
    half = code.builder.shl(one, code.builder.sub(drop, one))
    mask = code.builder.neg(code.builder.add(half, half))
    return code.as_numbers(code.builder.and_(code.builder.add(code.as_bits(x), half), mask))


def to_even_anywhere(code: Code, x: Any, scale: Any, limit: Any, *_: Any) -> Any:
    # As `to_even`, but below `limit`, the smallest normal number, the last bits of all results have the same weight.
    # One and a half times `scale` serves numbers of both signs, so that only a result of zero needs the sign of `x`.
    builder = code.builder
    exponents = code.constant(code.exponent_field << code.fraction_bits)
    power = code.as_numbers(builder.and_(code.as_bits(x), exponents))
    power = builder.select(builder.fcmp_ordered(">", power, limit), power, limit)
    scale = builder.fmul(scale, code.constant(1.5, code.float))
    rounded = code.fma(power, builder.fneg(scale), code.fma(power, scale, x))
    return code.as_numbers(builder.or_(code.as_bits(rounded), _sign(code, x)))


def away_anywhere(code: Code, x: Any, scale: Any, limit: Any, *_: Any) -> Any:
    return _flushed(code, x, code.as_bits(away(code, x, scale)), limit)


def _flushed(code: Code, x: Any, rounded: Any, limit: Any) -> Any:
    # Below `limit`, results are zero.
    is_small = code.builder.fcmp_ordered("<", code.magnitude(x), limit)
    magnitude = code.builder.select(is_small, code.constant(0), rounded)
    return code.as_numbers(code.builder.or_(magnitude, _sign(code, x)))


def _sign(code: Code, x: Any) -> Any:
    return code.builder.and_(code.as_bits(x), code.constant(-1 << (code.bits - 1)))


def at_edge(code: Code, x: Any, drop: Any, bias: Any, tie: Any, mask: Any, limit: Any, magic: Any, *_: Any) -> Any:
    builder, size = code.builder, code.magnitude(x)
    usual = _to_nearest(code, x, drop, bias, tie, mask)
    small = code.as_bits(builder.fsub(builder.fadd(size, magic), magic))
    small = builder.or_(small, _sign(code, x))
    return code.as_numbers(builder.select(builder.fcmp_ordered("<", size, limit), small, usual))


# Integer operations leave the processor's inexact flag to the sums.


def subnormals_in_bits(code: Code, x: Any, drop: Any, bias: Any, tie: Any, mask: Any, limit: Any, *_: Any) -> Any:
    # Below `limit`, the smallest normal number, the last bits of all results have the weight of the limit's last bit.
    builder, size = code.builder, code.magnitude(x)
    is_small = builder.fcmp_ordered("<", size, limit)
    added = builder.select(is_small, limit, code.constant(0.0, code.float))
    rounded = code.as_numbers(_to_nearest(code, builder.fadd(size, added), drop, bias, tie, mask))
    return code.as_numbers(builder.or_(code.as_bits(builder.fsub(rounded, added)), _sign(code, x)))


def flushed_in_bits(code: Code, x: Any, drop: Any, bias: Any, tie: Any, mask: Any, limit: Any, *_: Any) -> Any:
    return _flushed(code, x, _to_nearest(code, x, drop, bias, tie, mask), limit)


def _to_nearest(code: Code, x: Any, drop: Any, bias: Any, tie: Any, mask: Any) -> Any:
    builder, bits = code.builder, code.as_bits(x)
    odd = builder.and_(builder.lshr(bits, drop), tie)
    return builder.and_(builder.add(bits, builder.add(bias, odd)), mask)


def changed(code: Code, exact: Any, rounded: Any, *_facts: Any) -> Any:
    return code.builder.xor(code.as_bits(exact), code.as_bits(rounded))


def changed_or_tiny(code: Code, exact: Any, rounded: Any, *facts: Any) -> Any:
    # If `doubt` is 1, the accumulators' type may not hold all bits of a tiny sum.
    tiny, doubt = facts[-2:]
    size, bits = code.magnitude(exact), changed(code, exact, rounded)
    is_tiny = code.builder.fcmp_ordered("<=", size, tiny)
    some = code.builder.fcmp_unordered("!=", size, code.constant(0.0, code.float))
    marked = code.builder.neg(code.builder.or_(bits, doubt))
    return code.builder.select(code.builder.and_(is_tiny, some), marked, bits)


def _carry(code: Code, rows: int, sides: tuple[Any, ...], row: Any, turns: tuple[Any, Any], rounding: Any) -> None:
    a, depth, b, acc, out, first = sides
    steps, products = turns
    width = VECTORS * code.lanes
    left = [code.place(code.builder.add(row, code.index(r)), depth, first) for r in range(rows)]
    cells = _cells(code, rows, row)
    sums = [code.variable(code.load(acc, cell, code.float)) for cell in cells]

    def add(k: Any) -> None:
        start = code.place(k, width)
        own = [code.load(b, code.place(v, code.lanes, start), code.float) for v in range(VECTORS)]
        for r in range(rows):
            x = code.splat(code.load(a, code.builder.add(left[r], k), code.float.element))
            for y, total in zip(own, sums[r * VECTORS : (r + 1) * VECTORS], strict=True):
                total.set(code.fma(y, x, total.get()))

    with code.loop(steps) as step:
        if products is None:
            add(step)
        else:
            with code.loop(products) as turn:
                add(code.place(step, products, turn))
        for place, total in enumerate(sums):
            total.set(rounding(place, total.get()))
    for total, cell in zip(sums, cells, strict=True):
        code.store(total.get(), out, cell)


def _cells(code: Code, rows: int, row: Any) -> list[Any]:
    width = VECTORS * code.lanes
    places = [code.place(code.builder.add(row, code.index(r)), width) for r in range(rows)]
    return [code.place(v, code.lanes, place) for place in places for v in range(VECTORS)]


def rounding_tile(
    rows: int, rounding: Any, facts: int = 0, several: bool = False, mark: Any = changed, watched: bool = False
) -> Any:
    """Return a vector function that adds products to a register tile, and rounds after each step."""

    def tile(
        code: Code, a: Any, depth: Any, b: Any, acc: Any, first: Any, row: Any, steps: Any, products: Any, *others: Any
    ) -> None:
        # The others are `facts` scalars for `rounding`, and an optional integer array, which receives a nonzero integer
        # for each inexact sum.
        lost, known = others[facts:], [code.splat(x) for x in others[:facts]]
        cells = _cells(code, rows, row)
        marks = [code.variable(code.load(x, cell, code.int)) for x in lost for cell in cells]

        def rounded(place: int, exact: Any) -> Any:
            result = rounding(code, exact, *known)
            if marks:
                lost_bits = mark(code, exact, result, *known)
                marks[place].set(code.builder.or_(marks[place].get(), lost_bits))
            return result

        turns = (steps, products if several else None)
        _carry(code, rows, (a, depth, b, acc, acc, first), row, turns, rounded)
        for value, cell in zip(marks, cells, strict=bool(marks)):
            code.store(value.get(), lost[0], cell)

    tile.__qualname__ = f"chain_{rows}{rounding.__name__}{'_several' if several else ''}"
    return vector_function(tile, carrier=0, watched=watched)


def watched_tile(rows: int) -> Any:
    def tile(code: Code, a: Any, depth: Any, b: Any, acc: Any, out: Any, first: Any, row: Any, steps: Any) -> None:
        _carry(code, rows, (a, depth, b, acc, out, first), row, (steps, None), lambda _place, total: total)

    tile.__qualname__ = f"watched_{rows}"
    return vector_function(tile, carrier=0, watched=True)


def directed_tiles(rows: int, mode: int) -> Any:
    def tiles(
        code: Code, a: Any, depth: Any, b: Any, acc: Any, out: Any, first: Any, listed: Any, count: Any, steps: Any
    ) -> None:
        with code.loop(count) as number:
            row = code.load(listed, number, number.type)
            _carry(code, rows, (a, depth, b, acc, out, first), row, (steps, None), lambda _place, total: total)

    tiles.__qualname__ = f"directed_{rows}"
    return vector_function(tiles, carrier=0, rounding=mode)


@inlined
def pack(values, b, left):
    count = min(values.shape[1], b.shape[1] - left)
    for k in range(b.shape[0]):
        own, x = values[k], b[k, left : left + count]
        for j in range(count):
            own[j] = x[j]
