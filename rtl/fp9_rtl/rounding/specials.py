"""The packer of specials: what stands in a result's code where it is no finite number."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value

from fp9.formats import FixedFormat


def packed_magnitude(m: Module, fmt: FixedFormat, magnitude: Value, nan: Value, infinite: Value) -> Signal:
    """A code without its sign: NaN where `nan`; else infinity where `infinite`, NaN in a format without; `magnitude`.

    A NaN whose code is the sign alone, that of -0, is 0.
    Where `nan` is 1, either `infinite` is, too, or the magnitude is 0. Infinity shares its exponent with NaN: the bits
    that both have are forced, the others cleared.
    """
    inf_code, nan_code = fmt.inf_code(False), fmt.nan_code(False)
    assert nan_code is not None, "a result's format has a NaN"
    nan_code &= fmt.sign_mask - 1
    code = Signal(fmt.bits - 1)
    special = Mux(nan, nan_code, Mux(infinite, nan_code if inf_code is None else inf_code, 0))
    m.d.comb += code.eq((magnitude & ~infinite.replicate(fmt.bits - 1)) | special)
    return code
