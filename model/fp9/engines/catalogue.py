"""Catalogue of accumulator presets. The name of a preset can set parameters, as in `chunked(L=32)`."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from enum import Enum
from typing import Any

from fp9.engines.devices import DEVICE_NAMES, unmeasured
from fp9.engines.engine import Engine
from fp9.engines.groups import Addend, Chunk, NanPolicy, Result, Scaling, Step, Truncation, Window
from fp9.engines.parameters import PARAMETERS
from fp9.formats import FixedFormat, fixed_format, format
from fp9.formats.rounding import Overflow, Rounding, choice
from fp9.names import plain, unknown

_R = Rounding
_FP32, _FP16, _BF16, _DLFLOAT16, _E8M13 = (
    fixed_format(name) for name in ("fp32", "fp16", "bf16", "dlfloat16", "e8m13")
)


def _mma(name: str, result: FixedFormat) -> Engine:
    """Return a model of the NVIDIA tensor core that multiplies FP8 operands on its FP16 hardware."""
    # Two steps of 16 products add 32 products: products 0 and 1 belong to the first step, products 2 and 3 to the
    # second step, products 4 and 5 to the first, and so on.
    step, chunk = Step(16, scaling=Scaling.SUMS), Chunk(32, interleave=2)
    if result is _FP16:
        return Engine(name, Result(result, _R.RNE), step, Window(25, zero_exponent=-21), chunk)
    return Engine(name, Result(result, _R.RTZ), step, Window(25, zero_exponent=-133), replace(chunk, promotion=_FP32))


def _rvbna(products: int) -> Engine:
    """Return the accumulator model of RISC-V's bulk normalised dot product."""
    window = _FP32.fraction_bits + (products - 1).bit_length()
    name = f"rvbna{products}"
    # Every step is a chunk, and both the sum of a step and the total are rounded to odd.
    return Engine(name, Result(_FP32, _R.RTO), Step(products), Window(window, Truncation.JAM), Chunk(products))


_X86_NAN = 0xFFC00000
"""NaN code of invalid operations on x86: a quiet NaN with the sign bit set."""
_X86_RESULT = Result(_FP32, _R.RNE, flush=True, flush_addend=True)

ENGINES: dict[str, Engine] = {
    e.name: e
    for e in (
        Engine("fma_fp32", Result(_FP32, _R.RNE)),  # IEEE 754 fused multiply-add
        Engine("fma_fp16", Result(_FP16, _R.RNE)),
        Engine("fma_bf16", Result(_BF16, _R.RNE)),
        Engine("dlfloat", Result(_DLFLOAT16, _R.RNA)),  # DLF: fused, NaN-Inf absorbs, nearest-up
        Engine("fmma", Result(_DLFLOAT16, _R.RNA), Step(2), Window(addend=Addend.ALIGNED)),  # ISSCC21
        Engine("chunked", Result(_DLFLOAT16, _R.RNA), chunk=Chunk(64)),  # Wang18
        # MMA-Sim: wgmma, mma and tcgen05.mma with FP8 operands and FP32 result.
        Engine("hopper", Result(_E8M13, _R.RTZ), Step(32, scaling=Scaling.SUMS), Window(13, zero_exponent=-133)),
        Engine("ada", Result(_E8M13, _R.RTZ), Step(16, scaling=Scaling.SUMS), Window(13, zero_exponent=-132)),
        Engine("blackwell", Result(_FP32, _R.RTZ), Step(32), Window(25, zero_exponent=-133)),
        # MMA-Sim: mma, wgmma and tcgen05.mma with FP16, BF16 and TF32 operands. Steps have 8 bytes of an operand on
        # Volta, 16 on Ampere and Ada, and 32 on Hopper and Blackwell.
        Engine("volta", Result(_FP32, _R.RTZ), Step(4), Window(23, zero_exponent=-131)),
        Engine("volta_fp16", Result(_FP16, _R.RNE), Step(4), Window(23, zero_exponent=-19)),
        Engine("ampere", Result(_FP32, _R.RTZ), Step(8), Window(24, zero_exponent=-132)),
        Engine("ampere_fp16", Result(_FP16, _R.RNE), Step(8), Window(24, zero_exponent=-20)),
        Engine("ampere_tf32", Result(_FP32, _R.RTZ), Step(4), Window(24, zero_exponent=-132)),
        Engine("hopper_16bit", Result(_FP32, _R.RTZ), Step(16), Window(25, zero_exponent=-133)),
        Engine("hopper_16bit_fp16", Result(_FP16, _R.RNE), Step(16), Window(25, zero_exponent=-21)),
        Engine("hopper_tf32", Result(_FP32, _R.RTZ), Step(8), Window(25, zero_exponent=-133)),
        # FP8 operands with FP16 results.
        Engine("hopper_fp16", Result(_FP16, _R.RNE), Step(32, scaling=Scaling.SUMS), Window(13, zero_exponent=-21)),
        Engine("ada_fp16", Result(_FP16, _R.RNE), Step(16, scaling=Scaling.SUMS), Window(13, zero_exponent=-20)),
        Engine("blackwell_fp16", Result(_FP16, _R.RNE), Step(32), Window(25, zero_exponent=-21)),
        # MMA-Sim: mma and tcgen05.mma of the kinds mxf4 and mxf4nvf4.
        Engine("blackwell_nvfp4", Result(_FP32, _R.RTZ), Step(64, group=16), Window(35, zero_exponent=-139)),
        # mma.sync with FP8 operands on Hopper and Blackwell, as measured on H100, H200 and B200 (MATLAB-tensor-core):
        # two steps sum the operands as FP16 from +0. C is added last, with one rounding to nearest.
        _mma("hopper_mma", _FP32),
        _mma("hopper_mma_fp16", _FP16),
        _mma("blackwell_mma", _FP32),
        _mma("blackwell_mma_fp16", _FP16),
        Engine("cdna3", Result(_FP32, _R.RNE), Step(16, scaling=Scaling.SUMS), Window(24, interleaved=31)),
        # DeepSeek-V3 section 3.3.2: sums of 128 leave the tensor core and are added in FP32.
        Engine(
            "deepseek",
            Result(_E8M13, _R.RTZ),
            Step(32, scaling=Scaling.SUMS),
            Window(13, zero_exponent=-133),
            Chunk(128, promotion=_FP32),
        ),
        # RISC-V "bulk normalised addition" (riscv-isa-sim, bulknormdot.h and zvbdot.h): the sum of n products, then C.
        _rvbna(4),
        _rvbna(8),
        _rvbna(16),
        _rvbna(32),
        # Arm FP8DotAddFP (DDI0487, J1.3.3): FDOT and FMMLA; FMLAL and FMLALL are fma_fp16 and fma_fp32.
        Engine("arm_fdot2", Result(_FP16, _R.RNE), Step(2)),
        Engine("arm_fdot4", Result(_FP32, _R.RNE), Step(4)),
        Engine("arm_fmmla4", Result(_FP16, _R.RNE), Step(4)),
        Engine("arm_fmmla8", Result(_FP32, _R.RNE), Step(8)),
        # x86 AMX-FP8, TDP[B][H]F8PS: an exact sum over a tile's row, one rounding, then one addition. Subnormal C and
        # results are flushed to zero, and NaN is the default NaN (Bochs, amx.cc).
        Engine("amx_fp8", _X86_RESULT, Step(64), chunk=Chunk(64), nan=NanPolicy(_X86_NAN, infinity_run=4)),
        # x86 ACE, TOP4MX*PS: an exact sum of four scaled products, one rounding, then one addition (Bochs, amx_top.cc).
        Engine("ace_top4mx", _X86_RESULT, Step(4), chunk=Chunk(4), nan=NanPolicy(invalid_code=_X86_NAN)),
        # MX section 6.2 does not define the inner precision. The engine sums a block exactly and rounds once to FP32.
        Engine("mx", Result(_FP32, _R.RNE), Step(32)),
        Engine("exact", Result(_FP32, _R.RNE), Step(exact=True)),
    )
}

ALIASES = {"G": "products", "K": "window", "L": "chunk"}
"""Letters that the literature uses for parameters."""

_PLAIN = {plain(name): name for name in ENGINES}
_CALL = re.compile(r"\s*([^()]*[^()\s])\s*(?:\(\s*(.*?)\s*\))?\s*")
_SETTING = re.compile(r"(\w+)\s*=\s*([\w.+-]+(?:\([^()]*\))?)\s*(?:,\s*|$)")


def engine(name: str | Engine) -> Engine:
    """Return the accumulator preset with a name. The name of a preset can also set parameters, as in `chunked(L=32)`.

    The name of a device from `fp9.engines.DEVICES` is also accepted. If the device has several instructions, the name
    must also state the instruction, as in "h100 wgmma". An `Engine` is returned unchanged.

    >>> engine("h100 wgmma").name, engine("L40S").name, engine("mi300x").name
    ('hopper', 'ada', 'cdna3')
    >>> engine("chunked(L=64)").chunk.length
    64
    >>> engine("fmma(K=20, result=fp32, rounding=rne)").window.width
    20

    Raises ValueError for an unknown name or parameter, and TypeError if `name` is neither a string nor an Engine.
    """
    if isinstance(name, Engine):
        return name
    if not isinstance(name, str):
        raise TypeError(f"an engine is named by a string or an Engine; {type(name).__name__} given")
    return _parse(name)


@functools.lru_cache(maxsize=256)
def _parse(name: str) -> Engine:
    if name in ENGINES:
        return ENGINES[name]
    call = _CALL.fullmatch(name)
    found = None if call is None else _preset(call[1])
    if call is None or found is None:
        if architecture := unmeasured(name):
            raise ValueError(
                f"accumulator of {name!r} given; the accumulator of {architecture} is not known. Name another device, "
                "or measure this one: `fp9 identify --program` writes the program"
            )
        listing = "`fp9 accumulators` lists all; parameters are changed in parentheses, as in chunked(L=32)"
        raise ValueError(unknown("engine", name, ENGINES, listing))
    settings = _settings(name, call[2] or "")
    base = ENGINES[found]
    changed = {field: value for field, value in settings.items() if PARAMETERS[field].of(base) != value}
    if not changed:
        return base
    spelled = ",".join(f"{field}={_spell(value)}" for field, value in changed.items())
    return base.changed(name=f"{base.name}({spelled})", **changed)


def _preset(name: str) -> str | None:
    return _PLAIN.get(plain(name)) or DEVICE_NAMES.find(name)


def _settings(name: str, text: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    position = 0
    while position < len(text):
        item = _SETTING.match(text, position)
        if item is None:
            raise ValueError(f"engine {name!r}: {text[position:]!r} is not of the form parameter=value")
        field = ALIASES.get(item[1], item[1])
        if field not in PARAMETERS:
            raise ValueError(
                f"engine {name!r} has no parameter {item[1]!r}; known: {', '.join([*ALIASES, *PARAMETERS])}"
            )
        settings[field] = _value(name, field, item[2])
        position = item.end()
    return settings


def _value(name: str, field: str, text: str) -> object:
    if field in ("result", "promotion"):
        return None if text == "none" else format(text)
    if field in _CHOICES:
        return choice(_CHOICES[field], text, f"engine {name!r}: {field}")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not re.fullmatch(r"[+-]?\d+|0x[0-9a-fA-F]+", text):
        raise ValueError(f"engine {name!r}: {field}={text} given; give an integer")
    return int(text, 0 if text.startswith("0x") else 10)


_CHOICES: dict[str, type[Enum]] = {
    "rounding": Rounding,
    "truncation": Truncation,
    "addend": Addend,
    "scaling": Scaling,
    "overflow": Overflow,
}
_WORDS: dict[str, bool | None] = {"none": None, "true": True, "false": False}


def _spell(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value).lower()
