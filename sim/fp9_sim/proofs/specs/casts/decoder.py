"""Specifications of decoders and upcasts: a table of exact values for each format and bias."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.formats import HFP8_BIASES, Format, Kind, floor_log2, pow2, with_bias
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import FLAG_BITS, Overflow
from fp9.oracle import casts as oracle
from fp9.units import BIAS_BITS, Decoder, Upcast
from fp9_sim.proofs.miter import Case, selected

FIELDS = ("sign", "exponent", "significand", "zero", "inf", "nan")
Row = tuple[int, ...]


def decoder_cases(unit: Decoder) -> Iterator[Case]:
    widths = _widths(unit)
    for fmt, chosen, fixed, is_own in _selections(unit):
        rows = [decoded(fmt, code, widths["significand"]) for code in range(1 << fmt.bits)]
        control = _table(_broken(rows, fmt.smallest_code), widths, chosen) if is_own else None
        yield Case(fmt.name, fixed, _table(rows, widths, chosen), control)


def upcast_cases(unit: Upcast) -> Iterator[Case]:
    widths = _widths(unit)
    for fmt, chosen, fixed, is_own in _selections(unit):
        rows = [_converted(fmt, code, unit.result) for code in range(1 << fmt.bits)]
        broken = [*rows[:1], rows[1] ^ 1 << FLAG_BITS, *rows[2:]]
        texts = [_conversion(table, widths, chosen) for table in (rows, broken)]
        yield Case(fmt.name, fixed, texts[0], texts[1] if is_own else None)


def _converted(fmt: Format, code: int, result: Format) -> int:
    converted, flags = oracle.encode(oracle.decode(code, fmt), result, CastPolicy(overflow=Overflow.INF))
    return converted << FLAG_BITS | flags


def _conversion(rows: list[int], widths: dict[str, int], chosen: str) -> str:
    total = widths["result"] + FLAG_BITS
    lines = [f"    8'd{code}: expected = {total}'d{row};" for code, row in enumerate(rows)]
    head = [f"  reg [{total - 1}:0] expected;", "  always @* case (code)"]
    return "\n".join([*head, *lines, "  endcase", f"  assign ok = !{chosen} || {{result, flags}} == expected;"])


def _widths(unit: Decoder | Upcast) -> dict[str, int]:
    return {port.name: port.width for port in (*unit.inputs, *unit.outputs)}


def _selections(unit: Decoder | Upcast) -> Iterator[tuple[Format, str, dict[str, int], bool]]:
    # The flag is True if the proof uses the format's own bias.
    width = _widths(unit).get("code_format", 0)
    for index, fmt in enumerate(unit.formats):
        fixed, chosen = selected("code_format", len(unit.formats), index, width)
        for variant, biases in _variants(fmt, unit.bias_port):
            yield variant, chosen, fixed | biases, variant == fmt


def _variants(fmt: Format, bias_port: bool) -> Iterator[tuple[Format, dict[str, int]]]:
    if not (bias_port and fmt.programmable_bias):
        yield fmt, {}
        return
    for bias in HFP8_BIASES:
        yield with_bias(fmt, bias), {"code_bias": bias & ((1 << BIAS_BITS) - 1)}


def decoded(fmt: Format, code: int, width: int) -> Row:
    """Return the fields of a decoded code in the order of `FIELDS`. Fields without a meaning are 0."""
    number = oracle.decode(code, fmt)
    exponent = significand = 0
    if number.kind is Kind.FINITE:
        exponent = floor_log2(number.magnitude)
        significand = int(number.magnitude / pow2(exponent - (width - 1)))
    kinds = [int(number.kind is kind) for kind in (Kind.ZERO, Kind.INF, Kind.NAN)]
    return int(number.negative), exponent, significand, *kinds


def _broken(rows: list[Row], code: int) -> list[Row]:
    sign, exponent, significand, *kinds = rows[code]
    return [*rows[:code], (sign, exponent, significand ^ 1, *kinds), *rows[code + 1 :]]


def _table(rows: list[Row], widths: dict[str, int], chosen: str) -> str:
    # Fields without a meaning, such as the exponent of zero, are not compared.
    total = sum(widths[field] for field in FIELDS)
    lines = [f"      8'd{code}: expected = {total}'d{_packed(row, widths)};" for code, row in enumerate(rows)]
    fields = ", ".join(f"expected_{field}" for field in FIELDS)
    wires = [f"  wire [{widths[field] - 1}:0] expected_{field};" for field in FIELDS]
    return "\n".join(
        [
            f"  reg [{total - 1}:0] expected;",
            "  always @* begin",
            "    case (code)",
            *lines,
            "    endcase",
            "  end",
            *wires,
            f"  assign {{{fields}}} = expected;",
            "  wire finite = !expected_inf && !expected_nan;",
            f"  assign ok = !{chosen} || (zero == expected_zero && inf == expected_inf && nan == expected_nan",
            "    && (expected_nan || sign == expected_sign)",
            "    && (!finite || significand == expected_significand)",
            "    && (!finite || expected_zero || exponent == expected_exponent));",
        ]
    )


def _packed(row: Row, widths: dict[str, int]) -> int:
    packed = 0
    for field, value in zip(FIELDS, row, strict=True):
        packed = packed << widths[field] | value & ((1 << widths[field]) - 1)
    return packed
