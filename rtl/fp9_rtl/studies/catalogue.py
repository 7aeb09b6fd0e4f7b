"""Definitions of the studies that `fp9 study` runs, such as the hardware cost of number formats and rounding modes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any, cast

from fp9.engines import Engine, engine
from fp9.formats import FixedFormat, Format, Rounding, fixed_format, format
from fp9.names import unknown
from fp9.units import CATALOGUE, MAX_STAGES, Cast, Decoder, Division, Dot, Fma, Fpu, FpuGroup, Mac, MultiFpu, Unit
from fp9_rtl.studies.study import Chart, Study, Variant

_OCP = ("e4m3", "e5m2")
_HFP8 = ("hfp8_143", "hfp8_152")
_SINGLE = (
    "e5m2",
    "hfp8_152",
    "e5m2fnuz",
    "binary8p3",
    "e4m3",
    "hfp8_143",
    "e4m3fnuz",
    "e4m3ieee",
    "binary8p4",
    "f143(bias=10)",
    "hif8",
)
"""8-bit formats that studies measure one by one. The first format is the baseline."""

_SETS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in _SINGLE},
    "e4m3 + e5m2": _OCP,
    "hfp8_143 + hfp8_152": _HFP8,
    "e4m3 + e5m2 + hif8": (*_OCP, "hif8"),
}

_Names = Iterable["str | Format"]


def _formats(names: _Names) -> tuple[Format, ...]:
    return tuple(format(name) for name in names)


def _name(*parts: object) -> str:
    return re.sub(r"\W+", "_", "_".join(str(part) for part in parts)).strip("_")


def _fma(a: _Names, b: _Names, step: Engine | str, *, flags: bool = True, bias: bool = False, stages: int = 0) -> Fma:
    first, second, step = _formats(a), _formats(b), engine(step)
    tags = [*(["bias"] if bias else []), *([] if flags else ["no_flags"]), *([f"stages{stages}"] if stages else [])]
    named = _name("fma", step.name, *(f.name for f in first), "by", *(f.name for f in second), *tags)
    return Fma(named, first, second, step, flags=flags, bias_port=bias, stages=stages)


def _dot(operands: _Names, step: str) -> Dot:
    formats, sums = _formats(operands), engine(step)
    kind = Fma if sums.step.products == 1 else Dot
    return kind(_name(kind.kind, sums.name, *(f.name for f in formats)), formats, formats, sums)


def _cast(source: str, targets: _Names, roundings: Iterable[Rounding], *, random_bits: int = 16) -> Cast:
    formats, offered = _formats(targets), tuple(roundings)
    tags = [*(r.value for r in offered), *([random_bits] if any(mode.needs_bits for mode in offered) else [])]
    named = _name("cast", source, *(f.name for f in formats), *tags)
    return Cast(named, fixed_format(source), formats, offered, random_bits=random_bits)


def _without_subnormals(fmt: Format) -> FixedFormat:
    assert isinstance(fmt, FixedFormat)
    return dataclasses.replace(fmt, name=f"{fmt.name} without subnormals", subnormals=False)


def _with_subnormals(fmt: FixedFormat) -> FixedFormat:
    return dataclasses.replace(fmt, name=f"{fmt.name} with subnormals", subnormals=True)


# --- formats -------------------------------------------------------------------------------------------------------


def _operand_formats(result: str, step: str) -> Study:
    return Study(
        f"formats_{result}",
        f"Operand formats, one at a time, multiply-add to {result}",
        f"What does a multiply-add to {result} cost if both operands have one format?",
        tuple(Variant(name, _fma([name], [name], step)) for name in _SINGLE),
    )


def _decoders() -> Study:
    variants = [Variant(label, Decoder(_name("decoder", *names), _formats(names))) for label, names in _SETS.items()]
    return Study(
        "decoders",
        "Decoders",
        "What does a decoder of 8-bit codes cost?",
        tuple(variants),
    )


def _cast_formats() -> Study:
    variants = [Variant(label, _cast("fp32", names, [Rounding.RNE])) for label, names in _SETS.items()]
    question = "What does a cast from FP32 cost, to each 8-bit format and to several? The rounding is to nearest even."
    return Study("cast_formats", "Targets of a cast", question, tuple(variants))


def _mixed(result: str, step: str, narrow: str, wide: str) -> Study:
    both = (wide, narrow)
    variants = (
        Variant(f"{narrow} only", _fma([narrow], [narrow], step)),
        Variant(f"{wide} only", _fma([wide], [wide], step)),
        Variant(f"{wide} by {narrow}, fixed", _fma([wide], [narrow], step)),
        Variant("mixed: either, for each operand", _fma(both, both, step)),
        Variant("mixed and hif8", _fma((*both, "hif8"), (*both, "hif8"), step)),
        Variant(
            "over mixed: adding hif8", _fma((*both, "hif8"), (*both, "hif8"), step), "mixed: either, for each operand"
        ),
    )
    question = (
        f"What does a multiply-add cost if each operation can choose {wide} or {narrow} for each operand? It is "
        f"compared with {narrow} only."
    )
    return Study(f"mixed_{result}", f"Mixed operands, multiply-add to {result}", question, variants)


def _mixed_fpu() -> Study:
    pairs = {"hfp8_152 only": _formats(_HFP8[1:]), "mixed": _formats(_HFP8)}
    variants = [
        Variant(label, Fpu(_name("fpu", *(f.name for f in pair)), pair, pair, engine("fmma")))
        for label, pair in pairs.items()
    ]
    question = "What do mixed HFP8 operands cost in the FPU of two 8-bit products, a 16-bit multiply-add and casts?"
    return Study("mixed_fpu", "Mixed operands, fpu", question, tuple(variants))


def _multi(name: str) -> MultiFpu:
    return cast(MultiFpu, CATALOGUE[name])


def _fpu(label: str, base: str, over: str | None = None, **changed: Any) -> Variant:
    unit = _multi(base)
    return Variant(label, dataclasses.replace(unit, name=_name(base, label), **changed) if changed else unit, over)


def _groups_without(left_out: FpuGroup) -> Variant:
    groups = tuple(group for group in _MOST if group is not left_out)
    return _fpu(f"without {left_out.value}", "fpu_ocp_fp16", "with intconv", groups=groups)


_MOST = (FpuGroup.ADDMUL, FpuGroup.CONV, FpuGroup.NONCOMP, FpuGroup.INTCONV)


def _fpu_groups() -> Study:
    base = "fpu_ocp_fp16"
    three = _MOST[:3]
    variants = (
        _fpu("addmul, conv, noncomp", base),
        _fpu("with intconv", base, groups=_MOST),
        *map(_groups_without, three),
        _fpu("with divsqrt", base, groups=(*three, FpuGroup.DIVSQRT)),
        _fpu("with dot", base, groups=(*three, FpuGroup.DOT)),
    )
    question = (
        "What does each group of operations cost in an FPU for e4m3, e5m2 and fp16? Rows without a group are compared "
        "with the row that has intconv, too."
    )
    return Study("fpu_groups", "Groups of operations of an FPU", question, variants)


def _fpu_division() -> Study:
    base, groups = "fpu_ocp_fp16", (FpuGroup.ADDMUL, FpuGroup.CONV, FpuGroup.DIVSQRT)
    variants = (
        _fpu("array", base, groups=groups, stages=2),
        _fpu("iterative", base, groups=groups, stages=2, division=Division.ITERATIVE),
        _fpu("without divsqrt", base, groups=groups[:2], stages=2),
    )
    question = (
        "How much area does an iterative divider save in an FPU for e4m3, e5m2 and fp16? The units have two stages and "
        "the groups addmul and conv."
    )
    return Study("fpu_division", "Division and square root in an FPU", question, variants)


def _fpu_fields() -> Study:
    base, hif8, ocp, pair = "fpu_ocp_fp16", "fpu_hif8_bf16", "e4m3, e5m2, fp16", "hif8, bf16"
    elements = _formats(("e2m1", "e3m2", "e2m3", *_OCP, "fp16"))
    sr, hybrid = (*_multi(base).roundings, Rounding.SR), (*_multi(hif8).roundings, Rounding.HYBRID)
    variants = (
        _fpu("e5m2, fp16", base, formats=_formats(("e5m2", "fp16"))),
        _fpu(ocp, base),
        _fpu(f"{ocp}, sr of 8 bits", base, ocp, roundings=sr, random_bits=8),
        _fpu(f"{ocp}, e2m1, e3m2, e2m3", base, ocp, formats=elements),
        _fpu(f"{ocp} in 2 lanes, intconv", base, ocp, groups=_MOST, lanes=2),
        _fpu(f"{ocp} in 2 lanes, intconv, not mixed", base, ocp, groups=_MOST, lanes=2, mixed=False),
        _fpu(pair, hif8, pair),
        _fpu(f"{pair}, hybrid", hif8, pair, roundings=hybrid),
    )
    question = (
        "What do formats, roundings and lanes cost in an FPU with the groups addmul, conv and noncomp and five "
        "roundings? A row that is not mixed has one format for both factors."
    )
    return Study("fpu_fields", "Formats, roundings and lanes of an FPU", question, variants)


def _fpu_words() -> Study:
    base, formats = "fpu_ocp_fp32", _formats((*_OCP, "fp16", "fp32"))
    variants = (
        _fpu("e4m3, e5m2, fp32", base),
        _fpu("and fp16", base, formats=formats),
        _fpu("and fp16, with 16-bit lanes", base, formats=formats, half_lanes=True),
    )
    question = "What do fp16 and its two lanes cost in an FPU with a word of 32 bits and four 8-bit lanes?"
    return Study("fpu_words", "FP16 in an FPU of 32 bits", question, variants)


def _results() -> Study:
    steps = {"fp32": "fma_fp32", "e8m13": "fma_fp32(result=e8m13)", "fp16": "fma_fp16"}
    steps |= {"bf16": "fma_bf16", "dlfloat16": "fma_fp32(result=dlfloat16)"}
    variants = [Variant(label, _fma(_OCP, _OCP, step)) for label, step in steps.items()]
    question = "What does each result format of a multiply-add cost? Operands are mixed e4m3/e5m2."
    return Study("results", "Result formats of a multiply-add", question, tuple(variants))


def _block(operands: _Names, products: int, scale: str | None) -> Dot:
    formats, sums = _formats(operands), engine(f"mx(G={products})")
    named = _name("dot", sums.name, *(f.name for f in formats), scale or "unscaled")
    return Dot(named, formats, formats, sums, scale=None if scale is None else format(scale))


def _blocks(products: int) -> Study:
    fp8, fp6, fp4 = _OCP, ("e2m3", "e3m2"), "e2m1"
    plain = "e4m3, without scales"
    variants = (
        Variant("e4m3", _block(fp8[:1], products, "e8m0")),
        Variant(plain, _block(fp8[:1], products, None)),
        *(Variant(name, _block([name], products, "e8m0")) for name in (*fp6, fp4)),
        Variant("e4m3, e5m2, e2m3, e3m2 or e2m1", _block((*fp8, *fp6, fp4), products, "e8m0")),
        Variant("e2m1 with ue4m3 scales", _block([fp4], products, "ue4m3"), fp4),
    )
    question = (
        f"What does an exact dot product of {products} block elements cost, with two scales and an FP32 addend? Rows "
        "show what FP6 and FP4 save, what e8m0 scales cost, and what ue4m3 scales cost."
    )
    return Study("blocks", "Elements and scales of blocks", question, variants)


# --- policies ------------------------------------------------------------------------------------------------------


def _subnormals(result: str, step: str) -> Study:
    base = engine(step)
    kept = base.result.format if base.result.format.subnormals else _with_subnormals(base.result.format)
    flushed = _without_subnormals(base.result.format) if base.result.format.subnormals else base.result.format
    plain = [_without_subnormals(format(name)) for name in _OCP]

    def unit(operands: _Names, fmt: FixedFormat) -> Fma:
        return _fma(operands, operands, base.changed(name=f"{step} to {fmt.name}", result=fmt))

    with_result = (
        Variant("of the result and addend", unit(plain, kept)),
        Variant("of operands, addend and result", unit(_OCP, kept)),
    )
    without = (Variant("none", unit(plain, flushed)), Variant("of the operands", unit(_OCP, flushed)))
    variants = with_result if flushed.bits == 32 else (*without, *with_result)  # an FP32 addend always has subnormals
    question = (
        f"What do subnormal numbers cost in a multiply-add of mixed e4m3/e5m2 to {result}? In a format without them, "
        "the lowest exponent has normal numbers, as in HFP8."
    )
    return Study(f"subnormals_{result}", f"Subnormal numbers, multiply-add to {result}", question, variants)


def _subnormals_cast() -> Study:
    plain = [_without_subnormals(format(name)) for name in _OCP]
    variants = (
        Variant("none", _cast("fp32", plain, [Rounding.RNE])),
        Variant("of the targets", _cast("fp32", _OCP, [Rounding.RNE])),
    )
    question = (
        "What do subnormal results cost in a cast from FP32 to e4m3 or e5m2? In a format without them, the lowest "
        "exponent has normal numbers, as in HFP8."
    )
    return Study("subnormals_cast", "Subnormal numbers, cast", question, variants)


def _flags() -> Study:
    steps = {"fp32": "fma_fp32", "fp16": "fma_fp16", "dlfloat16": "dlfloat"}
    variants = []
    for result, step in steps.items():
        variants.append(Variant(f"{result}, no flags", _fma(_OCP, _OCP, step, flags=False), f"{result}, no flags"))
        variants.append(Variant(f"{result}, flags", _fma(_OCP, _OCP, step), f"{result}, no flags"))
    question = "What do the IEEE flags (inexact, underflow, overflow, invalid) cost in a mixed e4m3/e5m2 multiply-add?"
    return Study("flags", "Flags", question, tuple(variants))


def _roundings(name: str, source: str, targets: tuple[str, ...], hybrid: bool) -> Study:
    directed = [Rounding.RTZ, Rounding.RUP, Rounding.RDN]
    modes = [Rounding.RNE, Rounding.RNA, *directed, *([Rounding.HYBRID] if hybrid else [])]
    variants = [Variant(mode.value, _cast(source, targets, [mode])) for mode in modes]
    variants += [
        Variant(f"sr of {bits} random bits", _cast(source, targets, [Rounding.SR], random_bits=bits))
        for bits in (4, 8, 16)
    ]
    pair = [Rounding.RNE, Rounding.HYBRID] if hybrid else [Rounding.RNE, Rounding.RNA]
    variants.append(Variant(" or ".join(mode.value for mode in pair), _cast(source, targets, pair)))
    variants.append(Variant(f"any of {', '.join(mode.value for mode in modes)}", _cast(source, targets, modes)))
    question = f"What does each rounding of a cast from {source} to {' or '.join(targets)} cost, and what several?"
    return Study(name, f"Roundings of a cast from {source} to {' or '.join(targets)}", question, tuple(variants))


def _roundings_fma() -> Study:
    modes = ("rne", "rna", "rtz", "rup", "rdn")
    variants = [Variant(mode, _fma(_OCP, _OCP, f"fma_fp32(rounding={mode})")) for mode in modes]
    question = "What does each rounding of a mixed e4m3/e5m2 multiply-add to fp32 cost?"
    return Study("roundings_fma", "Roundings of a multiply-add", question, tuple(variants))


# --- sizes ---------------------------------------------------------------------------------------------------------


def _window(products: int) -> Study:
    windows = (10, 13, 16, 20, 25, 30)
    variants = [Variant(str(k), _dot(_OCP, f"fma_fp32(G={products},K={k})")) for k in windows]
    variants.append(Variant("exact", _dot(_OCP, f"fma_fp32(G={products})")))
    question = (
        f"What does a sum of {products} mixed e4m3/e5m2 products and an FP32 addend cost if its window keeps K bits? "
        "These are the fraction bits below the largest exponent."
    )
    return Study("window", f"Window K of {products} products", question, tuple(variants), Chart.LINES, "K")


def _lanes(name: str, window: int | None) -> Study:
    kept = f",K={window}" if window else ""
    variants = [Variant(str(g), _dot(_OCP, f"fma_fp32(G={g}{kept if g > 1 else ''})")) for g in (1, 2, 4, 8, 16)]
    sums = f"a window of {window} fraction bits (one product: exact)" if window else "exact sums"
    question = f"What does a dot product of G mixed e4m3/e5m2 products and an FP32 addend cost, with {sums}?"
    return Study(name, f"Products of a step, {sums}", question, tuple(variants), Chart.LINES, "products")


def _cast_lanes() -> Study:
    base = _cast("fp32", _OCP, [Rounding.RNE])
    counts = (1, 2, 4, 8)
    variants = [Variant(str(n), dataclasses.replace(base, name=f"{base.name}_lanes{n}", lanes=n)) for n in counts]
    question = "What do several lanes of a cast from FP32 to e4m3 or e5m2 cost? They share target and rounding."
    return Study("cast_lanes", "Lanes of a cast", question, tuple(variants), Chart.LINES, "lanes")


def _stages(name: str, what: str, unit: Unit, lowest: int) -> Study:
    variants = [
        Variant(str(n), dataclasses.replace(unit, name=f"{unit.name}_stages{n}", stages=n))  # type: ignore[call-arg]
        for n in range(lowest, MAX_STAGES + 1)
    ]
    question = f"What does {what} cost with more register stages, and how fast is its clock?"
    return Study(name, f"Stages of {what}", question, tuple(variants), Chart.LINES, "stages")


def _units() -> Study:
    variants = tuple(Variant(name, unit) for name, unit in CATALOGUE.items())
    question = "What area and delay have the units of the catalogue?"
    return Study("units", "The units of the catalogue", question, variants, Chart.SCATTER)


_MAC = Mac("mac_fp32_ocp", _formats(_OCP), _formats(_OCP), engine("fma_fp32"))

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        _operand_formats("fp32", "fma_fp32"),
        _operand_formats("dlfloat16", "dlfloat"),
        _decoders(),
        _cast_formats(),
        _mixed("fp32", "fma_fp32", "e5m2", "e4m3"),
        _mixed("fp16", "fma_fp16", "e5m2", "e4m3"),
        _mixed("dlfloat16", "dlfloat", "hfp8_152", "hfp8_143"),
        _mixed_fpu(),
        _fpu_groups(),
        _fpu_division(),
        _fpu_fields(),
        _fpu_words(),
        _results(),
        _blocks(4),
        _subnormals("fp32", "fma_fp32"),
        _subnormals("fp16", "fma_fp16"),
        _subnormals("dlfloat16", "dlfloat"),
        _subnormals_cast(),
        _flags(),
        _roundings("roundings_ocp", "fp32", _OCP, hybrid=False),
        _roundings("roundings_hif8", "fp32", ("hif8",), hybrid=True),
        _roundings("roundings_fp16_hif8", "fp16", ("hif8",), hybrid=True),
        _roundings_fma(),
        _window(4),
        _lanes("lanes", 25),
        _lanes("lanes_exact", None),
        _cast_lanes(),
        _stages("stages_fma", "a multiply-add of mixed e4m3/e5m2 to fp32", _fma(_OCP, _OCP, "fma_fp32"), 0),
        _stages("stages_fma_dlfloat16", "a multiply-add of mixed HFP8 to dlfloat16", _fma(_HFP8, _HFP8, "dlfloat"), 0),
        _stages("stages_cast", "a cast from FP32 to e4m3, e5m2 or hif8", CATALOGUE["cast_fp32"], 0),
        _stages("stages_mac", "a mac of mixed e4m3/e5m2 to fp32", _MAC, 1),
        _units(),
    )
}


def study(name: str) -> Study:
    """Return the study with the given name. Raises ValueError for an unknown study name."""
    if name not in STUDIES:
        raise ValueError(unknown("study", name, STUDIES, "`fp9 study --list` lists all"))
    return STUDIES[name]
