"""C models of the conversion units: decoder, upcast and cast."""

from __future__ import annotations

from fp9.cmodel.model_text import ModelText
from fp9.cmodel.operands import extra_parts, reader, select, signed
from fp9.cmodel.text import NAN_SIGNS, OVERFLOWS, ROUNDINGS, chosen, filled, identifier
from fp9.formats import Format, HiFloat8
from fp9.formats.rounding import Rounding
from fp9.units import SCALE_BITS, Cast, Decoder, Upcast, significand_bits


def decoder(unit: Decoder) -> ModelText:
    words = {
        "name": unit.name,
        "select": select("code", unit.inputs),
        "mask": f"0x{(1 << unit.exponent_bits) - 1:X}",
        "width": significand_bits(unit.formats),
        "exponent": next(f"uint{n}_t" for n in (8, 16) if unit.exponent_bits <= n),
        "significand": next(f"uint{n}_t" for n in (8, 16) if significand_bits(unit.formats) <= n),
    }
    parts = extra_parts(unit.formats, unit.bias_port, False)
    return ModelText(
        unit.formats,
        tuple(parts),
        reader(f"{unit.name}_code", unit.formats, unit.bias_port),
        filled(_DECODER, words),
        meaning=_MEANING,
    )


# Bit i is 1 if output port i of the decoder is defined.
_MEANING = "(out.nan ? 0 : 1u) | (out.nan || out.inf ? 0 : 4u | (out.zero ? 0 : 2u)) | 0x38"

_DECODER = """\
    fp9_number x = @{name}_code(in->code, @{select});
    int bits = fp9_bits(x.significand), finite = x.kind == FP9_FINITE;
    out->sign = (uint8_t)x.negative;
    out->exponent = (@{exponent})(finite ? (uint32_t)(x.exponent + bits - 1) & @{mask} : 0);
    out->significand = (@{significand})(finite ? (x.significand << @{width}) >> bits : 0);
    out->zero = x.kind == FP9_ZERO;
    out->inf = x.kind == FP9_INF;
    out->nan = x.kind == FP9_NAN;
"""


def upcast(unit: Upcast) -> ModelText:
    result = unit.result
    words = {
        "name": unit.name,
        "select": select("code", unit.inputs),
        "result": identifier(result),
        "rounding": ROUNDINGS[result.default_rounding],
        "type": f"uint{8 * result.dtype.itemsize}_t",
    }
    parts = extra_parts(unit.formats, unit.bias_port, False)
    function = reader(f"{unit.name}_code", unit.formats, unit.bias_port)
    return ModelText((*unit.formats, result), tuple(parts), function, filled(_UPCAST, words))


_UPCAST = """\
    uint32_t flags;
    fp9_number x = @{name}_code(in->code, @{select});
    out->result = (@{type})fp9_@{result}_encode(x, fp9_policy_of(@{rounding}, FP9_TO_INF), &flags);
    out->flags = (uint8_t)flags;
"""


def cast(unit: Cast) -> ModelText:
    # With `amax`, the model also stores the largest finite magnitude since the last clear.
    lines = []
    names = (unit.lane_names(port) for port in ("x", "result", "flags", "random"))
    drawn = any(mode.needs_bits for mode in unit.roundings)
    for x, result, flags, random in zip(*names, strict=True):
        bits = f"in->{random}" if drawn else "0"
        lines.append(f"    out->{result} = (uint8_t){unit.name}_lane(in, in->{x}, {bits}, &flags);")
        lines.append(f"    out->{flags} = (uint8_t)flags;")
    state = reset = ""
    if unit.amax:
        state, reset = (
            f"    uint32_t amax; /* largest finite magnitude since the last clear, in {unit.source.name} */\n",
            "    state->amax = 0;\n",
        )
        lines += _amax(unit)
    return ModelText(
        (unit.source, *unit.targets), (), _lane(unit), "\n".join(["    uint32_t flags;", *lines, ""]), state, reset
    )


def _amax(unit: Cast) -> list[str]:
    mask, most = f"0x{unit.source.magnitude_mask:X}", f"0x{unit.source.max_code:X}"
    lines = ["    if (in->amax_clear) state->amax = 0;"]
    for x in unit.lane_names("x"):
        lines.append(
            f"    if ((in->{x} & {mask}) <= {most} && (in->{x} & {mask}) > state->amax) state->amax = in->{x} & {mask};"
        )
    return [*lines, f"    out->amax = (uint{8 * unit.source.dtype.itemsize}_t)state->amax;"]


def _lane(unit: Cast) -> str:
    ports = {port.name for port in unit.inputs}
    rounding = chosen("in->rounding", [ROUNDINGS[mode] for mode in unit.roundings])
    overflow = chosen("in->overflow", [OVERFLOWS[mode] for mode in unit.overflow])
    lines = [f"    fp9_number number = fp9_{identifier(unit.source)}_decode(x);"]
    lines.append(f"    fp9_policy p = fp9_policy_of({rounding},\n        {overflow});")
    if "rounding" not in ports and "overflow" not in ports and "target" not in ports and not unit.scale:
        lines.append("    (void)in;")
    if any(mode.needs_bits for mode in unit.roundings):
        lines += ["    p.random = random;", f"    p.random_bits = {unit.random_bits};"]
    else:
        lines.append("    (void)random;")
    if unit.nan_sign.name != "KEPT":
        lines.append(f"    p.nan_sign = {NAN_SIGNS[unit.nan_sign]};")
    if Rounding.HYBRID in unit.roundings:
        lines += _threshold(unit)
    if unit.scale:
        lines.append(f"    number.exponent += {signed('in->scale', SCALE_BITS)};")
    lines += [line for number, target in enumerate(unit.targets) for line in _target(unit, number, target)]
    return "\n".join(
        [
            f"FP9_FN uint32_t {unit.name}_lane(const {unit.name}_in *in, uint32_t x, uint32_t random, uint32_t *flags)",
            "{",
            *lines,
            "}",
            "",
            "",
        ]
    )


def _threshold(unit: Cast) -> list[str]:
    # The threshold of hybrid rounding is a bit string: the lowest bits of the source, and then one or more 1 bits.
    taken, ones = HiFloat8.threshold_bits(unit.source)
    value = f"(x & 0x{(1 << taken) - 1:X}) << {ones} | 0x{(1 << ones) - 1:X}" if ones else f"x & 0x{(1 << taken) - 1:X}"
    return [
        "    if (p.rounding == FP9_HYBRID) {",
        f"        p.random = {value};",
        f"        p.random_bits = {taken + ones};",
        "    }",
    ]


def _target(unit: Cast, number: int, target: Format) -> list[str]:
    lines = []
    if Rounding.BIAS in unit.roundings and not target.offers(Rounding.BIAS):
        lines.append("        if (p.rounding == FP9_BIAS) p.rounding = FP9_RNA;")
    if unit.nan:
        lines.append(f"        p.nan = 0x{unit.nan[number]:X};")
    lines.append(f"        return fp9_{identifier(target)}_encode(number, p, flags);")
    if number == len(unit.targets) - 1:
        return [line[4:] for line in lines]
    return [f"    if (in->target == {number}) {{", *lines, "    }"]
