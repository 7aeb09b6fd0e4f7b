"""Functions that build C text: shared source files, names, lists and comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import TYPE_CHECKING

from fp9.formats.rounding import NanSign, Overflow, Rounding

if TYPE_CHECKING:
    from fp9.formats import Format
    from fp9.formats.blocks import BlockFormat

WIDTH = 120

ROUNDINGS = {mode: f"FP9_{mode.name}" for mode in Rounding}
OVERFLOWS = {mode: "FP9_TO_INF" if mode is Overflow.INF else f"FP9_{mode.name}" for mode in Overflow}
NAN_SIGNS = {sign: f"FP9_SIGN_{sign.name}" for sign in NanSign}


def part(name: str, suffix: str = ".h") -> str:
    return resources.files("fp9.cmodel").joinpath("parts", f"{name}{suffix}").read_text()


def filled(template: str, words: Mapping[str, object]) -> str:
    return re.sub(r"@\{(\w+)\}", lambda found: str(words[found[1]]), template)


def identifier(fmt: Format | BlockFormat) -> str:
    """Return a format's name as a C identifier, such as `hfp8_143_bias_4`."""
    text = re.sub("[^a-z0-9]+", "_", fmt.name.lower().replace("=-", "_minus_")).strip("_")
    return text if text[0].isalpha() else f"f_{text}"


def comment(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH - 6)
    return "/* " + "\n   ".join(lines) + " */\n"


def chosen(port: str, values: Iterable[str]) -> str:
    """Return a C expression whose value is `values[port]`, or the last of the values if `port` is too large."""
    *before, last = values
    return "".join(f"{port} == {number} ? {value} : " for number, value in enumerate(before)) + last


def listed(values: Iterable[object], indent: int = 8) -> str:
    return ("\n" + " " * indent).join(textwrap.wrap(", ".join(map(str, values)), WIDTH - 2 - indent))
