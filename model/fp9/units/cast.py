"""The `cast` unit, which rounds 16-bit or 32-bit floats to 8-bit formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.formats import FixedFormat, Format, HiFloat8, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.units.base import (
    FLAGS_PORT,
    GIVE_WIDE,
    WIDE_BITS,
    Columns,
    Port,
    Unit,
    check_offers,
    check_shared,
    format_tuple,
    select_width,
)
from fp9.units.clocking import OMIT_IF_DEFAULT

SCALE_BITS = 8
"""Width in bits of the scale input, which is a two's complement number."""

MAX_LANES = 64

MAX_RANDOM_BITS = 24


@dataclass(frozen=True)
class Cast(Unit):
    """Convert a 16-bit or 32-bit float to an 8-bit format.

    Every operation selects a target format, a rounding mode and an overflow policy for all its operands. An operation
    has `lanes` operands.

    With `scale`, the unit multiplies the operand exactly by 2^scale before rounding, whereas `fp9.encode` multiplies by
    2^-scale. NaN and infinities are not scaled.

    With the stochastic rounding mode `sr`, each lane has an input port `random` of `random_bits` bits. The unit adds
    the random bits to the source bits below the target's last bit. The rounding mode `hybrid` needs FP32, FP16 or BF16
    operands. For target formats other than hif8, the rounding mode `hybrid` rounds like `rna` (to nearest, ties away
    from zero).

    With `amax`, the output `amax` is the largest finite magnitude of all operands since reset. The input `scale` does
    not affect the output `amax`. If an operation sets the input `amax_clear`, a new maximum starts with the operands of
    this operation.
    """

    kind: ClassVar[str] = "cast"
    # All operands and results are finite numbers, so that the target formats need no NaN.
    finite_only: ClassVar[bool] = False
    name: str
    source: FixedFormat
    targets: tuple[Format, ...]
    roundings: tuple[Rounding, ...]
    overflow: tuple[Overflow, ...] = (Overflow.SATURATE, Overflow.INF)
    scale: bool = False
    amax: bool = False
    lanes: int = 1
    random_bits: int = 16
    stages: int = 0
    nan_sign: NanSign = field(default=NanSign.KEPT, metadata=OMIT_IF_DEFAULT)
    """Rule for the sign of NaN results. RISC-V has no negative NaN. Arm gives a sign only to a NaN for an infinity."""
    nan: tuple[int, ...] = field(default=(), metadata=OMIT_IF_DEFAULT)
    """Positive NaN codes of the targets, such as Arm's 0x7E for E5M2. If empty, targets use their canonical NaN."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", format(self.source))
        object.__setattr__(self, "targets", format_tuple(self.name, "targets", self.targets))
        self._check_targets()
        if not isinstance(self.source, FixedFormat) or self.source.bits < WIDE_BITS or self.source.padding:
            raise ValueError(f"{self.name}: {self.source.name} given as source; {GIVE_WIDE}")
        check_offers(self.name, "rounding", self.roundings)
        check_offers(self.name, "overflow policy", self.overflow)
        if any(mode.reads_source for mode in self.roundings):
            self._check_source_bits()
        if not 1 <= self.lanes <= MAX_LANES:
            raise ValueError(f"{self.name}: {self.lanes} lanes given; give 1 to {MAX_LANES}")
        if not 1 <= self.random_bits <= MAX_RANDOM_BITS:
            raise ValueError(f"{self.name}: {self.random_bits} random bits given; give 1 to {MAX_RANDOM_BITS}")
        check_shared(self, lowest=1 if self.amax else 0, beside="amax=true")
        self._check_nan()

    def _check_nan(self) -> None:
        if not self.nan:
            return
        if len(self.nan) != len(self.targets):
            raise ValueError(f"{self.name}: {len(self.nan)} codes given for nan; give one for each target, or none")
        for target, code in zip(self.targets, self.nan, strict=True):
            try:
                CastPolicy(nan=code).check(target)
            except ValueError as error:
                raise ValueError(f"{self.name}: target {target.name}: {error}") from None

    def _check_targets(self) -> None:
        for f in self.targets:
            if f.bits != 8 or f.nan_code(False) is None:
                raise ValueError(f"{self.name}: {f.name} given as target; give 8-bit formats with a NaN")

    def _check_source_bits(self) -> None:
        try:
            HiFloat8.threshold_bits(self.source)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def policy(self, target: Format, rounding: Rounding, overflow: Overflow) -> CastPolicy:
        # `rna` replaces rounding modes that the target format does not support.
        offered = rounding if target.offers(rounding) else Rounding.RNA
        nan = self.nan[self.targets.index(target)] if self.nan else None
        return CastPolicy(offered, overflow, nan_sign=self.nan_sign, nan=nan)

    def lane_names(self, port: str) -> tuple[str, ...]:
        """Return the names of a signal's ports, with one port for each lane, such as x0 and x1 for the signal x."""
        return (port,) if self.lanes == 1 else tuple(f"{port}{lane}" for lane in range(self.lanes))

    @property
    def inputs(self) -> tuple[Port, ...]:
        ports = [
            Port(x, self.source.bits, f"the {self.source.name} operand", (self.source,)) for x in self.lane_names("x")
        ]
        for name, doc, choices in (
            ("target", "target format", tuple(f.name for f in self.targets)),
            ("rounding", "rounding", tuple(r.value for r in self.roundings)),
            ("overflow", "overflow policy", tuple(o.value for o in self.overflow)),
        ):
            if len(choices) > 1:
                ports.append(Port(name, select_width(len(choices)), doc, choices=choices))
        if self.scale:
            ports.append(Port("scale", SCALE_BITS, "the operand is multiplied by 2^scale", signed=True))
        if any(mode.needs_bits for mode in self.roundings):
            ports += [Port(r, self.random_bits, "random bits of sr") for r in self.lane_names("random")]
        if self.amax:
            ports.append(Port("amax_clear", 1, "amax starts again with this operation"))
        return tuple(ports)

    @property
    def outputs(self) -> tuple[Port, ...]:
        select = "target" if len(self.targets) > 1 else None
        ports = []
        for result, flags in zip(self.lane_names("result"), self.lane_names("flags"), strict=True):
            width = max(f.bits for f in self.targets)
            ports.append(Port(result, width, "the code in the target format", self.targets, select))
            ports.append(Port(flags, FLAGS_PORT.width, FLAGS_PORT.doc))
        if self.amax:
            ports.append(Port("amax", self.source.bits, "largest finite magnitude so far", (self.source,)))
        return tuple(ports)

    @property
    def has_state(self) -> bool:
        return self.amax

    @property
    def state_output(self) -> str | None:
        return "amax" if self.amax else None

    def restarts(self, inputs: Columns) -> NDArray[np.bool_]:
        return inputs["amax_clear"] != 0 if self.amax else super().restarts(inputs)
