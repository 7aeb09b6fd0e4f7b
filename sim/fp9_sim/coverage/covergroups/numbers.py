"""Write SystemVerilog functions that decode the codes of number formats, for functional coverage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from fp9.engines import alignment_exponent
from fp9.formats import FixedFormat, Format
from fp9.oracle import casts as oracle
from fp9_sim.coverage.model import CLASSES, class_of
from fp9_sim.coverage.values import Codes
from fp9_sim.templates import TABLED_BITS, Fields

ZERO, INFINITE, NAN = (CLASSES.index(name) for name in ("zero", "infinity", "nan"))

# Fields of a table entry, with widths in bits.
_FIELDS = {"kind": 3, "negative": 1, "significand": 8, "place": 16, "aligned": 16}

COMMON = """\
  // A code: class, sign, significand * 2^place, alignment exponent, and whether NaN and infinity share a code.
  typedef struct {
    int kind;
    logic negative;
    logic [63:0] significand;
    int place;
    int aligned;
    logic merged;
  } number_t;

  function automatic logic is_number(input number_t x);
    return x.kind < @{infinite};
  endfunction

  // The value of a number in units of 2^ulp.
  function automatic wide_t units(input number_t x, input int ulp);
    wide_t magnitude;
    magnitude = wide_t'(x.significand) << (x.place - ulp);
    return x.negative ? -magnitude : magnitude;
  endfunction

  function automatic wide_t magnitude_of(input wide_t value);
    return value < 0 ? -value : value;
  endfunction

  // The number of bits of a magnitude.
  function automatic int length_of(input wide_t value);
    wide_t left;
    int length;
    left = value < 0 ? -value : value;
    length = 0;
    while (left != 0) begin
      if (left[W-1:32] != 0) begin
        left = left >> 32;
        length += 32;
      end else begin
        left = left >> 1;
        length++;
      end
    end
    return length;
  endfunction

  function automatic int larger(input int x, input int y);
    return x > y ? x : y;
  endfunction

  function automatic int smaller(input int x, input int y);
    return x < y ? x : y;
  endfunction

  function automatic int limited(input int value, input int low, input int high);
    return larger(low, smaller(value, high));
  endfunction

  // The bin of a number, of `count` bins from `low` on, or -1.
  function automatic int bin_in(input int value, input int low, input int count);
    return value < low || value >= low + count ? -1 : value - low;
  endfunction

  function automatic int flag_of(input logic [4:0] flags);
    return flags[4] ? 4 : flags[2] ? 3 : flags[1] ? 2 : flags[0] ? 1 : 0;
  endfunction

  // The position of a magnitude between two results: exact, below half, half or above half.
  function automatic int position_of(input wide_t magnitude, input int dropped);
    wide_t rest, half;
    if (dropped <= 0) return 0;
    half = wide_t'(1) << (dropped - 1);
    rest = magnitude & ((half << 1) - 1);
    return rest == 0 ? 0 : rest < half ? 1 : rest == half ? 2 : 3;
  endfunction

  // The last bit of the lower of the two results.
  function automatic int last_of(input wide_t magnitude, input int dropped);
    return dropped < 0 ? 0 : int'((magnitude >> dropped) & 1);
  endfunction

"""


class Numbers:
    """SystemVerilog functions that decode codes, one for each format that a unit's coverage needs."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.width = 96

    def need(self, bits: int) -> None:
        # Integers for exact values need at least `bits` bits.
        self.width = max(self.width, bits)

    @property
    def text(self) -> str:
        return "\n".join(self._texts.values())

    def read(self, fmt: Format) -> str:
        """Return the name of the SystemVerilog function that reads a code."""
        # The function takes the code, and the exponent bias minus the format's default bias.
        name = f"read_{_tag(fmt)}"
        if name not in self._texts:
            lines = _table(name, fmt) if fmt.bits <= TABLED_BITS else _fields(name, fmt)
            self._texts[name] = "\n".join([f"  // {fmt.name}", *lines, ""])
        return name

    def chosen(self, formats: Sequence[Format], code: str, select: str | None, moved: Sequence[str]) -> str:
        """Return a SystemVerilog expression that reads a code in the format that the port `select` has chosen."""
        # `moved` holds an expression for the exponent bias minus the default bias of each format. A select code above
        # the last format chooses the last format.
        *before, last = [f"{self.read(f)}({code}, {m})" for f, m in zip(formats, moved, strict=True)]
        return "".join(f"{select} == {i} ? {read} : " for i, read in enumerate(before)) + last

    def dropped(self, fmt: Format, ulp: int, longest: int) -> str:
        """Return the name of a function that counts the bits dropped by rounding."""
        # The argument is the bit length, at most `longest`, of a magnitude in units of 2^`ulp`.
        name = f"dropped_{_tag(fmt)}{'_m' if ulp < 0 else '_'}{abs(ulp)}"
        bits = {length: fmt.quantum(length - 1 + ulp) - ulp for length in range(1, longest + 1)}
        lines = [f"  function automatic int {name}(input int length);"]
        if isinstance(fmt, FixedFormat):
            low, fraction = fmt.lowest_exponent, fmt.fraction_bits
            lines.append(f"    return larger(length - 1 + ({ulp}), {low}) - {fraction} - ({ulp});")
        else:
            lines += ["    case (length)", *(f"      {n}: return {d};" for n, d in bits.items())]
            lines += ["      default: return 0;", "    endcase"]
        self._texts.setdefault(name, "\n".join([*lines, "  endfunction", ""]))
        return name


def _tag(fmt: Format) -> str:
    return re.sub("[^a-z0-9]+", "_", fmt.name.lower()).strip("_")


def _limits(fmt: Format) -> tuple[int, int] | None:
    exponents = [alignment_exponent(fmt, e) for e in range(-400, 400)]
    return None if exponents[0] == -400 else (exponents[0], exponents[-1])


def _entry(fmt: Format, code: int) -> dict[str, int]:
    value = oracle.decode(code, fmt)
    own = Codes(fmt)
    units = abs(own[code].units)
    zeros = (units & -units).bit_length() - 1 if units else 0
    return {
        "kind": CLASSES.index(class_of(code, fmt)),
        "negative": int(value.negative),
        "significand": units >> zeros,
        "place": zeros + own.ulp if units else own.ulp,
        "aligned": own[code].exponent,
    }


def _table(name: str, fmt: Format) -> Iterator[str]:
    entries = [_entry(fmt, code) for code in range(1 << fmt.bits)]
    for field, width in _FIELDS.items():
        word = sum((entry[field] & ((1 << width) - 1)) << (width * code) for code, entry in enumerate(entries))
        yield f"  localparam logic [{width * len(entries) - 1}:0] {name.upper()}_{field.upper()} ="
        yield f"    {width * len(entries)}'h{word:x};"
    yield f"  function automatic number_t {name}(input logic [{fmt.bits - 1}:0] code, input int moved);"
    yield "    number_t x;"
    for field, width in _FIELDS.items():
        value = f"{name.upper()}_{field.upper()}[{width} * int'(code) +: {width}]"
        if field in ("place", "aligned"):
            value = f"int'($signed({value})) - moved"
        yield f"    x.{field} = {value};"
    yield f"    x.merged = {int(fmt.nan_is_inf)};"
    yield "    return x;"
    yield "  endfunction"


def _fields(name: str, fmt: Format) -> Iterator[str]:
    assert isinstance(fmt, FixedFormat)
    fields = Fields.of(fmt)
    smallest = fmt.code_of(Fraction(fmt.smallest_normal)) >> fmt.padding
    hidden = "field != 0" if fields.subnormals else "magnitude != 0"
    lowest = "field == 0 ? 1 : field" if fields.subnormals else "field"
    kinds = [
        ("magnitude == 0", "zero"),
        (f"magnitude == {fields.largest}", "largest"),
        (f"magnitude == {smallest}", "smallest normal"),
        (f"magnitude < {smallest}", "subnormal"),
        (f"magnitude < {fields.largest}", "normal"),
        *([(f"magnitude == {fields.infinity}", "infinity")] if fields.infinity is not None else []),
    ]
    if fields.nan_zero:
        kinds.insert(0, ("x.negative && magnitude == 0", "nan"))
    limit = _limits(fmt)
    yield f"  function automatic number_t {name}(input logic [{fmt.bits - 1}:0] code, input int moved);"
    yield "    number_t x;"
    yield f"    logic [{fields.width - 1}:0] magnitude;"
    yield "    int field, top;"
    yield f"    magnitude = code >> {fields.padding};"
    yield f"    field = int'(magnitude >> {fields.fraction_bits});"
    yield f"    x.negative = code[{fmt.bits - 1}];"
    yield "    x.kind ="
    yield from (f"      {condition} ? {CLASSES.index(word)} :" for condition, word in kinds)
    yield f"      {NAN};"
    yield f"    x.significand = 64'(magnitude) & {(1 << fields.fraction_bits) - 1};"
    yield f"    x.significand = x.significand | (64'({hidden}) << {fields.fraction_bits});"
    yield f"    x.place = ({lowest}) - {fields.bias + fields.fraction_bits} - moved;"
    yield "    top = length_of(wide_t'(x.significand)) - 1 + x.place;"
    yield f"    x.aligned = x.kind == {ZERO} || x.kind >= {INFINITE} ? 0 : "
    if limit is None:
        yield "      top;"
    else:
        yield f"      larger(top, {limit[0]} - moved);"
    yield f"    x.merged = {int(fmt.nan_is_inf)};"
    yield "    return x;"
    yield "  endfunction"
