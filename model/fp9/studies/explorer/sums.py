"""Dot product of two vectors, step by step: the terms, the bits that the window drops, and other engines' results."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from fp9.engines import ENGINES, Engine, check_grouped, engine
from fp9.formats import TABLE_BITS, Format, Kind, format
from fp9.formats.policy import CastPolicy
from fp9.oracle import sums as oracle
from fp9.oracle.casts import decode, encode
from fp9.oracle.terms import Term, total
from fp9.oracle.windows import kept_terms, window_top
from fp9.rounding import Overflow, Rounding
from fp9.studies.explorer.numbers import parse

Record = dict[str, Any]
Codes = tuple[list[int], list[int]]
Formats = tuple[Format, Format]
MOST = 32
"""Largest number of products that the page shows."""


def record(a: str, b: str, format_a: str, format_b: str, name: str, c: str = "0") -> Record:
    """Return c plus the dot product of two vectors, computed by one engine step by step and by all presets.

    The vectors are decimals separated by blanks or commas. Numbers are first cast to the formats, to nearest,
    saturating. Raises ValueError for input that does not fit.
    """
    formats = format(format_a), format(format_b)
    codes = _codes(a, formats[0]), _codes(b, formats[1])
    if len(codes[0]) != len(codes[1]):
        raise ValueError(f"vectors of {len(codes[0])} and {len(codes[1])} numbers given; give as many in both")
    chosen, start = engine(name), parse(c)
    _check(chosen, formats)
    seen: list[oracle.Taken] = []
    result = _summed(chosen, codes, formats, start, seen)
    exact_terms = [*oracle.product_terms(chosen, *codes, *formats), Term(start)]
    summed = total([term.value for term in exact_terms], Rounding.RNE)
    right = summed.value if summed.kind in (Kind.FINITE, Kind.ZERO) else None
    return {
        "a": [fmt_value(code, formats[0]) for code in codes[0]],
        "b": [fmt_value(code, formats[1]) for code in codes[1]],
        "exact": summed.kind.value if right is None else str(float(right)),
        "engine": chosen.name,
        "output": chosen.output.name,
        "result": fmt_value(result, chosen.output),
        "steps": [_drawn(taken) for taken in seen],
        "engines": [
            _other(other, codes, formats, start, right) for other in ENGINES.values() if _takes(other, formats)
        ],
    }


def _check(chosen: Engine, formats: Formats) -> None:
    if chosen.step.group is not None:
        check_grouped(chosen, *formats)


def _takes(other: Engine, formats: Formats) -> bool:
    try:
        _check(other, formats)
    except ValueError:
        return False
    return True


def _codes(text: str, fmt: Format) -> list[int]:
    words = [word for word in re.split(r"[\s,;]+", text) if word]
    if not 0 < len(words) <= MOST:
        raise ValueError(f"{len(words)} numbers given; give 1 to {MOST}, apart by blanks or commas")
    if fmt.bits > TABLE_BITS:
        raise ValueError(f"{fmt.name} given as operand; give a format of at most {TABLE_BITS} bits")
    policy = CastPolicy(None, Overflow.SATURATE, nan_to_zero=not fmt.has_nan)
    return [encode(parse(word), fmt, policy)[0] for word in words]


def _summed(
    chosen: Engine,
    codes: Codes,
    formats: Formats,
    start: Any,
    seen: list[oracle.Taken],
) -> int:
    addend, _ = encode(start, chosen.addend_format, CastPolicy(Rounding.RNE, Overflow.SATURATE))
    terms = oracle.product_terms(chosen, *codes, *formats)
    code, _ = oracle.dot(chosen, terms, oracle.code_term(addend, chosen.addend_format), seen=seen)
    if not seen:
        seen.append(oracle.Taken(chosen, tuple(terms), oracle.code_term(addend, chosen.addend_format), code))
    return code


def _other(
    other: Engine,
    codes: Codes,
    formats: Formats,
    start: Any,
    right: Fraction | None,
) -> Record:
    code = _summed(other, codes, formats, start, [])
    found = decode(code, other.output)
    off = None
    if right is not None and found.kind in (Kind.FINITE, Kind.ZERO):
        off = float(abs(found.value - right) / abs(right)) if right else float(abs(found.value))
    return {"engine": other.name, "output": other.output.name, "result": fmt_value(code, other.output), "error": off}


def _drawn(taken: oracle.Taken) -> Record:
    used = taken.engine
    joins = taken.part is not None
    terms = [taken.part] if taken.part is not None else list(taken.products)
    windowed = not joins and used.window.width is not None and used.window.interleaved is None
    numbers = all(term.value.kind in (Kind.FINITE, Kind.ZERO) for term in (*terms, taken.addend))
    top = window_top(used, taken.products, taken.addend) if windowed and numbers else None
    kept = kept_terms(used, taken.products, taken.addend) if top is not None else None
    values = [*terms, taken.addend]
    return {
        "what": "chunk joins" if joins else "step",
        "top": top,
        "last": None if top is None or used.window.width is None else top - used.window.width,
        "terms": [
            {"value": _shown(term), "kept": None if kept is None else str(float(kept[i])), "lost": _lost(term, kept, i)}
            for i, term in enumerate(values)
        ],
        "exact": _shown(Term(total([term.value for term in values], Rounding.RNE))),
        "rounding": used.result.rounding.value,
        "result": fmt_value(taken.code, used.output if joins else used.result.format),
    }


def _lost(term: Term, kept: list[Fraction] | None, place: int) -> str:
    dropped = Fraction(0) if kept is None else term.value.value - kept[place]
    return str(float(dropped)) if dropped else ""


def _shown(term: Term) -> str:
    value = term.value
    if value.kind in (Kind.FINITE, Kind.ZERO):
        return str(float(value.value))
    return f"{'-' if value.negative else ''}{value.kind.value}"


def _decimal(value: float) -> str:
    return repr(value).removesuffix(".0")


def fmt_value(code: int, fmt: Format) -> str:
    """Return a code's number as text."""
    return _decimal(fmt.to_float(code))
