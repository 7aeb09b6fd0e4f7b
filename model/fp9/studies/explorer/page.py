"""Generator of the web page of `fp9 explore`, one HTML file with styles, scripts, tables and WebAssembly code."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from fp9.engines import ENGINES, Engine, check_exponents, check_grouped
from fp9.formats import (
    TABLE_BITS,
    FixedFormat,
    Format,
    HiFloat8,
    Kind,
    PowerOfTwo,
    ScaledInteger,
    UnsignedFloat,
    every_format,
    floor_log2,
)
from fp9.formats.blocks import BlockFormat, block_formats
from fp9.formats.rounding import Flags, Overflow, Rounding
from fp9.studies.explorer import shared_text

Record = dict[str, Any]

MOST = 32

MOST_NUMBERS = 128

# The index of an engine is its number in the WebAssembly module.
ENGINE_LIST: list[Engine] = list(ENGINES.values())

SHOWN: list[Format] = list(every_format())

# The index of a block format is its number in the WebAssembly module.
BLOCK_LIST: list[BlockFormat] = list(block_formats())

_RESULTS = [fmt for used in ENGINE_LIST for fmt in (used.addend_format, used.output, used.result.format)]
# The index of a format is its number in the WebAssembly module.
FORMAT_LIST: list[Format] = list(dict.fromkeys([*SHOWN, *_RESULTS]))

MODULE = Path(__file__).with_name("module.wasm")


def page() -> str:
    """Return the page as HTML that works without a server."""
    data = {"tables": tables(), "module": base64.b64encode(MODULE.read_bytes()).decode()}
    script = f"const FP9 = {json.dumps(data, separators=(',', ':'))};\n"

    def included(found: re.Match[str]) -> str:
        kind, name = found[1], found[2]
        text = script if name == "data.js" else shared_text(name)
        return f"<{kind}>\n{text}</{kind}>"

    return re.sub(r"<(style|script) data-file=\"([\w.]+)\"></\1>", included, shared_text("page.html"))


def tables() -> Record:
    return {
        "most": MOST,
        "numbers": MOST_NUMBERS,
        "widest": TABLE_BITS,
        "shown": len(SHOWN),
        "formats": [_format(fmt) for fmt in FORMAT_LIST],
        "engines": [_engine(engine) for engine in ENGINE_LIST],
        "blocks": [_block(block) for block in BLOCK_LIST],
        "roundings": {mode.value: _rounding(mode) for mode in Rounding},
        "overflow": [policy.value for policy in Overflow],
        "flags": {flag.name.lower(): flag.value for flag in Flags if flag.name},
    }


def _rounding(mode: Rounding) -> Record:
    return {
        "number": list(Rounding).index(mode),
        "words": mode.words,
        "random": mode.needs_bits,
        "nearest": mode.is_nearest,
        "source": mode.reads_source,
    }


def _format(fmt: Format) -> Record:
    return {
        "name": fmt.name,
        "bits": fmt.bits,
        "signed": fmt.signed,
        "nan": fmt.has_nan,
        "specials": fmt.has_nan or fmt.has_inf,
        "own": fmt.default_rounding.value,
        "offers": [mode.value for mode in Rounding if fmt.offers(mode)],
        "largest": fmt.max_code,
        "points": points(fmt),
        "fixed": fmt.quantum(0) == fmt.quantum(100),
        "operand": fmt.bits <= TABLE_BITS and fmt.signed,
        "fields": _field_ranges(fmt),
        "hybrid": _hybrid(fmt),
    }


def _hybrid(fmt: Format) -> list[int]:
    exponents = range(-HiFloat8.DENORMAL_OFFSET - 1, 32)
    return [e for e in exponents if isinstance(fmt, HiFloat8) and fmt.is_stochastic_at(e)]


def _engine(engine: Engine) -> Record:
    index = FORMAT_LIST.index
    return {
        "name": engine.name,
        "addend": index(engine.addend_format),
        "output": index(engine.output),
        "result": index(engine.result.format),
        "rounding": engine.result.rounding.value,
        "width": engine.window.width,
        "group": engine.step.group,
        "operands": [number for number, fmt in enumerate(FORMAT_LIST) if _takes(engine, fmt)],
    }


def _block(block: BlockFormat) -> Record:
    return {
        "name": block.name,
        "element": FORMAT_LIST.index(block.element),
        "scale": FORMAT_LIST.index(block.scale),
        "length": block.length,
        "levels": block.levels,
        "tensor": block.tensor,
        "bits": float(block.bits),
        "rules": [{"name": name, "source": block.rule(name).source} for name in block.rules],
        "source": block.source,
    }


def _takes(engine: Engine, fmt: Format) -> bool:
    if fmt.bits > TABLE_BITS or not fmt.signed:
        return False
    try:
        check_exponents("", fmt)
        if engine.step.group is not None:
            check_grouped(engine, fmt, fmt)
    except ValueError:
        return False
    return True


def points(fmt: Format) -> list[tuple[int, int]]:
    lowest, highest = floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.max_magnitude)
    return [(e, e - fmt.quantum(e) + 1) for e in range(lowest, highest + 1)]


def _field_ranges(fmt: Format) -> list[tuple[int, dict[str, int]]]:
    if not isinstance(fmt, HiFloat8):
        return [(0, widths(fmt, 0))]
    found: list[tuple[int, dict[str, int]]] = []
    for code in range(1 << (fmt.bits - 1)):
        if not found or found[-1][1] != widths(fmt, code):
            found.append((code, widths(fmt, code)))
    return found


def widths(fmt: Format, code: int) -> dict[str, int]:
    match fmt:
        case FixedFormat():
            return {"sign": 1, "exponent": fmt.exponent_bits, "fraction": fmt.fraction_bits, "zeros": fmt.padding}
        case UnsignedFloat():
            zeros = fmt.bits - fmt.exponent_bits - fmt.fraction_bits
            return {"zeros": zeros, "exponent": fmt.exponent_bits, "fraction": fmt.fraction_bits}
        case PowerOfTwo():
            return {"exponent": fmt.bits}
        case ScaledInteger():
            return {"sign": 1, "integer": fmt.bits - 1}
        case HiFloat8():
            return _tapered_widths(fmt, code & 0x7F)
    raise TypeError(f"{fmt.name} has no fields")


def _tapered_widths(fmt: HiFloat8, magnitude: int) -> dict[str, int]:
    # The dot field of a HiFloat8 code gives the number of exponent bits (HiF8 Table 2).
    value = abs(fmt.value_of(magnitude)) if fmt.kind_of(magnitude) is Kind.FINITE else None
    if value is None and magnitude == fmt.INF:
        value = abs(fmt.value_of(fmt.max_code)) * 3 / 2
    exponent = floor_log2(value) if value else fmt.LOWEST_NORMAL - 1
    if exponent < fmt.LOWEST_NORMAL:
        return {"sign": 1, "dot": 4, "exponent": 3}
    size, fraction = abs(exponent).bit_length(), fmt.fraction_bits_at(exponent)
    return {"sign": 1, "dot": 7 - size - fraction, "exponent": size, "fraction": fraction}
