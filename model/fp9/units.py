"""Unit specs: everything that can change an output bit or a port of a hardware unit, in one frozen record.

The same record is handed to the golden model (`Unit.evaluate`), to the RTL generator, to the vector generator, to the
test bench and to synthesis; none of them states behaviour of its own. `CATALOGUE` names the units that are built and
checked everywhere.

A unit reads its `inputs` and gives its `outputs`, flat ports of plain unsigned bits. With `stages = 0` it is
combinational. With `stages >= 1` it has in addition `clk`, synchronous `rst`, and the handshakes `in_valid`/`in_ready`
and `out_valid`/`out_ready`; latency is `stages` clocks without back-pressure, throughput one operation a clock.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

from fp9.engine import ENGINES, Engine
from fp9.flags import FLAG_BITS
from fp9.formats import FixedFormat, Format, HiFloat8, Rounding, Specials, format
from fp9.policy import Overflow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[np.unsignedinteger]]

MAX_STAGES = 6
"""Deepest pipeline that a unit offers."""


@dataclass(frozen=True, slots=True)
class Port:
    """One port: `width` bits; `formats` says how to read a code (the select port `select` picks, if there are several).

    `choices` names the values 0, 1, ... of a select port; a value beyond the last name means the last. `signed` bits
    are two's complement.
    """

    name: str
    width: int
    doc: str
    formats: tuple[Format, ...] = ()
    select: str | None = None
    choices: tuple[str, ...] = ()
    signed: bool = False


def select_width(choices: int) -> int:
    """Bits of a port that selects one of so many."""
    return (choices - 1).bit_length()


class Unit(abc.ABC):
    """A hardware unit, said completely. Subclasses are frozen dataclasses, valid once constructed."""

    kind: ClassVar[str]
    name: str
    stages: int

    @property
    @abc.abstractmethod
    def inputs(self) -> tuple[Port, ...]:
        """Data inputs in port order (handshake, clock and reset apart)."""

    @property
    @abc.abstractmethod
    def outputs(self) -> tuple[Port, ...]:
        """Data outputs in port order."""

    @abc.abstractmethod
    def evaluate(self, inputs: Columns) -> dict[str, NDArray[np.unsignedinteger]]:
        """Golden results: one array of shape (n,) for each output, from one of shape (n,) for each input.

        Element i is operation i; a unit with state (`mac`) sees the operations in order, from reset.
        """

    def care(self, outputs: Columns) -> dict[str, NDArray[np.bool_]]:
        """Where an output carries meaning: shape (n,) masks of those that do not always; others always do."""
        return {}

    def describe(self) -> list[str]:
        """The spec as lines `field: value`, for headers and manifests; the same spec gives the same lines."""
        return [f"kind: {self.kind}"] + [f"{f.name}: {_text(getattr(self, f.name))}" for f in fields(self)]  # type: ignore[arg-type]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(v) for v in value)
    if isinstance(value, Format | Engine):
        return value.name
    return str(value.value) if isinstance(value, Rounding | Overflow) else str(value)


def _format_ports(operand: str, formats: tuple[Format, ...], bias_port: bool, doc: str) -> tuple[Port, ...]:
    """The ports of one operand: its code, its format select where there are several, its extra bias where asked for."""
    select = f"{operand}_format" if len(formats) > 1 else None
    ports = [Port(operand, max(f.bits for f in formats), doc, formats, select)]
    if select:
        names = tuple(f.name for f in formats)
        ports.append(Port(select, select_width(len(formats)), f"format of {operand}", choices=names))
    if bias_port and any(has_programmable_bias(f) for f in formats):
        ports.append(Port(f"{operand}_bias", BIAS_BITS, f"extra bias of {operand} in hfp8_143, -8..8", signed=True))
    return tuple(ports)


BIAS_BITS = 5
"""Width of an extra-bias port: two's complement, -8..8 used."""


def has_programmable_bias(fmt: Format) -> bool:
    """Whether hardware can take this format's extra bias on a port (IBM HFP8 1-4-3)."""
    return isinstance(fmt, FixedFormat) and fmt.name.startswith("hfp8_143")


def _formats(unit: str, what: str, names: tuple[Format | str, ...]) -> tuple[Format, ...]:
    formats = tuple(format(name) for name in names)
    if not formats:
        raise ValueError(f"{unit}: no format given for {what}; name at least one")
    if len(set(formats)) != len(formats):
        raise ValueError(f"{unit}: {what} names a format twice; name each once")
    return formats


def _check_stages(unit: str, stages: int, lowest: int = 0) -> None:
    if not lowest <= stages <= MAX_STAGES:
        raise ValueError(f"{unit}: {stages} stages given; give {lowest} to {MAX_STAGES}")


@dataclass(frozen=True)
class Decoder(Unit):
    """8-bit code and format select -> sign, exponent, significand, zero, inf, nan.

    A finite value is (-1)^sign * significand * 2^(exponent - 3), the significand normalised to 8..15 (0 for zero).
    `exponent` carries meaning for finite non-zero operands, `significand` and `sign` for finite ones.
    """

    kind: ClassVar[str] = "decoder"
    name: str
    formats: tuple[Format, ...]
    bias_port: bool = False
    stages: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "formats", _formats(self.name, "formats", self.formats))
        _check_operands(self.name, self.formats)
        _check_stages(self.name, self.stages)

    @property
    def inputs(self) -> tuple[Port, ...]:
        return _format_ports("code", self.formats, self.bias_port, "the operand's code")

    @property
    def exponent_bits(self) -> int:
        """Width of the exponent: two's complement, enough for every number of every format."""
        return exponent_width(self.formats, self.bias_port)

    @property
    def outputs(self) -> tuple[Port, ...]:
        return (
            Port("sign", 1, "1 for a negative operand"),
            Port("exponent", self.exponent_bits, "exponent of the significand's leading bit", signed=True),
            Port("significand", OPERAND_SIGNIFICAND_BITS, "1.3 normalised significand, 0 for zero"),
            Port("zero", 1, "the operand is zero"),
            Port("inf", 1, "the operand is infinite"),
            Port("nan", 1, "the operand is NaN or NaN-Inf"),
        )

    def evaluate(self, inputs: Columns) -> dict[str, NDArray[np.unsignedinteger]]:
        from fp9 import golden

        return golden.decoder(self, inputs)

    def care(self, outputs: Columns) -> dict[str, NDArray[np.bool_]]:
        finite = (outputs["inf"] == 0) & (outputs["nan"] == 0)
        return {
            "sign": outputs["nan"] == 0,
            "significand": finite,
            "exponent": finite & (outputs["zero"] == 0),
        }


OPERAND_SIGNIFICAND_BITS = 4
"""Significand bits of any 8-bit operand, the leading 1 included (spec 3.1)."""


def _is_offered(f: Format) -> bool:
    """Whether the hardware knows a format's special codes."""
    return isinstance(f, HiFloat8) or (isinstance(f, FixedFormat) and f.bits == 8 and f.specials is not Specials.P3109)


def _check_operands(unit: str, formats: tuple[Format, ...]) -> None:
    for f in formats:
        if not _is_offered(f) or (isinstance(f, FixedFormat) and f.fraction_bits > 3):
            raise ValueError(f"{unit}: {f.name} given as operand; give 8-bit formats of at most 3 fraction bits")


def exponent_range(formats: tuple[Format, ...], bias_port: bool) -> tuple[int, int]:
    """Lowest and highest exponent of the leading bit over all finite numbers of the formats."""
    from fp9.formats import HFP8_BIASES, floor_log2, with_bias

    every = [
        variant
        for f in formats
        for variant in ([with_bias(f, b) for b in HFP8_BIASES] if bias_port and has_programmable_bias(f) else [f])
    ]
    exponents = [floor_log2(f.value_of(code)) for f in every for code in (f.smallest_code, f.max_code)]
    return min(exponents), max(exponents)


def exponent_width(formats: tuple[Format, ...], bias_port: bool) -> int:
    """Bits of a two's complement exponent for all numbers of the formats."""
    low, high = exponent_range(formats, bias_port)
    return 1 + max((-low - 1).bit_length() if low < 0 else 0, high.bit_length())


@dataclass(frozen=True)
class Cast(Unit):
    """A 16- or 32-bit float -> any offered 8-bit format; target, rounding and overflow policy for each operation.

    `hybrid` is defined for hif8 alone; where a unit offers it, it means rna for other targets. NaN stays NaN.
    """

    kind: ClassVar[str] = "cast"
    name: str
    source: Format
    targets: tuple[Format, ...]
    roundings: tuple[Rounding, ...]
    overflow: tuple[Overflow, ...] = (Overflow.SATURATE, Overflow.INF)
    stages: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", format(self.source))
        object.__setattr__(self, "targets", _formats(self.name, "targets", self.targets))
        for f in self.targets:
            if not _is_offered(f) or f.nan_code(False) is None:
                raise ValueError(f"{self.name}: {f.name} given as target; give 8-bit formats with a NaN")
        if not isinstance(self.source, FixedFormat) or self.source.bits < 16:
            raise ValueError(f"{self.name}: {self.source.name} given as source; give fp32, fp16, bf16 or dlfloat16")
        if not self.roundings or len(set(self.roundings)) != len(self.roundings):
            raise ValueError(f"{self.name}: name each offered rounding once, and at least one")
        if not self.overflow or len(set(self.overflow)) != len(self.overflow):
            raise ValueError(f"{self.name}: name each offered overflow policy once, and at least one")
        _check_stages(self.name, self.stages)

    @property
    def inputs(self) -> tuple[Port, ...]:
        ports = [Port("x", self.source.bits, f"the {self.source.name} operand", (self.source,))]
        for name, doc, choices in (
            ("target", "target format", tuple(f.name for f in self.targets)),
            ("rounding", "rounding", tuple(r.value for r in self.roundings)),
            ("overflow", "overflow policy", tuple(o.value for o in self.overflow)),
        ):
            if len(choices) > 1:
                ports.append(Port(name, select_width(len(choices)), doc, choices=choices))
        return tuple(ports)

    @property
    def outputs(self) -> tuple[Port, ...]:
        select = "target" if len(self.targets) > 1 else None
        return (Port("result", 8, "the code in the target format", self.targets, select), FLAGS_PORT)

    def evaluate(self, inputs: Columns) -> dict[str, NDArray[np.unsignedinteger]]:
        from fp9 import golden

        return golden.cast(self, inputs)


FLAGS_PORT = Port("flags", FLAG_BITS, "1 inexact, 2 underflow, 4 overflow, 16 invalid (TestFloat and RISC-V order)")


@dataclass(frozen=True)
class Fma(Unit):
    """One stateless step of the dot engine: result = round(a * b + c), the formats of a and b chosen per operation."""

    kind: ClassVar[str] = "fma"
    name: str
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    engine: Engine
    flags: bool = True
    bias_port: bool = False
    stages: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", _formats(self.name, "a", self.a))
        object.__setattr__(self, "b", _formats(self.name, "b", self.b))
        _check_operands(self.name, self.a + self.b)
        if self.engine.products != 1:
            raise ValueError(
                f"{self.name}: engine {self.engine.name} sums {self.engine.products} products; an fma has 1"
            )
        _check_stages(self.name, self.stages, self._lowest_stages)

    @property
    def _lowest_stages(self) -> int:
        return 0

    @property
    def operand_inputs(self) -> tuple[Port, ...]:
        """The ports of a and b, then the addend c."""
        return (
            *_format_ports("a", self.a, self.bias_port, "first factor"),
            *_format_ports("b", self.b, self.bias_port, "second factor"),
            Port("c", self.engine.result.bits, "addend", (self.engine.result,)),
        )

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.operand_inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        result = Port("result", self.engine.result.bits, f"the sum in {self.engine.result.name}", (self.engine.result,))
        return (result, FLAGS_PORT) if self.flags else (result,)

    def evaluate(self, inputs: Columns) -> dict[str, NDArray[np.unsignedinteger]]:
        from fp9 import golden

        return golden.fma(self, inputs)


class MacOp(IntEnum):
    """What a `mac` does to its accumulator; every operation gives the accumulator afterwards."""

    ACCUMULATE = 0
    """acc = round(a * b + acc)"""
    LOAD = 1
    """acc = round(a * b + c): starts a new sum; with a = +0 and b = +0, loads c"""
    CLEAR = 2
    """acc = +0"""
    HOLD = 3
    """acc stays: reads it"""


@dataclass(frozen=True)
class Mac(Fma):
    """The `fma` step around an accumulator register; flags are those of the operation, 0 for CLEAR and HOLD.

    The register is the last of the `stages`; the sum loops through it in one clock, so that operations that depend on
    each other follow each other at full rate at every depth. Reset clears it to +0.
    """

    kind: ClassVar[str] = "mac"
    stages: int = field(default=1)

    @property
    def _lowest_stages(self) -> int:
        return 1

    @property
    def inputs(self) -> tuple[Port, ...]:
        choices = tuple(op.name.lower() for op in MacOp)
        return (Port("op", select_width(len(choices)), "operation", choices=choices), *self.operand_inputs)

    def evaluate(self, inputs: Columns) -> dict[str, NDArray[np.unsignedinteger]]:
        from fp9 import golden

        return golden.mac(self, inputs)


# --- the catalogue --------------------------------------------------------------------------------------------------

_OCP = (format("e4m3"), format("e5m2"))
_HFP8 = (format("hfp8_143"), format("hfp8_152"))
_ALL = (*_OCP, format("hif8"), *_HFP8)
_FP32, _DLFLOAT = ENGINES["fma_fp32"], ENGINES["dlfloat"]
_R = Rounding

CATALOGUE: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        Decoder("decoder_ocp", _OCP),
        Decoder("decoder_hfp8", _HFP8, bias_port=True),
        Decoder("decoder_hif8", (format("hif8"),)),
        Decoder("decoder_all", _ALL, bias_port=True),
        Cast("cast_fp32", format("fp32"), (*_OCP, format("hif8")), (_R.RNE, _R.RNA, _R.HYBRID)),
        Cast("cast_fp32_ocp_rne", format("fp32"), _OCP, (_R.RNE,)),
        Cast("cast_fp16_hif8", format("fp16"), (format("hif8"),), (_R.RNE, _R.RNA, _R.HYBRID)),
        Fma("fma_fp32", _ALL, _ALL, _FP32),
        Fma("fma_fp32_ocp", _OCP, _OCP, _FP32),
        Fma("fma_fp32_e5m2", _OCP[1:], _OCP[1:], _FP32),
        Fma("fma_dlfloat16", _ALL, _ALL, _DLFLOAT),
        Fma("fma_dlfloat16_hfp8", _HFP8, _HFP8, _DLFLOAT),
        Fma("fma_dlfloat16_hfp8_152", _HFP8[1:], _HFP8[1:], _DLFLOAT),
        Fma("fma_dlfloat16_bias", _HFP8, _HFP8, _DLFLOAT, bias_port=True, stages=2),
        Mac("mac_fp32", _ALL, _ALL, _FP32, stages=2),
        Mac("mac_dlfloat16", _ALL, _ALL, _DLFLOAT, stages=2),
    )
}


def unit(name: str | Unit) -> Unit:
    """The catalogue's unit of a name; a `Unit` is returned as it is. Raises ValueError for an unknown name."""
    if isinstance(name, Unit):
        return name
    if name not in CATALOGUE:
        raise ValueError(f"unknown unit {name!r}; the catalogue has: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


__all__ = ["CATALOGUE", "Cast", "Decoder", "Fma", "Mac", "MacOp", "Port", "Specials", "Unit", "unit"]
