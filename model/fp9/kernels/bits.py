"""Numba intrinsics that convert the bits of a float to an integer and back."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _bitcast(source: Any, target: Any, llvm_type: Any) -> Any:
    @intrinsic
    def cast(_context: Any, value: Any) -> Any:
        def emit(_c: Any, builder: Any, _s: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_type)

        return target(source), emit

    return cast


float64_bits = _bitcast(types.float64, types.int64, ir.IntType(64))
bits_float64 = _bitcast(types.int64, types.float64, ir.DoubleType())
float32_bits = _bitcast(types.float32, types.uint32, ir.IntType(32))
bits_float32 = _bitcast(types.uint32, types.float32, ir.FloatType())
