"""The claims that fp9 proves for each kind of hardware unit, with assumptions and proof cases."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import fp9_rtl
from fp9.engines import ENGINES
from fp9.units import Cast, Decoder, Dot, Fpu, Mul, MultiFpu, Quantiser, Unit, Upcast
from fp9.units.hooks import Hook
from fp9.units.views import sum_of
from fp9_rtl.sums.gating import holds
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.solvers.alike import alike
from fp9_sim.netlists.solvers.hard import hard, perhaps_hard
from fp9_sim.netlists.solvers.solver import Obligation, Verdict, combinational
from fp9_sim.proofs import handshake, order
from fp9_sim.proofs.cones import oblige_cone
from fp9_sim.proofs.handshake import handshake_cases, oblige_handshake
from fp9_sim.proofs.miter import Case, miter
from fp9_sim.proofs.order import oblige_order, order_cases
from fp9_sim.proofs.parts import Lemma, oblige_part, part_cases
from fp9_sim.proofs.specs.casts import stream as stream_spec
from fp9_sim.proofs.specs.casts.amax import amax_case
from fp9_sim.proofs.specs.casts.cast import cast_cases
from fp9_sim.proofs.specs.casts.decoder import decoder_cases, upcast_cases
from fp9_sim.proofs.specs.casts.limit import limit_cases
from fp9_sim.proofs.specs.casts.quantiser import element_cases, quantiser_cases
from fp9_sim.proofs.specs.fpus import conv as conv_spec
from fp9_sim.proofs.specs.fpus import noncomp as noncomp_spec
from fp9_sim.proofs.specs.sums import aligned as aligned_spec
from fp9_sim.proofs.specs.sums import chain as chain_spec
from fp9_sim.proofs.specs.sums import chunk as chunk_spec
from fp9_sim.proofs.specs.sums import fixed as fixed_spec
from fp9_sim.proofs.specs.sums import fpu as fpu_spec
from fp9_sim.proofs.specs.sums import kulisch as kulisch_spec
from fp9_sim.proofs.specs.sums import pair as pair_spec
from fp9_sim.proofs.specs.sums import rounded_product
from fp9_sim.proofs.specs.sums import window as window_spec
from fp9_sim.proofs.specs.sums.step import step_cases, step_of, step_verilog
from fp9_sim.proofs.specs.sums.sum import sum_cases

Oblige = Callable[[str, Case, str], Obligation]

HANDSHAKE, ORDER, SCALES = "handshake", "order", "scales"
CLOCKED = (HANDSHAKE, ORDER, SCALES)
"""Names of the claims about sequences of clock cycles."""
_BIASES = "extra biases are -8..8"
_REGISTERS = (
    "pipeline registers are read as wires; that operations pass them whole and in order is the claim of the order"
)
_OPERATIONS = ", its addend the accumulator, or c with LOAD; CLEAR gives +0 and HOLD the accumulator"


@dataclass(frozen=True)
class Claim:
    """A statement about a hardware unit. A claim holds if the solver proves every case of the claim."""

    name: str
    proves: str
    assumes: tuple[str, ...]
    cases: tuple[Case, ...]
    oblige: Oblige

    def decide(self, verilog: str, case: Case, specification: str, timeout: float) -> Verdict:
        """Decide with a solver whether the unit's Verilog satisfies `specification`.

        `specification` is either `case.specification`, or `case.control`, which contains one deliberate error.
        """
        return self.oblige(verilog, case, specification).decide(timeout)


def _decoder_claims(unit: Decoder) -> list[Claim]:
    assumes = [*([_BIASES] if unit.bias_port else [])]
    proves = "every output that carries meaning equals the table of exact values, for every code of every format"
    return [_values(unit, proves, assumes, tuple(decoder_cases(unit))), *_handshake(unit)]


def _upcast_claims(unit: Upcast) -> list[Claim]:
    assumes = [*([_BIASES] if unit.bias_port else [])]
    proves = "result and flags equal the oracle's, for every code of every format"
    return [_values(unit, proves, assumes, tuple(upcast_cases(unit))), *_handshake(unit)]


def _cast_claims(unit: Cast) -> list[Claim]:
    proves = (
        f"result and flags equal the oracle's thresholds for all 2^{unit.source.bits} inputs, every target, rounding "
        "and overflow policy"
    )
    if any(mode.needs_bits for mode in unit.roundings):
        proves += f"; with sr, all 2^{unit.random_bits} random bits are added below the last place, the rest cut off"
    if unit.scale:
        proves += (
            "; the exponent with the scale, subnormal sources normalised, is what the thresholds are compared with"
        )
    if unit.lanes > 1:
        proves += "; in each lane"
    cases = tuple(cast_cases(unit))
    if unit.amax:
        proves += "; amax is the largest of the operands' finite magnitudes and, without amax_clear, of amax before"
        cases += (amax_case(unit),)
    assumes = ["between neighbouring thresholds the oracle does not change; it is asked at and beside each of them"]
    return [_values(unit, proves, assumes, cases), *_handshake(unit)]


def _quantiser_claims(unit: Quantiser) -> list[Claim]:
    if not unit.block.powers_of_two:
        return _by_limits(unit)
    of_elements = (
        f"elements equal the oracle's thresholds for all 2^{unit.source.bits} inputs at every scale, 0 where it is NaN"
    )
    assumes = ["between neighbouring thresholds neither scales nor elements change; the model is asked at each of them"]
    if unit.lanes is not None:
        return _stream(unit, of_elements, assumes)
    proves = f"the scale is that of the largest magnitude, under every rule, NaN where that is no number; {of_elements}"
    return [_values(unit, proves, assumes, tuple(quantiser_cases(unit))), *_handshake(unit)]


def _by_limits(unit: Quantiser) -> list[Claim]:
    if unit.lanes is not None:
        clocked = {claim.name: claim for claim in _stream(unit, "", [])}
        return [clocked[name] for name in (HANDSHAKE, ORDER)]
    proves = (
        "elements are nearest to their numbers over both scales, for all numbers, all scales of the array and each of "
        "the block; the scale is NaN just where amax or the array's scale is none; with amax in the first place the "
        "scale is that of its quotient, at every code, and at one code in every other place"
    )
    if any(rule.tries for rule in unit.rules):
        proves += "; of tries it is one of theirs or between, which of them is not proven"
    return [_values(unit, proves, [], tuple(limit_cases(unit))), *_handshake(unit)]


def _stream(unit: Quantiser, of_elements: str, assumes: list[str]) -> list[Claim]:
    clocks = functools.partial(stream_spec.oblige_stream, unit)

    named = (stream_spec.BY_NAME,)
    elements, behind = tuple(element_cases(unit)), functools.partial(stream_spec.oblige_behind, unit)
    clocked = (
        (SCALES, stream_spec.PROVES_SCALES, (*assumes, *named), tuple(stream_spec.stream_scale_cases(unit))),
        (HANDSHAKE, stream_spec.PROVES_HANDSHAKE, handshake.ASSUMES, stream_spec.stream_handshake_cases(unit)),
        (ORDER, stream_spec.PROVES_ORDER, order.ASSUMES, stream_spec.stream_order_cases(unit)),
    )
    values = Claim("values", of_elements, (*assumes, *named, stream_spec.FINITE, _REGISTERS), elements, behind)
    return [values, *(Claim(*claim, clocks) for claim in clocked)]


def _product_claims(unit: Mul) -> list[Claim]:
    return [_values(unit, rounded_product.PROVES, [], tuple(rounded_product.product_cases(unit))), *_handshake(unit)]


_PLAIN = ENGINES["fma_fp32"]


def _sum_claims(unit: Dot) -> list[Claim]:
    if holds(unit):
        return _only_handshake(unit, "held factors")
    if not unit.has_state and unit.engine.changed(name=_PLAIN.name) == _PLAIN and not unit.bias_port:
        proves = (
            "result and flags equal the wide exact sum rounded once to nearest even, for all a, b and c; what IEEE 754 "
            "says where one is zero, infinite or NaN"
        )
        return [_values(unit, proves, [], tuple(sum_cases(unit)), hard), *_handshake(unit)]
    if _is_by_parts(unit):
        return [_by_parts("values", unit), *_handshake(unit)]
    if not unit.stages or (unit.engine.chunk.length is not None and unit.has_state) or unit.engine.step.exact:
        return _only_handshake(unit, "this kind of sum")
    step = step_of(unit)
    what = f"the {step.kind} of the same spec without stages"
    proves = f"result and flags equal those of {what}{_OPERATIONS if unit.has_state else ''}"
    of_step = [_by_parts("values of the step", step)] if _is_by_parts(step) else []
    assumes = [f"the values of {what} are a claim{'' if of_step else ', or a sweep,'} of their own"]
    if chain_spec.is_offered(unit):
        by = functools.partial(chain_spec.oblige_chain, unit)
        values = Claim("values", proves, (*assumes, _REGISTERS), part_cases(chain_spec.lemmas(unit)), by)
    else:
        values = _values(unit, proves, assumes, step_cases(unit), alike, step_verilog(unit))
    return [values, *of_step, *_handshake(unit)]


def _fpu_claims(unit: Fpu) -> list[Claim]:
    if not fpu_spec.is_offered(unit):
        return _only_handshake(unit, "operands of two widths")
    by = functools.partial(fpu_spec.oblige_fpu, unit)
    return [Claim("values", fpu_spec.PROVES, fpu_spec.ASSUMES, fpu_spec.cases(unit), by)]


def _multi_fpu_claims(unit: MultiFpu) -> list[Claim]:
    specs = [spec for spec in (noncomp_spec, conv_spec) if spec.is_offered(unit)]
    if not specs or unit.extra_clocks:
        return _only_handshake(unit, "rounded sums" if not unit.extra_clocks else "iterative division")
    claims = [_values(unit, spec.PROVES, list(spec.ASSUMES), tuple(spec.cases(unit)), perhaps_hard) for spec in specs]
    named = zip(specs, claims, strict=True)
    return [*(replace(claim, name=f"values of {spec.GROUP.value}") for spec, claim in named), *_handshake(unit)]


_CONES = (fixed_spec, pair_spec, aligned_spec, kulisch_spec, chunk_spec)


def _is_by_parts(unit: Dot) -> bool:
    return any(spec.is_offered(unit) for spec in (window_spec, *_CONES))


def _by_parts(name: str, unit: Dot) -> Claim:
    # All claims but "values" are proven for the Verilog that fp9 generates for `unit`.
    proves, assumes, lemmas, by = _parts(unit)

    def oblige(verilog: str, case: Case, specification: str) -> Obligation:
        return by(verilog if name == "values" else fp9_rtl.verilog(unit), case, specification)

    return Claim(name, proves, assumes, part_cases(lemmas), oblige)


def _parts(unit: Dot) -> tuple[str, tuple[str, ...], Sequence[Lemma], Oblige]:
    for spec in _CONES:
        if spec.is_offered(unit):
            cones = spec.lemmas(unit)
            return spec.PROVES, spec.ASSUMES, cones, functools.partial(oblige_cone, unit, cones)
    lemmas = window_spec.lemmas(unit)
    proves = window_spec.PROVES + (_OPERATIONS if unit.has_state else "")
    assumes = (_REGISTERS,) if unit.stages else ()
    return proves, assumes, lemmas, functools.partial(oblige_part, unit, lemmas, window_spec.passed(unit))


def _only_handshake(unit: Unit, without: str) -> list[Claim]:
    # The result values of such a unit cannot be proven.
    if not unit.stages:
        raise ValueError(f"{unit.name}: no values are proven of units with {without}; use a sweep, or set stages=1")
    return _handshake(unit)


def _handshake(unit: Unit) -> list[Claim]:
    if not unit.stages:
        return []

    proves, oblige = handshake.proves(unit), functools.partial(oblige_handshake, unit)
    claims = [Claim(HANDSHAKE, proves, handshake.ASSUMES, handshake_cases(unit), oblige)]
    # A gated unit holds factors of earlier operations, several stages read a Kulisch register, and an iterative
    # divider's register reads itself.
    summed = sum_of(unit)
    if not (holds(unit) or unit.extra_clocks or (summed is not None and summed.engine.step.exact)):
        claims.append(Claim(ORDER, order.PROVES, order.ASSUMES, order_cases(), functools.partial(oblige_order, unit)))
    return claims


def _values(
    unit: Unit,
    proves: str,
    assumes: list[str],
    cases: tuple[Case, ...],
    by: Callable[[str, str], Obligation] = combinational,
    beside: str = "",
) -> Claim:
    def oblige(verilog: str, case: Case, specification: str) -> Obligation:
        # `function` replaces pipeline registers by wires.
        return by(function(unit, verilog) + beside, miter(unit, case, specification))

    return Claim("values", proves, (*assumes, *([_REGISTERS] if unit.stages else [])), cases, oblige)


claims_of: Hook[[], list[Claim]] = Hook(
    "proof",
    {
        Decoder: _decoder_claims,
        Upcast: _upcast_claims,
        Cast: _cast_claims,
        Quantiser: _quantiser_claims,
        Mul: _product_claims,
        Dot: _sum_claims,
        Fpu: _fpu_claims,
        MultiFpu: _multi_fpu_claims,
    },
)
"""Return the claims about a unit. Raises ValueError for a kind of unit without claims."""
