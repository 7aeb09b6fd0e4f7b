"""Catalogue of block formats: element formats, scale formats and block lengths."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import BLOCK_NAMES, FORMAT_NAMES, NAMED, Format, PowerOfTwo, floor_log2, format, pow2
from fp9.formats.blocks.rules import RULES, Divisor, ScaleRule
from fp9.formats.rounding import Rounding
from fp9.names import found_by, unknown


@found_by("fp9.formats.blocks", "block_format")
@dataclass(frozen=True, slots=True)
class BlockFormat:
    """Block format: `length` elements share one scale.

    - `levels`: the lengths of the groups into which HiF4 divides a block, from the longest to the shortest. If the
      level bit of a group is 1, all elements of the group are doubled.
    - `rules`: names of the supported scale rules, with the default first.
    - `rounding`: rounding mode of the elements.
    - `tensor`: whether the format allows an FP32 scale for the whole tensor (NVFP4).
    """

    name: str
    element: Format
    scale: Format
    length: int
    rules: tuple[str, ...]
    source: str
    rounding: Rounding = Rounding.RNE
    levels: tuple[int, ...] = ()
    tensor: bool = False

    @property
    def largest(self) -> Fraction:
        """Return the largest number that the block format can represent with a block scale of 1."""
        return self.element.max_magnitude * (1 << len(self.levels))

    @property
    def power(self) -> Fraction:
        """Return the largest power of two that the block format can represent with a block scale of 1."""
        return pow2(floor_log2(self.largest))

    @property
    def powers_of_two(self) -> bool:
        """Return whether scales are powers of two."""
        return isinstance(self.scale, PowerOfTwo)

    @property
    def bits(self) -> Fraction:
        """Return the number of bits per element of a full block.

        The bits of the block scale, stored in whole bytes, are divided evenly among the elements of the block. HiF4
        also has one level bit for each group of elements; the level bits are divided evenly among the elements, too.
        """
        shared = 8 * self.scale.dtype.itemsize + sum(self.length // group for group in self.levels)
        return self.element.bits + Fraction(shared, self.length)

    def divisor(self, rule: ScaleRule) -> Fraction:
        """Return the number by which a scale rule divides a block's largest magnitude (amax)."""
        return self.power if rule.divisor is Divisor.POWER else self.largest

    def tensor_divisor(self, rule: ScaleRule) -> Fraction:
        """Return the number by which `fp9.blocks.tensor_scale` divides a tensor's largest magnitude (amax)."""
        return self.largest * (self.scale.max_magnitude if rule.largest_scale is None else Fraction(rule.largest_scale))

    def rule(self, name: str | None) -> ScaleRule:
        """Return the scale rule of a name. None selects the default. Raises ValueError for an unsupported rule."""
        if name is not None and not isinstance(name, str):
            raise TypeError(f"scale rule of type {type(name).__name__} given; give a name, such as {self.rules[0]!r}")
        chosen = name or self.rules[0]
        if chosen not in self.rules:
            offered = ", ".join(self.rules)
            raise ValueError(f"scale rule {chosen!r} given for block format {self.name}; choose one of {offered}")
        return RULES[chosen]

    def __str__(self) -> str:
        return self.name


_MX_RULES = ("floor", "rne", "rceil", "ceil", "even")


def _mx(name: str, element: str) -> BlockFormat:
    return BlockFormat(name, format(element), format("e8m0"), 32, _MX_RULES, "OCP Microscaling Formats v1.0")


BLOCK_FORMATS = {
    block.name: block
    for block in (
        _mx("mxfp8_e4m3", "e4m3"),
        _mx("mxfp8_e5m2", "e5m2"),
        _mx("mxfp6_e2m3", "e2m3"),
        _mx("mxfp6_e3m2", "e3m2"),
        _mx("mxfp4", "e2m1"),
        _mx("mxint8", "mxint8"),
        BlockFormat(
            "nvfp4", format("e2m1"), format("ue4m3"), 16, ("rne", "rceil", "4over6"), "arXiv 2509.25149", tensor=True
        ),
        BlockFormat(
            "hif4",
            format("e1m2"),
            format("e6m2"),
            64,
            ("hif4",),
            "arXiv 2602.11287",
            rounding=Rounding.RNA,
            levels=(8, 4),
        ),
    )
}


def blocks_of(element: Format, length: int) -> BlockFormat:
    """Return a block format with power-of-two scales, and with elements in any number format.

    The default scale rule is rceil: the lowest scale at which no element saturates. Raises ValueError for lengths below
    1.

    >>> blocks_of(format("e4m3"), 128).name
    'e4m3(block=128)'
    """
    if length < 1:
        raise ValueError(f"block of {length} given; give the number of elements that share a scale, 1 or more")
    rules = ("rceil", *(rule for rule in _MX_RULES if rule != "rceil"))
    return BlockFormat(
        f"{element.name}(block={length})", element, format("e8m0"), length, rules, "cuBLAS, block scaling"
    )


def block_formats() -> tuple[BlockFormat, ...]:
    """Return every named block format.

    >>> [block.name for block in block_formats() if block.element.bits == 4]
    ['mxfp4', 'nvfp4', 'hif4']
    """
    return tuple(BLOCK_FORMATS.values())


def block_format(name: str | BlockFormat) -> BlockFormat:
    """Return the block format that has the given name or synonym (see `BLOCK_NAMES`).

    >>> block_format("NVFP4").length, block_format("MXFP8 (E5M2)").name
    (16, 'mxfp8_e5m2')

    Raises ValueError for an unknown or ambiguous name, and TypeError for an object that is not a name.
    """
    if isinstance(name, BlockFormat):
        return name
    if not isinstance(name, str):
        raise TypeError(f"block of type {type(name).__name__} given; give a BlockFormat or its name, such as 'nvfp4'")
    if known := BLOCK_NAMES.find(name):
        return BLOCK_FORMATS[known]
    if name.strip().lower() in NAMED or FORMAT_NAMES.find(name):
        raise ValueError(
            f"block format {name!r} given, a format of single numbers; call fp9.array(x, {name!r}), or choose one of "
            f"{', '.join(BLOCK_FORMATS)}"
        )
    raise ValueError(unknown("block format", name, BLOCK_FORMATS, "fp9.block_formats() lists all"))
