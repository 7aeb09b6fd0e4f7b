"""Numba kernel for accumulator units, which run a sequence of operations (see `units.Mac`)."""

from __future__ import annotations

import numpy as np

from fp9.engines import MacOp
from fp9.kernels.compiled import kernel
from fp9.kernels.engine_steps import as_addend, take_step
from fp9.kernels.fused import code_value, finish, sum_to_odd

_LOAD, _CLEAR, _FOLD = int(MacOp.LOAD), int(MacOp.CLEAR), int(MacOp.FOLD)


@kernel
def accumulate(
    binades, order, t, mode, table, out_binades, out_order, out_t, out_mode, out_table, s,
    op, a, b, power_a, power_b, c, c_codes, limbs, codes, flags,
):  # fmt: skip
    """Run the operations `op` (n,) from reset, and write the accumulator's code and flags after each one.

    Operands and their alignment powers are flat arrays with s.products numbers for each operation. `c` holds
    the addends as numbers, `c_codes` their codes. `limbs` is work space for exact sums.
    """
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
            step, value, flags[i] = take_step(
                binades, order, t, mode, table, s, a, b, power_a, power_b, first, first + s.products,
                chunk if s.joins else total, 0, 1, limbs,
            )  # fmt: skip
            filled += s.products
            if s.joins:
                chunk = value
            else:
                total, code = value, step
        if s.joins and (filled == s.chunk or (operation >= _FOLD and filled)):
            quiet = chunk != chunk or total != total
            bits = sum_to_odd(chunk, as_addend(total, s.total_floor), out_mode)
            code, raised = finish(out_binades, out_order, out_t, out_mode, bits, 0, 1, quiet)
            total = code_value(out_table, out_t, code)
            flags[i] |= raised
            chunk, filled = 0.0, 0
        codes[i] = code
