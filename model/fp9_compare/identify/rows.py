"""Text files of sums that a hardware unit computed.

The first line of a file is `fp9-rows a=FORMAT b=FORMAT result=FORMAT`. Every following line is one sum with four words
in hex: vector a, vector b, the addend c, and the result. The codes of a vector are written without spaces. Lines that
begin with # are comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.formats import FixedFormat, Format, format
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.vectors import Vectors, code_patterns

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = "fp9-rows"
_HEADER = re.compile(rf"{MAGIC}\s+a=(\S+)\s+b=(\S+)\s+result=(\S+)\s*")


@dataclass(frozen=True)
class Rows:
    """Sums that a hardware unit computed: the operand vectors, and the bit patterns of the results."""

    name: str
    interface: Interface
    vectors: Vectors
    results: NDArray[np.uint64]

    def without_addend(self) -> Rows:
        """Replace all addends by +0, because some hardware units ignored the addends."""
        vectors = Vectors(self.vectors.a, self.vectors.b, np.zeros(len(self.vectors)), self.vectors.purposes)
        return Rows(self.name, self.interface, vectors, self.results)


def header(interface: Interface) -> str:
    return f"{MAGIC} a={interface.a.name} b={interface.b.name} result={interface.output.name}"


def digits(fmt: Format) -> int:
    return -(-fmt.bits // 4)


def inputs(interface: Interface, vectors: Vectors) -> list[str]:
    """Return the start of each line: the codes of a, b and c in hex."""
    addends = encode(vectors.c, interface.output, "rne", "inf")
    wide_a, wide_b, wide_c = (digits(fmt) for fmt in (interface.a, interface.b, interface.output))
    return [
        f"{_hex(a, wide_a)} {_hex(b, wide_b)} {c:0{wide_c}x}"
        for a, b, c in zip(vectors.a.tolist(), vectors.b.tolist(), addends.tolist(), strict=True)
    ]


def _hex(codes: list[int], width: int) -> str:
    return "".join(f"{code:0{width}x}" for code in codes)


def read(path: Path, any_nan: bool = False) -> Rows:
    """Read a file of measured sums.

    If `any_nan` is true, all NaN results count as equal. Raises ValueError with the line number for an invalid line,
    and OSError for an unreadable file.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file; give rows as {MAGIC} has them") from None
    said = _HEADER.fullmatch(lines[0]) if lines else None
    if said is None:
        raise ValueError(f"{path} does not begin with '{MAGIC} a=FORMAT b=FORMAT result=FORMAT'; add that line")
    a, b, output = (format(name) for name in said.groups())
    if not isinstance(output, FixedFormat):
        raise ValueError(f"{path}: {said[3]} given as result; give fp32, fp16, bf16 or the like")
    found = [
        _row(path, number, line.split(), (a, b, output))
        for number, line in enumerate(lines[1:], 2)
        if line.strip() and not line.startswith("#")
    ]
    if not found:
        raise ValueError(f"{path} has no rows; give one sum a line")
    depths = {len(row[0]) for row in found}
    if len(depths) > 1:
        raise ValueError(f"{path}: sums of {min(depths)} and of {max(depths)} products given; give one file for each")
    interface = Interface(a, b, output, depths.pop(), any_nan)
    columns = [np.array([row[i] for row in found]) for i in range(4)]
    codes_a, codes_b = columns[0].astype(a.dtype), columns[1].astype(b.dtype)
    codes_c, codes_d = (column.astype(output.dtype) for column in columns[2:])
    c = decode(codes_c, output).astype(np.float64)
    results = code_patterns(codes_d, interface)
    return Rows(str(path), interface, Vectors(codes_a, codes_b, c, ("row",) * len(found)), results)


def _row(path: Path, number: int, words: list[str], formats: tuple[Format, Format, Format]) -> list[Any]:
    a, b, output = formats
    if len(words) != 4:
        raise ValueError(f"{path}, line {number}: {len(words)} words given; give a, b, c and the result in hex digits")
    vectors = [_codes(path, number, word, fmt) for word, fmt in zip(words[:2], (a, b), strict=True)]
    if len(vectors[0]) != len(vectors[1]):
        lengths = " and ".join(str(len(vector)) for vector in vectors)
        raise ValueError(f"{path}, line {number}: vectors of {lengths} codes given; give equally many")
    return [*vectors, *(_codes(path, number, word, output, one=True)[0] for word in words[2:])]


def _codes(path: Path, number: int, word: str, fmt: Format, one: bool = False) -> list[int]:
    width = digits(fmt)
    expected = f"{width} hex digits {'' if one else 'for each code '}of {fmt.name}"
    if not re.fullmatch(r"[0-9a-fA-F]+", word) or len(word) % width or (one and len(word) != width):
        raise ValueError(f"{path}, line {number}: {word[:40]!r} given; give {expected}")
    codes = [int(word[i : i + width], 16) for i in range(0, len(word), width)]
    if max(codes) >= 1 << fmt.bits:
        raise ValueError(f"{path}, line {number}: a code beyond {fmt.bits} bits given; give codes of {fmt.name}")
    return codes
