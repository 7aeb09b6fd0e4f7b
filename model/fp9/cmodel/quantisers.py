"""C models of quantisers, which compute a block's scale and elements."""

from __future__ import annotations

from fp9.cmodel.blocks import block_text
from fp9.cmodel.model_text import ModelText
from fp9.cmodel.text import filled, identifier, listed
from fp9.units import TENSOR_SCALE, Quantiser


def quantiser(unit: Quantiser) -> ModelText:
    # One call of the C model computes a whole block, even if the block takes several operations of the unit.
    block, lanes = unit.block, unit.width
    words = {
        "name": unit.name,
        "source": identifier(unit.source),
        "length": block.length,
        "lanes": lanes,
        "group": unit.group,
        "tensor": _tensor(unit),
        "rule": f"in[{unit.group - 1}].rule" if len(unit.rules) > 1 else "0",
        "x": listed((f"in[i].{x}" for x in unit.lane_names("x")), 12),
        "stores": "\n".join(
            f"        out[i].{name} = element[i * {lanes} + {place}];"
            for place, name in enumerate(unit.lane_names("element"))
        ),
    }
    text = block_text(block, unit.rules, unit.name, unit.source)
    return ModelText(text.formats, text.parts, text.functions, filled(_BLOCK, words), group=unit.group)


def _tensor(unit: Quantiser) -> str:
    if not unit.block.tensor:
        return ""
    # A tensor scale that is not positive and normal becomes NaN.
    return filled(_TENSOR, {"last": unit.group - 1, "lowest": TENSOR_SCALE.min_normal_exponent})


_TENSOR = """\
    whole = fp9_fp32_decode(in[@{last}].tensor);
    if (whole.negative || whole.exponent + fp9_bits(whole.significand) <= @{lowest}) whole.kind = FP9_NAN;
"""

_BLOCK = """\
    fp9_number number[@{length}], whole = {FP9_FINITE, 0, 0, 0, 1};
    uint8_t element[@{length}];
    uint32_t code;
    int i, j;
@{tensor}\
    for (i = 0; i < @{group}; ++i) {
        const uint32_t x[@{lanes}] = {
            @{x}};
        for (j = 0; j < @{lanes}; ++j) number[i * @{lanes} + j] = fp9_@{source}_decode(x[j]);
    }
    code = @{name}_block(number, whole, @{rule}, element);
    for (i = 0; i < @{group}; ++i) {
        out[i].scale = (uint8_t)code;
@{stores}
    }
"""
