"""Numba kernel for accumulator units, which process a sequence of operations."""

from __future__ import annotations

import numpy as np

from fp9.engines import MacOp
from fp9.kernels.compiled import kernel
from fp9.kernels.engine_steps import as_addend, take_step
from fp9.kernels.fused import code_value, finish, sum_to_odd

_LOAD, _CLEAR, _FOLD = int(MacOp.LOAD), int(MacOp.CLEAR), int(MacOp.FOLD)


@kernel
def accumulate(result, output, s, op, terms, c, c_codes, limbs, codes, flags):
    """Run the operations `op` (n,), and write the accumulator's codes (n,) and flags (n,)."""
    binades, order, t, mode, table = output
    chunk, filled = 0.0, 0
    total, code = 0.0, np.uint32(0)
    for i in range(op.size):
        flags[i] = 0
        operation = op[i]
        if operation in (_CLEAR, _LOAD):
            chunk, filled = 0.0, 0
            total, code = (c[i], np.uint32(c_codes[i])) if operation == _LOAD else (0.0, np.uint32(0))
        if operation < _CLEAR:
            first = i * s.products
            start = chunk if s.joins else total
            step, value, flags[i] = take_step(result, s, terms, first, first + s.products, start, 0, 1, limbs)
            filled += s.products
            if s.joins:
                chunk = value
            else:
                total, code = value, step
        if s.joins and (filled == s.chunk or (operation >= _FOLD and filled)):
            quiet = chunk != chunk or total != total
            bits = sum_to_odd(chunk, as_addend(total, s.total_floor), mode)
            code, raised = finish(binades, order, t, mode, bits, 0, 1, quiet)
            total = code_value(table, t, code)
            flags[i] |= raised
            chunk, filled = 0.0, 0
        codes[i] = code
