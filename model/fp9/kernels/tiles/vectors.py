"""Builder of vector code in LLVM instructions.

Vector functions use whole vector registers and keep sums in registers, which LLVM does not do for plain loops. The
Python body of a vector function runs once, at compile time, and emits LLVM instructions.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.core import config as _config
from numba.extending import intrinsic, overload
from numba.np import arrayobj as _arrayobj

from fp9.kernels.compiled import inlined
from fp9.kernels.floats import joined, two_sum

config: Any = _config
cgutils: Any = _cgutils
make_array: Any = _arrayobj.make_array

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_FLOATS = {4: (ir.FloatType(), "f32"), 8: (ir.DoubleType(), "f64")}
TOWARD_ZERO, TO_NEAREST, UPWARD, DOWNWARD = range(4)
"""Rounding modes, with the numbers that `llvm.set.rounding` uses."""


def _has_wide_registers() -> bool:
    features = config.CPU_FEATURES
    if features is None:
        return bool(binding.get_host_cpu_features().get("avx512f", False))
    return "+avx512f" in features


WIDE = _has_wide_registers()
"""Whether the machine has 32 vector registers of 64 bytes. Otherwise fp9 assumes 16 registers of 32 bytes."""

REGISTER_BYTES = 64 if WIDE else 32
VECTORS = 4


@inlined
def tile_columns(itemsize: int) -> int:
    return VECTORS * REGISTER_BYTES // itemsize


class Code:
    """Builder of LLVM instructions for vectors of floats, or of integers with as many bits as the floats."""

    def __init__(self, builder: Any, itemsize: int) -> None:
        self.builder = builder
        self.lanes, self.bits = REGISTER_BYTES // itemsize, 8 * itemsize
        scalar, self._suffix = _FLOATS[itemsize]
        self.float, self.int = ir.VectorType(scalar, self.lanes), ir.VectorType(ir.IntType(self.bits), self.lanes)
        self.fraction_bits = int(np.finfo(np.float32 if itemsize == 4 else np.float64).nmant)
        self.exponent_field = (1 << (self.bits - 1 - self.fraction_bits)) - 1

    # Values

    def constant(self, value: float, vector: Any = None) -> Any:
        vector = vector or self.int
        return ir.Constant(vector, [value] * vector.count)

    def splat_integer(self, number: Any) -> Any:
        return self.splat(self.builder.trunc(number, self.int.element) if self.bits < 64 else number)

    def splat(self, scalar: Any, lanes: int | None = None) -> Any:
        vector = ir.VectorType(scalar.type, lanes or self.lanes)
        nothing, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(_I32, vector.count), None)
        one = self.builder.insert_element(nothing, scalar, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(one, nothing, first)

    def part(self, vector: Any, number: int) -> Any:
        places = [number * self.lanes + lane for lane in range(self.lanes)]
        chosen = ir.Constant(ir.VectorType(_I32, self.lanes), places)
        return self.builder.sext(self.builder.shuffle_vector(vector, vector, chosen), self.int)

    def as_bits(self, numbers: Any) -> Any:
        return self.builder.bitcast(numbers, self.int)

    def as_numbers(self, bits: Any) -> Any:
        return self.builder.bitcast(bits, self.float)

    def magnitude(self, numbers: Any) -> Any:
        return self.as_numbers(self.builder.and_(self.as_bits(numbers), self.constant((1 << (self.bits - 1)) - 1)))

    def truncated(self, numbers: Any) -> Any:
        return self._called(f"llvm.trunc.v{self.lanes}{self._suffix}", numbers)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        return self._called(f"llvm.fma.v{self.lanes}{self._suffix}", x, y, z)

    def larger(self, x: Any, y: Any) -> Any:
        return self._called(f"llvm.smax.v{x.type.count}i{x.type.element.width}", x, y)

    def smaller(self, x: Any, y: Any) -> Any:
        return self._called(f"llvm.smin.v{x.type.count}i{x.type.element.width}", x, y)

    def saturating_sum(self, x: Any, y: Any) -> Any:
        return self._called(f"llvm.sadd.sat.v{x.type.count}i{x.type.element.width}", x, y)

    def _called(self, name: str, *arguments: Any) -> Any:
        return self.builder.call(_declared(self.builder.module, name, arguments[0].type, *arguments), arguments)

    # Memory

    def index(self, value: int) -> Any:
        return ir.Constant(_I64, value)

    def as_index(self, number: Any) -> Any:
        return self.builder.sext(number, _I64) if self.bits < 64 else number

    def place(self, row: Any, stride: int | Any, offset: Any = 0) -> Any:
        row, stride, offset = (self.index(x) if isinstance(x, int) else x for x in (row, stride, offset))
        return self.builder.add(self.builder.mul(row, stride), offset)

    def behind(self, pointer: Any, place: Any, scalar: Any) -> Any:
        return self.builder.gep(pointer, [place], source_etype=scalar)

    def load(self, pointer: Any, place: Any, of: Any) -> Any:
        scalar = getattr(of, "element", of)
        value = self.builder.load(self.behind(pointer, place, scalar), typ=of)
        value.align = _size(scalar)
        return value

    def store(self, value: Any, pointer: Any, place: Any) -> None:
        scalar = value.type.element
        stored = self.builder.store(value, self.behind(pointer, place, scalar))
        stored.align = _size(scalar)

    def mark(self, marks: Any, place: Any, lost: list[Any]) -> None:
        # At the index `place`, the array `marks` holds one integer for each lane. The integer of a lane becomes nonzero
        # if at least one of the masks `lost` is true in the lane.
        some = self.builder.zext(functools.reduce(self.builder.or_, lost), self.int)
        self.store(self.builder.or_(self.load(marks, place, self.int), some), marks, place)

    def variable(self, value: Any) -> Variable:
        return Variable(self.builder, value)

    @contextlib.contextmanager
    def loop(self, count: Any) -> Iterator[Any]:
        """Emit a loop around the `with` block, with an index from 0 to `count` - 1."""
        with cgutils.for_range(self.builder, count) as loop:
            yield loop.index


class Variable:
    """Variable that the emitted code can read and set."""

    def __init__(self, builder: Any, value: Any) -> None:
        self._builder, self._type = builder, value.type
        self._slot = cgutils.alloca_once(builder, value.type)
        self.set(value)

    def get(self) -> Any:
        return self._builder.load(self._slot, typ=self._type)

    def set(self, value: Any) -> None:
        self._builder.store(value, self._slot)


def _size(scalar: Any) -> int:
    return next((size for size, (kind, _) in _FLOATS.items() if kind == scalar), 0) or scalar.width // 8


Body = Callable[..., None]


def vector_function(body: Body, carrier: int, rounding: int = TO_NEAREST, watched: bool = False) -> Any:
    """Return a Numba function whose LLVM code is emitted by `body(code, *arguments)`."""

    def typed(_context: Any, arguments: Any) -> Any:
        given = tuple(arguments)
        # The elements of the array argument `carrier` determine the width of the lanes.
        itemsize = given[carrier].dtype.bitwidth // 8

        def emit(context: Any, builder: Any, signature: Any, packed: Any) -> Any:
            values = cgutils.unpack_tuple(builder, packed[0])
            # Array arguments become pointers.
            plain = [_pointer_or_number(context, builder, *pair) for pair in zip(given, values, strict=True)]
            function = _defined(builder.module, f"{body.__module__}.{body.__qualname__}", body, itemsize, plain)
            # The function returns whether any operation was inexact, or True on machines without an inexact flag.
            if watched:
                return _watched(builder, lambda: builder.call(function, plain))
            if rounding != TO_NEAREST:
                _set_rounding(builder, rounding)
            builder.call(function, plain)
            if rounding != TO_NEAREST:
                _set_rounding(builder, TO_NEAREST)
            return context.get_dummy_value()

        return (types.boolean if watched else types.void)(arguments), emit

    return intrinsic(typed)


def _pointer_or_number(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if not isinstance(kind, types.Array):
        return value
    return make_array(kind)(context, builder, value).data


def _defined(module: Any, name: str, body: Body, itemsize: int, arguments: list[Any]) -> Any:
    name = f"{name}.{8 * itemsize}.{len(arguments)}"
    if name in module.globals:
        return module.globals[name]
    kinds = [ir.PointerType() if isinstance(x.type, ir.PointerType) else x.type for x in arguments]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    body(Code(builder, itemsize), *function.args)
    builder.ret_void()
    return function


def _declared(module: Any, name: str, result: Any, *arguments: Any) -> Any:
    return cgutils.get_or_insert_function(module, ir.FunctionType(result, [x.type for x in arguments]), name)


CAN_WATCH = binding.get_process_triple().startswith("x86_64")
"""Whether a watched vector function knows that no operation was inexact."""

_INEXACT = 1 << 5


def _watched(builder: Any, call: Callable[[], Any]) -> Any:
    if not CAN_WATCH:
        call()
        return ir.Constant(ir.IntType(1), 1)
    register = cgutils.alloca_once(builder, _I32)

    def access(name: str) -> None:
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType()])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.sse.{name}"), [register])

    access("stmxcsr")
    builder.store(builder.and_(builder.load(register, typ=_I32), ir.Constant(_I32, ~_INEXACT)), register)
    access("ldmxcsr")
    call()
    access("stmxcsr")
    noted = builder.and_(builder.load(register, typ=_I32), ir.Constant(_I32, _INEXACT))
    return builder.icmp_unsigned("!=", noted, ir.Constant(_I32, 0))


def _set_rounding(builder: Any, mode: int) -> None:
    number = ir.Constant(_I32, mode)
    builder.call(_declared(builder.module, "llvm.set.rounding", ir.VoidType(), number), [number])


@inlined
def take_panel(panel, acc, left):
    # The loops use slices, because LLVM cannot prove that an index such as `left + j` is not negative, and would load
    # one number at a time.
    count = min(panel.shape[1], acc.shape[1] - left)
    for i in range(panel.shape[0]):
        own, x, rest = panel[i], acc[i, left : left + count], panel[i, count:]
        for j in range(count):
            own[j] = x[j]
        for j in range(rest.size):
            rest[j] = 0.0


@inlined
def give_panel(panel, acc, left):
    count = min(panel.shape[1], acc.shape[1] - left)
    for i in range(panel.shape[0]):
        own, x = panel[i], acc[i, left : left + count]
        for j in range(count):
            x[j] = own[j]


@inlined
def join_panel(totals, parts, t, tiny, lost):
    zero = parts.dtype.type(0.0)
    for i in range(parts.shape[0]):
        row, part = totals[i], parts[i]
        if lost is not None:
            mark_joined(lost[i], row, part, t, tiny)
        for j in range(row.size):
            row[j] = joined(np.float64(part[j]), row[j], t)
            part[j] = zero


@inlined
def mark_joined(lost, row, part, t, tiny):
    for j in range(row.size):
        total, error = two_sum(np.float64(part[j]), row[j])
        if error != 0.0 or joined(np.float64(part[j]), row[j], t) != total:
            lost[j] |= -1 if abs(total) <= tiny else 1


def marks_of(lost: Any, panel: Any) -> Any:
    raise NotImplementedError("a part of kernels")


def marks_of_row(marks: Any, row: int) -> Any:
    raise NotImplementedError("a part of kernels")


@overload(marks_of)
def _marks_of(lost, panel):
    if isinstance(lost, types.NoneType):
        return lambda lost, panel: None
    return lambda lost, panel: np.zeros(panel.shape, lost[-1].dtype)


@overload(marks_of_row, jit_options={"forceinline": True})
def _marks_of_row(marks, row):
    return (lambda marks, row: None) if isinstance(marks, types.NoneType) else lambda marks, row: marks[row]
