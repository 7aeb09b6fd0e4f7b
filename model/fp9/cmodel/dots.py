"""C models of the units `Mul`, `Fma` and `Dot`."""

from __future__ import annotations

from fp9.cmodel.model_text import ModelText
from fp9.cmodel.operands import extra_parts, reader, select
from fp9.cmodel.ranges import Weights, weights
from fp9.cmodel.steps import addend_format, nan_codes, step
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, filled, identifier, listed
from fp9.engines import Engine, Scaling
from fp9.formats import Format
from fp9.units import Dot, Mul, with_every_bias


def mul(unit: Mul) -> ModelText:
    sides = (("a", unit.a), ("b", unit.b))
    words = {
        "name": unit.name,
        "a": select("a", unit.inputs),
        "b": select("b", unit.inputs),
        "result": identifier(unit.result),
        "type": type_of(unit.result),
        "policy": f"fp9_policy_of({ROUNDINGS[unit.rounding]}, {OVERFLOWS[unit.policy.overflow]})",
        "nan": f"0x{unit.result.nan_code(False):X}",
    }
    body = filled(_MUL, words) + "".join(f"{line}\n" for line in flag_lines(unit, "flags"))
    readers = "".join(reader(f"{unit.name}_{operand}", formats, False) for operand, formats in sides)
    return ModelText((*unit.a, *unit.b, unit.result), ("sums",), readers, body)


_MUL = """\
    uint32_t flags;
    fp9_number x = fp9_product(@{name}_a(in->a, @{a}), @{name}_b(in->b, @{b}));
    out->result = (@{type})fp9_@{result}_encode(x, @{policy}, &flags);
    if (x.kind == FP9_NAN || x.kind == FP9_UNDEFINED) {
        out->result = @{nan};
        flags = x.kind == FP9_NAN ? 0 : FP9_INVALID;
    }
"""


def dot(unit: Dot) -> ModelText:
    engine, name = unit.engine, unit.name
    lines = [
        *term_lines(unit),
        f"    fp9_number c = fp9_{identifier(addend_format(engine))}_decode(in->c);",
        "    uint32_t flags;",
    ]
    if not _joins(unit):
        inside = engine.changed(chunk=None, interleave=None, promotion=None)
        functions, parts = step_text(unit, f"{name}", inside)
        lines.append(f"    out->result = ({type_of(engine.output)}){name}_step(term, {count_of(unit)}, c, &flags);")
        lines += flag_lines(unit, "flags")
        return model(unit, functions, parts, lines)
    functions, parts = step_text(unit, name, engine.within_chunk)
    functions += join_text(name, engine)
    lines += _chunk(unit)
    return model(unit, functions, (*parts, "add"), lines)


def _joins(unit: Dot) -> bool:
    # Whether the unit sums its products without c, and then adds this sum to c with a further rounding.
    engine = unit.engine
    return not engine.step.exact and (
        engine.chunk.length is not None or (engine.step.scaling is Scaling.SUMS and unit.scale is not None)
    )


def _chunk(unit: Dot) -> list[str]:
    engine, name = unit.engine, unit.name
    part = identifier(engine.result.format)
    steps = unit.products // engine.step.products
    lines = [
        "    fp9_number zero = {FP9_ZERO, 0, 0, 0, 0}, part = zero;",
        "    uint32_t code, joined;",
        f"    int step, every = 0, size = {count_of(unit) // steps};",
        f"    for (step = 0; step < {steps}; ++step) {{",
        f"        code = {name}_step(term + step * size, size, part, &flags);",
        f"        part = fp9_{part}_decode(code);",
        "        every |= (int)flags;",
        "    }",
    ]
    if engine.step.scaling is Scaling.SUMS and unit.scale is not None:
        lines.append("    part = fp9_product(part, scale[0]);")
    lines.append(f"    out->result = ({type_of(engine.output)}){name}_join(part, c, &joined);")
    return [*lines, *flag_lines(unit, "(uint32_t)every | joined")]


def type_of(fmt: Format) -> str:
    return f"uint{8 * fmt.dtype.itemsize}_t"


def flag_lines(unit: Dot | Mul, value: str) -> list[str]:
    return [f"    out->flags = (uint8_t)({value});"] if unit.flags else ["    (void)flags;"]


# --- terms ----------------------------------------------------------------------------------------------------------


def count_of(unit: Dot) -> int:
    # A term is one product, or the sum of a group of products.
    return unit.products // (unit.engine.step.group or 1)


def term_lines(unit: Dot) -> list[str]:
    # A unit with an accumulator takes products in port order. A unit for a whole chunk distributes them to its steps.
    order = list(range(unit.products)) if unit.has_state else unit.engine.order(unit.products)
    lines = []
    for operand in "ab":
        codes = [f"in->{unit.lane_names(operand)[place]}" for place in order]
        lines.append(f"    const uint32_t {operand}[{len(codes)}] = {{{listed(codes)}}};")
    if unit.scale is not None:
        lines += _scales(unit)
    count = count_of(unit)
    lines += [f"    fp9_number term[{count}];", "    int i;"]
    readers = {"a": "a", "b": "a" if unit.a == unit.b else "b"}
    numbers = ", ".join(f"{unit.name}_{readers[o]}({o}[i], {select(o, unit.inputs)})" for o in "ab")
    product = f"{'fp9_bypassed_product' if unit.engine.nan.zero_bypass else 'fp9_product'}({numbers})"
    if unit.engine.step.group is not None:
        return [*lines, *_groups(unit, product)]
    if unit.scale is not None and (unit.engine.step.scaling is Scaling.PRODUCTS or unit.engine.step.exact):
        product = f"fp9_product({product}, scale[{_scale_place(unit)}])"
    return [*lines, f"    for (i = 0; i < {count}; ++i) term[i] = {product};"]


def _scale_place(unit: Dot) -> str:
    return "0" if unit.products_of_scales == unit.products else f"i / {unit.products_of_scales}"


def _scales(unit: Dot) -> list[str]:
    assert unit.scale is not None
    name = identifier(unit.scale)
    pairs = zip(unit.scale_names("a"), unit.scale_names("b"), strict=True)
    products = [f"fp9_product(fp9_{name}_decode(in->{a}), fp9_{name}_decode(in->{b}))" for a, b in pairs]
    text = ",\n        ".join(products)
    return [f"    const fp9_number scale[{len(products)}] = {{{text}}};"]


def _groups(unit: Dot, product: str) -> list[str]:
    size, lowest = unit.engine.step.group, _products(unit, scaled=False).lowest
    return [
        f"    for (i = 0; i < {count_of(unit)}; ++i) {{",
        "        int64_t sum = 0;",
        "        int member, zeros = 1, dropped = 0;",
        f"        const fp9_number factor = scale[i * {size} / {unit.products_of_scales}];",
        f"        for (member = i * {size}; member < (i + 1) * {size}; ++member) {{",
        f"            fp9_number x = {product.replace('[i]', '[member]')};",
        "            zeros &= x.kind == FP9_ZERO;",
        f"            sum += fp9_align(x, {lowest}, FP9_CUT_ZERO, &dropped);",
        "        }",
        f"        term[i] = fp9_group(sum, {lowest}, zeros, factor);",
        "    }",
    ]


def _products(unit: Dot, scaled: bool) -> Weights:
    a, b = (weights(with_every_bias(formats, unit.bias_port)) for formats in (unit.a, unit.b))
    sides = a + b
    if scaled and unit.scale is not None and (unit.engine.step.scaling is Scaling.PRODUCTS or unit.engine.step.exact):
        scale = weights([unit.scale])
        sides = sides + scale + scale
    return sides


def step_text(unit: Dot, name: str, engine: Engine) -> tuple[str, tuple[str, ...]]:
    if engine.step.group is not None:
        engine = engine.changed(products=engine.step.products // engine.step.group, group=None)
        made = step(name, engine, Weights(0, 0), engine.step.products)
        return made.text, (*made.parts, "groups")
    made = step(name, engine, _products(unit, scaled=True), engine.step.products)
    return made.text, made.parts


def join_text(name: str, engine: Engine) -> str:
    join = engine.joining
    words = {
        "name": name,
        "output": identifier(join.result.format),
        "rounding": ROUNDINGS[join.result.rounding],
        "overflow": OVERFLOWS[join.result.overflow],
        "nan": nan_codes(join)[0],
        "invalid": nan_codes(join)[1],
        "flush": int(join.result.flush),
        "addend": f"    c = fp9_flushed(c, {join.output.min_normal_exponent});\n" if join.result.flush_addend else "",
    }
    return filled(_JOIN, words)


_JOIN = """\
/* Add the sum of a chunk to the total: the exact sum of both, rounded once. */
FP9_FN uint32_t @{name}_join(fp9_number part, fp9_number c, uint32_t *flags)
{
    fp9_layout f = fp9_@{output}();
    fp9_policy p = fp9_policy_of(@{rounding}, @{overflow});
    fp9_seen seen = {0, 0, 0, 0, 0};
    fp9_number sum;
@{addend}\
    fp9_see(&seen, part);
    fp9_see(&seen, c);
    if (fp9_is_special(seen)) return fp9_special_sum(f, seen, @{nan}, @{invalid}, flags);
    sum = fp9_add(part, c);
    if (!sum.significand) sum = fp9_zero_sum(seen, p.rounding);
    return fp9_round_sum(f, sum, p, @{nan}, @{flush}, flags);
}

"""


def model(
    unit: Dot, functions: str, parts: tuple[str, ...], lines: list[str], state: str = "", reset: str = ""
) -> ModelText:
    engine = unit.engine
    formats = [*unit.a, *unit.b, engine.result.format, engine.output, addend_format(engine)]
    if unit.scale is not None:
        formats.append(unit.scale)
    for operand, offered in (("a", unit.a), ("b", unit.b))[: 1 if unit.a == unit.b else 2]:
        functions += reader(f"{unit.name}_{operand}", offered, unit.bias_port, engine.nan.zero_bypass)
        parts = (*parts, *extra_parts(offered, unit.bias_port, engine.nan.zero_bypass))
    return ModelText(tuple(formats), parts, functions, "\n".join(lines) + "\n", state, reset)
