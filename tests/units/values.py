"""Values that the generator of random specifications gives to each field of a unit and of its engine, as TOML has them.

Fields of formats, enumerations and truth values have values by their type. Every other field has a row in `BY_FIELD`:
without one, `values` raises KeyError, so that a new field cannot be left out of the generator unnoticed.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from random import Random

from fp9.engines import ENGINES, GROUPS, PARAMETERS, Engine, Parameter
from fp9.engines import engine as find_engine
from fp9.formats import FAMILIES, FixedFormat, Format, Kind, Specials, every_format, format
from fp9.formats.blocks import BLOCK_FORMATS, BlockFormat, block_format
from fp9.units import FpuGroup

Table = Mapping[str, typing.Any]
"""Fields of a specification as TOML has them."""

Draw = Callable[[Random, Table], object]
"""A value of a field, from the fields before it; `LEFT_OUT` leaves the field at its default."""

LEFT_OUT = object()

_ODD = 1 / 64
"""Share of values that their field should refuse."""


# --- formats --------------------------------------------------------------------------------------------------------


def described(rng: Random, bits: range) -> str:
    """A format that a description names, of a width in `bits`."""
    special = rng.choice(list(Specials))
    least = special is Specials.IEEE
    fields = [(e, p) for e in range(1 + least, 9) for p in range(least, 24) if 1 + e + p in bits]
    exponent_bits, fraction_bits = rng.choice(fields)
    middle = 1 << (exponent_bits - 1)
    bias = rng.choice([middle - 1, middle, middle + 5, rng.randint(-8, 40)])
    subnormals = "" if rng.random() < 0.6 else ",subnormals=false"
    return f"1.{exponent_bits}.{fraction_bits},b={bias},specials={special.name.lower()}{subnormals}"


def _family(rng: Random, name: str) -> str:
    """A family's format with some of its parameters."""
    given = []
    for parameter in inspect.signature(FAMILIES[name]).parameters.values():
        if rng.random() < 0.6:
            is_truth = isinstance(parameter.default, bool)
            value = rng.choice(["true", "false"]) if is_truth else parameter.default + rng.randint(-4, 4)
            given.append(f"{parameter.name}={value}")
    return f"{name}({','.join(given)})" if given else name


def _p3109(rng: Random, signs: str) -> str:
    bits = rng.randint(3, 8)
    return f"binary{bits}p{rng.randint(1, bits - 1)}{rng.choice(signs)}{rng.choice('ef')}"


_NARROW = [fmt.name for fmt in every_format() if fmt.bits <= 8 and fmt.signed]
_WIDE = [fmt.name for fmt in every_format() if fmt.bits >= 16]
_HALVES = [name for name in _WIDE if format(name).bits == 16]
_UNSIGNED = [fmt.name for fmt in every_format() if not fmt.signed]
_ANY = [fmt.name for fmt in every_format()]


def narrow(rng: Random, fields: Table) -> str:
    """A format of at most 8 bits."""
    kinds = (lambda: rng.choice(_NARROW), lambda: _family(rng, rng.choice([*FAMILIES])), lambda: _p3109(rng, "s"))
    further = (lambda: described(rng, range(3, 9)), lambda: rng.choice(_ANY))
    return rng.choices([*kinds, *further], weights=[12, 3, 2, 4, 21 * _ODD])[0]()


def operand(rng: Random, fields: Table) -> str:
    """A format of at most 16 bits."""
    if rng.random() < 0.8:
        return narrow(rng, fields)
    return rng.choice([lambda: rng.choice(_HALVES), lambda: described(rng, range(9, 17))])()


def operands(rng: Random, fields: Table) -> list[str]:
    """One to three different operand formats."""
    return list({operand(rng, fields): 0 for _ in range(rng.choice([1, 1, 2, 3]))})


def _operands_of_fpu(rng: Random, fields: Table) -> list[str]:
    """Operand formats of an FPU: mostly those of HFP8, as its circuit takes no others."""
    formats = ["hfp8_143", "hfp8_152", _family(rng, "hfp8_143")]
    return rng.sample(formats, rng.choice([1, 2])) if rng.random() < 0.8 else operands(rng, fields)


def target(rng: Random, fields: Table) -> str:
    """A format of 8 bits."""
    kinds = (lambda: rng.choice([n for n in _NARROW if format(n).bits == 8]), lambda: described(rng, range(8, 9)))
    return rng.choices([*kinds, lambda: narrow(rng, fields)], weights=[12, 4, 1])[0]()


def wide(rng: Random, fields: Table) -> str:
    """A format of 16 to 32 bits."""
    kinds = (lambda: rng.choice(_WIDE), lambda: described(rng, range(16, 33)), lambda: rng.choice(_ANY))
    return rng.choices(kinds, weights=[12, 5, 17 * _ODD])[0]()


def scale(rng: Random, fields: Table) -> object:
    """A format of scales, or none."""
    if rng.random() < 0.55:
        return LEFT_OUT
    kinds = (lambda: "e8m0", lambda: rng.choice(_UNSIGNED), lambda: _p3109(rng, "u"), lambda: rng.choice(_ANY))
    return rng.choices(kinds, weights=[6, 6, 3, 15 * _ODD])[0]()


# --- engines --------------------------------------------------------------------------------------------------------


def _products(rng: Random, kind: str) -> int:
    offered = {"fma": [1], "fpu": [2], "mac": [1, 1, 2, 3, 4, 8]}.get(kind, [2, 2, 3, 4, 4, 5, 8])
    return rng.choice(offered) if rng.random() > _ODD else rng.choice([-1, 0, 6, 12])


def _chunk(rng: Random, fields: Table) -> object:
    steps = 1 if fields["kind"] == "fma" else rng.choice([1, 1, 2, 3])
    return fields["products"] * steps + (rng.random() < _ODD)


def _nan(rng: Random, fields: Table) -> object:
    """A NaN of the engine's output, or a code that is none."""
    fmt = format(fields.get("promotion") or fields.get("result", "fp32"))
    code = rng.randrange(1 << fmt.bits)
    top = (1 << fmt.bits) - 1
    mask = fmt.padding and -1 << fmt.padding
    offered = [c & (mask or top) for c in (code, top, top >> 1, code | top >> 1 & ~0xFF, 1 << fmt.bits - 1)]
    codes = [c for c in offered if fmt.kind_of(c) is Kind.NAN]
    return rng.choice(codes) if codes and rng.random() > _ODD else code


def _window(rng: Random, fields: Table) -> int:
    return rng.choice([1, 2, 3, 8, 13, 20, 23, 24, 25, 35, 40, rng.randint(1, 40), rng.randint(1, 40)])


def _joined(rng: Random, fields: Table) -> object:
    return min(40, fields["window"] + rng.randint(0, 8)) if fields.get("window") else LEFT_OUT


def _divisor(rng: Random, fields: Table) -> object:
    """A divisor of the products of a step."""
    products = fields["products"]
    return rng.choice([n for n in range(1, products + 1) if products % n == 0] or [1])


def _with_window(draw: Draw) -> Draw:
    return lambda rng, fields: draw(rng, fields) if fields.get("window") else LEFT_OUT


def engine(rng: Random, fields: Table) -> object:
    """A preset, a preset with changed fields, or a table of fields."""
    kind = str(fields["kind"])
    base = ENGINES[rng.choice([*ENGINES])] if rng.random() < 0.6 else Engine()
    table = engine_fields(base) | {"products": _products(rng, kind), "kind": kind}
    often = 0.12 if base.name in ENGINES else 0.25
    for name, parameter in PARAMETERS.items():
        tied = name in ("chunk", "interleave", "group", "interleaved") and name in table
        if name == "products" or not (tied or rng.random() < often):
            continue
        value = _values_of(parameter)(rng, table)
        if value is not LEFT_OUT:
            table[name] = value
    if kind == "fpu" and rng.random() > _ODD:
        of_circuit = {"result": "dlfloat16", "rounding": "rna"}
        table |= of_circuit if rng.random() < 0.7 else {"result": rng.choice(_HALVES)}
        table.pop("promotion", None)
    del table["kind"]
    return _written(rng, base, table)


def engine_fields(base: Engine) -> dict[str, object]:
    """The fields of an engine that are not at their defaults."""
    return {name: _plain(each.of(base)) for name, each in PARAMETERS.items() if each.of(base) != each.default}


def in_groups(table: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Parameters of an engine as a unit file has them: in tables by group."""
    found: dict[str, dict[str, object]] = {}
    for name, value in table.items():
        found.setdefault(PARAMETERS[name].group, {})[PARAMETERS[name].field] = value
    return found


def _engine_of(table: Mapping[str, Mapping[str, typing.Any]]) -> Engine:
    return Engine(**{group: GROUPS[group](**fields) for group, fields in table.items()})


def _values_of(parameter: Parameter) -> Draw:
    return values(GROUPS[parameter.group], parameter.field)


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value.name if isinstance(value, Format) else value


def _written(rng: Random, base: Engine, table: dict[str, object]) -> object:
    """A preset with settings in parentheses where they can stand there, else the table."""
    was = engine_fields(base)
    changed = {name: value for name, value in table.items() if was.get(name, _default(name)) != value}
    can = base.name in ENGINES and all("," not in str(value) for value in changed.values())
    if not can or rng.random() < 0.3:
        return in_groups(table)
    settings = ",".join(f"{name}={str(value).lower()}" for name, value in changed.items())
    return f"{base.name}({settings})" if settings else base.name


def _default(name: str) -> object:
    """The default of an engine's field, as TOML has it."""
    return _plain(PARAMETERS[name].default)


# --- the other fields -----------------------------------------------------------------------------------------------


def _offers(*numbers: int) -> Draw:
    """One of some numbers; rarely one that no field takes."""
    return lambda rng, _: rng.choice(numbers) if rng.random() > _ODD else rng.choice([-1, 0, 7, 1000])


def _sometimes(draw: Draw, share: float = 0.3) -> Draw:
    return lambda rng, fields: draw(rng, fields) if rng.random() < share else LEFT_OUT


def _name(rng: Random, fields: Table) -> object:
    return "random_unit" if rng.random() > _ODD else rng.choice(["module", "2fast", "a-b", "signal", ""])


def _stages(rng: Random, fields: Table) -> object:
    least = {"mac": 1}.get(str(fields["kind"]), 0) + bool(fields.get("amax"))
    return _offers(*range(least, 5), least, 6)(rng, fields)


def _codes_of_nan(rng: Random, fields: Table) -> object:
    codes = []
    for name in typing.cast("list[str]", fields["targets"]):
        fmt = format(name)
        nans = [code for code in range(1 << min(fmt.bits, 8)) if fmt.kind_of(code) is Kind.NAN]
        codes.append(rng.choice(nans or [127]))
    return codes


def _block(rng: Random, fields: Table) -> object:
    """Products that share scales: a divisor of all products."""
    if "scale" not in fields and rng.random() > _ODD:
        return LEFT_OUT
    try:
        sums = find_engine(fields["engine"]) if isinstance(fields["engine"], str) else _engine_of(fields["engine"])
    except (ValueError, TypeError):
        return LEFT_OUT
    products = sums.step.products if fields["kind"] == "mac" else sums.chunk.length or sums.step.products
    return rng.choice([n for n in range(1, products + 1) if products % n == 0])


def _rules(rng: Random, fields: Table) -> object:
    offered = list(block_format(str(fields["block"])).rules)
    return rng.sample(offered, rng.randint(1, len(offered)))


_TOGETHER = (("hif8", "fp16"), ("hif8", "bf16"), ("hif8", "fp32"), ("fp16", "fp32"), ("bf16", "fp32"))
"""Formats of an FPU that fields need together: `hybrid` the first three pairs, `half_lanes` the others."""


def _formats_of_fpu(rng: Random, fields: Table) -> object:
    """Formats of 8 bits, then wide ones."""
    names = [rng.choice([target, target, narrow])(rng, fields) for _ in range(rng.choice([0, 1, 2, 3]))]
    names += [wide(rng, fields) for _ in range(rng.choice([0, 1, 1, 2]))] or ["fp16"]
    names += rng.choice(_TOGETHER) if rng.random() < 0.4 else ()
    offered = dict.fromkeys(names)
    return sorted(offered, key=lambda name: format(name).bits) if rng.random() > _ODD else list(offered)


def _has_halves(fields: Table) -> bool:
    """Whether the formats of an FPU have 16 bits and 32 bits, so that a word has 16-bit lanes."""
    return {16, 32} <= {format(name).bits for name in fields["formats"]}


def _lanes_of_fpu(rng: Random, fields: Table) -> object:
    """One lane, or the 8-bit lanes of a word."""
    word = max(format(name).bits for name in fields["formats"])
    return rng.choice([1, word // 8]) if word in (16, 32) else _offers(1, 2, 4)(rng, fields)


def _roundings_of_fpu(rng: Random, fields: Table) -> object:
    """Some roundings; rarely hybrid rounding without formats for it."""
    possible = any({*pair} <= {*fields["formats"]} for pair in _TOGETHER[:3]) or rng.random() < _ODD
    return rng.sample(_FPU_ROUNDINGS[: None if possible else -1], rng.randint(1, 6))


def _division(rng: Random, fields: Table) -> object:
    """An iterative divider where a unit can have one; rarely elsewhere."""
    waits = fields.get("handshake", "ready") == "ready"
    possible = waits and "divsqrt" in fields.get("groups", ()) and int(fields["stages"]) > 1
    return rng.choice(["array", "iterative", "iterative"] if possible or rng.random() < _ODD else ["array"])


_GROUPS = [group.value for group in FpuGroup]
_FPU_ROUNDINGS = ["rne", "rtz", "rdn", "rup", "rna", "rto", "sr", "hybrid"]

BY_FIELD: dict[str, Draw] = {
    "Unit.name": _name,
    "Unit.stages": _stages,
    "Unit.engine": engine,
    "Cast.source": wide,
    "Cast.targets": lambda rng, fields: list({target(rng, fields): 0 for _ in range(rng.choice([1, 1, 2, 3]))}),
    "Cast.lanes": _offers(1, 1, 2, 3),
    "Cast.random_bits": _offers(1, 2, 3, 8, 16, 23, 24),
    "Cast.nan": _sometimes(_codes_of_nan, 0.2),
    "Upcast.result": wide,
    "Quantiser.source": lambda rng, fields: rng.choice(["fp32", "bf16", described(rng, range(16, 25)), "fp16"]),
    "Quantiser.rules": _rules,
    "Quantiser.lanes": _sometimes(_offers(2, 4, 8, 16)),
    "MultiFpu.formats": _formats_of_fpu,
    "MultiFpu.groups": _sometimes(lambda rng, _: rng.sample(_GROUPS, rng.randint(1, len(_GROUPS))), 0.5),
    "MultiFpu.roundings": _roundings_of_fpu,
    "MultiFpu.overflow": lambda rng, _: rng.sample(["saturate", "inf", "directed"], rng.randint(1, 3)),
    "MultiFpu.lanes": _sometimes(_lanes_of_fpu, 0.6),
    "MultiFpu.half_lanes": lambda rng, fields: _has_halves(fields) and rng.choice([False, True, True]),
    "MultiFpu.random_bits": _sometimes(_offers(1, 2, 3, 8, 16, 23, 24), 0.5),
    "MultiFpu.division": _division,
    "MultiFpu.tag": _sometimes(_offers(0, 1, 5), 0.3),
    "Dot.scale": scale,
    "Dot.block": _sometimes(_block),
    "Result.format": _sometimes(wide, 0.8),
    "Chunk.promotion": lambda rng, fields: wide(rng, fields) if "chunk" in fields else LEFT_OUT,
    "Step.products": lambda rng, fields: _products(rng, str(fields["kind"])),
    "Window.width": _window,
    "Window.truncation": _with_window(lambda rng, _: rng.choice(["zero", "floor", "jam"])),
    "Window.zero_exponent": _with_window(
        lambda rng, _: rng.choice([-139, -133, -132, -21, -20, -6, 0, 3, rng.randint(-150, 20)])
    ),
    "Fpu.a": _operands_of_fpu,
    "Fpu.b": _operands_of_fpu,
    "Dot.a": operands,
    "Dot.b": operands,
    "Window.interleaved": _joined,
    "Chunk.length": _chunk,
    "Chunk.interleave": lambda rng, fields: _divisor(rng, fields) if "chunk" in fields else LEFT_OUT,
    "Step.group": _with_window(_divisor),
    "NanPolicy.code": _nan,
    "NanPolicy.invalid_code": _nan,
    "NanPolicy.infinity_run": _offers(1, 2, 3, 4),
}
"""Values by record and field; those of a record hold for records that derive from it."""

_BY_TYPE: dict[object, Draw] = {
    bool: lambda rng, _: rng.choice([False, True]),
    Format: narrow,
    FixedFormat: wide,
    BlockFormat: lambda rng, _: rng.choice([*BLOCK_FORMATS]),
}


def values(record: type, field: str) -> Draw:
    """What draws the values of a record's field. Raises KeyError where the generator has none."""
    for owner in record.__mro__:
        if f"{owner.__name__}.{field}" in BY_FIELD:
            return BY_FIELD[f"{owner.__name__}.{field}"]
    found = _by_type(_hints(record)[field])
    if found is None:
        raise KeyError(f"{record.__name__}.{field} has no values in the generator; add a row to BY_FIELD")
    return found


_hints = functools.cache(typing.get_type_hints)


def _by_type(hint: object) -> Draw | None:
    if typing.get_origin(hint) is tuple:
        item = _by_type(typing.get_args(hint)[0])
        return item and (lambda rng, fields: list({item(rng, fields): 0 for _ in range(rng.choice([1, 1, 2, 3]))}))
    if isinstance(hint, types.UnionType):
        return _by_type(typing.get_args(hint)[0])
    if isinstance(hint, type) and issubclass(hint, Enum):
        members = [member.value for member in hint]
        return lambda rng, _: rng.choice(members)
    return _BY_TYPE.get(hint)
