"""C model of the dual-format floating-point unit (`Fpu`)."""

from __future__ import annotations

from fp9.cmodel.model_text import ModelText
from fp9.cmodel.operands import reader, select
from fp9.cmodel.ranges import weights
from fp9.cmodel.steps import step
from fp9.cmodel.text import ROUNDINGS, filled, identifier
from fp9.units import Fpu, FpuOp


def fpu(unit: Fpu) -> ModelText:
    engine, wide = unit.engine, weights([unit.engine.result.format])
    pair = step(f"{unit.name}_fmma", engine, weights(unit.a) + weights(unit.b), 2)
    single = step(f"{unit.name}_fma", engine.changed(name=f"{engine.name}, 16 bits", products=1), wide + wide, 1)
    words = {
        "name": unit.name,
        "wide": identifier(engine.result.format),
        "a": select("a", unit.inputs),
        "b": select("b", unit.inputs),
        "last": len(unit.operations) - 1,
        "flags": "    out->flags = (uint8_t)flags;\n" if unit.flags else "",
    } | {op.name.lower(): unit.operations.index(op) for op in unit.operations}
    functions = pair.text + single.text
    functions += reader(f"{unit.name}_a", unit.a, False) + reader(f"{unit.name}_b", unit.b, False)
    body = filled(_SUMS, words)
    if unit.casts:
        body += filled(_UPCAST, words | {"rounding": ROUNDINGS[engine.result.format.default_rounding]}) + _downcast(
            unit
        )
    return ModelText(
        (*unit.a, *unit.b, engine.result.format),
        ("sums", *pair.parts, *single.parts),
        functions,
        body + filled(_END, words),
    )


def _downcast(unit: Fpu) -> str:
    lines = [f"    if (op == {unit.operations.index(FpuOp.DOWNCAST)}) {{"]
    for place, fmt in enumerate(unit.a):
        test = "" if place == len(unit.a) - 1 else f"if (in->a_format == {place}) "
        call = (
            f"fp9_{identifier(fmt)}_encode(c, fp9_policy_of({ROUNDINGS[fmt.default_rounding]}, FP9_SATURATE), &flags);"
        )
        lines.append(f"        {'else ' * bool(place)}{test}code = {call}")
    return "\n".join([*lines, "    }", ""])


_SUMS = """\
    uint32_t code = 0, flags = 0;
    int op = in->op > @{last} ? @{last} : in->op;
    fp9_number term[2], c = fp9_@{wide}_decode(in->c);
    if (op == @{fmma}) {
        term[0] = fp9_product(@{name}_a(in->a & 0xFF, @{a}), @{name}_b(in->b & 0xFF, @{b}));
        term[1] = fp9_product(@{name}_a((uint32_t)in->a >> 8, @{a}), @{name}_b((uint32_t)in->b >> 8, @{b}));
        code = @{name}_fmma_step(term, 2, c, &flags);
    }
    if (op == @{fma}) {
        term[0] = fp9_product(fp9_@{wide}_decode(in->a), fp9_@{wide}_decode(in->b));
        code = @{name}_fma_step(term, 1, c, &flags);
    }
"""

_UPCAST = """\
    if (op == @{upcast}) {
        term[0] = @{name}_a(in->a & 0xFF, @{a});
        code = fp9_@{wide}_encode(term[0], fp9_policy_of(@{rounding}, FP9_TO_INF), &flags);
    }
"""

_END = """\
    out->result = (uint16_t)code;
    (void)flags;
@{flags}"""
