"""Encode NaN and infinity in the result format."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value

from fp9.formats import FixedFormat


def packed_magnitude(m: Module, fmt: FixedFormat, magnitude: Value, nan: Value, infinite: Value) -> Signal:
    """Return a result code without its sign. If `nan` is 1, `infinite` must be 1 or `magnitude` must be 0."""
    inf_code, nan_code = fmt.inf_code(False), fmt.nan_code(False)
    assert nan_code is not None, "a result's format has a NaN"
    nan_code &= fmt.sign_mask - 1
    code = Signal(fmt.bits - 1)
    special = Mux(nan, nan_code, Mux(infinite, nan_code if inf_code is None else inf_code, 0))
    m.d.comb += code.eq((magnitude & ~infinite.replicate(fmt.bits - 1)) | special)
    return code
