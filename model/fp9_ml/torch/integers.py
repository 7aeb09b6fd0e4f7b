"""Matrix products of floating-point codes, computed with exact torch operations only, on any device.

Exact operations do not round, so a compiler that fuses or reorders the operations does not change the result. The
module represents a number by three values: a signed significand, the exponent of the significand's last bit, and a kind
(finite, infinite or NaN). For most accumulator models with an alignment window, the module `windows` computes the
accumulation steps.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fp9.engines import Addend, Engine, Truncation
from fp9.engines import engine as find_engine
from fp9.formats import FixedFormat, Format, floor_log2, format
from fp9.formats.rounding import Overflow, Rounding
from fp9.sums.operands import lowest_bits, power_table
from fp9_ml.torch.windows import window_of

_FINITE, _PLUS, _MINUS, _NAN = range(4)
# Alignment exponent of zeros, which is below all other exponents.
_NOTHING = -(1 << 12)
# Width of a significand before its rounding, in bits. The last bit is sticky.
_WIDE = 58
_LIMB = 36


class _Target(NamedTuple):
    fraction: int
    lowest: int
    top: int
    limit: int
    subnormals: bool
    signed_zero: bool
    bias: int
    padding: int
    bits: int
    plus: int
    minus: int
    nan: int
    invalid: int


def _target(fmt: FixedFormat, nan: int | None = None, invalid: int | None = None) -> _Target:
    top, own = floor_log2(fmt.max_magnitude), fmt.nan_code(False)
    assert own is not None, "a result format has a NaN"
    limit = int(fmt.max_magnitude * Fraction(2) ** (fmt.fraction_bits - top))
    plus, minus, quiet = (own if code is None else code for code in (fmt.inf_code(False), fmt.inf_code(True), nan))
    return _Target(
        fmt.fraction_bits,
        fmt.min_normal_exponent,
        top,
        limit,
        fmt.subnormals,
        fmt.signed_zero,
        fmt.bias,
        fmt.padding,
        fmt.bits,
        plus,
        minus,
        quiet,
        quiet if invalid is None else invalid,
    )


class _Sum(NamedTuple):
    m: Tensor
    e: Tensor
    kind: Tensor
    minus: Tensor


@dataclass(frozen=True)
class _Table:
    # Each number is m * 2^(top - fraction), or an infinity or NaN.

    m: Tensor
    top: Tensor
    kind: Tensor
    minus: Tensor
    fraction: int
    lowest: int
    highest: int
    infinite: bool


@functools.lru_cache(maxsize=32)
def _table(fmt: Format) -> _Table:
    values, powers = fmt.table, power_table(fmt)
    some = powers > 0
    tops = np.where(some, np.frexp(np.where(some, powers, 1.0))[1] - 1, _NOTHING)
    fraction = int((tops - lowest_bits(np.where(some, values, 1.0)))[some].max())
    m = np.where(some, np.ldexp(np.where(some, values, 0.0), fraction - np.where(some, tops, 0)), 0.0)
    kind = np.where(np.isnan(values), _NAN, np.where(np.isinf(values), np.where(values > 0, _PLUS, _MINUS), _FINITE))
    arrays = (m.astype(np.int64), tops, kind, np.signbit(values))
    made = [torch.from_numpy(np.ascontiguousarray(each)) for each in arrays]
    used = tops[some]
    reach = int(used.min()), int(used.max())
    significands, exponents, kinds = (each.to(torch.int64) for each in made[:3])
    return _Table(significands, exponents, kinds, made[3], fraction, *reach, fmt.has_inf)


def _length(x: Tensor) -> Tensor:
    # The conversion to float64 is exact. Its exponent is the length less 1.
    large = x >= 1 << 32
    length = (torch.where(large, x >> 32, x).double().view(torch.int64) >> 52) - 1022
    return length.clamp(min=0) + 32 * large


def _most(x: Tensor) -> int:
    # Largest distance by which integers of the tensor's type can be shifted, in bits.
    return 62 if x.dtype == torch.int64 else 31


def _right(x: Tensor, by: Tensor) -> Tensor:
    # If a 1 is shifted out, the last bit of the result becomes 1 (sticky bit).
    by = by.clamp(0, _most(x))
    kept = x >> by
    return kept | ((kept << by) != x).to(x.dtype)


def _rounded(total: Tensor, e: Tensor, fmt: _Target, rounding: Rounding) -> _Sum:
    size, minus = total.abs(), total < 0
    length, fraction, lowest = _length(size), fmt.fraction, fmt.lowest
    drop = length - fraction - 1
    if fmt.subnormals:
        drop = torch.maximum(drop, lowest - fraction - e)
    down = drop.clamp(0, 62)
    kept = torch.where(drop > 0, size >> down, size << (-drop).clamp(0, 62))
    rest, half = size - ((size >> down) << down), (torch.ones_like(size) << down) >> 1
    kept = _AWAY[rounding](kept, rest, half, drop > 0)
    carried = kept >> (fraction + 1)
    kept, last = torch.where(carried > 0, kept >> 1, kept), e + drop + carried
    if not fmt.subnormals:  # the smallest number is just above the power of two of its binade
        tiny = (last + fraction < lowest) | ((last + fraction == lowest) & (kept <= 1 << fraction))
        smallest = torch.where((size > 0) & (rounding is Rounding.RTO), (1 << fraction) + 1, 0)
        kept, last = torch.where(tiny, smallest, kept), torch.where(tiny, lowest - fraction, last)
    top, limit = fmt.top, fmt.limit
    normal = kept >> fraction > 0
    above = normal & ((last + fraction > top) | ((last + fraction == top) & (kept > limit)))
    kind = torch.where(above, torch.where(minus, _MINUS, _PLUS), _FINITE)
    is_signed = (size > 0) & ((kept > 0) | fmt.signed_zero)
    return _Sum(torch.where(minus, -kept, kept), last, kind, minus & is_signed)


def _nearest(kept: Tensor, rest: Tensor, half: Tensor, some: Tensor) -> Tensor:
    return kept + (some & ((rest > half) | ((rest == half) & (kept & 1 == 1))))


# Arguments: the kept bits, the dropped bits, half an ulp in units of the dropped bits, and whether bits are dropped.
_AWAY: dict[Rounding, Any] = {
    Rounding.RNE: _nearest,
    Rounding.RNA: lambda kept, rest, half, some: kept + (some & (rest >= half)),
    Rounding.RTZ: lambda kept, rest, half, some: kept,
    Rounding.RTO: lambda kept, rest, half, some: kept | (some & (rest > 0)),
}
_CUT: dict[Truncation, Any] = {
    Truncation.ZERO: lambda size, minus, by: _signed(size >> by.clamp(0, _most(size)), minus),
    Truncation.FLOOR: lambda size, minus, by: _signed(size, minus) >> by.clamp(0, _most(size)),
    Truncation.JAM: lambda size, minus, by: _signed(_right(size, by), minus),
}


def _signed(size: Tensor, minus: Tensor) -> Tensor:
    return torch.where(minus, -size, size)


def _moved(m: Tensor, by: Tensor) -> Tensor:
    return torch.where(by >= 0, m << by.clamp(0, 62), m >> (-by).clamp(0, 62))


def _added(m: Tensor, e: Tensor, n: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    # The last bit of the returned significand is sticky.
    sizes = [(x.abs(), x < 0, torch.where(x == 0, _NOTHING, y), _WIDE - _length(x.abs())) for x, y in ((m, e), (n, d))]
    scaled = [(size << up.clamp(0, 62), minus, last - up) for size, minus, last, up in sizes]
    top = torch.maximum(scaled[0][2], scaled[1][2])
    parts = [_signed(_right(size, top - last), minus) for size, minus, last in scaled]
    return parts[0] + parts[1], top


def _kinds(a: Tensor, b: Tensor) -> Tensor:
    opposed = (a != b) & (a != _FINITE) & (b != _FINITE)
    return torch.where(opposed, _NAN, torch.maximum(a, b))


def _infinities(x: Tensor) -> Tensor:
    return torch.where(x == torch.inf, _PLUS, torch.where(x == -torch.inf, _MINUS, _FINITE))


def _ended(given: Tensor, found: Tensor) -> Tensor:
    return torch.where(given == _FINITE, found, given)


# --- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """Products of one accumulation step, for each element of an (m, n) matrix product."""

    a: tuple[Tensor, ...]
    b: tuple[Tensor, ...]
    tables: tuple[_Table, _Table]

    def some(self, begin: int, stride: int) -> _Step:
        cut = slice(begin, None, stride)
        return _Step(tuple(x[:, cut] for x in self.a), tuple(x[:, cut] for x in self.b), self.tables)

    @property
    def size(self) -> Tensor:
        return self.a[0] * self.b[0]

    @property
    def top(self) -> Tensor:
        return self.a[1] + self.b[1]

    @property
    def minus(self) -> Tensor:
        return self.a[3] ^ self.b[3]

    @property
    def zero(self) -> Tensor:
        return (self.a[0] == 0).any(1) | (self.b[0] == 0).any(1)

    @property
    def fraction(self) -> int:
        return self.tables[0].fraction + self.tables[1].fraction

    @property
    def nan(self) -> Tensor:
        return (self.a[2] == _NAN).any(1) | (self.b[2] == _NAN).any(1)

    def kind(self) -> Tensor:
        nan = self.nan
        if all(not table.infinite for table in self.tables):
            return torch.where(nan, _NAN, _FINITE)
        endless = (self.a[2] != _FINITE) | (self.b[2] != _FINITE)
        zero = ((self.a[0] == 0) & (self.a[2] == _FINITE)) | ((self.b[0] == 0) & (self.b[2] == _FINITE))
        plus, minus = (endless & ~self.minus).any(1), (endless & self.minus).any(1)
        invalid = nan | (endless & zero).any(1) | (plus & minus)
        return torch.where(invalid, _NAN, torch.where(plus, _PLUS, torch.where(minus, _MINUS, _FINITE)))


def _cut_sum(engine: Engine, step: _Step, largest: Tensor) -> Tensor:
    # The sum is an integer multiple of 2^(largest - window width).
    assert engine.window.width is not None
    wide = engine.window.width - step.fraction
    by = largest[:, None].to(step.top.dtype) - step.top + max(-wide, 0)
    found: Tensor = _CUT[engine.window.truncation](step.size << max(wide, 0), step.minus, by).sum(1)
    return found


def _exponent(c: _Sum, lowest: int) -> Tensor:
    return torch.where(c.m == 0, _NOTHING, (c.e + _length(c.m.abs()) - 1).clamp(min=lowest))


def _window(engine: Engine, lowest: int, step: _Step, c: _Sum) -> tuple[Tensor, Tensor]:
    window = engine.window
    assert window.width is not None
    largest, zero = step.top.amax(1), step.zero
    if window.addend is Addend.INSIDE:
        largest = torch.maximum(largest, _exponent(c, lowest))
        zero = zero | (c.m == 0)
    if window.zero_exponent is not None:
        largest = torch.where(zero, largest.clamp(min=window.zero_exponent), largest)
    unit, nothing = largest - window.width, largest < _NOTHING // 2
    total = _cut_sum(engine, step, largest)
    if window.addend is Addend.OUTSIDE:
        total, unit = _added(total, unit, c.m, c.e)
    elif window.addend is Addend.ALIGNED:
        kept = _CUT[window.truncation](c.m.abs(), c.m < 0, unit - c.e)
        total, unit = _added(total, unit, kept, torch.maximum(c.e, unit))
    else:
        up = (c.e - unit).clamp(0, 40)
        total = total + _CUT[window.truncation](c.m.abs() << up, c.m < 0, unit - c.e)
    return torch.where(nothing, c.m, total), torch.where(nothing, c.e, unit)


def _joined(engine: Engine, lowest: int, step: _Step, c: _Sum) -> tuple[Tensor, Tensor]:
    # The rounding follows `engine_steps.join_halves`.
    n, wide = engine.window.width, engine.window.interleaved
    assert n is not None and wide is not None
    halves = [half for half in (step.some(0, 2), step.some(1, 2)) if half.a[0].shape[1]]
    tops = [half.top.amax(1) for half in halves]
    products = tops[0] if len(tops) == 1 else torch.maximum(*tops)
    of_c = _exponent(c, lowest).clamp(min=lowest)
    top = torch.maximum(products, of_c)
    dot = torch.zeros_like(c.m)
    for half, own in zip(halves, tops, strict=True):
        dot = dot + _moved(_cut_sum(engine, half, own), own - products)
    total = torch.where(products < _NOTHING // 2, 0, _moved(dot, (products - top + wide + 1 - n).clamp(min=-62)))
    cut = torch.where(of_c + n + 1 >= top, _moved(c.m, (c.e + n - top).clamp(-62, 62)), 0)
    total, unit = total + (cut << (wide + 1 - n)), top - wide - 1
    places = ((unit + _length(total.abs()) - 1).clamp(min=lowest) - wide - unit).clamp(0, 62)
    return total >> places, unit + places


def _exact(step: _Step, c: _Sum) -> tuple[Tensor, Tensor]:
    # The last bit of the returned significand is sticky.
    lowest = sum(table.lowest for table in step.tables) - step.fraction
    place = (step.top - step.fraction - lowest).clamp(min=0)
    size = _signed(step.size, step.minus)
    if sum(table.highest - table.lowest for table in step.tables) + step.fraction < _LIMB:
        m = (size << place).sum(1)
        return _added(m, torch.full_like(m, lowest), c.m, c.e)
    low = torch.where(place < _LIMB, size << place.clamp(0, _LIMB), 0).sum(1)
    high = torch.where(place < _LIMB, 0, size << (place - _LIMB).clamp(0, 46)).sum(1)
    high, low = high + (low >> _LIMB), low & ((1 << _LIMB) - 1)
    minus = high < 0
    high, low = (
        torch.where(minus, -high - (low > 0).to(high.dtype), high),
        torch.where(minus, -low & ((1 << _LIMB) - 1), low),
    )
    drop = (_length(high) - (_WIDE - _LIMB)).clamp(0, _LIMB)
    m = (high << (_LIMB - drop)) | _right(low, drop)
    return _added(_signed(m, minus), lowest + drop, c.m, c.e)


def _stepped(engine: Engine, target: _Target, step: _Step, c: _Sum) -> _Sum:
    if engine.window.interleaved is not None:
        total, e = _joined(engine, target.lowest, step, c)
    elif engine.window.width is not None:
        total, e = _window(engine, target.lowest, step, c)
    else:
        total, e = _exact(step, c)
    found = _rounded(total, e, target, engine.result.rounding)
    minus = found.minus
    if engine.window.width is None:  # only a sum of negative zeros is -0
        zeros = (c.m == 0) & c.minus & (step.size == 0).all(1) & step.minus.all(1)
        minus = torch.where(total == 0, zeros & target.signed_zero, minus)
    else:
        minus = minus & (found.m != 0)
    return found._replace(kind=_ended(_kinds(step.kind(), c.kind), found.kind), minus=minus)


def _zeros(m: int, n: int, like: Tensor) -> _Sum:
    zero = torch.zeros((m, n), dtype=torch.int64, device=like.device)
    return _Sum(zero, zero, zero, zero > 0)


def _code(total: _Sum, fmt: _Target, quiet: Tensor) -> Tensor:
    size = total.m.abs()
    field = ((total.e + fmt.fraction + fmt.bias) << fmt.fraction) + size - (1 << fmt.fraction)
    code = torch.where(size == 0, 0, field << fmt.padding)
    code = code | ((total.minus & (total.kind == _FINITE)).to(torch.int64) << (fmt.bits - 1))
    code = torch.where(total.kind == _PLUS, fmt.plus, torch.where(total.kind == _MINUS, fmt.minus, code))
    return torch.where(total.kind == _NAN, torch.where(quiet, fmt.nan, fmt.invalid), code)


# --- products ---------------------------------------------------------------------------------------------------------


def _check(engine: Engine, a: Format, b: Format, reach: int, lowest: int) -> None:
    missing = {
        f"rounding {engine.result.rounding.value}": engine.result.rounding not in _AWAY,
        f"overflow {engine.result.overflow.value}": engine.result.overflow is not Overflow.INF,
        "scaled groups": engine.step.group is not None,
        "zero_bypass": engine.nan.zero_bypass,
        "infinities that cancel": engine.nan.infinity_run is not None and (a.has_inf or b.has_inf),
        f"operands {a.name} x {b.name}": a.bits > 8
        or b.bits > 8
        or (engine.window.width is None and reach > _LIMB + 46),
        "flushed numbers": (engine.result.flush or engine.result.flush_addend)
        and lowest < max(fmt.min_normal_exponent for fmt in (engine.result.format, engine.output)),
    }
    for what, is_missing in missing.items():
        if is_missing:
            raise ValueError(
                f"engine {engine.name} has {what}, which the integer path does not support; call fp9.matmul with the "
                "codes"
            )


@torch.library.custom_op("fp9::look_up", mutates_args=())
def _look_up(table: Tensor, codes: Tensor) -> Tensor:
    # An operator of its own, because a compiler would repeat the look-up in the loops of the product.
    return table[codes].contiguous()


@_look_up.register_fake
def _(table: Tensor, codes: Tensor) -> Tensor:
    return table.new_empty(codes.shape)


# Size of products that are computed together in bytes, on the CPU (in its caches) and on other devices.
_CPU_TILE, _TILE = 1 << 20, 1 << 28


class Product(torch.nn.Module):
    """PyTorch module that multiplies two matrices of codes with the arithmetic of an accumulator model.

    For the codes `a` (M, K) and `b` (K, N), the module returns the same result codes as the function `matmul`.
    """

    def __init__(self, format_a: Format | str, format_b: Format | str, engine: Engine | str) -> None:
        super().__init__()
        chosen, formats = find_engine(engine), (format(format_a), format(format_b))
        self._engine, self._formats = chosen, formats
        self._tables = first, second = _table(formats[0]), _table(formats[1])
        fraction = first.fraction + second.fraction
        reach = first.highest - first.lowest + second.highest - second.lowest + fraction
        _check(chosen, *formats, reach, first.lowest + second.lowest - fraction)
        self._window = window_of(chosen, *formats)
        # Whether the kind of a result does not depend on the order of its operands.
        self._is_plain = self._window is not None and not (first.infinite or second.infinite)
        narrow = max(chosen.window.width or _WIDE, fraction) + 2 < 31  # bits of a product in its window
        dtype = torch.int32 if narrow else torch.int64
        for side, fmt, table in zip("ab", formats, self._tables, strict=True):
            numbers = self._window.tables(fmt) if self._window else (table.m.abs().to(dtype), table.top.to(dtype))
            for index, each in enumerate((*numbers, table.kind, table.minus)):
                self.register_buffer(f"_{side}{index}", each, persistent=False)
        nans = chosen.nan.code, chosen.nan.invalid_code
        self._step_target = _target(chosen.result.format, *(nans if chosen.chunk.length is None else (None, None)))
        self._target, self._rounding = _target(chosen.output, *nans), chosen.output_rounding

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the codes of the product of `a` (M, K) and `b` (K, N), as int64."""
        codes = _ordered(self._engine, a.to(torch.int64), b.to(torch.int64).t(), self._formats)
        left, right = self._entries("a", codes[0]), self._entries("b", codes[1].t())
        if torch.compiler.is_compiling():  # the compiler divides the loops
            return self._rows(left, right)
        products = codes[0].shape[1] if self._engine.step.exact else self._engine.step.products
        tile = _CPU_TILE if a.device.type == "cpu" else _TILE
        rows = max(1, tile // max(1, products * b.shape[1] * left[0].element_size()))
        firsts = range(0, max(1, a.shape[0]), rows)
        return torch.cat([self._rows(tuple(x[first : first + rows] for x in left), right) for first in firsts])

    def _entries(self, side: str, codes: Tensor) -> tuple[Tensor, ...]:
        return tuple(_look_up(getattr(self, f"_{side}{index}"), codes) for index in range(4))

    def _rows(self, left: tuple[Tensor, ...], right: tuple[Tensor, ...]) -> Tensor:
        (m, depth), n, chunk = left[0].shape, right[0].shape[1], self._engine.chunk.length
        total, quiet = _zeros(m, n, left[0]), torch.zeros((m, n), dtype=torch.bool, device=left[0].device)
        for begin in range(0, depth, max(chunk or depth, 1)):
            part, is_quiet = self._chunk(left, right, begin, min(begin + (chunk or depth), depth))
            if chunk is not None:
                if not self._engine.result.format.has_inf:  # its code of an overflow is a NaN
                    part = part._replace(kind=torch.where(part.kind == _FINITE, _FINITE, _NAN))
                is_quiet = (total.kind == _NAN) | (part.kind == _NAN)
            quiet = is_quiet
            total = part if chunk is None else self._joined(total, part)
        if self._is_plain:
            nan = (left[2] == _NAN).any(1)[:, None] | (right[2] == _NAN).any(0)
            total, quiet = total._replace(kind=torch.where(nan, _NAN, total.kind)), quiet | nan
        return _code(total, self._target, quiet)

    def _chunk(self, left: tuple[Tensor, ...], right: tuple[Tensor, ...], begin: int, end: int) -> tuple[_Sum, Tensor]:
        part = _zeros(left[0].shape[0], right[0].shape[1], left[0])
        quiet, products = part.minus, end - begin if self._engine.step.exact else self._engine.step.products
        if self._window is not None:
            part = part._replace(m=part.m.to(self._window.dtype))
        for first in range(begin, end, products):
            some = slice(first, min(first + products, end))
            step = _Step(tuple(x[:, some, None] for x in left), tuple(x[None, some] for x in right), self._tables)
            if not self._is_plain:
                quiet = (part.kind == _NAN) | step.nan
            part = self._stepped(step, part)
        if self._window is None:
            return part, quiet
        m, e = self._window.integers(part.m)
        return _Sum(m, e, _ended(part.kind, _infinities(part.m)), m < 0), quiet

    def _stepped(self, step: _Step, part: _Sum) -> _Sum:
        if self._window is None:
            return _stepped(self._engine, self._step_target, step, part)
        m = self._window.add(step.a, step.b, part.m)
        if self._is_plain:
            return part._replace(m=m)
        ended = _infinities(m)
        kind = _ended(_kinds(step.kind(), part.kind), ended)
        return part._replace(m=torch.where(ended == _FINITE, m, 0.0), kind=kind)

    def _joined(self, total: _Sum, part: _Sum) -> _Sum:
        joined = _rounded(*_added(total.m, total.e, part.m, part.e), self._target, self._rounding)
        kind = _ended(_kinds(total.kind, part.kind), joined.kind)
        both = (total.m == 0) & (part.m == 0) & total.minus & part.minus & self._target.signed_zero
        return joined._replace(kind=kind, minus=joined.minus | both)


def matmul(a: Tensor, b: Tensor, format_a: Format | str, format_b: Format | str, engine: Engine | str) -> Tensor:
    """Multiply the codes `a` (M, K) by the codes `b` (K, N), and return codes in the accumulator model's output format.

    The tensors `a` and `b` may have any integer type. The result has the dtype int64, and is bit-identical to
    `fp9.matmul`. If the extra fp9[cuda] is installed, a CUDA kernel multiplies tensors on a CUDA device. Without a CUDA
    kernel, exact torch operations on integers and float64 numbers are used, and the operand formats must have at most 8
    bits. For `torch.compile`, use the module `Product`.

    Raises ValueError for accumulator models with scaled groups, stochastic rounding or `zero_bypass`.
    """
    found = _by_kernel(a, b, (format(format_a), format(format_b)), find_engine(engine)) if a.is_cuda else None
    if found is None:
        found = Product(format_a, format_b, engine).to(a.device)(a, b)
    return found


@functools.lru_cache(maxsize=256)
def supports(format_a: Format, format_b: Format, engine: Engine, device: torch.device) -> bool:
    kernels = _kernels() if device.type == "cuda" else None
    try:
        _ = kernels.source(format_a, format_b, engine) if kernels else Product(format_a, format_b, engine)
    except ValueError:
        return False
    return True


def _kernels() -> Any:
    try:
        from fp9_ml.torch import cuda  # optional, slow to load
    except ImportError:
        return None
    return cuda


_WIDTHS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def _by_kernel(a: Tensor, b: Tensor, formats: tuple[Format, Format], engine: Engine) -> Tensor | None:
    cuda = _kernels()
    if cuda is None:
        return None
    left, right = (x.to(_WIDTHS[fmt.dtype.itemsize]) for x, fmt in zip((a, b), formats, strict=True))
    found: Tensor = cuda.matmul(left, right, *formats, engine).to(torch.int64) & ((1 << engine.output.bits) - 1)
    return found


def _ordered(engine: Engine, a: Tensor, b: Tensor, formats: tuple[Format, ...]) -> tuple[Tensor, Tensor]:
    if engine.chunk.interleave is None or engine.chunk.length is None:
        return a, b
    missing = -a.shape[1] % engine.chunk.length
    fill = [fmt.code_of(Fraction(0)) for fmt in formats]
    padded = [torch.nn.functional.pad(x, (0, missing), value=code) for x, code in zip((a, b), fill, strict=True)]
    order = torch.tensor(engine.order(a.shape[1] + missing), dtype=torch.int64, device=a.device)
    return padded[0][:, order], padded[1][:, order]
