"""Generate CUDA kernels that compute matrix products, and round the sums as an accumulator model does.

The kernel `fp9_tiles` computes tiles of the result matrix in integer arithmetic. The kernel `fp9_tiles` leaves out sums
that overflow, and sums with an infinite or NaN operand. The kernel `fp9_sums` supports every accumulator model, and
computes the sums that `fp9_tiles` leaves out. `fp9_tiles` and `fp9_sums` return the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from fp9.cmodel.dot_products import Operands, engine_text, function_name
from fp9.cmodel.formats import layout_of
from fp9.cmodel.headers import shared
from fp9.cmodel.text import filled, identifier, part
from fp9.engines import Addend, Engine, Truncation, check_grouped
from fp9.formats import FixedFormat, Format, fixed_format, floor_log2, format
from fp9.formats.rounding import Overflow, Rounding

# Rows and columns of a tile of sums.
TILE = 64
# Threads of a CUDA block. Each thread computes 4 x 4 sums of a tile.
THREADS = 256
# Smallest number of products per sum that are in shared memory at a time, unless a step has more products.
_SLAB = 32
# Alignment exponent of operands that are zero.
_NOTHING = -8192


@dataclass(frozen=True, slots=True)
class Kernels:
    """CUDA source of the kernel `fp9_sums` and, if `tiled` is true, also of the kernel `fp9_tiles`."""

    # The parameters of both kernels are (a, b, d, redo, m, n, k, row_a, column_a, row_b, column_b).
    # - The arrays `a` (m, k), `b` (k, n) and `d` (m, n) hold the codes of two matrices and of their product.
    # - The strides `row_a`, `column_a`, `row_b` and `column_b` count elements.
    # - `redo` (m, n), uint8, marks the sums that `fp9_tiles` leaves to `fp9_sums`. If `redo` is a null pointer,
    #   `fp9_sums` computes all sums.
    # A CUDA thread block of `fp9_tiles` has `THREADS` threads and computes `TILE` x `TILE` sums.
    source: str
    tiled: bool


def kernels(format_a: Format | str, format_b: Format | str, engine: Engine) -> Kernels:
    """Return CUDA source that multiplies matrices of codes in the given formats.

    Raises ValueError for an accumulator model with random bits or `zero_bypass`. Raises ValueError if an accumulator
    model that adds groups of products does not support the pair of formats.
    """
    formats = format(format_a), format(format_b)
    a, b = formats
    if engine.step.group is not None:
        check_grouped(engine, a, b)
    types = {"code_a": _type(a), "code_b": _type(b), "code_d": _type(engine.output)}
    given = Operands(
        filled("const @{code_a} *a, long long step_a, const @{code_b} *b, long long step_b", types),
        lambda side, index: f"fp9_{identifier(a if side == 'a' else b)}_decode({side}[({index}) * step_{side}])",
    )
    text = engine_text(engine, list(dict.fromkeys(formats)), [], given=given)
    tiled = _is_tiled(engine, a, b)
    parts = ("flush", *text.parts, *["align"] * tiled)
    words = types | {"name": function_name(engine, formats)}
    source = [
        "#define FP9_NO_FLOAT\n",
        shared([fixed_format("fp32"), a, b, *text.formats], parts),
        text.functions,
        filled(_SUMS, words),
        filled(part("tiles", ".cuh"), words | _tile_words(engine, a, b)) if tiled else "",
    ]
    return Kernels("\n".join(source), tiled)


def _type(fmt: Format) -> str:
    return f"uint{8 * fmt.dtype.itemsize}_t"


_SUMS = """\
extern "C" __global__ void fp9_sums(
    const @{code_a} *a, const @{code_b} *b, @{code_d} *d, const uint8_t *redo, int m, int n, int k,
    long long row_a, long long column_a, long long row_b, long long column_b)
{
    const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = place / n, column = place % n;
    uint32_t flags;
    if (row >= m || (redo && !redo[place])) return;
    d[place] = (@{code_d})@{name}_dot(
        a + row * row_a, column_a, b + column * column_b, row_b, 0, 0, k, 0, &flags);
}
"""


def _is_tiled(engine: Engine, a: Format, b: Format) -> bool:
    window, result = engine.window, engine.result
    if window.width is None or not all(isinstance(fmt, FixedFormat) for fmt in (a, b, result.format)):
        return False
    fractions = layout_of(a).aligned + layout_of(b).aligned
    return (
        (window.truncation, window.addend) == (Truncation.ZERO, Addend.INSIDE)
        and window.interleaved is None
        and engine.step.group is None
        and engine.step.products % 2 == 0
        and not (result.flush or result.flush_addend or engine.nan.zero_bypass)
        and result.rounding in (Rounding.RTZ, Rounding.RNE)
        and result.overflow is Overflow.INF
        and isinstance(result.format, FixedFormat)
        and result.format.subnormals
        and a.signed
        and b.signed
        and max(window.width, fractions) + 2 <= 30  # a shifted product has 32 bits
        and result.format.fraction_bits <= window.width + 2
    )


def _tile_words(engine: Engine, a: Format, b: Format) -> dict[str, object]:
    fmt, window, products = engine.result.format, engine.window, engine.step.products
    assert isinstance(fmt, FixedFormat) and window.width is not None, "the engine must have tiles"
    fractions = layout_of(a).aligned + layout_of(b).aligned
    top = floor_log2(fmt.max_magnitude)
    lowest = sum(each.min_normal_exponent for each in (a, b))
    bits = max(window.width, fractions) + 3 + products.bit_length()
    steps, chunk = max(1, _SLAB // products), engine.chunk
    run = chunk.interleave
    place = (
        "i + first"
        if run is None
        else f"(i / {run} * {engine.steps_of_chunk} + first / {products}) * {run} + i % {run}"
    )
    return {
        "format_a": identifier(a),
        "format_b": identifier(b),
        "output": identifier(engine.output),
        "word": "int32_t" if bits <= 31 else "int64_t",
        "unsigned": "uint32_t" if bits <= 31 else "uint64_t",
        "bits_of": "32 - __clz((int)" if bits <= 31 else "64 - __clzll((long long)",
        "word_bits": 32 if bits <= 31 else 64,
        "products": products,
        "steps": steps,
        "slab": products * steps,
        "window": window.width,
        "lift": max(window.width - fractions, 0),
        "drop": max(fractions - window.width, 0),
        "nothing": _NOTHING,
        "chunk": chunk.length or "k",
        "padded": "CHUNK" if run else "members",
        "place": place,
        "fraction": fmt.fraction_bits,
        "lowest": fmt.min_normal_exponent,
        "highest": top,
        "limit": int(fmt.max_magnitude / 2**top * 2**fmt.fraction_bits),
        "bias": fmt.bias,
        "padding": fmt.padding,
        "sign": fmt.bits - 1,
        "nearest": int(engine.result.rounding is Rounding.RNE),
        "zeros": 0 if window.zero_exponent is None or lowest - fractions >= window.zero_exponent else 1,
        "zero_exponent": window.zero_exponent or 0,
        "joins": int(chunk.length is not None),
        "join": f"{function_name(engine, [a, b])}_join" if chunk.length else "",
        "tile": TILE,
        "threads": THREADS,
    }
